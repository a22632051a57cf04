"""The checks: a name and a function from facts to a verdict for each line.

How to add one: docs/development/labs-and-doctor.md.

A function gets existing facts, and returns `None` if the check does not apply. The caller (`examine`) decides when a
check is impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ioassay.doctor.checks import control_plane, launcher, node_probe, nodes, rendezvous, target
from ioassay.doctor.facts import ControlPlane, Launcher, NodeProbe, Rendezvous
from ioassay.doctor.verdict import Verdict

if TYPE_CHECKING:
    from ioassay.protocol.event import SurveyedNode

CONTROL_PLANE: Mapping[str, Callable[[ControlPlane], Verdict | None]] = {
    "ioassay": control_plane.versions,
    "engine": control_plane.engine,
    "run directory": control_plane.run_directory,
}
"""Checks of this node."""

LAUNCHER: Mapping[str, Callable[[Launcher], Verdict | None]] = {
    "launcher": launcher.starts,
    "MPI library": launcher.library,
    "one MPI": launcher.one_mpi,
    "Slurm": launcher.slurm,
}

REACHED: Mapping[str, Callable[[Sequence[NodeProbe]], Verdict | None]] = {"engine there": node_probe.engine_there}
"""Checks of each node alone."""

MEETING: Mapping[str, Callable[[Rendezvous], Verdict | None]] = {
    "meeting": rendezvous.met,
    "events": rendezvous.events,
}
"""Checks of all nodes together."""

NODES: Mapping[str, Callable[[Sequence[SurveyedNode]], Verdict | None]] = {
    "machines": nodes.machines,
    "alike": nodes.alike,
    "processors": nodes.processors,
    "clocks": nodes.clocks,
    "time of day": nodes.time_of_day,
    "open files": nodes.open_files,
    "processes": nodes.processes,
    "file size": nodes.file_size,
    "locked memory": nodes.locked_memory,
    "core files": nodes.core_files,
    "shared memory": nodes.shared_memory,
    "cold caches": nodes.cold_caches,
    "io_uring": nodes.io_uring,
}
"""Checks of the nodes' properties."""

TARGET: Mapping[str, Callable[[Rendezvous, Sequence[SurveyedNode]], Verdict | None]] = {
    "target": target.usable,
    "same file system": target.same,
    "mount": target.mounted_alike,
    "free space": target.free_space,
    "left behind": target.left_behind,
}
"""Checks of the target, as seen by each node."""
