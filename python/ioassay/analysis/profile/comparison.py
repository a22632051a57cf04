"""Compares two profiles class by class: the effect of a change, or how faithful a replay was.

Pure functions of two profiles, the reference first:

    ratio               other / reference: 1 if both are equal
    timeline_distance   distance of the distributions of bytes (of metadata: calls) over the time of I/O: 0 to 1
    span                from the first I/O to the last; `timeline_distance` does not include the ratio of spans
    compare             all of them, and distances of transfer sizes, for each direction and operation

Both distances, 0 identical to 1 disjoint, are the largest difference of two cumulative shares, as far as buckets of
sizes and steps of time allow (`analysis.distances`). A class that either source does not count, or whose sizes or
times it does not know, has no distance and no ratio (`None`): unknown values are never a difference.

Calls, bytes and sizes are those on storage. Times of operations that move no bytes, latencies and the time line
include calls on anything, as sources have them. Not: words (`ioassay.reports.profile.comparison`), files
(`file_changes`), findings (`finding_changes`), differing conditions (`condition_differences`).
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
"""The quantiles of sizes, by name."""

_DIGITS = 9
"""Digits of shares of time, so that steps that begin together do not differ by a rounding error."""


class SizeRange(NamedTuple):
    """A size as far as a source knows it: at least `begin_bytes`, less than `end_bytes` (`None`: without an end)."""

    begin_bytes: int
    end_bytes: int | None

    @property
    def exact_bytes(self) -> int | None:
        """The size, if it is known exactly."""
        return self.begin_bytes if self.end_bytes == self.begin_bytes + 1 else None


@dataclass(frozen=True)
class Amounts:
    """The amounts of a class in a profile. `None`: its source does not know."""

    calls: int | None = None
    bytes: int | None = None
    spent_ns: int | None = None
    """Sum over processes."""
    p50_ns: int | None = None
    p99_ns: int | None = None
    slowest_ns: int | None = None
    sizes: dict[str, SizeRange] = field(default_factory=dict)
    """By the names of `QUANTILES`; empty: unknown, or no bytes moved."""

    @property
    def bytes_per_call(self) -> float | None:
        return None if self.bytes is None or not self.calls else self.bytes / self.calls


@dataclass(frozen=True)
class ClassComparison:
    """A class of calls in both profiles."""

    name: str
    """A direction, or an operation."""
    reference: Amounts
    other: Amounts
    size_distance: float | None = None
    """Distance of the sizes of transfers on storage that moved bytes, weighted by calls; `None`: either profile has
    none, or not all sizes are known.
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
    """In the order of `OPERATIONS`, without those that neither profile has on storage."""
    reference_span_s: float | None
    other_span_s: float | None
    uncounted: tuple[str, ...]
    """Operations that only one source counts: left out of `directions`."""

    def of(self, direction: Direction) -> ClassComparison:
        return next(comparison for comparison in self.directions if comparison.name == direction)

    @property
    def span_ratio(self) -> float | None:
        """Other / reference, of the time from the first I/O to the last."""
        return ratio(self.reference_span_s, self.other_span_s)


def compare(reference: Profile, other: Profile) -> Comparison:
    """Compares every class that either profile has."""
    common = counted(reference) & counted(other)
    mine, theirs = _Side(reference, common), _Side(other, common)
    used = mine.used | theirs.used
    names = [name for name in OPERATIONS if name in used & common]
    return Comparison(
        directions=tuple(_direction(mine, theirs, direction) for direction in DIRECTIONS),
        operations=tuple(
            ClassComparison(
                name,
                mine.of_operation(name),
                theirs.of_operation(name),
                distance(mine.sizes.spread([name]), theirs.sizes.spread([name])),
                timeline_distance(reference, other, [name]),
            )
            for name in names
        ),
        reference_span_s=span_s(reference),
        other_span_s=span_s(other),
        uncounted=tuple(name for name in OPERATIONS if name in used - common),
    )


def ratio(reference: float | None, other: float | None) -> float | None:
    """Other / reference; `None` if either is unknown, or the reference is 0."""
    return None if reference is None or other is None or not reference else other / reference


def timeline_distance(reference: Profile, other: Profile, operations: Collection[str]) -> float | None:
    """The distance of the distributions of these operations' bytes (or calls, if they move none) over time: 0 to 1.

    The largest difference of the shares done by a time, which is scaled from 0 (first I/O of the profile) to 1 (last
    I/O): a run that takes twice as long with the same course has a distance of 0, and a ratio of spans of 2. `None` if
    either profile has no such operations, or does not know their times.
    """
    return distance(_over_time(reference, operations), _over_time(other, operations))


def span_s(profile: Profile) -> float | None:
    """From the first I/O to the last, to a step of the time line; `None`: no I/O, or unknown."""
    span = _span(profile)
    return None if span is None else span[1] - span[0]


def begin_s(profile: Profile) -> float | None:
    """Begin of the step with the first I/O, from the origin of the profile."""
    span = _span(profile)
    return None if span is None else span[0]


def cumulated(distribution: Spread) -> pl.DataFrame:
    """at, share: the share of the weights below each bound, for a figure. Bounds within ranges that overlap others are
    left out.
    """
    bounds = np.unique(np.concatenate([distribution.begins, distribution.ends]))
    least, _ = cumulative_shares(distribution, bounds)
    return pl.DataFrame({"at": bounds, "share": least}).filter(pl.col("at").is_finite())


def _spread(begins: pl.Series, ends: pl.Series, weights: pl.Series) -> Spread | None:
    """`None` if the sum of the weights is 0."""
    columns = (begins.cast(pl.Float64), ends.cast(pl.Float64).fill_null(np.inf), weights.cast(pl.Float64))
    return spread(*(column.to_numpy() for column in columns))


class Sizes:
    """The sizes of a profile's transfers on storage that moved bytes, as exactly as the source knows them: the most
    frequent sizes of a file are known exactly, and subtracted from their bucket.
    """

    def __init__(self, profile: Profile, stored: pl.DataFrame | None = None) -> None:
        """`stored` is the result of `totals.on_storage`, if known already."""
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
        """begin_bytes, end_bytes, calls of the transfers by some operations, ascending; `None` unless all are known."""
        if self._unknown & set(operations):
            return None
        rows = self._rows.filter(pl.col("operation").is_in(list(operations)))
        summed = rows.group_by("begin_bytes", "end_bytes").agg(pl.col("calls").sum())
        return summed.sort("begin_bytes", "end_bytes", nulls_last=True)

    def spread(self, operations: Collection[str]) -> Spread | None:
        """The ranges as input of `distance`; `None` also without transfers."""
        ranges = self.ranges(operations)
        return None if ranges is None else _spread(*(ranges[name] for name in _RANGE))

    def quantiles(self, operations: Collection[str]) -> dict[str, SizeRange]:
        """The sizes at `QUANTILES`; empty if sizes are unknown, or without transfers."""
        ranges = self.ranges(operations)
        if ranges is None or ranges.is_empty():
            return {}
        running, every = ranges["calls"].cum_sum(), int(ranges["calls"].sum())
        quantiles = {}
        for name, share in QUANTILES.items():
            index = int((running >= share * every).arg_max() or 0)
            quantiles[name] = SizeRange(ranges["begin_bytes"][index], ranges["end_bytes"][index])
        return quantiles


_RANGE = ("begin_bytes", "end_bytes", "calls")

_WITHOUT_BYTES = (*METADATA, "MPI file")
"""Operations that move no bytes."""

_LARGEST = 2**62
"""A bound above any size."""


def _exact(common: pl.DataFrame, buckets: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """The most frequent sizes of files with their buckets (the narrowest if buckets overlap), without buckets that have
    fewer calls than these sizes together.
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
    """Begin of the first step with I/O and end of the last one, limited to the time of the profile."""
    used = profile.timeline.filter(pl.col("operation").is_in(list(DIRECTION)), _has_any())
    if used.is_empty():
        return None
    first, last = used.select(pl.col("start_s").min(), last=pl.col("start_s").max()).row(0)
    begin_s, end_s = (
        (time_ns - profile.origin_unix_ns) / 1e9 for time_ns in (profile.begin_unix_ns, profile.end_unix_ns)
    )
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
    def __init__(self, profile: Profile, common: Collection[str]) -> None:
        self.profile = profile
        self._common = common
        self._stored = totals.on_storage(profile)
        self._totals = totals.totals(profile, self._stored)
        self.sizes = Sizes(profile, self._stored)
        self._operations = profile.process_operations

    @property
    def used(self) -> set[str]:
        return set(self._stored.filter(pl.col("calls") > 0)["operation"].unique())

    def operations(self, direction: Direction) -> list[str]:
        """The operations of a direction that both sides count."""
        return [
            name for name, its_direction in DIRECTION.items() if its_direction == direction and name in self._common
        ]

    def of_direction(self, direction: Direction) -> Amounts:
        names = self.operations(direction)
        direction_rows = self._stored.filter(pl.col("direction") == direction, pl.col("calls") > 0)
        rows = direction_rows.filter(pl.col("operation").is_in(names))
        is_whole = rows.height == direction_rows.height
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
        """Percentiles of all calls of some operations; unknown if any of them has no histogram."""
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
    """The sum; `None` if any value is unknown, 0 without values."""
    return None if values.has_nulls() else int(values.sum())


def _direction(mine: _Side, theirs: _Side, direction: Direction) -> ClassComparison:
    names = mine.operations(direction)
    requests = REQUESTS.get(direction, ())
    return ClassComparison(
        direction,
        mine.of_direction(direction),
        theirs.of_direction(direction),
        distance(mine.sizes.spread(requests), theirs.sizes.spread(requests)),
        timeline_distance(mine.profile, theirs.profile, names),
    )
