"""Phases of I/O: bursts on the time line, separated by pauses; bytes and metadata have separate phases.

A step is busy if it has more than `LEAST` of the busiest step's bytes, or metadata operations. Busy steps with pauses
shorter than `QUIET_STEPS` steps, or than `QUIET_SHARE` of the whole time, are one phase.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import polars as pl

from ioassay.analysis.profile.totals import known_sum
from ioassay.profiles.model import METADATA, OF_OPERATION, Direction, Profile

LEAST = 0.02
QUIET_STEPS = 2
QUIET_SHARE = 0.01

REGULAR = 0.2
"""Phases recur regularly if the times between their begins differ from the median by less than this share."""

FEWEST = 3
"""The fewest phases that can be regular."""


@dataclass(frozen=True)
class Phase:
    """A burst of I/O, with all I/O during it."""

    direction: Direction
    """Its main direction."""
    start_s: float
    end_s: float
    read_bytes: float
    written_bytes: float
    metadata_calls: float | None
    """`None`: the source does not know the times of metadata calls."""
    mapped_bytes: int = 0
    """The most that maps of files may have moved during it; 0 for phases of metadata."""
    is_mapped: bool = False
    """True if only maps may have moved bytes: the times are unknown, so the phase begins and ends with the maps."""

    @property
    def duration_s(self) -> float:
        """Its length, to a step of the time line."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class _Burst:
    """A phase, and the time in its calls with and without bytes."""

    phase: Phase
    moving_ns: float
    metadata_ns: float


def by_direction(profile: Profile) -> pl.DataFrame:
    """The time line by direction: start_s, direction, calls, bytes, duration_ns (null: unknown); steps without calls
    have no row.
    """
    return (
        profile.timeline.with_columns(OF_OPERATION)
        .drop_nulls("direction")
        .group_by("start_s", "direction")
        .agg(map(known_sum, ("calls", "bytes", "duration_ns")))
        .sort("start_s", "direction")
    )


def phases(profile: Profile) -> list[Phase]:
    """The phases by begin. No two have the same times: a burst of both bytes and metadata belongs to the one that takes
    more time in calls.
    """
    moves = pl.col("direction") != "metadata"
    wide = (
        by_direction(profile)
        .group_by("start_s")
        .agg(
            read_bytes=pl.col("bytes").filter(pl.col("direction") == "read").sum(),
            written_bytes=pl.col("bytes").filter(pl.col("direction") == "write").sum(),
            metadata_calls=pl.col("calls").filter(~moves).sum(),
            moving_ns=pl.col("duration_ns").filter(moves).sum(),
            metadata_ns=pl.col("duration_ns").filter(~moves).sum(),
        )
        .sort("start_s")
    )
    phases_by_span: dict[tuple[float, float], Phase] = {}
    for burst in _bursts(profile, wide, pl.col("read_bytes") + pl.col("written_bytes")):
        direction: Direction = "read" if burst.phase.read_bytes > burst.phase.written_bytes else "write"
        phases_by_span[burst.phase.start_s, burst.phase.end_s] = replace(burst.phase, direction=direction)
    for burst in _bursts(profile, wide, pl.col("metadata_calls")):
        if (
            span := (burst.phase.start_s, burst.phase.end_s)
        ) not in phases_by_span or burst.metadata_ns > burst.moving_ns:
            phases_by_span[span] = burst.phase
    every = (
        phases_by_span.values()
        if _knows_metadata(profile)
        else [replace(phase, metadata_calls=None) for phase in phases_by_span.values()]
    )
    return sorted(every, key=lambda phase: (phase.start_s, phase.direction))


_Span = tuple[float, float]
"""Begin and end, in seconds."""


def with_maps(profile: Profile, known_phases: Sequence[Phase], bounds: pl.DataFrame) -> list[Phase]:
    """The phases with the most bytes that maps (`maps.BOUNDS`) may have moved in each; and additional phases for times
    in which a file was mapped and no call moved bytes. Next to another phase, these must be longer than the pause
    between phases.
    """
    if bounds.is_empty():
        return sorted(known_phases, key=lambda phase: (phase.start_s, phase.direction))
    mapped = bounds.select(
        start="first_map_s",
        end=pl.col("last_unmap_s").fill_null(profile.end_s),
        most=pl.max_horizontal("read_most_bytes", "written_most_bytes"),
        writes=pl.col("written_most_bytes") > 0,
    ).filter(pl.col("most") > 0)
    quiet_s = _quiet_s(profile)
    calls = [(phase.start_s, phase.end_s) for phase in known_phases if phase.direction != "metadata"]
    writes, reads = (
        _joined(mapped.filter(condition).select("start", "end").rows(), quiet_s)
        for condition in (pl.col("writes"), ~pl.col("writes"))
    )
    alone: list[tuple[Direction, _Span]] = [("write", span) for span in _without(writes, calls)]
    alone += [("read", span) for span in _without(reads, [*calls, *writes])]
    every = list(known_phases)
    for direction, (start_s, end_s) in alone:
        is_beside = any(start - quiet_s < end_s and start_s < end + quiet_s for start, end in calls)
        if end_s - start_s > quiet_s or not is_beside:
            every.append(Phase(direction, start_s, end_s, 0, 0, None, is_mapped=True))
    moved = [phase if phase.direction == "metadata" else _with_mapped(phase, mapped) for phase in every]
    return sorted(moved, key=lambda phase: (phase.start_s, phase.direction))


def _with_mapped(phase: Phase, mapped: pl.DataFrame) -> Phase:
    meanwhile = mapped.filter(pl.col("start") < phase.end_s, pl.col("end") >= phase.start_s)
    return replace(phase, mapped_bytes=int(meanwhile["most"].sum()))


def _joined(spans: Sequence[_Span], quiet_s: float) -> list[_Span]:
    """The union of the spans; those with pauses of at most `quiet_s` are joined."""
    joined: list[_Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + quiet_s:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _without(spans: Sequence[_Span], others: Sequence[_Span]) -> Iterator[_Span]:
    """The spans, which do not overlap, without the times of others."""
    taken = _joined(others, 0)
    for start, end in spans:
        left = start
        for other_start, other_end in taken:
            if other_start < end and left < other_end:
                if left < other_start:
                    yield left, other_start
                left = other_end
        if left < end:
            yield left, end


def _quiet_s(profile: Profile) -> float:
    """The pause that ends a phase."""
    return max(QUIET_STEPS * profile.timeline_step_s, QUIET_SHARE * profile.duration_s)


def _knows_metadata(profile: Profile) -> bool:
    """False if metadata calls are missing in the time line."""
    is_metadata = pl.col("operation").is_in(METADATA)
    made, timed = profile.process_operations.filter(is_metadata), profile.timeline.filter(is_metadata)
    return made.is_empty() or not timed.is_empty()


def _bursts(profile: Profile, wide: pl.DataFrame, amount: pl.Expr) -> list[_Burst]:
    """Each burst of an amount."""
    used = wide.filter((amount > 0) & (amount >= LEAST * amount.max()))
    if used.is_empty():
        return []
    begins = pl.col("start_s").diff().fill_null(math.inf) > profile.timeline_step_s + _quiet_s(profile)
    rows = (
        used.with_columns(burst=begins.cum_sum())
        .group_by("burst", maintain_order=True)
        .agg(
            pl.col("start_s").min(),
            (pl.col("start_s").max() + profile.timeline_step_s).alias("end_s"),
            *(pl.col(name).sum() for name in wide.columns[1:]),
        )
        .drop("burst")
        .iter_rows()
    )
    return [_Burst(Phase("metadata", *amounts), moving, metadata) for *amounts, moving, metadata in rows]


def period_s(all_phases: Sequence[Phase], direction: Direction) -> float | None:
    """The time from one phase of a direction to the next, if they recur regularly."""
    begins = [phase.start_s for phase in all_phases if phase.direction == direction]
    if len(begins) < FEWEST:
        return None
    gaps = [after - before for before, after in pairwise(begins)]
    usual = median(gaps)
    return usual if all(abs(gap - usual) <= REGULAR * usual for gap in gaps) else None
