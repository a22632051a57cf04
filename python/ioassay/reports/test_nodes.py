"""The environment of the nodes as rows of a table."""

from __future__ import annotations

from typing import Any

import pytest

from ioassay.reports import nodes
from ioassay.testing.builder import GIB, environment

LUSTRE: dict[str, Any] = {
    "boot_id": "8d1f",
    "bindings": ["0-17", "18-35"],
    "governors": ["performance"],
    "numa_nodes": [{"processors": "0-17", "memory_bytes": 64 * GIB}, {"processors": "18-35", "memory_bytes": 64 * GIB}],
    "memory_limit_bytes": 16 * GIB,
    "kernel_settings": {"vm.dirty_ratio": "20", "transparent_hugepage": "madvise"},
    "client_parameters": {"osc.max_rpcs_in_flight": "64 (2) / 8 (1)", "version": "2.15.3"},
    "network": [
        {"name": "eth0", "driver": "mlx5_core", "state": None, "speed_bits_per_s": 25 * 10**9, "mtu_bytes": 9000},
        {"name": "mlx5_0/1", "driver": None, "state": "ACTIVE, InfiniBand", "speed_bits_per_s": 2 * 10**11},
        {"name": "eth1"},
    ],
}


def rows(group: nodes.NodeGroup) -> list[tuple[str, str]]:
    return [row for row in group.rows if row[0] not in ("Processor", "Kernel", "Operating system", "Clock")]


def test_every_fact_of_a_node_has_a_row() -> None:
    (group,) = nodes.alike([environment("c1") | LUSTRE])
    assert rows(group)[:9] == [
        ("Processors usable", "36"),
        ("Core binding", "rank 0: 0-17, rank 1: 18-35 (ranks of the node)"),
        ("NUMA nodes", "0-17 with 64 GiB; 18-35 with 64 GiB"),
        ("Frequency governor", "performance"),
        ("Memory", "128 GiB, of which the job may use 16 GiB, page cache included"),
        ("Kernel settings", "transparent_hugepage madvise, vm.dirty_ratio 20"),
        ("Network", "eth0: mlx5_core, 25 Gbit/s, MTU 9000"),
        ("Network", "mlx5_0/1: ACTIVE, InfiniBand, 200 Gbit/s"),
        ("Network", "eth1: speed unknown"),
    ]
    assert ("Client parameters", "osc.max_rpcs_in_flight 64 (2) / 8 (1), version 2.15.3") in group.rows


def test_facts_missing_in_runs_of_earlier_versions_have_no_row() -> None:
    (group,) = nodes.alike([environment("c1")])
    named = [what for what, _ in group.rows]
    assert named == [
        "Processor",
        "Processors usable",
        "Memory",
        "Kernel",
        "Operating system",
        "Clock",
        "File system",
        "Mounted",
        "Mount options",
        "Size, free",
        "Block device",
        "Queue settings",
    ]


def test_nodes_with_the_same_rows_are_reported_once() -> None:
    first: dict[str, Any] = {**environment("c1"), **LUSTRE}
    second: dict[str, Any] = {**environment("c2"), **LUSTRE, "boot_id": "77aa"}
    # What was free when each looked, and a few pages that the kernel keeps for itself.
    second |= {"mount": second["mount"] | {"free_bytes": 3 * GIB}, "memory_bytes": 128 * GIB - 40960}
    first |= {"memory_bytes": 128 * GIB - 8192}
    (group,) = nodes.alike([first, second])
    assert group.hosts == ("c1", "c2")
    assert ("Size, free", "500 GiB, 321 GiB") in group.rows


@pytest.mark.parametrize(
    "other", [{"bindings": ["0-35"]}, {"memory_limit_bytes": None}, {"client_parameters": {"version": "2.12.9"}}]
)
def test_a_node_that_is_set_up_otherwise_stands_apart(other: dict[str, Any]) -> None:
    groups = nodes.alike([environment("c1") | LUSTRE, environment("c2") | LUSTRE | other, environment("c3") | LUSTRE])
    assert [group.hosts for group in groups] == [("c1", "c3"), ("c2",)]
