"""Facts that a snapshot gives of the system, and the reasons where it gives none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ioassay.protocol.event import Environment, NetworkLink
from ioassay.testing import net_measurement
from ioassay.testing.snapshots import snapshot
from ioassay.tuning.io500 import facts
from ioassay.tuning.io500.facts import SourcedNumber
from ioassay.tuning.io500.node_count import node_count
from ioassay.tuning.snapshot import Snapshot

_LFS_DF = """\
UUID                   1K-blocks        Used   Available Use% Mounted on
scratch-MDT0000_UUID   100 1 99 1% /scratch[MDT:0]
scratch-OST0000_UUID   100 1 99 1% /scratch[OST:0]
scratch-OST0001_UUID   100 1 99 1% /scratch[OST:1]
scratch-OST000a_UUID   100 1 99 1% /scratch[OST:10]
OST000b             : inactive device

filesystem_summary:    300 3 297 1% /scratch
"""


def _on(file_system: str, *links: NetworkLink, **more: str) -> Snapshot:
    """A node whose target `/scratch/dir` lies on that file system."""
    mountinfo = (
        f"30 1 0:40 / / rw - ext4 /dev/sda rw\n31 30 0:41 / /scratch rw,noatime - {file_system} srv@tcp:/fs rw\n"
    )
    files = {"proc/self/mountinfo": mountinfo, **{name.replace("__", "/"): text for name, text in more.items()}}
    printed = {"lfs df /scratch/dir": more["lfs"]} if "lfs" in more else {}
    node = snapshot(files, printed=printed, target="/scratch/dir")
    environment: Environment = {**node.environment, "network": list(links)}
    return replace(node, document={**node.document, "environment": environment})


_ETHERNET: NetworkLink = {"name": "eth0", "speed_bits_per_s": 10_000_000_000}
_INFINIBAND: NetworkLink = {"name": "mlx5_0/1", "speed_bits_per_s": 100_000_000_000, "state": "ACTIVE InfiniBand"}
_DOWN: NetworkLink = {"name": "mlx5_1/1", "speed_bits_per_s": 200_000_000_000, "state": "DOWN"}


def test_storage_targets_are_those_of_lfs_df() -> None:
    assert facts.storage_targets(_on("lustre", lfs=_LFS_DF), None) == SourcedNumber(3, "lfs df")


def test_storage_targets_are_those_of_the_client_without_lfs() -> None:
    client = _on("lustre", **{"proc__fs__lustre__lov__scratch-clilov-ffff__numobd": "40"})
    assert facts.storage_targets(client, None) == SourcedNumber(40, "lctl get_param lov.*.numobd")


def test_the_error_of_lfs_is_the_source_of_the_assumption() -> None:
    files = {"proc/self/mountinfo": "31 30 0:41 / /scratch rw - lustre srv@tcp:/fs rw\n"}
    client = snapshot(files, failed={"lfs df /scratch/dir": "Cannot send after shutdown"}, target="/scratch/dir")
    why = "assumed: lfs df /scratch/dir: exit status 1: Cannot send after shutdown; set --storage-targets"
    assert facts.storage_targets(client, None) == SourcedNumber(1, why)


def test_an_option_outweighs_what_is_read() -> None:
    assert facts.storage_targets(_on("lustre", lfs=_LFS_DF), 8) == SourcedNumber(8, "--storage-targets")


@pytest.mark.parametrize(
    ("file_system", "reason"), [("xfs", "one local file system"), ("nfs4", "set --storage-targets")]
)
def test_one_storage_target_is_assumed_where_none_is_known(file_system: str, reason: str) -> None:
    known = facts.storage_targets(_on(file_system), None)
    assert known.value == 1
    assert reason in known.source


def test_theory_comes_first() -> None:
    ceiling, why = facts.ceiling(36_000_000_000, None, _on("lustre", _INFINIBAND), 4)
    assert ceiling is not None
    assert (ceiling.write_bytes_per_s, ceiling.read_bytes_per_s, ceiling.source, why) == (36e9, 36e9, "--theory", "")


def test_a_measured_network_comes_before_stated_speeds() -> None:
    net = net_measurement.net(1, (1, 1, "to-servers", 8.0), (1, 1, "to-clients", 4.0))
    ceiling, _ = facts.ceiling(None, net, _on("lustre", _INFINIBAND), 2)
    assert ceiling is not None
    assert ceiling.write_bytes_per_s > ceiling.read_bytes_per_s
    assert ceiling.source.startswith("network measured by `ioassay net`")


def test_the_stated_speed_counts_of_a_network_measured_one_way() -> None:
    net = net_measurement.net(1, (1, 1, "to-servers", 8.0))
    ceiling, _ = facts.ceiling(None, net, _on("lustre", _INFINIBAND), 2)
    assert ceiling is not None
    assert "mlx5_0/1" in ceiling.source


def test_the_fastest_link_that_is_up_times_the_nodes_is_a_ceiling() -> None:
    ceiling, _ = facts.ceiling(None, None, _on("lustre", _ETHERNET, _INFINIBAND, _DOWN), 4)
    assert ceiling is not None
    assert ceiling.write_bytes_per_s == 4 * 12.5e9
    assert ceiling.source == "mlx5_0/1 of this node, 100 Gbit/s, on 4 nodes alike"


@pytest.mark.parametrize(
    ("snapshot_", "reason"),
    [
        (_on("xfs", _ETHERNET), "the limit of the devices below xfs is not known"),
        (_on("lustre"), "no network interface of this node states its speed"),
        (None, "this node could not be captured"),
    ],
)
def test_an_unknown_ceiling_says_why(snapshot_: Snapshot | None, reason: str) -> None:
    ceiling, why = facts.ceiling(None, None, snapshot_, 1)
    assert ceiling is None
    assert reason in why


def test_the_facts_of_a_node_have_their_sources() -> None:
    facts_of_node = facts.facts(_on("lustre", _INFINIBAND), "", ["a", "b"], SourcedNumber(16, "this node"))
    assert {fact.name: fact.value for fact in facts_of_node} == {
        "Nodes available": "2 (a, b)",
        "Processors per node": "16",
        "Memory per node": "64.0 GiB",
        "File system": "lustre of srv@tcp:/fs on /scratch",
        "Network mlx5_0/1": "100 Gbit/s",
    }
    assert all(fact.source for fact in facts_of_node)


def test_the_reason_is_a_fact_without_a_snapshot() -> None:
    facts_of_node = facts.facts(None, "the engine is too old", [], facts.processors(None))
    assert (facts_of_node[-1].name, facts_of_node[-1].source) == ("Snapshot", "the engine is too old")


@pytest.mark.parametrize(
    ("targets", "available", "nodes", "reason"),
    [
        (40, 121, 40, "as many as storage targets; 81 nodes not used"),
        (40, 40, 40, "as many as storage targets"),
        (40, 12, 12, "fewer than the 40 storage targets, because no more are available"),
        (1, 1, 1, "as many as storage targets"),
    ],
)
def test_the_node_count_is_that_of_storage_targets(targets: int, available: int, nodes: int, reason: str) -> None:
    count = node_count(SourcedNumber(targets, "lfs df"), available)
    assert (count.nodes, count.why) == (nodes, reason)
