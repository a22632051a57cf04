"""Limits of rules that depend on the storage, from runs of ioassay on it: measured instead of assumed.

A limit is replaced only by valid measurements of the same kind of operation; reads need a known share of the page
cache. Of several candidates, the one most similar to the application is used: nearest to its number of processes, then
buffered, then with the fewest transfers in flight.

    small_request_bytes   the smallest transfer of a sweep whose rate reaches `NEAR_PEAK` of the best
    random_share          the share of random requests at which a sequence takes `SLOWDOWN` longer than in order
    cached_read_ns        the time of the fastest direct reads; or the most time of most reads from memory
    stall_s               `STALL_MEDIANS` times the median latency of a call that reached the storage
    stat_calls            the number of calls that take `WORTH_S`

No run measures the other limits: `open_calls` would need opens of existing files. Not: reading a
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
"""Share of the best rate of a sweep: larger transfers gain less than a tenth."""

SLOWDOWN = 0.1
"""Additional time, as a share, above which random requests are a finding."""

UNCACHED_SHARE, CACHED_SHARE = 0.01, 0.99
"""Share of a file set in the page cache before a read: at most for uncached reads, at least for cached ones."""

SMALL_TRANSFER_BYTES = 16 << 10
"""The largest reads whose latency is that of the storage, not of moving bytes."""

FASTEST = 0.01
"""The share of fastest calls that is ignored, because devices have caches, too."""

LEAST_CACHED_NS = 1000
"""The least time of a read from memory, without copying its bytes."""

STALL_MEDIANS = 1000
LEAST_STALL_S = 0.1
"""Calls may wait this long for a processor."""

WORTH_S = 1.0
"""The least total time of calls that are a finding."""

METADATA = ("stat", "remove", "rename")
"""Operations that are the same call, with the same name, in runs and profiles."""

Unused = Literal["transfer sizes", "random order", "uncached reads", "latencies"]
"""Kinds of measurements that no run has, so the limits that depend on them stay those of rules."""


@dataclass(frozen=True)
class NamedRun:
    """A run, and its name in the report."""

    name: str
    run: LoadedRun

    @cached_property
    def series(self) -> tuple[_Series, ...]:
        """The measured series, which do not depend on the profile."""
        return tuple(_series(self.run))


@dataclass(frozen=True)
class StorageNeed:
    """The time of the profile's metadata calls at the latency that the run measured."""

    operation: str
    calls: int
    median_ns: int
    """Median latency of a call in the run."""
    spent_ns: int | None
    """Time in the profile."""

    @property
    def needed_ns(self) -> int:
        """The time of all calls, one after another."""
        return self.calls * self.median_ns


@dataclass(frozen=True)
class MeasuredLimits:
    """The limits from runs for one profile."""

    thresholds: Thresholds
    measured: tuple[tuple[str, Threshold], ...] = ()
    """Each with its direction or operation; empty: all."""
    unused: tuple[Unused, ...] = ()
    needs: tuple[StorageNeed, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Names of runs whose mount contains no file of the profile: they may have measured other storage."""


def measured_limits(runs: Sequence[NamedRun], profile: Profile) -> MeasuredLimits:
    """The limits for a profile. Earlier runs take precedence over later ones."""
    measured_thresholds: dict[tuple[str, str], Threshold] = {}
    needs: dict[str, StorageNeed] = {}
    for run in runs:
        measured = _RunLimits(run, profile)
        for about, threshold in measured.thresholds():
            measured_thresholds.setdefault((threshold.name, about), threshold)
        for need in measured.needs():
            needs.setdefault(need.operation, need)
    general = {name: threshold for (name, about), threshold in measured_thresholds.items() if not about}
    of_operation = {key: threshold for key, threshold in measured_thresholds.items() if key[1]}
    names = {name for name, _ in measured_thresholds}
    known = {
        "transfer sizes": "small_request_bytes" in names,
        "random order": "random_share" in names,
        "uncached reads": "cached_read_ns" in names,
        "latencies": bool(names & {"stall_s", "stat_calls"}),
    }
    thresholds = Thresholds()._replace(**general, of_operation=of_operation)
    return MeasuredLimits(
        thresholds=thresholds,
        measured=tuple((about, threshold) for (_, about), threshold in measured_thresholds.items()),
        unused=tuple(name for name, is_known in known.items() if not is_known),  # type: ignore[misc]
        needs=tuple(needs.values()),
        elsewhere=tuple(run.name for run in runs if not _is_below(run.run, profile)),
    )


@dataclass(frozen=True)
class _Conditions:
    """Conditions that compared rates must share. `None`: not stated, or meaningless."""

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
    """Points with equal conditions except for the transfer and the order."""

    conditions: _Conditions
    source: tuple[str, str, str]
    """Workload, phase and job."""
    order: str
    transfer_bytes: int | None
    rates: tuple[float, ...]
    latencies: tuple[tuple[int, int, int], ...]
    """lowest_ns, highest_ns and count of all repetitions."""
    resident: float | None
    """The share of the file set in the page cache before the phase; `None`: unknown."""

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
        """True if its latencies are those of the storage: read-ahead answers many buffered reads from memory, even
        random ones with a cold cache.
        """
        return bool(self.conditions.direct) or (self.conditions.operation == "write" and self.is_uncached)

    def percentile(self, share: float) -> tuple[int, int] | None:
        """The ends of the bucket with the latency that this share of the calls does not exceed."""
        every, running = sum(count for *_, count in self.latencies), 0
        for lowest, highest, count in sorted(self.latencies):
            running += count
            if count and running >= share * every:
                return lowest, highest
        return None


class _RunLimits:
    """The limits that a run gives for one profile."""

    def __init__(self, named: NamedRun, profile: Profile) -> None:
        self._name = named.name
        self._profile = profile
        active = profile.processes.filter(pl.any_horizontal(pl.col("read_bytes", "written_bytes").fill_null(1) > 0))
        self._processes = active.height or profile.processes.height
        self._series = named.series

    def thresholds(self) -> Iterator[tuple[str, Threshold]]:
        """Each limit with its direction or operation (empty: all)."""
        for direction in REQUESTS:
            for threshold in (self._small_request(direction), self._random(direction), self._stall(direction)):
                if threshold is not None:
                    yield direction, threshold
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
        """The need of each operation that the run measured and the profile has."""
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

    def _dissimilarity(self, series: _Series) -> tuple[object, ...]:
        """Sort key of similarity to the application; lower is more similar."""
        conditions = series.conditions
        ranks = abs(math.log2((conditions.ranks or 1) / max(1, self._processes)))
        return ranks, bool(conditions.direct), conditions.depth or 1, series.source

    def _of(self, operation: str) -> list[_Series]:
        """Series of transfers that measure the storage: writes, and reads that are known to be uncached."""
        return [
            series
            for series in self._series
            if series.conditions.operation == operation
            and series.transfer_bytes
            and series.rates
            and (operation == "write" or series.is_uncached)
        ]

    def _small_request(self, direction: Direction) -> Threshold | None:
        sweeps: dict[tuple[_Conditions, tuple[str, str, str]], list[_Series]] = {}
        for series in self._of(direction):
            if series.order == "sequential":
                sweeps.setdefault((series.conditions, series.source), []).append(series)
        swept = [sweep for sweep in sweeps.values() if len({series.transfer_bytes for series in sweep}) > 1]
        if not swept:
            return None
        nearest_sweep = min(swept, key=lambda sweep: self._dissimilarity(sweep[0]))
        best = max(series.rate for series in nearest_sweep)
        near = min(
            (series for series in nearest_sweep if series.rate >= NEAR_PEAK * best),
            key=lambda series: series.transfer_bytes or 0,
        )
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
            pairs,
            key=lambda pair: (abs(math.log2((pair[0].transfer_bytes or 1) / usual)), *self._dissimilarity(pair[1])),
        )
        ratio = at_random.rate / in_order.rate
        # A share s of random requests makes the time 1 + s (1 / ratio - 1) times as long.
        share = 1.0 if ratio >= 1 else min(1.0, SLOWDOWN * ratio / (1 - ratio))
        return self._threshold("random_share", share, at_random)

    def _usual_bytes(self, direction: Direction) -> int:
        """The median size of the profile's requests."""
        size = Sizes(self._profile).quantiles(REQUESTS[direction]).get("p50")
        return max(1, size.begin_bytes) if size else 1 << 20

    def _cached_read(self) -> Threshold | None:
        reads = [
            series
            for series in self._series
            if series.conditions.operation == "read"
            and series.latencies
            and series.transfer_bytes
            and series.transfer_bytes <= SMALL_TRANSFER_BYTES
        ]
        cold = [read for read in reads if read.has_storage_latency]
        warm = [read for read in reads if not read.conditions.direct and (read.resident or 0) >= CACHED_SHARE]
        if cold:
            fastest = min(cold, key=lambda read: read.percentile(FASTEST) or (math.inf, math.inf))
            bucket = fastest.percentile(FASTEST)
            medians = [read.percentile(0.5) for read in warm]
            if bucket and all(median is None or median[1] < bucket[0] for median in medians):
                return self._threshold("cached_read_ns", bucket[0], fastest)
        elif warm:
            usual = min(warm, key=self._dissimilarity)
            bucket = usual.percentile(CACHED_SHARE)
            if bucket and usual.transfer_bytes:
                copying_ns = usual.transfer_bytes * 1e9 / Thresholds().cached_bytes_per_s.value
                return self._threshold("cached_read_ns", max(LEAST_CACHED_NS, bucket[1] - copying_ns), usual)
        return None

    def _stall(self, operation: str) -> Threshold | None:
        median_ns = self._median_ns(operation)
        if median_ns is None:
            return None
        return self._threshold("stall_s", max(LEAST_STALL_S, STALL_MEDIANS * median_ns[0] / 1e9), median_ns[1])

    def _median_ns(self, operation: str) -> tuple[int, _Series] | None:
        """The median latency of a call that reached the storage, in the series most similar to the application."""
        medians = [
            (middle[1], series)
            for series in self._series
            if series.conditions.operation == operation
            and (operation in METADATA or (series.transfer_bytes and series.has_storage_latency))
            and (middle := series.percentile(0.5))
        ]
        return min(medians, key=lambda pair: self._dissimilarity(pair[1]), default=None)


_Key = tuple[_Conditions, tuple[str, str, str], str, int | None]
"""Conditions, source, order, transfer."""


def _series(run: LoadedRun) -> Iterator[_Series]:
    """All valid measurements, grouped by their conditions."""
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
    for (conditions, source, order, transfer), repetitions in groups.items():
        rows = [frame for *_, frame in repetitions if frame is not None]
        buckets = pl.concat(rows).group_by("lowest_ns", "highest_ns").agg(pl.col("count").sum()).rows() if rows else ()
        shares = [share for _, share, _ in repetitions]
        known = [share for share in shares if share is not None]
        yield _Series(
            conditions,
            source,
            order,
            transfer,
            tuple(rate for rate, *_ in repetitions if rate),
            tuple(buckets),
            max(known) if known and len(known) == len(shares) else None,
        )


def _is_below(run: LoadedRun, profile: Profile) -> bool:
    """False if no file of the profile is on the mount that the run measured."""
    mounts = {mount["mount_point"] for node in run.document.environment if (mount := node.get("mount"))}
    if not mounts:
        return True
    folders = [mount.rstrip("/") + "/" for mount in mounts]
    return any(path.startswith(folder) for path in totals.by_file(profile)["path"] for folder in folders)
