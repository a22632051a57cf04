"""Runs one check after the other, as far as possible: collects facts and yields verdicts.

Not here: collecting facts (`collect`), judging them (`checks`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ioassay import mounts
from ioassay.doctor import checks
from ioassay.doctor.collect import control_plane, launcher, meeting, reached
from ioassay.doctor.facts import Facts, Problem
from ioassay.doctor.verdict import Line, Verdict, not_checked
from ioassay.errors import CannotRun
from ioassay.execution.engine_start import Start
from ioassay.execution.interruption import Interruption
from ioassay.execution.places import lab_access
from ioassay.launchers import Node, find_launcher
from ioassay.launchers.hosts import allocated
from ioassay.store.lock import Lock
from ioassay.store.stored_directory import StoredDirectory
from ioassay.studies.target import Target
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.protocol.event import SurveyedNode

_FIRST = "Fix the problems above first."

_Facts = TypeVar("_Facts")


@dataclass(frozen=True)
class Site:
    """What to examine."""

    target: Target | None
    storage: str | None
    """The target's storage system, if it is in a lab: `lab:NAME/STORAGE`."""
    clients: str | None
    """The lab whose hosts are the clients: `lab:NAME`."""
    launcher: str
    hosts: Sequence[str]
    """Nodes for the launcher; empty: those of the allocation, or else this node."""
    launcher_options: Sequence[str]
    ranks_per_node: int
    out: Path
    """The directory for runs."""


def examine(site: Site, facts: Facts, interruption: Interruption, say: Callable[[str], None]) -> Iterator[Line]:
    """Examines `site` and yields a line for each check as soon as it is known; `facts` is filled meanwhile.

    `say` announces slow steps. Raises `UsageError`, and `CannotRun` for a lab that is down or after an interruption.
    """
    with _scratch(site.out, interruption) as (scratch, problem):
        facts.control_plane = control_plane(scratch, problem)
        yield from _lines(checks.CONTROL_PLANE, facts.control_plane)
        if facts.control_plane.engine_problem is not None or facts.control_plane.engine is None:
            return
        start = _start(site)
        facts.launcher = launcher(site.launcher, start, Path(facts.control_plane.engine))
        yield from _lines(checks.LAUNCHER, facts.launcher)
        if start.stands_between and facts.launcher.problem is None:
            say(f"Starting the engine on {format_count(max(1, len(start.nodes)), 'node')} …")
            facts.reached = reached(start, scratch, interruption)
            interruption.heed()
            yield from _lines(checks.REACHED, facts.reached)
        survey = None
        if (obstacle := _cannot_meet(facts)) is None:
            responding = {node_probe.node for node_probe in facts.reached if node_probe.version is not None}
            nodes = [node for node in start.nodes if node.name in responding or not start.stands_between]
            library = Path(facts.launcher.library) if facts.launcher.library else None
            say(f"Examining the nodes, with {format_count(site.ranks_per_node, 'rank')} on each …")
            facts.meeting = meeting(
                replace(start, nodes=nodes, library=library),
                site.ranks_per_node,
                site.target if facts.target_kind == "directory" else None,
                scratch,
                interruption,
            )
            interruption.heed()
            yield from _lines(checks.MEETING, facts.meeting)
            survey = facts.meeting.survey
            obstacle = "The rendezvous of the nodes failed." if survey is None else None
    if survey is None:
        yield from _unchecked([*checks.NODES, *checks.TARGET], obstacle or "", _FIRST)
        return
    yield from _lines(checks.NODES, survey["nodes"])
    yield from _of_target(facts, survey["nodes"])


def _of_target(facts: Facts, nodes: Sequence[SurveyedNode]) -> Iterator[Line]:
    if facts.target is None:
        yield from _unchecked(["target"], "No target was given.", "Add --target DIR.")
    elif facts.target_kind != "directory":
        yield from _unchecked(
            ["target"],
            f"{facts.target} is not a directory.",
            "A run checks it before it writes anything: ioassay run quick --target …",
        )
    else:
        for name, judge in checks.TARGET.items():
            if facts.meeting is not None and (verdict := judge(facts.meeting, nodes)):
                yield Line(name, verdict)


def _lines(judges: Mapping[str, Callable[[_Facts], Verdict | None]], facts: _Facts) -> Iterator[Line]:
    for name, judge in judges.items():
        if verdict := judge(facts):
            yield Line(name, verdict)


def _unchecked(names: Sequence[str], reason: str, remedy: str) -> Iterator[Line]:
    for name in names:
        yield Line(name, not_checked(reason, remedy))


def _cannot_meet(facts: Facts) -> str | None:
    """Why the nodes cannot be connected."""
    launcher = facts.launcher
    if launcher is None or launcher.problem is not None:
        return "The launcher does not work."
    if launcher.library_problem is not None:
        return "The engine has no MPI connector."
    if facts.reached and not any(node_probe.version for node_probe in facts.reached):
        return "The engine does not start on any node."
    return None


def _start(site: Site) -> Start:
    """How engines would be started. A missing MPI, which a run refuses, is accepted here and examined."""
    launcher = find_launcher(site.launcher)
    lab = lab_access(site.storage, site.clients)
    nodes = lab.nodes if lab else [Node(name) for name in site.hosts]
    if not nodes and launcher.needs_mpi:
        nodes = allocated()
    return Start(launcher, nodes, lab.secrets if lab else {}, site.launcher_options, in_lab=lab is not None)


@contextmanager
def _scratch(out: Path, interruption: Interruption) -> Iterator[tuple[Path, Problem | None]]:
    """A directory beside future run directories, or elsewhere with the reason."""
    problem = None
    try:
        place = mounts.ask(out, lambda: _tried(out.absolute()), must_stop=lambda: interruption.count > 0)
        temporary = tempfile.TemporaryDirectory(prefix=".ioassay-doctor-", dir=place)
    except KeyboardInterrupt:
        interruption.heed()
        raise
    except CannotRun as error:  # it does not respond, or has no locks
        problem = Problem.of(error)
    except OSError as error:
        path = error.filename or out
        problem = Problem(f"{path}: {error.strerror}.", "Use a directory of yours: change to it, or set --out.")
    if problem is not None:
        temporary = tempfile.TemporaryDirectory(prefix="ioassay-doctor-")
    with temporary as scratch:
        yield Path(scratch), problem


def _tried(place: Path) -> Path:
    """The nearest existing directory above `place`, after trying all that a run directory needs."""
    while not place.is_dir():
        place = place.parent
    with tempfile.TemporaryDirectory(prefix=".ioassay-doctor-", dir=place) as tried:
        with StoredDirectory.open(Path(tried)) as directory:
            Lock.acquire(directory).release()
        with (Path(tried) / "events").open("xb") as file:
            file.write(b"tried")
            os.fsync(file.fileno())
    return place
