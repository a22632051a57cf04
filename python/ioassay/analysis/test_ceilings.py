from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.acceptance import judge
from ioassay.analysis.ceilings import ABOVE, TOLERANCE, TOO_LOW, columns, doubted, limits, lowest
from ioassay.store.net_document import Direction, NetDocument
from ioassay.testing.builder import RunBuilder
from ioassay.testing.net_measurement import GBIT, carried, net

# Dell EMC, Isilon F800 and H600 I/O Performance (January 2018), F800, in Gbit/s.
F800 = net(
    4, (1, 1, "to-servers", 9.9), (1, 1, "to-clients", 9.8), (8, 1, "to-servers", 40.06), (20, 4, "to-servers", 154.29)
)


def ceiling(measured: NetDocument, nodes: int) -> tuple[str, Any]:
    """Name and rate (Gbit/s) of the ceiling."""
    lowest_ceiling = lowest(measured, nodes, "to-servers")
    assert lowest_ceiling is not None
    return lowest_ceiling.name, lowest_ceiling.rate_bytes_per_s * 8 / GBIT


def test_a_measurement_is_the_ceiling_of_as_many_clients_and_servers() -> None:
    assert ceiling(F800, 20) == ("20 clients → 4 servers", pytest.approx(154.29))


def test_a_ceiling_of_more_clients_or_servers_has_a_factor() -> None:
    assert ceiling(F800, 1) == ("4 × (1 client → 1 server)", pytest.approx(39.6))
    assert ceiling(F800, 64) == ("3.2 × (20 clients → 4 servers)", pytest.approx(3.2 * 154.29))


def test_the_ceiling_of_one_client_is_not_below_its_rate_to_one_server() -> None:
    measured = net(4, (1, 1, "to-servers", 9.9), (1, 4, "to-servers", 9.8), (20, 4, "to-servers", 154.29))
    assert ceiling(measured, 1) == ("1 client → 1 server", pytest.approx(9.9)), (
        "what one server got is no less possible"
    )
    assert ceiling(measured, 8) == ("8 × (1 client → 4 servers)", pytest.approx(78.4))


def test_a_rate_of_fewer_clients_stays_possible_if_many_disturb_each_other() -> None:
    measured = net(1, (1, 1, "to-servers", 9.9), (8, 1, "to-servers", 7.0))
    assert [ceiling(measured, nodes) for nodes in (1, 4, 8)] == [("1 client → 1 server", pytest.approx(9.9))] * 3


def test_reads_have_the_ceilings_of_their_direction_and_none_without() -> None:
    assert lowest(net(1, (1, 1, "to-servers", 9.9)), 1, "to-clients") is None
    lowest_ceiling = lowest(F800, 1, "to-clients")
    assert lowest_ceiling is not None
    assert lowest_ceiling.name == "4 × (1 server → 1 client)"


Measured = list[tuple[int, int, Direction, float]]

MEASURED: st.SearchStrategy[Measured] = st.lists(
    st.tuples(st.integers(1, 64), st.integers(1, 8), st.just("to-servers"), st.floats(0.1, 1000)),
    min_size=1,
    max_size=8,
)


@given(MEASURED, st.integers(1, 200))
def test_no_measured_rate_is_ever_above_the_ceiling_of_as_many_clients(measured: Measured, nodes: int) -> None:
    highest = ceiling(net(8, *measured), nodes)[1]
    assert all(highest >= rate * (1 - 1e-9) for clients, _, _, rate in measured if clients <= nodes)


@given(MEASURED, st.integers(1, 200))
def test_more_clients_never_lower_a_ceiling_and_raise_it_at_most_in_proportion(measured: Measured, nodes: int) -> None:
    document = net(8, *measured)
    before, after = ceiling(document, nodes)[1], ceiling(document, nodes + 1)[1]
    fresh = [rate for clients, _, _, rate in measured if clients == nodes + 1]
    assert after >= before * (1 - 1e-9)
    assert after <= max([before * (nodes + 1) / nodes, *fresh]) * (1 + 1e-9)


@given(MEASURED, st.integers(1, 200))
def test_the_ceiling_of_a_scaling_network_is_not_below_the_truth(measured: Measured, nodes: int) -> None:
    """Each client carries 10 and each server 40, whatever was measured."""

    def truth(clients: int, servers: int) -> float:
        return min(10.0 * clients, 40.0 * servers)

    document = net(8, *((c, s, d, truth(c, s)) for c, s, d, _ in measured))
    assert ceiling(document, nodes)[1] >= truth(nodes, 8) * (1 - 1e-9)


def run_with(measured: NetDocument) -> RunBuilder:
    return RunBuilder().workload("w").clients(2).rates("w", "write", 2, 1.0e9).rates("w", "read", 2, 2.0e9)


SLOW = net(1, (2, 1, "to-servers", 9.0), (2, 1, "to-clients", 9.0))


def test_shares_are_relative_to_the_ceiling_of_the_participating_nodes() -> None:
    run = run_with(SLOW).build()
    run.document.ceilings = net(1, (1, 1, "to-servers", 10.0))
    nodes = run.ranks["node"].n_unique()
    (limit,) = limits(run).values()
    assert limit.nodes == nodes
    assert limit.ceiling.factor == nodes
    assert limit.share == pytest.approx(limit.rate_bytes_per_s / (nodes * 1.25e9))
    assert columns(run)["ceiling_share"].to_list() == [limit.share]


def test_a_rate_above_the_network_is_doubted_and_does_not_count() -> None:
    run = run_with(SLOW).criterion("rate", unit="bytes/s", operation="read", at_least=1.5e9).build()
    assert judge(run)[0].judgement == "passed"
    run.document.ceilings = SLOW
    doubted_run = doubted(run)
    (doubt,) = doubted_run.doubts.to_dicts()
    assert (doubt["kind"], doubt["phase"], doubt["invalidates"]) == (ABOVE, "read", True)
    evidence = json.loads(doubt["evidence"])
    assert evidence["ceiling_bytes_per_s"] == pytest.approx(9e9 / 8)
    assert evidence["ceiling"] == "1 server → 2 clients"
    assert evidence["rate_bytes_per_s"] > evidence["allowed_share"] * evidence["ceiling_bytes_per_s"]
    assert dict(zip(doubted_run.measurements["phase"], doubted_run.measurements["valid"], strict=True)) == {
        "write": True,
        "read": False,
    }
    assert judge(doubted_run)[0].judgement == "failed", "a cache must not pass an acceptance test"


def test_a_ceiling_that_may_itself_be_too_low_leaves_the_rate_valid() -> None:
    run = run_with(SLOW).build()
    run.document.ceilings = net(1, (2, 1, "to-clients", 9.0, "processor-bound"))
    doubted_run = doubted(run)
    assert doubted_run.doubts["kind"].to_list() == [TOO_LOW]
    assert doubted_run.measurements["valid"].all()


def test_the_measurement_error_of_iperf3_is_allowed() -> None:
    run = run_with(SLOW).build()
    (rate,) = run.measurements.filter(phase="write")["rate_bytes_per_s"]
    for factor, doubts in ((0.999, 0), (1.001, 1)):
        run.document.ceilings = net(1, (2, 1, "to-servers", rate * 8 / (1 + TOLERANCE) / factor / GBIT))
        assert doubted(run).doubts.height == doubts


def test_a_run_without_ceilings_stays_unchanged() -> None:
    run = run_with(SLOW).build()
    assert doubted(run) is run
    assert columns(run).is_empty()


def test_a_measurement_has_the_name_of_its_path() -> None:
    assert carried(1, 4, "to-clients", 1.0).name == "4 servers → 1 client"
