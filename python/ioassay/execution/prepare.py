"""What was asked becomes a new run directory, once everything about it has been checked."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay import mounts
from ioassay.errors import UsageError
from ioassay.execution.engine_start import Start
from ioassay.execution.places import Place
from ioassay.execution.plan_check import Need, check
from ioassay.garbage_collection import long_lived
from ioassay.launchers import find_launcher
from ioassay.results.document import RunDocument, now
from ioassay.results.net_directory import read_net
from ioassay.results.new_directory import refuse_occupied
from ioassay.results.origin import StudyOrigin
from ioassay.results.run_writer import RunWriter
from ioassay.studies import expand, find_study, resolve
from ioassay.studies.plug_ins import speak_mpi
from ioassay.studies.refusals import problems_of
from ioassay.studies.suitable_targets import refuse_unsuitable
from ioassay.version import __version__
from ioassay.yaml_models.source import Problem

if TYPE_CHECKING:
    from ioassay.protocol.event import EventError
    from ioassay.protocol.plan import Plan

BATCH = "sbatch"
"""The whole run as a job of Slurm (`execution.slurm_job`), in which `srun` is the launcher."""


@dataclass(frozen=True)
class Request:
    """Runs of a study as they were asked for."""

    study: str
    """Name of a built-in study, or path of one."""
    places: Sequence[Place]
    """A run for each."""
    scale: str | None
    settings: Sequence[str]
    """`KEY=VALUE` each."""
    launcher: str
    hosts: Sequence[str]
    """The nodes for the launcher; none: those of the allocation, else this one."""
    launcher_options: Sequence[str]
    time_limit_ns: int | None
    """When a phase has not ended after this, it hangs; where the study says nothing of it."""
    ceilings: Path | None
    """What `ioassay net` left."""
    out: Path | None
    """The run directory, or of several runs the one that holds theirs; by default new ones below `runs/`."""
    recorded: bool
    """The engines are recorded, as applications are."""
    command: Sequence[str]
    """The command line, for the record."""


@dataclass(frozen=True)
class Prepared:
    """A run that can be done."""

    path: Path
    document: RunDocument
    plans: dict[str, Plan]
    need: Need

    def create(self) -> RunWriter:
        """Creates its directory, with all plans in it."""
        return RunWriter.create(Path(os.path.abspath(self.path)), self.document, self.plans)


def prepare(request: Request) -> list[Prepared]:
    """Resolves the study and checks every case of every run.

    Nothing is written, neither here nor on the targets.
    Raises `UsageError` for what was asked, `CannotRun` for what a target will not hold.
    """
    names = [place.name for place in request.places]
    if len(set(names)) < len(names):
        raise UsageError("Two targets have the same name.", "Measure them one by one, each with its own --out.")
    with long_lived():
        return [_prepare(request, place) for place in request.places]


def _prepare(request: Request, place: Place) -> Prepared:
    resolved = resolve(find_study(request.study), request.scale, request.settings, place.target.api)
    refuse_unsuitable(resolved.study, place.target)
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{resolved.entry.name}"
    path = request.out or Path("runs") / stamp
    if len(request.places) > 1:
        path = request.out / place.name if request.out else Path("runs") / f"{stamp}-{place.name}"
    mounts.ask(path, lambda: refuse_occupied(path))
    # Two runs of one second must not share a workspace on the target.
    identifier = f"{stamp}-{secrets.token_hex(2)}"
    launcher = "srun" if request.launcher == BATCH else request.launcher
    expanded = expand(resolved, identifier, place.target, launcher)
    mpi_in_ranks = speak_mpi([plan for _, plan in expanded])
    if mpi_in_ranks and not find_launcher(launcher).needs_mpi:
        raise UsageError(
            "The study's storage API uses MPI, but this launcher does not start ranks under MPI.",
            "Use --launcher mpirun, srun or sbatch.",
        )
    document = RunDocument(
        run=identifier,
        study=resolved.entry,
        cases=[case for case, _ in expanded],
        target=place.target.place,
        target_kind=place.target.kind,
        workspace=place.target.workspace(identifier) if place.target.kind != "device" else None,
        origin=StudyOrigin(storage=place.storage, clients=place.clients, lab=place.lab()),
        ceilings=read_net(request.ceilings) if request.ceilings else None,
        launcher=launcher,
        hosts=list(request.hosts),
        launcher_options=list(request.launcher_options),
        mpi_in_ranks=mpi_in_ranks,
        recorded=request.recorded,
        command=list(request.command),
        ioassay_version=__version__,
        started=now(),
    )
    plans = {case.id: plan for case, plan in expanded}
    if request.time_limit_ns is not None:
        for plan in plans.values():
            plan.setdefault("time_limit_ns", request.time_limit_ns)
    # The nodes of a job are not there yet; this one stands in for them.
    start = Start.here(document) if request.launcher == BATCH else Start.of(document)
    cases = {case.id: case for case in document.cases}

    def blame(refused: Sequence[tuple[str, EventError]]) -> list[Problem]:
        return problems_of(resolved, [(cases[case], error) for case, error in refused])

    return Prepared(path, document, plans, check(plans, start, blame, stops_early=document.stops_early))
