"""How faithful the replays of a run were: compares the recorded application with the measured replay, class by class.

    operations, bytes   sums over the phases of the replay
    sizes               of transfers, as planned: the engine does them exactly
    order               of transfers, as planned; random transfers go forward as often as backward
    ranks               bytes of the ranks with the least and the most
    time line           bytes (of metadata: calls) in the samples, from the first I/O to the last
    duration            from the beginning of the first of these phases to the end of the last, with the pauses between

Both distances are those of `analysis.distances`; sizes are compared in the recorder's buckets. The preparation of
directories and files is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import polars as pl

from ioassay.analysis.distances import Spread, distance, spread
from ioassay.profiles.model import DIRECTIONS, Direction
from ioassay.protocol.record_layout import SIZE_BEGINS_BYTES
from ioassay.store.document import CaseEntry, Operation, RecordedClass, ReplaysEntry, TransferOrder
from ioassay.store.loaded import LoadedRun

_NAMES: tuple[Operation, ...] = ("open", "close", "sync", "stat", "create", "rename", "remove")

OPERATIONS: dict[Direction, tuple[Operation, ...]] = {"read": ("read",), "write": ("write",), "metadata": _NAMES}
"""Operations of a run by direction."""


class Order(NamedTuple):
    """Shares of transfers that began before, at and beyond the end of the previous one."""

    backward: float
    consecutive: float
    forward: float


@dataclass(frozen=True)
class ClassFaithfulness:
    """A direction of I/O in the record and in the replay."""

    direction: Direction
    recorded_operations: int
    operations: int
    recorded_bytes: int
    bytes: int
    size_distance: float | None
    timeline_distance: float | None
    recorded_order: Order | None
    """`None`: unknown, or no transfers."""
    order: Order | None
    recorded_rank_bytes: tuple[int, int] | None
    """Bytes of the ranks with the least and the most."""
    rank_bytes: tuple[int, int] | None

    @property
    def operations_ratio(self) -> float | None:
        """Replayed / recorded."""
        return self.operations / self.recorded_operations if self.recorded_operations else None

    @property
    def bytes_ratio(self) -> float | None:
        """Replayed / recorded."""
        return self.bytes / self.recorded_bytes if self.recorded_bytes else None

    @property
    def order_distance(self) -> float | None:
        """The largest difference of two cumulative shares, as for sizes."""
        if self.recorded_order is None or self.order is None:
            return None
        differences = accumulate(
            recorded - replayed for recorded, replayed in zip(self.recorded_order, self.order, strict=True)
        )
        return max(map(abs, differences))


@dataclass(frozen=True)
class Faithfulness:
    """How faithful the replay of a case was."""

    case: str
    classes: tuple[ClassFaithfulness, ...]
    recorded_ns: int
    duration_ns: int
    is_complete: bool
    """True if every phase completed its work."""

    @property
    def duration_ratio(self) -> float | None:
        """Replayed / recorded."""
        return self.duration_ns / self.recorded_ns if self.recorded_ns else None


def faithfulness(run: LoadedRun) -> list[Faithfulness]:
    """The faithfulness of each measured case; empty if the run replays no application."""
    replays = run.document.study.replays
    if replays is None:
        return []
    frame = run.measurements.filter(pl.col("phase").is_in(replays.phases))
    cases = {case.id: case for case in run.document.cases}
    return [_of_case(run, replays, cases[case], rows) for (case,), rows in frame.group_by("case", maintain_order=True)]


def _of_case(run: LoadedRun, replays: ReplaysEntry, case: CaseEntry, rows: pl.DataFrame) -> Faithfulness:
    begin: int = rows["started_unix_ns"].min()  # type: ignore[assignment]
    end: int = (rows["started_unix_ns"] + rows["duration_ns"]).max()  # type: ignore[assignment]
    samples = _samples(run, replays, case.id, rows)
    recorded = {direction: getattr(replays, direction) for direction in DIRECTIONS}
    span, replayed_span = _recorded_span(recorded.values()), _span(samples)
    classes = []
    for direction, recorded_class in recorded.items():
        frame = rows.filter(pl.col("operation").is_in(OPERATIONS[direction]))
        classes.append(
            ClassFaithfulness(
                direction,
                recorded_class.operations,
                int(frame["operations"].sum()),
                recorded_class.bytes,
                0 if direction == "metadata" else int(frame["bytes"].sum()),
                distance(_buckets(recorded_class.sizes), _buckets(_planned_sizes(case, replays, direction).items())),
                distance(_over_time(recorded_class, span), _replayed(samples, direction, replayed_span)),
                _shares([recorded_class.order] if recorded_class.order else []),
                _shares(_planned_orders(case, replays, direction)),
                (recorded_class.rank_bytes.least, recorded_class.rank_bytes.most)
                if recorded_class.rank_bytes
                else None,
                _rank_bytes(run, replays, case, direction),
            )
        )
    missing = set(replays.phases) - set(rows["phase"])
    is_complete = bool(rows["complete"].all()) and not missing
    return Faithfulness(case.id, tuple(classes), replays.duration_ns, end - begin, is_complete)


def _planned_sizes(case: CaseEntry, replays: ReplaysEntry, direction: Direction) -> Counter[int]:
    """Sizes of the transfers of a direction, with their number."""
    sizes = Counter[int]()
    for phase in case.phases:
        for job in phase.jobs if phase.name in replays.phases else ():
            for name in OPERATIONS[direction]:
                sizes.update(dict(job.sizes.get(name, [])))
    return sizes


def _planned_orders(case: CaseEntry, replays: ReplaysEntry, direction: Direction) -> list[TransferOrder]:
    jobs = (job for phase in case.phases if phase.name in replays.phases for job in phase.jobs)
    return [job.orders[name] for job in jobs for name in OPERATIONS[direction] if name in job.orders]


def _shares(orders: Sequence[TransferOrder]) -> Order | None:
    sums = [sum(getattr(order, name) for order in orders) for name in Order._fields]
    return Order(*(calls / sum(sums) for calls in sums)) if sum(sums) else None


def _rank_bytes(run: LoadedRun, replays: ReplaysEntry, case: CaseEntry, direction: Direction) -> tuple[int, int] | None:
    """Bytes of the ranks with the least and the most; `None` if the direction moves none."""
    rows = run.ranks.filter(
        pl.col("case") == case.id,
        pl.col("phase").is_in(replays.phases),
        pl.col("operation").is_in(OPERATIONS[direction]),
    )
    moved = rows.group_by("rank").agg(pl.col("bytes").sum())["bytes"].to_list()
    if direction == "metadata" or not any(moved):
        return None
    idle = case.clients * case.ranks_per_client > len(moved)
    return 0 if idle else min(moved), max(moved)


def _buckets(sizes: Iterable[tuple[int, int]]) -> Spread | None:
    """Sizes in the buckets of the recorder."""
    import numpy as np  # noqa: PLC0415

    begins = np.array(SIZE_BEGINS_BYTES, dtype=float)
    counts = np.zeros(len(begins))
    for size, calls in sizes:
        counts[np.searchsorted(begins, size, side="right") - 1] += calls
    return spread(begins, np.append(begins[1:], np.inf), counts)


def _recorded_span(recorded: Iterable[RecordedClass]) -> tuple[int, int] | None:
    """The first step with I/O, and the step after the last one."""
    used = [step for recorded_class in recorded for step, amount in enumerate(recorded_class.timeline) if amount]
    return (min(used), max(used) + 1) if used else None


def _over_time(recorded: RecordedClass, span: tuple[int, int] | None) -> Spread | None:
    import numpy as np  # noqa: PLC0415

    if span is None or not recorded.timeline:
        return None
    first, last = span
    bounds = (np.arange(len(recorded.timeline) + 1) - first) / (last - first)
    return spread(bounds[:-1], bounds[1:], recorded.timeline)


def _samples(run: LoadedRun, replays: ReplaysEntry, case: str, rows: pl.DataFrame) -> pl.DataFrame:
    """begin_ns, end_ns, operation, bytes, operations of each sample of the replay."""
    key = ["phase", "operation"]
    phases = rows.select(*key, "started_unix_ns", "duration_ns", "sample_interval_ns").unique(key)
    done = (
        run.samples.filter(pl.col("case") == case, pl.col("phase").is_in(replays.phases))
        .group_by(*key, "sample")
        .agg(pl.col("bytes", "operations").sum())
        .collect()
    )
    begins = pl.col("started_unix_ns") + pl.col("sample") * pl.col("sample_interval_ns")
    ends = pl.min_horizontal(begins + pl.col("sample_interval_ns"), pl.col("started_unix_ns") + pl.col("duration_ns"))
    return done.join(phases, on=key).select(
        begin_ns=begins, end_ns=pl.max_horizontal(ends, begins + 1), operation="operation", bytes="bytes",
        operations="operations",
    )  # fmt: skip


def _span(samples: pl.DataFrame) -> tuple[int, int] | None:
    used = samples.filter(pl.col("operations") > 0)
    bounds = used.select(pl.col("begin_ns").min(), pl.col("end_ns").max()).row(0)
    return None if bounds[0] is None else bounds


def _replayed(samples: pl.DataFrame, direction: Direction, span: tuple[int, int] | None) -> Spread | None:
    if span is None:
        return None
    rows = samples.filter(pl.col("operation").is_in(OPERATIONS[direction]))
    first, length = span[0], span[1] - span[0]
    return spread(
        ((rows["begin_ns"] - first) / length).to_numpy(),
        ((rows["end_ns"] - first) / length).to_numpy(),
        rows["operations" if direction == "metadata" else "bytes"].to_numpy(),
    )
