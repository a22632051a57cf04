"""How one profile differs from another, class by class: what a change did, or how faithful a replay was.

Pure functions of two profiles, the reference first:

    ratio               other / reference: 1 where both did equally much
    timeline_distance   how unlike bytes (of metadata: calls) are spread over the time of I/O: 0 to 1
    span                from the first I/O to the last; the ratio of two spans is what `timeline_distance` leaves out
    compare             all of them and how unlike the sizes of transfers are, of each direction and of each operation

Both distances, 0 identical to 1 disjoint, are the largest difference of two cumulative shares, as far as buckets of
sizes and steps of time allow (`analysis.distances`). A class that either source does not count, or of which it does not
know the sizes or times, has no distance and no ratio (`None`): what is unknown is never a difference.

Calls, bytes and sizes are those on storage. Times of operations that move no bytes, latencies and the time line are of
whatever the calls were on, as sources have them. Not: words (`ioassay.reports.profile.comparison`), files
(`file_changes`), findings (`finding_changes`), what was unlike (`condition_differences`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ioassay.analysis import latency
from ioassay.analysis.distances import Spread, cumulative_shares, distance, spread
from ioassay.analysis.profile import totals
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.profiles.model import DIRECTION, DIRECTIONS, METADATA, Direction, Profile
from ioassay.protocol.record_layout import OPERATIONS

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9}
"""Of sizes, by name."""

_DIGITS = 9
"""Of shares of time: steps that begin together must not differ by a rounding error."""


class SizeRange(NamedTuple):
    """A size, as far as a source knows it: at least `begin_bytes`, less than `end_bytes` (`None`: without an end)."""

    begin_bytes: int
    end_bytes: int | None

    @property
    def exact_bytes(self) -> int | None:
        """The size, where it is known exactly."""
        return self.begin_bytes if self.end_bytes == self.begin_bytes + 1 else None


@dataclass(frozen=True)
class Amounts:
    """How much a profile has of a class. `None`: its source does not say."""

    calls: int | None = None
    bytes: int | None = None
    spent_ns: int | None = None
    """Added over processes."""
    p50_ns: int | None = None
    p99_ns: int | None = None
    slowest_ns: int | None = None
    sizes: dict[str, SizeRange] = field(default_factory=dict)
    """By the names of `QUANTILES`; empty: unknown, or it moved nothing."""

    @property
    def bytes_per_call(self) -> float | None:
        """The mean size."""
        return None if self.bytes is None or not self.calls else self.bytes / self.calls


@dataclass(frozen=True)
class ClassComparison:
    """A class of calls in both profiles."""

    name: str
    """A direction, or an operation."""
    reference: Amounts
    other: Amounts
    size_distance: float | None = None
    """Between the shares of calls below a size, of transfers on storage that moved something; `None`: either has none,
    or not all sizes are known.
    """
    timeline_distance: float | None = None

    def ratio(self, amount: str) -> float | None:
        """Other / reference, of a field of `Amounts`."""
        return ratio(getattr(self.reference, amount), getattr(self.other, amount))


@dataclass(frozen=True)
class Comparison:
    """Two profiles, class by class."""

    directions: tuple[ClassComparison, ...]
    operations: tuple[ClassComparison, ...]
    """In the order of `OPERATIONS`; those that neither profile has on storage are left out."""
    reference_span_s: float | None
    other_span_s: float | None
    uncounted: tuple[str, ...]
    """Operations that one source counted calls of and the other does not count: left out of `directions`."""

    def of(self, direction: Direction) -> ClassComparison:
        """That of a direction."""
        return next(one for one in self.directions if one.name == direction)

    @property
    def span_ratio(self) -> float | None:
        """How many times as long the I/O took, from its beginning to its end."""
        return ratio(self.reference_span_s, self.other_span_s)


def compare(reference: Profile, other: Profile) -> Comparison:
    """Every class that either profile has."""
    common = counted(reference) & counted(other)
    mine, its = _Side(reference, common), _Side(other, common)
    used = mine.used | its.used
    names = [name for name in OPERATIONS if name in used & common]
    return Comparison(
        directions=tuple(_direction(mine, its, direction) for direction in DIRECTIONS),
        operations=tuple(
            ClassComparison(
                name,
                mine.of_operation(name),
                its.of_operation(name),
                distance(mine.sizes.spread([name]), its.sizes.spread([name])),
                timeline_distance(reference, other, [name]),
            )
            for name in names
        ),
        reference_span_s=span_s(reference),
        other_span_s=span_s(other),
        uncounted=tuple(name for name in OPERATIONS if name in used - common),
    )


def ratio(reference: float | None, other: float | None) -> float | None:
    """Other / reference; `None` where either is unknown, or the reference is 0."""
    return None if reference is None or other is None or not reference else other / reference


def timeline_distance(reference: Profile, other: Profile, operations: Collection[str]) -> float | None:
    """How unlike the bytes of these operations (of those that move none: the calls) are spread over time: 0 to 1.

    The largest difference between the shares that are done at a time, which counts from the first I/O of the profile to
    its last one as 0 to 1: a run that takes twice as long with the same course has a distance of 0, and a ratio of
    spans of 2. `None` where either profile lacks it, or does not know when it was.
    """
    return distance(_over_time(reference, operations), _over_time(other, operations))


def span_s(profile: Profile) -> float | None:
    """From the first I/O to the last, to a step of the time line; `None`: nothing, or unknown."""
    found = _span(profile)
    return None if found is None else found[1] - found[0]


def begin_s(profile: Profile) -> float | None:
    """When the step with the first I/O begins, from the origin of the profile."""
    found = _span(profile)
    return None if found is None else found[0]


def cumulated(of: Spread) -> pl.DataFrame:
    """at, share: the share of the weights that lies below each bound, for a figure. Bounds within a range are left out
    where others overlap.
    """
    at = np.unique(np.concatenate([of.begins, of.ends]))
    least, _ = cumulative_shares(of, at)
    return pl.DataFrame({"at": at, "share": least}).filter(pl.col("at").is_finite())


def _spread(begins: pl.Series, ends: pl.Series, weights: pl.Series) -> Spread | None:
    """`None` where they weigh nothing."""
    columns = (begins.cast(pl.Float64), ends.cast(pl.Float64).fill_null(np.inf), weights.cast(pl.Float64))
    return spread(*(column.to_numpy() for column in columns))


class Sizes:
    """The sizes of a profile's transfers on storage that moved something, each as exactly as the source knows it: the
    most frequent sizes of a file are known exactly, and taken out of their bucket.
    """

    def __init__(self, profile: Profile, stored: pl.DataFrame | None = None) -> None:
        """`stored` is what `totals.on_storage` returned, where that is known already."""
        every = totals.on_storage(profile) if stored is None else stored
        key = ["file", "operation"]
        moving = every.filter(pl.col("bytes").fill_null(1) > 0, pl.col("calls") > 0)
        buckets = (
            profile.file_sizes.join(every.select(key).unique(), on=key, how="semi")
            .filter(pl.col("end_bytes").is_null() | (pl.col("end_bytes") > 1), pl.col("calls") > 0)
            .with_row_index("bucket")
        )
        called = moving.filter(~pl.col("operation").is_in(_WITHOUT_BYTES))
        self._unknown = frozenset(called.join(buckets, on=key, how="anti")["operation"])
        exact = _exact(profile.common_sizes, buckets, key)
        taken = exact.group_by("bucket").agg(taken=pl.col("calls").sum())
        left = pl.col("calls") - pl.col("taken").fill_null(0)
        rest = buckets.join(taken, on="bucket", how="left").with_columns(calls=left)
        known = exact.select("operation", begin_bytes="bytes", end_bytes=pl.col("bytes") + 1, calls="calls")
        self._rows = (
            pl.concat([rest.select("operation", *_RANGE), known])
            .group_by("operation", "begin_bytes", "end_bytes")
            .agg(pl.col("calls").sum())
            .filter(pl.col("calls") > 0)
        )

    def ranges(self, operations: Collection[str]) -> pl.DataFrame | None:
        """begin_bytes, end_bytes, calls of the transfers by some operations, ascending; `None`: not all are known."""
        if self._unknown & set(operations):
            return None
        rows = self._rows.filter(pl.col("operation").is_in(list(operations)))
        summed = rows.group_by("begin_bytes", "end_bytes").agg(pl.col("calls").sum())
        return summed.sort("begin_bytes", "end_bytes", nulls_last=True)

    def spread(self, operations: Collection[str]) -> Spread | None:
        """The same for `distance`; `None` also where there are none."""
        ranges = self.ranges(operations)
        return None if ranges is None else _spread(*(ranges[name] for name in _RANGE))

    def quantiles(self, operations: Collection[str]) -> dict[str, SizeRange]:
        """Those of `QUANTILES`; none where sizes are unknown, or there are none."""
        ranges = self.ranges(operations)
        if ranges is None or ranges.is_empty():
            return {}
        running, every = ranges["calls"].cum_sum(), int(ranges["calls"].sum())
        found = {}
        for name, share in QUANTILES.items():
            at = int((running >= share * every).arg_max() or 0)
            found[name] = SizeRange(ranges["begin_bytes"][at], ranges["end_bytes"][at])
        return found


_RANGE = ("begin_bytes", "end_bytes", "calls")

_WITHOUT_BYTES = (*METADATA, "MPI file")
"""Operations that move no bytes."""

_LARGEST = 2**62
"""Larger than any size."""


def _exact(common: pl.DataFrame, buckets: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """The most frequent sizes of files with the bucket of each, the narrowest where buckets overlap; but none of a
    bucket that has fewer calls than they have together.
    """
    end = pl.col("end_bytes").fill_null(_LARGEST)
    return (
        common.filter(pl.col("bytes") > 0)
        .join(buckets.rename({"calls": "of_bucket"}), on=key)
        .filter(pl.col("bytes") >= pl.col("begin_bytes"), pl.col("bytes") < end)
        .sort(end - pl.col("begin_bytes"))
        .unique([*key, "bytes"], keep="first", maintain_order=True)
        .filter(pl.col("calls").sum().over("bucket") <= pl.col("of_bucket"))
    )


def _span(profile: Profile) -> tuple[float, float] | None:
    """The beginning of the first step with I/O, and the end of the last, both within the time of the profile."""
    used = profile.timeline.filter(pl.col("operation").is_in(list(DIRECTION)), _has_any())
    if used.is_empty():
        return None
    first, last = used.select(pl.col("start_s").min(), last=pl.col("start_s").max()).row(0)
    begin_s, end_s = ((at - profile.origin_unix_ns) / 1e9 for at in (profile.begin_unix_ns, profile.end_unix_ns))
    begin_s, end_s = max(first, begin_s), min(last + profile.timeline_step_s, end_s)
    return (begin_s, end_s) if begin_s < end_s else (first, last + profile.timeline_step_s)


def _has_any() -> pl.Expr:
    return (pl.col("calls").fill_null(0) > 0) | (pl.col("bytes").fill_null(0) > 0)


def _over_time(profile: Profile, operations: Collection[str]) -> Spread | None:
    span = _span(profile)
    rows = profile.timeline.filter(pl.col("operation").is_in(list(operations)), _has_any())
    if span is None or rows.is_empty():
        return None
    moves = not set(operations) <= set(_WITHOUT_BYTES)
    amount = rows["bytes" if moves else "calls"]
    if amount.has_nulls():
        return None
    first, length = span[0], span[1] - span[0]
    begins = (rows["start_s"].clip(*span) - first) / length
    ends = ((rows["start_s"] + profile.timeline_step_s).clip(*span) - first) / length
    return _spread(begins.round(_DIGITS), ends.round(_DIGITS), amount)


def counted(profile: Profile) -> frozenset[str]:
    """The operations that the profile's source counts."""
    return frozenset(OPERATIONS) - profile.uncounted


class _Side:
    """A profile, and what of it is compared."""

    def __init__(self, profile: Profile, common: Collection[str]) -> None:
        self.profile = profile
        self._common = common
        self._stored = totals.on_storage(profile)
        self._totals = totals.totals(profile, self._stored)
        self.sizes = Sizes(profile, self._stored)
        self._operations = profile.process_operations

    @property
    def used(self) -> set[str]:
        """The operations that it has on storage."""
        return set(self._stored.filter(pl.col("calls") > 0)["operation"].unique())

    def operations(self, direction: Direction) -> list[str]:
        """Those of a direction that both sides count."""
        return [name for name, its in DIRECTION.items() if its == direction and name in self._common]

    def of_direction(self, direction: Direction) -> Amounts:
        """What is compared of a direction."""
        names = self.operations(direction)
        own = self._stored.filter(pl.col("direction") == direction, pl.col("calls") > 0)
        rows = own.filter(pl.col("operation").is_in(names))
        is_whole = rows.height == own.height
        total = self._totals.of(direction)
        if direction == "metadata":
            spent = total.spent_ns if is_whole else None
        else:
            spent = total.spent_ns if is_whole else _sum(rows["duration_ns"])
        return Amounts(
            calls=int(rows["calls"].sum()),
            bytes=None if direction == "metadata" else total.bytes if is_whole else _sum(rows["bytes"]),
            spent_ns=spent,
            sizes={} if direction == "metadata" else self.sizes.quantiles(REQUESTS[direction]),
            **self._latency(names),
        )

    def of_operation(self, name: str) -> Amounts:
        """What is compared of an operation."""
        rows = self._stored.filter(pl.col("operation") == name)
        spent = _sum(rows["duration_ns"]) if rows["duration_ns"].count() else None
        if spent is None:
            every = self._operations.filter(pl.col("operation") == name)
            spent = None if every.is_empty() and rows["calls"].sum() else _sum(every["duration_ns"])
        moves = name not in _WITHOUT_BYTES
        return Amounts(
            calls=int(rows["calls"].sum()),
            bytes=_sum(rows["bytes"]) if moves else None,
            spent_ns=spent,
            sizes=self.sizes.quantiles([name]) if moves else {},
            **self._latency([name]),
        )

    def _latency(self, names: Sequence[str]) -> dict[str, int | None]:
        """Percentiles of all calls of some operations; unknown where any of them has no histogram."""
        called = self._operations.filter(pl.col("operation").is_in(list(names)), pl.col("calls") > 0)
        timed = self.profile.latencies.filter(pl.col("operation").is_in(list(names)), pl.col("calls") > 0)
        slowest: Any = None if called["slowest_ns"].has_nulls() or called.is_empty() else called["slowest_ns"].max()
        if called.is_empty() or set(called["operation"]) - set(timed["operation"]):
            return {"slowest_ns": slowest}
        ends = pl.coalesce("end_ns", "begin_ns").ceil().cast(pl.Int64)
        histogram = timed.select(ends.alias("highest_ns"), pl.col("calls").alias("count"), all=pl.lit(True))
        row = latency.percentiles(histogram, ["all"]).row(0, named=True)
        known = {
            name: row[name] if latency.is_resolved(row["operations"], name) else None for name in ("p50_ns", "p99_ns")
        }
        # A percentile is the end of its bucket, which may lie above the slowest call.
        return {name: _least(value, slowest) for name, value in known.items()} | {"slowest_ns": slowest}


def _least(value: int | None, most: int | None) -> int | None:
    return value if value is None or most is None else min(value, most)


def _sum(values: pl.Series) -> int | None:
    """`None` where any of it is unknown; 0 of nothing."""
    return None if values.has_nulls() else int(values.sum())


def _direction(mine: _Side, its: _Side, direction: Direction) -> ClassComparison:
    names = mine.operations(direction)
    requests = REQUESTS.get(direction, ())
    return ClassComparison(
        direction,
        mine.of_direction(direction),
        its.of_direction(direction),
        distance(mine.sizes.spread(requests), its.sizes.spread(requests)),
        timeline_distance(mine.profile, its.profile, names),
    )
