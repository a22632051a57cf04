"""`run.json`: what was asked, where, when, by what, and how it ended.

`version` rises when an old reader would misread or refuse a new document; `upgrades` then brings the older one along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, get_args

from msgspec import field

from ioassay.protocol import facts
from ioassay.store import json_head
from ioassay.store.kinds import RUN
from ioassay.store.measurement import Measurement
from ioassay.store.net_document import NetDocument
from ioassay.store.origin import FrontEndOrigin, ImportOrigin, LabEntry, Origin, StudyOrigin
from ioassay.store.point import CLIENTS, PLACEMENT, RANKS_PER_CLIENT, SweepPoint
from ioassay.store.point_types import Axis, Point, counted
from ioassay.store.states import RunState
from ioassay.store.stored_struct import (
    Amount,
    Component,
    Count,
    Moment,
    Node,
    Setting,
    StoredStruct,
    bounded,
    checked_node,
)
from ioassay.store.summary import called
from ioassay.text.units import RateUnit

CaseState = Literal["pending", "running", "complete", "failed", "interrupted", "not needed"]
"""`not needed`: a case that was spared: by the study's stop rule, because its point was narrow enough before, by a
search that has its answer, or because no time was left for it.
"""

CaseOrder = Literal["as-written", "randomised", "interleaved"]
"""The order of the cases of each repetition of a sweep."""


TargetKind = Literal["directory", "device", "url", "in-place"]
"""`in-place`: files and trees at paths that the user named, in directories that are the user's own."""

Operation = facts.Operation
"""The operation of a measurement."""

OPERATIONS: tuple[Operation, ...] = get_args(Operation)


UTILISATION_GOAL = 0.9
"""Utilisation at which accelerators count as fed where a study names none: as MLPerf Storage has it for unet3d."""


UtilisationDefinition = Literal["DLIO repository", "DLIO release"]
"""How another tool computes the utilisation of accelerators (`ioassay.analysis.training`)."""


class TransferOrder(StoredStruct, kw_only=True):
    """Numbers of transfers by where they begin. The first of a file is consecutive."""

    consecutive: Count
    """Where the one before ended."""
    forward: Count
    """Beyond that."""
    backward: Count
    """Before it."""


class JobEntry(StoredStruct, kw_only=True):
    """The work of some ranks in a phase, as tables and reports need it."""

    name: str
    """Name of the job, unique in the phase. The only one is called as the phase."""
    operations: list[Operation]
    """A measurement for each: one, of a mix two, of a replacement four."""
    ranks: Count
    """How many ranks do it; 0: unknown, of an imported result."""
    file_set: str
    """Name of the file set or tree; empty for a walk through everything."""
    layout: str
    """`N-N`, `N-1` or `N-M` of a file set, who shares it of a tree."""
    order: str
    files: Count | None
    """Files of the file set: its objects; 0 for trees. `None`: unknown, of an imported result."""
    transfer_bytes: Count | None
    """Bytes of one call; `None` where nothing is moved."""
    file_set_bytes: Count
    """Size of the file set, or of the items of the tree; 0: unknown, of an imported result."""
    planned_bytes: Count
    """The bytes moved in one pass that nothing stops early; of an imported result those that were moved."""
    planned_operations: Count
    api: str | None = None
    """The storage API. `None`, here and below: unknown."""
    direct: bool | None = None
    """Past the page cache; `None` for a walk as well."""
    uncached: bool | None = None
    """Through the page cache, whose pages are dropped at once (`RWF_DONTCACHE`); `None`, as of earlier versions: not.
    """
    depth: Count | None = None
    """Transfers that each rank keeps in flight."""
    fsync: str | None = None
    """When what it changes is forced to stable storage; `None` where it changes nothing."""
    payload: str | None = None
    """The kind of data that is or was written; `None` where nothing is moved."""
    utilisation_goal: Amount | None = None
    """Utilisation at which storage feeds its accelerators; `None` where nothing is trained, or none was given."""
    printed_utilisation: dict[UtilisationDefinition, Amount] | None = None
    """Only of an imported result that trains: the utilisation that was printed, by its definition."""
    rate_bytes_per_s: Count | None = None
    """The rate that its plan sets for all ranks together; `None`: none, or one in operations."""
    rate_operations_per_s: Count | None = None
    """The same in operations."""
    think_ns: Count | None = None
    """The pause between operations that its plan sets."""
    sizes: dict[Operation, list[tuple[Count, Count]]] = field(default_factory=dict)
    """Only of a replay: sizes of transfers with their number, by operation."""
    orders: dict[Operation, TransferOrder] = field(default_factory=dict)
    """Only of a replay: where its transfers begin, by operation."""
    command: str
    """The equivalent command line of IOR or mdtest."""


class PhaseEntry(StoredStruct, kw_only=True):
    """A timed phase of a case."""

    name: str
    """Name of the phase, unique in the case, for example `write`."""
    jobs: list[JobEntry]
    """The jobs that run in it side by side."""


class CaseEntry(StoredStruct, kw_only=True):
    """One point of the sweep, fully resolved. The plan that the engine got lies in `logs/CASE/plan.json`."""

    checks = MappingProxyType({"id": json_head.component, "point": counted})

    id: Component
    """Unique in the run; names its folder under `logs/`."""
    workload: str
    """Name of the workload in the study."""
    point: Point
    """Its value on every axis of the sweep, in base units. `groups` is there only where it is swept; `ranks_per_client`
    is the most on any client; an imported result leaves out what its files do not state.
    """
    repetition: Count
    """1, 2, …"""
    file_set_bytes: Count
    """Size of all its files together; 0: unknown, of an imported result."""
    written_bytes: Count
    """The bytes that all its phases together write in one pass, as far as they are known."""
    phases: list[PhaseEntry]
    state: CaseState = "pending"
    error: str | None = None
    """Why it failed, as a sentence with the remedy."""
    skipped: str | None = None
    """Why it is not needed, as a sentence."""

    @property
    def clients(self) -> int:
        """Nodes that do I/O; 0: unknown, of an imported result, whose tables have null."""
        return self._count(CLIENTS)

    @property
    def ranks_per_client(self) -> int:
        """The most on any; 0: an imported result does not state it."""
        return self._count(RANKS_PER_CLIENT)

    def _count(self, axis: str) -> int:
        count = self.point.get(axis, 0)
        assert isinstance(count, int)  # checked when the point was read
        return count

    @property
    def sweep_point(self) -> SweepPoint:
        """Its point of the workload's sweep: cases that agree in it are repetitions of one another."""
        return SweepPoint(self.workload, tuple(self.point.items()))

    @property
    def is_settled(self) -> bool:
        """Nothing more is to be done for it."""
        return self.state in ("complete", "not needed")

    def job(self, phase: str, name: str) -> JobEntry:
        """The job of this name in a phase. Raises `KeyError`."""
        for entry in self.phases:
            for job in entry.jobs:
                if (entry.name, job.name) == (phase, name):
                    return job
        raise KeyError(f"{self.id} has no job {name} in a phase {phase}")

    @property
    def measured(self) -> list[Measurement]:
        """Every measurement that it is to give, in the order of its phases."""
        if self.state == "not needed":
            return []
        return [
            Measurement(self.id, phase.name, job.name, operation)
            for phase in self.phases
            for job in phase.jobs
            for operation in job.operations
        ]


class FigureEntry(StoredStruct, kw_only=True):
    """A figure that the study asks for: a rate against clients."""

    title: str
    workloads: list[str]
    """One line each."""
    operation: Operation
    phase: str | None = None
    """Only this phase; `None`: every phase with that operation."""
    unit: RateUnit
    against: str | None = None
    """The axis that it is drawn against; `None`: clients or ranks, else the first other axis."""


class SummaryRow(StoredStruct, kw_only=True):
    """A row of the peak and sustained table."""

    label: str
    workload: str
    unit: RateUnit


class SurveyEntry(StoredStruct, kw_only=True):
    """A table of rates by files and ranks, with the saturation point."""

    title: str
    workload: str
    unit: RateUnit


Benchmark = Literal["io500"]
"""A benchmark whose score is computed from phases that are called as its own (`ioassay.analysis.io500`)."""


class Criterion(StoredStruct, kw_only=True):
    """A criterion that the study is judged by. See `ioassay.analysis.acceptance` for the measures."""

    measure: str
    of: str
    """Name of a workload, or `all`."""
    phase: str | None = None
    """Name of the only phase that is meant."""
    operation: Operation | Literal["all"]
    at_most: float | None = None
    at_least: float | None = None
    unit: str
    """Unit of the limit: `bytes/s`, `operations/s`, `s`, `1`."""
    because: str


class StopRule(StoredStruct, kw_only=True):
    """When a point of the sweep has been repeated often enough: see `ioassay.analysis.stop_rule`."""

    share: Amount
    """Largest half-width of the 95 % interval of each median, as a share of the median."""
    at_least: Count
    """Repetitions with a valid measurement before it is evaluated."""
    at_most: Count
    """Repetitions after which it ends in any case."""


class WorkloadEntry(StoredStruct, kw_only=True):
    """A workload's name and title, what it sweeps, and its stop rule."""

    name: str
    title: str
    axes: list[Axis] = field(default_factory=list)
    """The axes that it sweeps besides clients, ranks per client and groups."""
    until: StopRule | None = None
    """`None`: repeated a fixed number of times."""
    search: Literal["accelerators"] | None = None
    """What is searched for by measuring only some of its cases."""

    @property
    def stops_early(self) -> bool:
        """True if some of its cases may turn out not to be needed."""
        return self.until is not None or self.search is not None


class RankBytes(StoredStruct, kw_only=True):
    """How unequal ranks are."""

    least: Count
    """Bytes of the rank that moves least."""
    most: Count
    """Bytes of the rank that moves most."""


class RecordedClass(StoredStruct, kw_only=True):
    """The I/O of an application in a direction; zeros: none."""

    operations: Count = 0
    bytes: Count = 0
    order: TransferOrder | None = None
    """`None`: unknown."""
    rank_bytes: RankBytes | None = None
    """`None`: unknown."""
    sizes: list[tuple[Count, Count]] = field(default_factory=list)
    """Sizes of transfers with the number of calls."""
    timeline: list[Count] = field(default_factory=list)
    """Bytes, of metadata calls, in equal steps of the duration, as weights; empty: unknown."""


class LeftOutEntry(StoredStruct, kw_only=True):
    """Operations of an application that its replay leaves out."""

    operation: str
    calls: Count
    time_ns: Count | None
    """In these calls; `None`: unknown."""


class ReplaysEntry(StoredStruct, kw_only=True):
    """The recorded application that a study replays."""

    source: str
    """The command that was recorded."""
    processes: Count
    duration_ns: Count
    """From the beginning of its first phase of I/O to the end of its last one."""
    phases: list[str]
    """The phases of a case that together replay it."""
    read: RecordedClass
    write: RecordedClass
    metadata: RecordedClass
    left_out: list[LeftOutEntry]


class StudyEntry(StoredStruct, kw_only=True):
    """The study as it was run."""

    checks = MappingProxyType({"settings": bounded})

    name: str
    title: str
    question: str
    source: str | None
    scale: str | None
    settings: dict[str, Setting]
    """Every setting with the value it had; of imported results what their files state about how and where they were
    measured, with a list of values where there are several, `–` in it where some state none.
    """
    text: str
    """The study's YAML, as read."""
    method: list[str]
    """The method in sentences, written from the resolved study."""
    workloads: list[WorkloadEntry]
    figures: list[FigureEntry]
    summary: list[SummaryRow]
    surveys: list[SurveyEntry] = field(default_factory=list)
    acceptance: list[Criterion]
    scores: Benchmark | None = None
    """The benchmark whose score the report has."""
    replays: ReplaysEntry | None = None
    """The application that it replays."""
    case_order: CaseOrder = "as-written"
    seed: int | None = None
    """Where random choices began, that of the order of cases too; `None` of a front end."""

    def until(self, workload: str) -> StopRule | None:
        """The stop rule of a workload, where it has one."""
        return next((entry.until for entry in self.workloads if entry.name == workload), None)


_LIVE_AT = "_live_at"
"""An attribute that is not stored."""


def _moment_or_unknown(text: str) -> None:
    if text:
        json_head.moment(text)


class RunDocument(StoredStruct, kw_only=True, dict=True):
    """`run.json`."""

    checks = MappingProxyType({"run": json_head.component, "started": _moment_or_unknown, "ended": json_head.moment})

    # First what the index reads of thousands of runs: see `summary`.
    kind: Literal["run"] = "run"
    version: int = RUN.version
    run: Component
    """Identifier of the run."""
    state: RunState = "running"
    started: Moment
    """ISO 8601, UTC; empty: unknown, of an imported result."""
    ended: Moment | None = None
    target: str
    """As the plan names it: an absolute path or a URL."""
    target_kind: TargetKind = "directory"
    origin: Origin = field(default_factory=StudyOrigin)
    """Where the results come from."""
    study: StudyEntry
    cases: list[CaseEntry]
    """In the order in which they run, unless a search picks from them."""
    workspace: str | None = None
    """The engine's own directory or prefix on the target, recorded before the engine creates it."""
    shared_datasets: list[str] = field(default_factory=list)
    """Directories of datasets that several cases use and that go when the run ends."""
    ceilings: NetDocument | None = None
    """The rates between clients and servers that `ioassay net` measured."""
    launcher: str
    hosts: list[str] = field(default_factory=list)
    """The nodes that the launcher was given; empty: those of the allocation, else this one."""
    mpi_in_ranks: bool = False
    """The ranks' own processes spoke MPI, because their storage API does."""
    launcher_options: list[str] = field(default_factory=list)
    """More that the launcher was given."""
    recorded: bool = False
    """Each engine was recorded, into the logs of its case."""
    command: list[str]
    """The command line that started the run."""
    ioassay_version: str
    engine_version: str | None = None
    environment: list[Node] = field(default_factory=list)
    """Every node, as the engine describes it (protocol: Environment)."""
    leftovers: list[str] = field(default_factory=list)
    """Paths on the target that could not be removed."""

    @classmethod
    def model_validate_json(cls, content: str | bytes) -> Self:
        """The document in a text. Raises `ValueError`."""
        document = super().model_validate_json(content)
        document.environment = [checked_node(node) for node in document.environment]
        return document

    @property
    def workloads(self) -> list[str]:
        """The workloads that it has cases of, in the order of the study, in whatever order the cases run."""
        order = [entry.name for entry in self.study.workloads]
        return sorted(dict.fromkeys(case.workload for case in self.cases), key=order.index)

    @property
    def live_at(self) -> str | None:
        """When the run was read, if it was still running then; `None` of one that has ended."""
        moment: str | None = self.__dict__.get(_LIVE_AT)
        return moment

    def note_live(self, moment: str) -> None:
        """Note when the run was read while it was running. This is not stored."""
        self.__dict__[_LIVE_AT] = moment

    @property
    def stops_early(self) -> bool:
        """True if stop rules or searches may spare some of the cases."""
        return any(entry.stops_early for entry in self.study.workloads)

    @property
    def is_study(self) -> bool:
        """True if a study of ours was run: no command line of another tool, no results that were imported."""
        return isinstance(self.origin, StudyOrigin)

    @property
    def front_end(self) -> str | None:
        """The tool whose command line it was, where a front end of the engine ran it."""
        return self.origin.tool if isinstance(self.origin, FrontEndOrigin) else None

    @property
    def imported(self) -> ImportOrigin | None:
        """Where results of another tool were read; `None`: ioassay measured them."""
        return self.origin if isinstance(self.origin, ImportOrigin) else None

    @property
    def storage(self) -> str | None:
        """The storage system of a lab that the target is: `lab:NAME/STORAGE`."""
        return self.origin.storage if isinstance(self.origin, StudyOrigin) else None

    @property
    def clients(self) -> str | None:
        """Whose hosts were the clients: `lab:NAME`; `None`: processes on one node."""
        return self.origin.clients if isinstance(self.origin, StudyOrigin) else None

    @property
    def lab(self) -> LabEntry | None:
        """The lab of the target or the clients."""
        return self.origin.lab if isinstance(self.origin, StudyOrigin) else None

    @property
    def where(self) -> str:
        """The target as people call it."""
        return called(self.target, self.storage)


def contradiction(document: RunDocument) -> str | None:
    """Where a document that has the right shape does not fit together; `None` where it does."""
    workloads = _repeated(entry.name for entry in document.study.workloads)
    if workloads.again is not None:
        return f"the workload {workloads.again} is listed twice"
    cases = _repeated(case.id for case in document.cases)
    if cases.again is not None:
        return f"the case {cases.again} is listed twice"
    study = document.study
    named = [
        *(case.workload for case in document.cases),
        *(workload for figure in study.figures for workload in figure.workloads),
    ]
    named += [*(row.workload for row in study.summary), *(entry.workload for entry in study.surveys)]
    named += [criterion.of for criterion in study.acceptance if criterion.of != "all"]
    unknown = next((name for name in named if name not in workloads.names), None)
    if unknown is not None:
        return f"there is no workload {unknown}"
    axes = {entry.name: {axis.name: axis for axis in entry.axes} for entry in document.study.workloads}
    for case in document.cases:
        if problem := _misplaced(case, axes[case.workload]):
            return problem
        measured = _repeated(case.measured)
        if measured.again is not None:
            return f"the case {case.id} measures {' '.join(measured.again[1:])} twice"
    return None


def _misplaced(case: CaseEntry, axes: Mapping[str, Axis]) -> str | None:
    """The part of the case's point that its workload does not sweep."""
    for axis, value in case.point.items():
        if axis in PLACEMENT:
            continue
        if axis not in axes:
            return f"the case {case.id} has a value on the axis {axis}, which {case.workload} does not sweep"
        if isinstance(value, str) != (axes[axis].unit == "word"):
            return f"the case {case.id} has a value on the axis {axis} that is not in its unit"
    return None


class _Names(NamedTuple):
    names: frozenset[Any]
    again: Any
    """The first that is there twice."""


def _repeated(names: Iterable[Any]) -> _Names:
    seen: set[Any] = set()
    again = None
    for name in names:
        if name in seen and again is None:
            again = name
        seen.add(name)
    return _Names(frozenset(seen), again)
