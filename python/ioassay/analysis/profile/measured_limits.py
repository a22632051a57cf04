"""Limits of rules that depend on the storage, from runs of ours on it: what the storage really does, not what a rule
supposes.

A limit is replaced only by what a run measured of the same kind of operation, with valid measurements; of reads only
those count of which the page cache's part is known. Of several candidates the one counts that is most like the
application: nearest to its number of processes, then buffered, then with the fewest transfers in flight.

    small_request_bytes   the smallest transfer of a sweep whose rate reaches `NEAR_PEAK` of the best
    random_share          the share of random requests at which a sequence takes `SLOWDOWN` longer than in order
    cached_read_ns        what no direct read is faster than; or what most reads from memory take at most
    stall_s               `STALL_MEDIANS` times the median latency of a call that reached the storage
    stat_calls            as many as take `WORTH_S`

What the others suppose of storage, no run measures: `open_calls` would take opens of files that exist. Not: reading a
run, words (`ioassay.reports.profile.limits`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import polars as pl

from ioassay.analysis.profile import totals
from ioassay.analysis.profile.comparison import Sizes
from ioassay.analysis.profile.thresholds import Threshold, Thresholds
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.profiles.model import Direction, Profile
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.store.point import PLACEMENT, of_text
from ioassay.text.units import format_count

NEAR_PEAK = 0.9
"""Of the best rate of a sweep: a larger transfer gains less than a tenth."""

SLOWDOWN = 0.1
"""Random requests are worth a finding where they cost so much more time."""

UNCACHED_SHARE, CACHED_SHARE = 0.01, 0.99
"""Of the bytes of a file set that were in the page cache before a read: at most, at least."""

SMALL_TRANSFER_BYTES = 16 << 10
"""Of reads whose latency is that of the storage rather than that of moving bytes."""

FASTEST = 0.01
"""The share of calls that is passed over for the fastest latency: a device has a cache too."""

LEAST_CACHED_NS = 1000
"""Of a read from memory, beside copying its bytes."""

STALL_MEDIANS = 1000
LEAST_STALL_S = 0.1
"""A call may wait as long for a processor."""

WORTH_S = 1.0
"""Calls that take less together are not worth a finding."""

METADATA = ("stat", "remove", "rename")
"""Operations that a run and a profile call alike, and that are the same call."""

Unused = Literal["transfer sizes", "random order", "uncached reads", "latencies"]
"""What no run measured, so that the limits that depend on it stay those of rules."""


@dataclass(frozen=True)
class NamedRun:
    """A run, and what it is called in the report."""

    name: str
    run: LoadedRun

    @cached_property
    def series(self) -> tuple[_Series, ...]:
        """What it measured: the same for every profile."""
        return tuple(_series(self.run))


@dataclass(frozen=True)
class StorageNeed:
    """What the metadata calls of the profile would take on the storage as the run measured it."""

    operation: str
    calls: int
    median_ns: int
    """Of one, in the run."""
    spent_ns: int | None
    """In the profile."""

    @property
    def needed_ns(self) -> int:
        """By all calls, one after the other."""
        return self.calls * self.median_ns


@dataclass(frozen=True)
class MeasuredLimits:
    """What runs say of the limits for one profile."""

    thresholds: Thresholds
    measured: tuple[tuple[str, Threshold], ...] = ()
    """Each with the direction or operation that it is for; empty: for all."""
    unused: tuple[Unused, ...] = ()
    needs: tuple[StorageNeed, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Names of runs below whose mount the profile has no file: they may have measured other storage."""


def measured_limits(runs: Sequence[NamedRun], profile: Profile) -> MeasuredLimits:
    """The limits for a profile. An earlier run that has one goes before later ones."""
    found: dict[tuple[str, str], Threshold] = {}
    needs: dict[str, StorageNeed] = {}
    for run in runs:
        measured = _Measured(run, profile)
        for about, threshold in measured.thresholds():
            found.setdefault((threshold.name, about), threshold)
        for need in measured.needs():
            needs.setdefault(need.operation, need)
    general = {name: threshold for (name, about), threshold in found.items() if not about}
    of_operation = {key: threshold for key, threshold in found.items() if key[1]}
    names = {name for name, _ in found}
    known = {
        "transfer sizes": "small_request_bytes" in names,
        "random order": "random_share" in names,
        "uncached reads": "cached_read_ns" in names,
        "latencies": bool(names & {"stall_s", "stat_calls"}),
    }
    thresholds = Thresholds()._replace(**general, of_operation=of_operation)
    return MeasuredLimits(
        thresholds=thresholds,
        measured=tuple((about, threshold) for (_, about), threshold in found.items()),
        unused=tuple(name for name, is_known in known.items() if not is_known),  # type: ignore[misc]
        needs=tuple(needs.values()),
        elsewhere=tuple(run.name for run in runs if not _is_below(run.run, profile)),
    )


@dataclass(frozen=True)
class _Conditions:
    """What rates must have in common to be compared. `None`: not told, or of no meaning."""

    operation: str
    layout: str
    clients: int | None
    ranks: int | None
    direct: bool | None
    uncached: bool | None
    depth: int | None
    api: str | None
    fsync: str | None
    others: str
    """The values of all other swept axes."""


@dataclass(frozen=True)
class _Series:
    """Points that were measured alike but for the transfer and the order."""

    conditions: _Conditions
    source: tuple[str, str, str]
    """The workload, the phase, the job."""
    order: str
    transfer_bytes: int | None
    rates: tuple[float, ...]
    latencies: tuple[tuple[int, int, int], ...]
    """lowest_ns, highest_ns and count of all repetitions."""
    resident: float | None
    """The share of the file set that was in the page cache before it; `None`: unknown."""

    @property
    def rate(self) -> float:
        """The median of its repetitions, bytes/s."""
        return float(pl.Series(self.rates).median() or 0)  # type: ignore[arg-type]

    @property
    def is_uncached(self) -> bool:
        """True if its calls reached the storage."""
        if self.conditions.operation == "read":
            return bool(self.conditions.direct) or (self.resident is not None and self.resident <= UNCACHED_SHARE)
        return bool(self.conditions.direct) or self.conditions.fsync == "every 1 writes"

    @property
    def has_storage_latency(self) -> bool:
        """True if its latencies are those of the storage: read-ahead answers many buffered reads from memory, however
        cold they began, random ones too.
        """
        return bool(self.conditions.direct) or (self.conditions.operation == "write" and self.is_uncached)

    def percentile(self, share: float) -> tuple[int, int] | None:
        """The ends of the bucket with the latency that so large a share of the calls does not exceed."""
        every, running = sum(count for *_, count in self.latencies), 0
        for lowest, highest, count in sorted(self.latencies):
            running += count
            if count and running >= share * every:
                return lowest, highest
        return None


class _Measured:
    """A run, for one profile."""

    def __init__(self, named: NamedRun, profile: Profile) -> None:
        self._name = named.name
        self._profile = profile
        active = profile.processes.filter(pl.any_horizontal(pl.col("read_bytes", "written_bytes").fill_null(1) > 0))
        self._processes = active.height or profile.processes.height
        self._series = named.series

    def thresholds(self) -> Iterator[tuple[str, Threshold]]:
        """What each limit is about (a direction, an operation; empty: all), and the limit."""
        for direction in REQUESTS:
            for made in (self._small_request(direction), self._random(direction), self._stall(direction)):
                if made is not None:
                    yield direction, made
        cached = self._cached_read()
        if cached is not None:
            yield "", cached
        for operation in METADATA:
            if (stall := self._stall(operation)) is not None:
                yield operation, stall
        median_ns = self._median_ns("stat")
        if median_ns is not None:
            calls = max(1, round(WORTH_S * 1e9 / median_ns[0]))
            yield "", self._threshold("stat_calls", calls, median_ns[1])

    def needs(self) -> Iterator[StorageNeed]:
        """Of each operation that the run measured and the profile has."""
        every = totals.operations(self._profile)
        for operation in METADATA:
            rows = every.filter(pl.col("operation") == operation)
            median_ns = self._median_ns(operation)
            if median_ns is not None and not rows.is_empty():
                yield StorageNeed(operation, int(rows["calls"][0]), median_ns[0], rows["duration_ns"][0])

    def _threshold(self, name: str, value: float, series: _Series) -> Threshold:
        workload, phase, job = series.source
        conditions = series.conditions
        parts = [f"{workload}, {phase}" if job in (phase, "") else f"{workload}, {phase}, {job}"]
        if conditions.ranks:
            parts.append(format_count(conditions.ranks, "rank"))
        if conditions.direct:
            parts.append("direct")
        return Threshold(name, value, "measured", f"{self._name}: {', '.join(parts)}")

    def _likeness(self, series: _Series) -> tuple[object, ...]:
        """Less is more like the application."""
        conditions = series.conditions
        ranks = abs(math.log2((conditions.ranks or 1) / max(1, self._processes)))
        return ranks, bool(conditions.direct), conditions.depth or 1, series.source

    def _of(self, operation: str) -> list[_Series]:
        """Series of transfers that say something of the storage: reads of which it is known that memory had nothing."""
        return [
            one
            for one in self._series
            if one.conditions.operation == operation
            and one.transfer_bytes
            and one.rates
            and (operation == "write" or one.is_uncached)
        ]

    def _small_request(self, direction: Direction) -> Threshold | None:
        sweeps: dict[tuple[_Conditions, tuple[str, str, str]], list[_Series]] = {}
        for one in self._of(direction):
            if one.order == "sequential":
                sweeps.setdefault((one.conditions, one.source), []).append(one)
        swept = [sweep for sweep in sweeps.values() if len({one.transfer_bytes for one in sweep}) > 1]
        if not swept:
            return None
        own = min(swept, key=lambda those: self._likeness(those[0]))
        best = max(one.rate for one in own)
        near = min((one for one in own if one.rate >= NEAR_PEAK * best), key=lambda one: one.transfer_bytes or 0)
        assert near.transfer_bytes is not None
        return self._threshold("small_request_bytes", near.transfer_bytes, near)

    def _random(self, direction: Direction) -> Threshold | None:
        usual = self._usual_bytes(direction)
        rows = self._of(direction)
        pairs = [
            (row, other)
            for row in rows
            if row.order == "sequential"
            for other in rows
            if other.order.startswith("random")
            and (other.conditions, other.transfer_bytes) == (row.conditions, row.transfer_bytes)
        ]
        if not pairs:
            return None
        in_order, at_random = min(
            pairs, key=lambda pair: (abs(math.log2((pair[0].transfer_bytes or 1) / usual)), *self._likeness(pair[1]))
        )
        ratio = at_random.rate / in_order.rate
        # A share s of random requests makes the time 1 + s (1 / ratio - 1) times as long.
        share = 1.0 if ratio >= 1 else min(1.0, SLOWDOWN * ratio / (1 - ratio))
        return self._threshold("random_share", share, at_random)

    def _usual_bytes(self, direction: Direction) -> int:
        """The median size of the profile's requests."""
        found = Sizes(self._profile).quantiles(REQUESTS[direction]).get("p50")
        return max(1, found.begin_bytes) if found else 1 << 20

    def _cached_read(self) -> Threshold | None:
        reads = [
            one
            for one in self._series
            if one.conditions.operation == "read"
            and one.latencies
            and one.transfer_bytes
            and one.transfer_bytes <= SMALL_TRANSFER_BYTES
        ]
        cold = [read for read in reads if read.has_storage_latency]
        warm = [read for read in reads if not read.conditions.direct and (read.resident or 0) >= CACHED_SHARE]
        if cold:
            fastest = min(cold, key=lambda one: one.percentile(FASTEST) or (math.inf, math.inf))
            found = fastest.percentile(FASTEST)
            slow = [one.percentile(0.5) for one in warm]
            if found and all(middle is None or middle[1] < found[0] for middle in slow):
                return self._threshold("cached_read_ns", found[0], fastest)
        elif warm:
            usual = min(warm, key=self._likeness)
            found = usual.percentile(CACHED_SHARE)
            if found and usual.transfer_bytes:
                copying_ns = usual.transfer_bytes * 1e9 / Thresholds().cached_bytes_per_s.value
                return self._threshold("cached_read_ns", max(LEAST_CACHED_NS, found[1] - copying_ns), usual)
        return None

    def _stall(self, operation: str) -> Threshold | None:
        median_ns = self._median_ns(operation)
        if median_ns is None:
            return None
        return self._threshold("stall_s", max(LEAST_STALL_S, STALL_MEDIANS * median_ns[0] / 1e9), median_ns[1])

    def _median_ns(self, operation: str) -> tuple[int, _Series] | None:
        """The median latency of a call that reached the storage, in the series most like the application."""
        found = [
            (middle[1], one)
            for one in self._series
            if one.conditions.operation == operation
            and (operation in METADATA or (one.transfer_bytes and one.has_storage_latency))
            and (middle := one.percentile(0.5))
        ]
        return min(found, key=lambda pair: self._likeness(pair[1]), default=None)


_Key = tuple[_Conditions, tuple[str, str, str], str, int | None]
"""Conditions, source, order, transfer."""


def _series(run: LoadedRun) -> Iterator[_Series]:
    """All that was measured validly, by what it was measured with."""
    valid = run.measurements.filter("valid")
    jobs = {
        (case.id, phase.name, job.name): job
        for case in run.document.cases
        for phase in case.phases
        for job in phase.jobs
    }
    histograms: Mapping[tuple[Any, ...], pl.DataFrame] = run.latencies.drop_nulls("lowest_ns").partition_by(
        *KEY, as_dict=True, include_key=False
    )
    groups: dict[_Key, list[tuple[float | None, float | None, pl.DataFrame | None]]] = {}
    for row in valid.iter_rows(named=True):
        job = jobs[row["case"], row["phase"], row["job"]]
        others = {
            axis: value
            for axis, value in of_text(row["point"]).items()
            if axis not in (*PLACEMENT, "transfer", "order")
        }
        conditions = _Conditions(
            row["operation"],
            row["layout"],
            row["clients"],
            row["ranks"],
            job.direct,
            bool(job.uncached),
            job.depth,
            job.api,
            job.fsync,
            json.dumps(others, sort_keys=True),
        )
        resident, size = row["resident_bytes_before"], row["file_set_bytes"]
        moves = row["operation"] in REQUESTS and row["files"] != 0
        key = (
            conditions,
            (row["workload"], row["phase"], row["job"]),
            row["order"],
            row["transfer_bytes"] if moves else None,
        )
        groups.setdefault(key, []).append(
            (
                row["rate_bytes_per_s"] if moves else None,
                resident / size if resident is not None and size else None,
                histograms.get(tuple(row[name] for name in KEY)),
            )
        )
    for (conditions, source, order, transfer), found in groups.items():
        rows = [frame for *_, frame in found if frame is not None]
        buckets = pl.concat(rows).group_by("lowest_ns", "highest_ns").agg(pl.col("count").sum()).rows() if rows else ()
        shares = [share for _, share, _ in found]
        known = [share for share in shares if share is not None]
        yield _Series(
            conditions,
            source,
            order,
            transfer,
            tuple(rate for rate, *_ in found if rate),
            tuple(buckets),
            max(known) if known and len(known) == len(shares) else None,
        )


def _is_below(run: LoadedRun, profile: Profile) -> bool:
    """False where it is known that no file of the profile is on the mount that the run measured."""
    mounts = {mount["mount_point"] for node in run.document.environment if (mount := node.get("mount"))}
    if not mounts:
        return True
    folders = [mount.rstrip("/") + "/" for mount in mounts]
    return any(path.startswith(folder) for path in totals.by_file(profile)["path"] for folder in folders)
