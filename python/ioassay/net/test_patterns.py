from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.net.measure import refuse_same
from ioassay.net.patterns import DIRECTIONS, PATTERNS, MeasuredPath, measured_paths
from ioassay.remote.hosts import hosts


def test_a_host_is_not_both_ends() -> None:
    (host,) = hosts(["node01"], "client", "ssh")
    with pytest.raises(UsageError, match="node01"):
        refuse_same([host], [host])


def test_paths_are_measured_once_each_from_small_to_large() -> None:
    all_meetings = measured_paths(PATTERNS, ["to-servers"], 20, 4)
    assert [(path.clients, path.servers) for path in all_meetings] == [(1, 1), (1, 4), (20, 1), (20, 4)]
    assert len(measured_paths(PATTERNS, DIRECTIONS, 1, 1)) == 2
    assert [(path.clients, path.servers) for path in measured_paths(["n-m"], ["to-servers"], 3, 1)] == [(3, 1)]


def test_flows_are_assigned_so_that_every_host_takes_part() -> None:
    assert MeasuredPath(20, 4, "to-servers").pairs[:5] == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 0)]
    assert MeasuredPath(1, 4, "to-servers").pairs == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert len(MeasuredPath(8, 1, "to-clients").pairs) == 8
