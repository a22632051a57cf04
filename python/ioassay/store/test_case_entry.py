"""The entry of a case, where studies cannot say it: the plans of front ends. Those of studies are in theirs."""

from pathlib import Path
from typing import Any

import pytest

from ioassay.plans.kinds.data import order_text
from ioassay.plans.sizes import amounts
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.store.case_entry import case_entry
from ioassay.store.document import CaseEntry, JobEntry
from ioassay.testing.front_end_run import MIB, ior_plan


def entry(plan: Any) -> CaseEntry:
    """The case of a plan that the engine adds up."""
    event = amounts({"case": plan})["case"]
    assert event["event"] == "amounts", event
    return case_entry(plan, event, "test-0", 2, lambda phase, job: f"command of {phase}")


def job(plan: Any, phase: str) -> JobEntry:
    return entry(plan).job(phase, phase)


def described(plan: Any, phase: str) -> JobEntry:
    """The description of a job without its amounts, as of a plan that the engine refuses."""
    return case_entry(plan, None, "test-0", 1, lambda phase, job: "").job(phase, phase)


def data_plan(ranks: int = 2) -> Any:
    """One of data in files that the engine names itself."""
    plan = ior_plan("case", Path("/scratch/test"), ranks=ranks)
    return plan | {"target": {"directory": "/scratch"}, "steps": plan["steps"][:-1]}


def tree_plan(sharing: str, operation: dict[str, Any], limit: dict[str, Any] | None = None) -> Any:
    """`operation` is done in the phase `it`, after what it needs."""

    def phase(name: str, operation: dict[str, Any], limit: dict[str, Any]) -> dict[str, Any]:
        replaces = operation["kind"] == "replace"
        order, shift = ("interleaved", 1) if replaces else ("sequential", 0)
        work = {"kind": "metadata", "tree": "tree", "operation": operation, "order": order, "paths": "full"}
        return {
            "step": "phase",
            "name": name,
            "jobs": [{"name": name, "work": work | {"shift": shift}, "limit": limit}],
        }

    tree = {"sharing": sharing, "depth": 2, "branch": 3, "items_per_directory": 10, "leaves_only": True}
    create = {"kind": "create", "with": "open", "write_bytes": operation.get("bytes", 0), "fsync": False}
    earlier = [phase("create-tree", {"kind": "create-tree"}, {}), phase("create", create, {})]
    needed = {"create-tree": 0, "create": 1}.get(operation["kind"], 2)
    return {
        "version": PROTOCOL_VERSION,
        "run": "run",
        "case": "case",
        "target": {"directory": "/scratch"},
        "storage": {"api": "posix"},
        "ranks": {"clients": 2, "per_client": 2},
        "trees": {"tree": tree | {"items": "files"}},
        "steps": [*earlier[:needed], phase("it", operation, limit or {})],
        "seed": 1,
        "sample_interval_ns": 10**9,
    }


def test_files_of_each_rank() -> None:
    plan = ior_plan("test-0.r1", Path("/scratch/test"), ranks=3)
    case = entry(plan)
    assert (case.id, case.workload, case.repetition, case.clients, case.ranks_per_client) == (
        "test-0.r1",
        "test-0",
        2,
        1,
        3,
    )
    assert (case.file_set_bytes, case.written_bytes) == (6 * MIB, 6 * MIB)
    assert [phase.name for phase in case.phases] == ["write", "read"]
    assert case.job("read", "read") == JobEntry(
        name="read",
        operations=["read"],
        ranks=3,
        file_set="test",
        layout="N-N",
        order="ior-shuffled",
        files=3,
        transfer_bytes=MIB // 4,
        file_set_bytes=6 * MIB,
        planned_bytes=6 * MIB,
        planned_operations=24,
        api="posix",
        direct=False,
        depth=1,
        payload="ior-timestamp",
        command="command of read",
    )


@pytest.mark.parametrize(("layout", "shown", "files"), [("N-1", "N-1", 2), ({"N-M": 2}, "N-M", 4), ("N-N", "N-N", 8)])
def test_shared_files_are_counted_by_the_groups_that_share_them(layout: Any, shown: str, files: int) -> None:
    plan = data_plan(ranks=4)
    plan["files"]["test"] |= {"layout": layout, "files_per_rank": 2}
    for step in plan["steps"]:
        step["jobs"][0]["work"]["order"] = "sequential"
    assert (job(plan, "write").layout, job(plan, "write").files) == (shown, files)
    assert job(plan, "write").file_set_bytes == 4 * 2 * 2 * MIB


def test_a_limit_is_the_most_that_is_planned_and_a_stonewall_plans_all() -> None:
    plan = data_plan()
    write = plan["steps"][0]["jobs"][0]
    for limit, operations in (
        ({"stonewall_ns": 10**9, "wear_out": True}, 16),
        ({"bytes_per_rank": MIB}, 8),
        ({"bytes_per_rank": MIB, "operations_per_rank": 3}, 6),
    ):
        write["limit"] = limit
        assert job(plan, "write").planned_operations == operations
        assert job(plan, "write").planned_bytes == operations * MIB // 4


@pytest.mark.parametrize(
    ("phase", "limit", "again"),
    [
        ("write", {}, False),
        ("write", {"stonewall_ns": 10**9}, False),
        ("write", {"minimum_ns": 10**9}, True),
        ("write", {"minimum_ns": 10**9, "stonewall_ns": 10**9}, True),
        ("write", {"minimum_ns": 10**9, "bytes_per_rank": 8 * MIB}, True),
        ("write", {"minimum_ns": 10**9, "bytes_per_rank": MIB}, False),
        ("write", {"minimum_ns": 10**9, "operations_per_rank": 3}, False),
        ("read", {"minimum_ns": 10**9}, False),
    ],
)
def test_a_minimum_time_lets_files_be_written_again_unless_one_pass_is_all_that_is_allowed(
    phase: str, limit: dict[str, Any], again: bool
) -> None:
    plan = data_plan()
    (job_plan,) = next(step["jobs"] for step in plan["steps"] if step.get("name") == phase)
    job_plan["limit"] = limit
    event = amounts({"case": plan})["case"]
    assert event["event"] == "amounts"
    assert event["may_write_again"] == again
    assert event["may_write_less"] == (phase == "write" and "stonewall_ns" in limit)


def test_a_job_of_some_ranks_counts_these() -> None:
    plan = data_plan(ranks=4)
    del plan["steps"][1]
    some = {"ranks": {"first": 1, "count": 2}}
    plan["files"]["test"] |= some
    plan["steps"][0]["jobs"][0] |= some
    parsed = job(plan, "write")
    assert (parsed.ranks, parsed.files, parsed.planned_operations) == (2, 2, 16)


@pytest.mark.parametrize(
    ("sharing", "kind", "operations"),
    [
        ("unique", "create-tree", 4 * 13),
        ("shared", "create-tree", 13),
        ("unique", "stat", 4 * 90),
        ("shared", "stat", 4 * 90),
        ("shared-items", "stat", 4 * 90),
        ("shared-items", "remove", 90),
    ],
)
def test_entries_are_counted_by_who_has_which_tree(sharing: str, kind: str, operations: int) -> None:
    parsed = job(tree_plan(sharing, {"kind": kind}), "it")
    assert (parsed.layout, parsed.planned_operations) == (sharing, operations)
    assert (parsed.files, parsed.transfer_bytes, parsed.planned_bytes) == (0, None, 0)


def test_items_hold_what_is_written_into_them() -> None:
    create = {"kind": "create", "with": "open", "write_bytes": 3901, "fsync": False}
    case = entry(tree_plan("shared", create, {"operations_per_rank": 50}))
    assert case.file_set_bytes == case.job("it", "it").file_set_bytes == 360 * 3901
    assert case.written_bytes == case.job("it", "it").planned_bytes == 4 * 50 * 3901


def test_an_item_that_is_replaced_counts_four_operations_and_both_contents() -> None:
    plan = tree_plan("unique", {"kind": "replace", "bytes": 100})
    parsed = job(plan, "it")
    assert parsed.operations == ["stat", "read", "remove", "create"]
    assert (parsed.planned_operations, parsed.planned_bytes) == (4 * 90 * 4, 4 * 90 * 200)
    # Once by the phase that creates them.
    assert entry(plan).written_bytes == 2 * 4 * 90 * 100


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("backward", "backward"),
        ({"strided": 4}, "strided 4"),
        ({"zipf": 1.1}, "zipf 1.1"),
        ({"hot-spot": {"transfers_percent": 10, "operations_percent": 90}}, "hot-spot 10% 90%"),
    ],
)
def test_an_order_is_spelled_as_in_studies(order: Any, text: str) -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    plan["steps"][0]["jobs"][0]["work"]["order"] = order
    assert described(plan, "write").order == text


@pytest.mark.parametrize(
    ("work", "storage", "fsync"),
    [
        ({}, {"api": "posix"}, "at-close"),
        ({"fsync": {"every-writes": 8}}, {"api": "uring", "direct": True, "depth": 32}, "every 8 writes"),
        ({"fsync": "never"}, {"api": "object"}, "never"),
        ({"transfer": "read"}, {"api": "posix"}, None),
    ],
)
def test_the_entry_of_a_job_states_how_it_does_io(
    work: dict[str, Any], storage: dict[str, Any], fsync: str | None
) -> None:
    plan = ior_plan("case", Path("/scratch/test"))
    plan["files"]["test"]["payload"] = {"kind": "reducible", "zero_percent": 50, "duplicate_percent": 20}
    (job_plan,) = plan["steps"][0]["jobs"]
    job_plan["work"] |= work
    job_plan["storage"] = storage
    parsed = described(plan, "write")
    assert (parsed.fsync, parsed.payload) == (fsync, "reducible 50% 20%")
    assert {"api": parsed.api, "direct": parsed.direct, "depth": parsed.depth} == {
        "direct": False,
        "depth": 1,
    } | storage


@pytest.mark.parametrize(
    ("operation", "sync_at_end", "fsync"),
    [
        ({"kind": "create", "with": "open", "write_bytes": 100, "fsync": True}, False, "at-close"),
        ({"kind": "create", "with": "open", "write_bytes": 100, "fsync": False}, True, "at-end"),
        ({"kind": "replace", "bytes": 100}, False, "never"),
        ({"kind": "remove"}, True, "at-end"),
        ({"kind": "rename"}, False, "never"),
        ({"kind": "stat"}, False, None),
    ],
)
def test_the_entry_of_items_states_when_they_are_forced_to_storage(
    operation: dict[str, Any], sync_at_end: bool, fsync: str | None
) -> None:
    plan = tree_plan("unique", operation)
    (job_plan,) = plan["steps"][-1]["jobs"]
    job_plan["work"]["sync_at_end"] = sync_at_end
    assert described(plan, "it").fsync == fsync


@pytest.mark.parametrize(
    ("payload", "expected"), [({"kind": "ior-random", "signature": 7}, "ior-random"), (None, "unique")]
)
def test_items_without_a_payload_of_their_own_hold_unique_bytes(payload: dict[str, Any] | None, expected: str) -> None:
    plan = tree_plan("unique", {"kind": "create", "with": "open", "write_bytes": 100})
    plan["trees"]["tree"] |= {"payload": payload} if payload else {}
    assert described(plan, "it").payload == expected


def test_the_percentages_of_a_hot_spot_come_in_the_order_in_which_a_study_has_them() -> None:
    assert order_text({"hot-spot": {"operations_percent": 90, "transfers_percent": 10}}) == "hot-spot 10% 90%"
