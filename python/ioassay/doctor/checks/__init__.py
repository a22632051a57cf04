"""The checks: for each line a name and a function that judges facts.

How to add one: docs/development/labs-and-doctor.md.

A function gets facts that are there, and returns `None` where the question does not come up. What makes it impossible
to ask is decided by who calls (`examine`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ioassay.doctor.checks import control_plane, launcher, node_probe, nodes, rendezvous, target
from ioassay.doctor.facts import ControlPlane, Launcher, Meeting, Reached
from ioassay.doctor.verdict import Verdict

if TYPE_CHECKING:
    from ioassay.protocol.event import SurveyedNode

CONTROL_PLANE: Mapping[str, Callable[[ControlPlane], Verdict | None]] = {
    "ioassay": control_plane.versions,
    "engine": control_plane.engine,
    "run directory": control_plane.run_directory,
}
"""Of this side."""

LAUNCHER: Mapping[str, Callable[[Launcher], Verdict | None]] = {
    "launcher": launcher.starts,
    "MPI library": launcher.library,
    "one MPI": launcher.one_mpi,
    "Slurm": launcher.slurm,
}

REACHED: Mapping[str, Callable[[Sequence[Reached]], Verdict | None]] = {"engine there": node_probe.engine_there}
"""Of each node alone."""

MEETING: Mapping[str, Callable[[Meeting], Verdict | None]] = {
    "meeting": rendezvous.met,
    "events": rendezvous.events,
}
"""Of all nodes together."""

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
"""Of what each node says of itself."""

TARGET: Mapping[str, Callable[[Meeting, Sequence[SurveyedNode]], Verdict | None]] = {
    "target": target.usable,
    "same file system": target.same,
    "mount": target.mounted_alike,
    "free space": target.free_space,
    "left behind": target.left_behind,
}
"""Of what each node says of the target."""
