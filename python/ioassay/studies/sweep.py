"""The arithmetic of a sweep: what each rank gets, and which sweeps cannot be.

Everything that a study could ask for and no machine could do is refused here, before any case is made, with the
nearest thing that could be done.

Not here: what this machine or target could do; the engine tells that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ioassay.studies.model import Step, Study, Workload
from ioassay.studies.source import Origin, Problem, nearest
from ioassay.units import format_bytes

MOST_RANKS = 1 << 20
LARGEST_BYTES = 2**63 - 1
"""The largest file offset of the system calls, and the largest integer of the result tables."""
MOST_CASES = 10_000

Locate = Callable[..., Origin]
"""Where the value at a path of keys was written."""


def ranks(workload: Workload, clients: int) -> int:
    """Processes that do I/O in a case."""
    return clients * workload.ranks_per_client


def file_set_bytes(workload: Workload, clients: int) -> int:
    """Size of all files of a case."""
    if workload.total is not None:
        return workload.total
    assert workload.per_client is not None  # the model demands one of the two
    return workload.per_client * clients


def block_bytes(workload: Workload, clients: int) -> int:
    """IOR's block: contiguous bytes of one rank in a segment."""
    return file_set_bytes(workload, clients) // (ranks(workload, clients) * workload.segments)


def written_bytes(workload: Workload, clients: int) -> int:
    """What all write phases of a case write together."""
    return file_set_bytes(workload, clients) * sum(step.operation == "write" for step in workload.steps)


def order_of(workload: Workload, step: Step) -> str:
    """The order of a phase's transfers: its own, or the workload's."""
    return (step.phase and step.phase.order) or workload.order


def fsync_of(step: Step) -> str:
    """When a phase forces its data to stable storage."""
    return (step.phase and step.phase.fsync) or ("at-end" if step.write else "never")


def name_of(step: Step) -> str:
    """The name of a phase."""
    return (step.phase and step.phase.name) or str(step.operation)


def check(study: Study, at: Locate) -> list[Problem]:
    """Every reason why the study's sweep cannot be."""
    problems = list(_references(study, at))
    for name, workload in study.workloads.items():
        problems += _sizes(name, workload, at)
        problems += _steps(name, workload, at)
    cases = sum(len(workload.clients) * workload.repetitions for workload in study.workloads.values())
    if cases > MOST_CASES:
        wrong = f"the sweep has {cases} cases"
        problems.append(
            at("repetitions").problem(wrong, f"take fewer clients or repetitions: at most {MOST_CASES} cases")
        )
    return problems


def _sizes(name: str, workload: Workload, at: Locate) -> Iterator[Problem]:
    most = max(workload.clients)
    if ranks(workload, most) > MOST_RANKS:
        wrong = f"{most} clients with {workload.ranks_per_client} ranks each"
        yield at("workloads", name, "clients").problem(wrong, f"take at most {MOST_RANKS} ranks in all")
        return
    key = "total" if workload.total is not None else "per_client"
    origin = at("workloads", name, key)
    size, rank_share = (
        (workload.total, workload.ranks_per_client * math.lcm(*workload.clients))
        if workload.total is not None
        else (workload.per_client or 0, workload.ranks_per_client)
    )
    if size % (whole := workload.transfer * workload.segments * rank_share):
        yield origin.problem(_undivided(name, workload, size), f"write {_nearest_sizes(size, whole)}")
        return
    largest = max(file_set_bytes(workload, most), written_bytes(workload, most))
    if largest > LARGEST_BYTES:
        wrong = f"`{name}` writes {largest} bytes with {most} clients"
        yield origin.problem(wrong, f"stay at or below {LARGEST_BYTES} bytes in a case")


def _undivided(name: str, workload: Workload, size: int) -> str:
    """Says where `size` leaves a rest: in the first case of the sweep that does."""
    transfer = format_bytes(workload.transfer)
    if size % workload.transfer:
        return f"{format_bytes(size)} of `{name}` is not a multiple of its transfer of {transfer}"
    shares = (ranks(workload, clients) for clients in workload.clients)
    sharers = workload.ranks_per_client
    if workload.total is not None:
        sharers = next(share for share in shares if size % (share * workload.segments * workload.transfer))
    among = f"{sharers} ranks" + (f" and {workload.segments} segments" if workload.segments > 1 else "")
    return f"{format_bytes(size)} of `{name}` cannot be divided among {among} in whole transfers of {transfer}"


def _nearest_sizes(size: int, whole: int) -> str:
    below = size // whole * whole
    sizes = [near for near in (below, below + whole) if 0 < near <= LARGEST_BYTES]
    if not sizes:
        return f"other clients: for these the smallest size would be {whole} bytes"
    return " or ".join(format_bytes(size).replace(" ", "") for size in sizes)


def _steps(name: str, workload: Workload, at: Locate) -> Iterator[Problem]:
    names: set[str] = set()
    filled = False
    for index, step in enumerate(workload.steps):
        if step.phase is None:
            continue
        origin = at("workloads", name, "steps", index)
        if name_of(step) in names:
            wrong = f"two phases of `{name}` are called `{name_of(step)}`"
            yield origin.problem(wrong, "give each a `name:` of its own")
        names.add(name_of(step))
        # A write with replacement leaves holes, which are read from nowhere.
        filled = filled or (step.operation == "write" and order_of(workload, step) != "random-with-replacement")
        if step.operation == "read" and not filled:
            wrong = f"`{name}` reads what no step before has written in full"
            yield origin.problem(wrong, "put `- write` before it, with `order: sequential` or `random`")
    if not names:
        wrong = f"`{name}` has no phase, so nothing is measured"
        yield at("workloads", name, "steps").problem(wrong, "add `- write`")


def _references(study: Study, at: Locate) -> Iterator[Problem]:
    """Workloads that figures, rows and criteria name must be there and do what is asked of them."""
    if "all" in study.workloads:
        yield at("workloads", "all").problem("no workload can be called `all`", "`of: all` means every workload")
    for index, figure in enumerate(study.figures):
        for place, name in enumerate(figure.workloads):
            yield from _reference(study, name, figure.operation, at("figures", index, "workloads", place))
    for index, row in enumerate(study.summary):
        yield from _reference(study, row.workload, None, at("summary", index, "workload"))
    for index, criterion in enumerate(study.acceptance):
        if criterion.of != "all":
            operation = None if criterion.operation == "all" else criterion.operation
            yield from _reference(study, criterion.of, operation, at("acceptance", index, "of"))


def _reference(study: Study, name: str, operation: str | None, origin: Origin) -> Iterator[Problem]:
    workload = study.workloads.get(name)
    if workload is None:
        yield origin.problem(f"there is no workload `{name}`", nearest(name, study.workloads))
    elif operation and all(step.operation != operation for step in workload.steps):
        yield origin.problem(f"`{name}` has no {operation} phase", f"add `- {operation}` to its steps")
