from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ioassay.testing.snapshots import snapshot
from ioassay.tuning.system.nfs import kernel_version
from ioassay.tuning.system.processors import list_text, nodes, parse_list


@given(st.frozensets(st.integers(0, 1000)))
def test_lists_of_processors(numbers: frozenset[int]) -> None:
    assert parse_list(list_text(numbers)) == numbers


def test_lists_of_the_kernel() -> None:
    assert parse_list("0-3,8,10-11\n") == {0, 1, 2, 3, 8, 10, 11}
    assert parse_list("") == frozenset()
    assert list_text(frozenset({0, 1, 2, 8})) == "0-2,8"


def test_nodes_without_processors_are_left_out() -> None:
    directory = "sys/devices/system/node"
    files = {f"{directory}/node0/cpulist": "0-1", f"{directory}/node1/cpulist": "", f"{directory}/possible": "0-1"}
    assert nodes(snapshot(files)) == {0: {0, 1}}


def test_the_kernels_version() -> None:
    assert kernel_version(snapshot({})) == (6, 1)
