"""Makes a new run directory of a request, after checking everything about it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay import mounts
from ioassay.errors import UsageError
from ioassay.execution.engine_start import Start
from ioassay.execution.places import Place
from ioassay.execution.plan_check import Need, check
from ioassay.execution.slurm_job import SCRIPT
from ioassay.launchers import DEFAULT, find_launcher
from ioassay.processes import engine
from ioassay.processes.garbage_collection import long_lived
from ioassay.store.document import CaseEntry, RunDocument, StudyEntry
from ioassay.store.moments import now
from ioassay.store.net_directory import read_net
from ioassay.store.new_directory import refuse_occupied
from ioassay.store.origin import StudyOrigin
from ioassay.store.run_files import CaseFiles
from ioassay.studies.cases import Case, expand
from ioassay.studies.library import find_study
from ioassay.studies.mlperf_checkpoints import of_checkpoints
from ioassay.studies.mlperf_storage import of_training
from ioassay.studies.plug_ins import speak_mpi
from ioassay.studies.refusals import problems_of, refuse_cases
from ioassay.studies.resolve import resolve
from ioassay.studies.suitable_targets import refuse_unsuitable
from ioassay.studies.target import Target, dataset_directory
from ioassay.version import __version__
from ioassay.yaml_models.source import Problem

if TYPE_CHECKING:
    from ioassay.protocol.event import EventError
    from ioassay.protocol.plan import Plan
    from ioassay.store.run_writer import RunWriter
    from ioassay.studies.mlperf_storage import Judgement
    from ioassay.studies.resolve import ResolvedStudy

BATCH = "sbatch"
"""The whole run as a job of Slurm (`execution.slurm_job`), in which `srun` is the launcher."""


@dataclass(frozen=True)
class Request:
    """A request for runs of a study."""

    study: str
    """Name of a built-in study, or path of one."""
    places: Sequence[Place]
    """One run for each."""
    scale: str | None
    settings: Sequence[str]
    """`KEY=VALUE` each."""
    launcher: str
    hosts: Sequence[str]
    """Nodes for the launcher; empty: those of the allocation, or else this node."""
    launcher_options: Sequence[str]
    time_limit_ns: int | None
    """A phase that takes longer hangs; applies if the study does not set it."""
    ceilings: Path | None
    """The directory of `ioassay net`."""
    out: Path | None
    """The run directory, or the parent directory of several runs; by default new ones below `runs/`."""
    recorded: bool
    """Record the engines like applications."""
    command: Sequence[str]
    """The command line, for the record."""

    @property
    def engine_launcher(self) -> str:
        """The launcher of the engines; within a batch job, `srun`."""
        return "srun" if self.launcher == BATCH else self.launcher


ANY_TARGET = "TARGET"
"""Placeholder for the target in previews of a study."""


@dataclass(frozen=True)
class StudyPreview:
    """The cases and plans of a run."""

    document: RunDocument
    plans: Mapping[str, Plan]
    """The plan of each case, by name."""
    may_write_less: bool
    """A stonewall may end something before all of it is written."""
    may_write_again: bool
    """A minimum time may let something be written more than once."""
    judgements: Sequence[Judgement] = ()
    """What the rules of MLPerf Storage make of it."""


@dataclass(frozen=True)
class Prepared:
    """A checked run."""

    path: Path
    document: RunDocument
    plans: dict[str, Plan]
    need: Need
    start: Start | None
    """Starts its engines; `None` for a batch job, whose nodes are not known yet."""
    judgements: Sequence[Judgement] = ()
    """What the rules of MLPerf Storage make of it."""

    def command(self, case: CaseEntry) -> list[str]:
        """The command line that starts the engines of a case; for a batch job, the one that submits it."""
        path = Path(os.path.abspath(self.path))
        if self.start is None:
            return ["sbatch", str(path / SCRIPT)]
        files = CaseFiles(path / "logs" / case.id)
        arguments = engine.run_arguments(files.events, files.progress, files.plan)
        record = files.record if self.document.recorded else None
        return self.start.together(arguments, case.clients, case.ranks_per_client, record)

    def create(self) -> RunWriter:
        """Creates the run directory with all plans."""
        from ioassay.store.run_writer import RunWriter  # noqa: PLC0415  (it loads the library of tables)

        return RunWriter.create(Path(os.path.abspath(self.path)), self.document, self.plans)


def prepare(request: Request) -> list[Prepared]:
    """Resolves the study and checks every case of every run.

    It writes nothing, neither here nor on the targets.
    Raises `UsageError` for an invalid request, `CannotRun` for cases that a target cannot hold.
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
    # Two runs started in the same second must not share a workspace on the target.
    identifier = f"{stamp}-{secrets.token_hex(2)}"
    expanded = expand(resolved, identifier, place.target, request.engine_launcher)
    plans = {case.entry.id: case.plan for case in expanded}
    document = _document(request, resolved.entry, place, identifier, expanded)
    if request.time_limit_ns is not None:
        for plan in plans.values():
            plan.setdefault("time_limit_ns", request.time_limit_ns)
    # The nodes of a job are not there yet; this one stands in for them.
    start = Start.here(document, place.lab) if request.launcher == BATCH else Start.of(document, place.lab)
    cases = {case.id: case for case in document.cases}

    def blame(refused: Sequence[tuple[str, EventError]]) -> list[Problem]:
        return problems_of(resolved, [(cases[case], error) for case, error in refused])

    need = check(plans, start, blame, stops_early=document.stops_early)
    there = sum(
        case.amounts["written_bytes"] - case.entry.written_bytes
        for case in expanded
        if case.amounts["event"] == "amounts" and case.entry.written_bytes == 0
    )
    # The engine, which checks plan by plan, knows of no dataset from an earlier case.
    need = replace(need, written_bytes=max(0, need.written_bytes - there))
    is_here = place.lab is None and request.launcher == DEFAULT
    judgements = _judgements(
        resolved, document, plans, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if is_here else None
    )
    return Prepared(path, document, plans, need, None if request.launcher == BATCH else start, judgements)


def _document(
    request: Request,
    study: StudyEntry,
    place: Place,
    identifier: str,
    expanded: Sequence[Case],
) -> RunDocument:
    """The document of the new run. Raises `UsageError` if the launcher cannot start the ranks of its plans."""
    mpi_in_ranks = speak_mpi([case.plan for case in expanded])
    if mpi_in_ranks and not find_launcher(request.engine_launcher).needs_mpi:
        raise UsageError(
            "The study's storage API uses MPI, but this launcher does not start ranks under MPI.",
            "Use --launcher mpirun, srun or sbatch.",
        )
    return RunDocument(
        run=identifier,
        study=study,
        cases=[case.entry for case in expanded],
        target=place.target.place,
        target_kind=place.target.kind,
        workspace=place.target.workspace(identifier) if place.target.kind != "device" else None,
        shared_datasets=_shared_datasets(identifier, place, expanded),
        origin=StudyOrigin(storage=place.storage, clients=place.clients, lab=place.lab.entry if place.lab else None),
        ceilings=read_net(request.ceilings) if request.ceilings else None,
        launcher=request.engine_launcher,
        hosts=list(request.hosts),
        launcher_options=list(request.launcher_options),
        mpi_in_ranks=mpi_in_ranks,
        recorded=request.recorded,
        command=list(request.command),
        ioassay_version=__version__,
        started=now(),
    )


def _shared_datasets(run: str, place: Place, cases: Sequence[Case]) -> list[str]:
    kept = {dataset.get("keep") for case in cases for dataset in case.plan.get("datasets", {}).values()}
    return sorted(dataset_directory(place.target.place, name) for name in kept if name and name.startswith(f"{run}-"))


def preview(request: Request) -> StudyPreview:
    """The study alone: checks everything that does not depend on a target, and accesses no target.

    Raises `UsageError` for an invalid request, `CannotRun` if the engine cannot be started.
    """
    resolved = resolve(find_study(request.study), request.scale, request.settings)
    place = Place(Target("directory", f"/{ANY_TARGET}"))
    expanded = expand(resolved, "RUN", place.target, request.engine_launcher)
    refuse_cases(resolved, expanded)
    document = _document(request, resolved.entry, place, "RUN", expanded)
    plans = {case.entry.id: case.plan for case in expanded}
    totals = [case.amounts for case in expanded if case.amounts["event"] == "amounts"]
    less, again = (any(event[key] for event in totals) for key in ("may_write_less", "may_write_again"))
    judgements = _judgements(resolved, document, plans, None)
    return StudyPreview(document, plans, may_write_less=less, may_write_again=again, judgements=judgements)


def _judgements(
    resolved: ResolvedStudy, document: RunDocument, plans: Mapping[str, Plan], memory_bytes: int | None
) -> list[Judgement]:
    """What the rules of MLPerf Storage make of each workload with a model of it; `memory_bytes` of all clients."""
    trained = [
        of_training(
            workload.mlperf_storage,
            [(plans[case.id], case.file_set_bytes) for case in document.cases if case.workload == name],
            memory_bytes,
        )
        for name, workload in resolved.study.workloads.items()
        if workload.mlperf_storage is not None
    ]
    return trained + of_checkpoints(document.cases, plans)
