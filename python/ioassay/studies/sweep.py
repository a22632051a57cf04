"""The arithmetic of a sweep: its points, what each rank gets, and which sweeps cannot be.

Refused here is what no plan could say, because it has only what follows: a size that leaves a rest, shares of the ranks
that are no ranks, names that are not there. What the steps need of one another is in `studies.check_steps`.

Not here: what a plan says and no engine, machine or target could do; the engine tells that, and `studies.refusals` says
it with the line of the study.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product

from ioassay.protocol.facts import LARGEST_CASE_BYTES
from ioassay.store.point import CLIENTS, GROUPS, RANKS_PER_CLIENT
from ioassay.studies.checkpoint import OnCheckpoint
from ioassay.studies.files import FileSet, Tree
from ioassay.studies.model import OF_TRAINING, Criterion, Study, Workload
from ioassay.studies.shorthand import DATA
from ioassay.studies.steps import ON_FILES, ON_TREES, Work
from ioassay.studies.storage import Storage
from ioassay.text.units import format_bytes, format_count
from ioassay.yaml_models.source import Origin, Problem, nearest

RANKS = "ranks"
"""What a figure calls the number of processes that do a job, on all clients together."""
MOST_CASES = 10_000

Locate = Callable[..., Origin]
"""Where the value at a path of keys was written."""


Values = tuple[tuple[str, int | str], ...]
"""Values of axes, by name."""


@dataclass(frozen=True)
class Point:
    """A point of a workload's sweep. Points are equal where their axes have equal values."""

    clients: int
    ranks_per_client: int
    groups: int | None
    """Of the file set that sweeps them; `None` where none does."""
    others: Values
    """The axes of the workload's `sweep`, in base units."""
    workload: Workload = field(compare=False)
    """With the values that it has at this point."""

    @property
    def values(self) -> dict[str, int | str]:
        """All axes: `run.json` has a case's point as this."""
        groups = {} if self.groups is None else {GROUPS: self.groups}
        return {CLIENTS: self.clients, RANKS_PER_CLIENT: self.ranks_per_client, **groups, **dict(self.others)}

    @property
    def ranks(self) -> int:
        """Processes that do I/O."""
        return self.clients * self.ranks_per_client


@dataclass(frozen=True)
class RankRange:
    """Consecutive ranks."""

    first: int
    count: int


@dataclass(frozen=True)
class Placed:
    """A file set in a case: all that follows from its sizes and its ranks."""

    name: str
    files_of: FileSet
    ranks: RankRange
    groups: int
    """Groups of ranks that share files; as many as ranks where each has its own."""
    bytes: int
    """Of all its files together, without the shift at their beginning."""

    @property
    def files(self) -> int:
        """How many files it has: its objects."""
        return self.groups * self.files_of.files_per_rank

    @property
    def part_bytes(self) -> int:
        """What each rank has in all its files."""
        return self.bytes // self.ranks.count

    @property
    def _in_a_file(self) -> int:
        return self.part_bytes // self.files_of.files_per_rank

    @property
    def segments(self) -> int:
        """Repetitions of the block."""
        return self._in_a_file // self.files_of.transfer if self._strided else self.files_of.segments

    @property
    def block_bytes(self) -> int:
        """IOR's block: contiguous bytes of one rank in a segment."""
        return self.files_of.transfer if self._strided else self._in_a_file // self.files_of.segments

    @property
    def _strided(self) -> bool:
        return self.files_of.interleave == "strided"


def ordered(variants: Iterable[tuple[Values, Workload]]) -> list[Point]:
    """The points of a workload that sweeps other keys as well, in the order in which they run: clients outermost."""
    all_points = [point for values, workload in variants for point in points(workload, values)]
    return sorted(all_points, key=lambda point: (point.clients, point.ranks_per_client, point.groups or 0))


def points(workload: Workload, others: Values = ()) -> list[Point]:
    """The points of a workload: clients outermost. Left out are those whose ranks do not divide into their groups."""
    swept = _swept(workload)
    counts: list[int | None] = [*(workload.files[swept].groups or [])] if swept else [None]
    variant_points = [
        Point(*placement, others, workload)
        for placement in product(workload.clients, workload.ranks_per_client, counts)
    ]
    if swept is None:
        return variant_points
    share = workload.files[swept].ranks or Fraction(1)
    return [point for point in variant_points if point.groups and (point.ranks * share) % point.groups == 0]


def _swept(workload: Workload) -> str | None:
    """The file set whose groups are swept."""
    return next((name for name, files in workload.files.items() if len(files.groups or []) > 1), None)


def rank_ranges(point: Point) -> dict[str, RankRange]:
    """The ranks of each file set and tree: shares one after the other, all ranks where none is given."""
    ranges, first = {}, 0
    for name, part in _parts(point.workload):
        count = int(point.ranks * part.ranks) if part.ranks else point.ranks
        ranges[name] = RankRange(first if part.ranks else 0, count)
        first += count if part.ranks else 0
    return ranges


def _parts(workload: Workload) -> Iterator[tuple[str, FileSet | Tree]]:
    yield from workload.files.items()
    yield from workload.trees.items()


def placed(point: Point) -> dict[str, Placed]:
    """The file sets of a case."""
    ranges = rank_ranges(point)
    return {name: _placed(name, files, ranges[name], point) for name, files in point.workload.files.items()}


def _placed(name: str, files: FileSet, ranks: RankRange, point: Point) -> Placed:
    groups = ranks.count
    if files.layout == "N-1":
        groups = 1
    elif files.groups:
        groups = files.groups[0] if len(files.groups) == 1 else point.groups or 1
    size = {
        "total": files.size,
        "per_client": int(files.size * point.clients * (files.ranks or 1)),
        "per_rank": files.size * ranks.count,
        "per_file": files.size * groups * files.files_per_rank,
    }[files.size_key]
    return Placed(name, files, ranks, groups, size)


def works_on(workload: Workload, work: Work) -> str | None:
    """The name of the file set or tree that a job works on; `None` for a walk, or where none is given."""
    phase = work.phase
    if phase is None:
        return None
    if named := phase.files or phase.tree:
        return named
    known = fitting(workload, work)
    return known[0] if len(known) == 1 else None


def fitting(workload: Workload, work: Work) -> list[str]:
    """The file sets and trees that a job could work on."""
    files = workload.files if work.verb in ON_FILES else {}
    trees = workload.trees if work.verb in ON_TREES else {}
    return [*files, *trees]


def order_of(workload: Workload, work: Work) -> str:
    """The order of a phase's transfers or items: its own, or the file set's."""
    phase = work.phase
    if phase is None:
        return "sequential"
    files = workload.files.get(works_on(workload, work) or "")
    return phase.order or (files.order if files else "sequential")


def fsync_of(workload: Workload, work: Work) -> str:
    """When a phase forces its data to stable storage."""
    if work.phase is None:
        return "never"
    on_files = works_on(workload, work) in workload.files
    return work.phase.fsync or ("at-close" if on_files and work.verb in ("write", "mixed") else "never")


def storage_of(workload: Workload, work: Work) -> Storage:
    """How a job does its I/O: as its step says, or as the workload says for all."""
    return work.phase.storage if work.phase and work.phase.storage else workload.storage


def settles(workload: Workload, work: Work) -> bool:
    """A job waits for what was written before it: as its step says, where it writes a file set directly, trains, or
    works on a checkpoint.
    """
    if work.phase is None:
        return work.train is not None or isinstance(work.body, OnCheckpoint)
    on_files = works_on(workload, work) in workload.files
    writes = on_files and work.verb in ("write", "mixed") and storage_of(workload, work).direct
    return writes if work.phase.settle is None else work.phase.settle


def jobs(workload: Workload) -> Iterator[tuple[int, str, Work]]:
    """Every job of the workload: index of its step, name, work."""
    for index, step in enumerate(workload.steps):
        for name, work in step.jobs():
            yield index, name, work


def check(study: Study, origin_of: Locate) -> list[Problem]:
    """Every reason why the study as a whole cannot be, whatever values its workloads' `sweep` has."""
    problems = list(_references(study, origin_of))
    if study.case_order == "interleaved" and all(
        workload.repetitions.most == 1 for workload in study.workloads.values()
    ):
        wrong = "nothing is repeated, so no sweep runs in reverse"
        problems.append(origin_of("case_order").problem(wrong, "use `repetitions: 2` or more"))
    return problems


def check_points(study: Study, points: Mapping[str, Sequence[Point]], origin_of: Locate) -> Iterator[Problem]:
    """Why all points of the study together are too many, or not what its figures ask for."""
    cases = sum(len(points[name]) * workload.repetitions.most for name, workload in study.workloads.items())
    if cases > MOST_CASES:
        wrong = f"the sweep has {cases} cases"
        yield origin_of("repetitions").problem(wrong, f"use fewer points or repetitions: at most {MOST_CASES} cases")
    for index, figure in enumerate(study.figures):
        for name in figure.workloads:
            known = [CLIENTS, RANKS, *(axis for axis, _ in points[name][0].others)]
            if figure.against is not None and figure.against not in known:
                wrong = f"`{name}` does not sweep `{figure.against}`"
                yield origin_of("figures", index, "against").problem(wrong, nearest(figure.against, known))


def check_workload(name: str, workload: Workload, origin_of: Locate) -> Iterator[Problem]:
    """Every reason why the sizes of a workload cannot be divided at its points; its other keys have one value each."""
    if problems := [*_shares(name, workload, origin_of)]:
        yield from problems
        return
    all_points = points(workload)
    if not all_points:
        wrong = f"at no point of `{name}` can the ranks be split into equal groups"
        yield origin_of("workloads", name, "files", _swept(workload), "groups").problem(
            wrong, "use a number of groups that divides the ranks"
        )
        return
    for label, files in workload.files.items():
        shown = name if label == DATA and len(workload.files) == 1 else f"{name}.{label}"

        def inside(*key: str | int, label: str = label) -> Origin:
            return origin_of("workloads", name, "files", label, *key)

        yield from _file_set(shown, workload, files, inside)


def _shares(name: str, workload: Workload, origin_of: Locate) -> Iterator[Problem]:
    """Shares of the ranks must be whole ranks in every case, and not more than there are."""
    shares = [(label, part.ranks) for label, part in _parts(workload) if part.ranks]
    if sum((share for _, share in shares), Fraction(0)) > 1:
        wrong = f"the shares of `{name}` add up to more than all ranks"
        yield origin_of("workloads", name).problem(
            wrong, "use shares of file sets and trees that add up to at most 1/1"
        )
        return
    whole = math.lcm(1, *(share.denominator for _, share in shares))
    for clients, per_client in product(workload.clients, workload.ranks_per_client):
        if clients * per_client % whole:
            wrong = f"{format_count(clients * per_client, 'rank')} cannot be split into parts of 1/{whole}"
            yield origin_of("workloads", name, "ranks_per_client").problem(wrong, f"use a multiple of {whole} ranks")
            return


def _file_set(shown: str, workload: Workload, files: FileSet, origin_of: Locate) -> Iterator[Problem]:
    share = files.ranks or Fraction(1)
    placements = [_placed("", files, RankRange(0, int(point.ranks * share)), point) for point in points(workload)]
    if any(placement.ranks.count % placement.groups for placement in placements):
        return  # the engine refuses groups that are not equal, and no size could be divided among them
    sharers = _sharers(workload, files, placements)
    unit = files.transfer * files.segments * (1 if files.size_key == "per_file" else files.files_per_rank)
    whole = unit * math.lcm(*sharers)
    if files.size % whole:
        wrong = _undivided(shown, files, unit, sharers)
        yield origin_of(files.size_key).problem(wrong, _sizes_to_use(files.size, whole))


def _sharers(workload: Workload, files: FileSet, every: list[Placed]) -> list[int]:
    """Among how many ranks the size is divided, in each case of the sweep."""
    match files.size_key:
        case "per_client":
            return workload.ranks_per_client
        case "per_rank":
            return [1]
        case "per_file":
            return [placement.ranks.count // placement.groups for placement in every]
        case _:
            return [placement.ranks.count for placement in every]


def _undivided(name: str, files: FileSet, unit: int, sharers: list[int]) -> str:
    """Says where the size leaves a rest: in the first case of the sweep that does."""
    transfer = format_bytes(files.transfer)
    if files.size % files.transfer:
        return f"{format_bytes(files.size)} of `{name}` is not a multiple of its transfer of {transfer}"
    among = format_count(next(ranks for ranks in sharers if files.size % (ranks * unit)), "rank")
    among += f" and {files.segments} segments" if files.segments > 1 else ""
    if files.files_per_rank > 1 and files.size_key != "per_file":
        among += f" with {files.files_per_rank} files each"
    return f"{format_bytes(files.size)} of `{name}` cannot be divided among {among} in whole transfers of {transfer}"


def _sizes_to_use(size: int, whole: int) -> str:
    """The remedy: the nearest multiples of `whole` bytes."""
    below = size // whole * whole
    sizes = [near for near in (below, below + whole) if 0 < near <= LARGEST_CASE_BYTES]
    if not sizes:
        return f"use other numbers of clients: the smallest size for these is {whole} bytes"
    return f"use {' or '.join(format_bytes(size).replace(' ', '') for size in sizes)}"


def _references(study: Study, origin_of: Locate) -> Iterator[Problem]:
    """Workloads that figures, rows and criteria name must be there and do what is asked of them."""
    if "all" in study.workloads:
        yield origin_of("workloads", "all").problem(
            "a workload cannot be called `all`", "use another name: `of: all` means every workload"
        )
    for index, figure in enumerate(study.figures):
        for place, name in enumerate(figure.workloads):
            origin = origin_of("figures", index, "workloads", place)
            yield from _reference(study, name, figure.operation, origin, figure.phase)
    for index, row in enumerate(study.summary):
        yield from _reference(study, row.workload, None, origin_of("summary", index, "workload"))
    for index, survey in enumerate(study.surveys):
        yield from _reference(study, survey.workload, None, origin_of("surveys", index, "workload"))
    for index, criterion in enumerate(study.acceptance):
        yield from _criterion(study, criterion, partial(origin_of, "acceptance", index))
    known = {step.name for workload in study.workloads.values() for step in workload.steps if step.replay}
    for index, phase in enumerate(study.replays.phases if study.replays else []):
        if phase not in known:
            wrong = f"no workload has a step `replay` called `{phase}`"
            yield origin_of("replays", "phases", index).problem(wrong, nearest(phase, filter(None, known)))


def _criterion(study: Study, criterion: Criterion, origin_of: Locate) -> Iterator[Problem]:
    """What it is about must be in its workload, or where it is about all, in one of them."""
    operation = None if criterion.operation == "all" else criterion.operation
    if criterion.measure in OF_TRAINING:
        yield from _of_training(study, criterion, origin_of)
    if criterion.of != "all" and (criterion.phase is None or criterion.of not in study.workloads):
        yield from _reference(study, criterion.of, operation, origin_of("of"))
    if criterion.phase is None or criterion.of not in ("all", *study.workloads):
        return
    workloads = [workload for name, workload in study.workloads.items() if criterion.of in ("all", name)]
    phases: dict[str, set[str]] = {}
    for step in (step for workload in workloads for step in workload.steps if step.name):
        phases.setdefault(str(step.name), set()).update(*(work.operations for _, work in step.jobs()))
    where = "no workload" if criterion.of == "all" else f"`{criterion.of}`"
    if criterion.phase not in phases:
        has = "has a phase" if criterion.of == "all" else "has no phase"
        yield origin_of("phase").problem(f"{where} {has} `{criterion.phase}`", nearest(criterion.phase, phases))
    elif operation and operation not in (done := phases[criterion.phase]):
        yield origin_of("operation").problem(
            f"the phase `{criterion.phase}` has no {operation}", nearest(operation, sorted(done))
        )


def _of_training(study: Study, criterion: Criterion, origin_of: Locate) -> Iterator[Problem]:
    """A measure of training must be of workloads that train, and of a search not that which its points miss."""
    workloads = {name: workload for name, workload in study.workloads.items() if criterion.of in ("all", name)}
    trained = {
        name: workload
        for name, workload in workloads.items()
        if any(work.train is not None for _, _, work in jobs(workload))
    }
    searched = [name for name, workload in trained.items() if workload.search != "none"]
    if workloads and not trained:
        wrong = f"`{criterion.measure}` is of training, and `{min(workloads)}` trains nothing"
        yield origin_of("measure").problem(wrong, "use another measure, such as `rate`, or add `- train`")
    elif criterion.measure == "utilisation" and searched:
        wrong = f"the search of `{searched[0]}` also measures accelerators that miss any `utilisation`"
        yield origin_of("measure").problem(wrong, "use `measure: accelerators, at_least: 4`")
    elif criterion.measure == "accelerators" and all(
        len(workload.clients) * len(workload.ranks_per_client) == 1 for workload in trained.values()
    ):
        wrong = "one number of accelerators does not show how many are fed"
        yield origin_of("measure").problem(wrong, "list several `ranks_per_client`, or use `measure: utilisation`")


def _reference(
    study: Study, name: str, operation: str | None, origin: Origin, phase: str | None = None
) -> Iterator[Problem]:
    workload = study.workloads.get(name)
    if workload is None:
        yield origin.problem(f"there is no workload `{name}`", nearest(name, study.workloads))
        return
    phases = {step.name: step for step in workload.steps if step.name}
    if phase is not None and phase not in phases:
        yield origin.problem(f"`{name}` has no phase `{phase}`", nearest(phase, [*phases]))
    elif operation and all(operation not in work.operations for _, _, work in jobs(workload)):
        yield origin.problem(f"`{name}` has no {operation} phase", f"add `- {operation}` to its steps")
