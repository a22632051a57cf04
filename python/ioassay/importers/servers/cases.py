"""Counters of servers as a run: a case for each target, and each job of `job_stats`; a phase for each operation.

With two or more readings, the rate is the mean over all intervals, and intervals of equal length are samples. With
one reading, only amounts are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median

from ioassay.importers import model
from ioassay.importers.gather import Reader
from ioassay.importers.model import Case, Doubt, Measurement, OpenSibling, Samples
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.servers.counters import (
    EARLIEST_NS,
    OPERATIONS,
    Count,
    CounterSource,
    Interval,
    Origin,
    Reading,
    Series,
    series,
)
from ioassay.importers.source import Refused, Source
from ioassay.text.units import format_about_bytes, format_count, format_number

ReadCounters = Callable[[Source], list[Reading]]
"""Reads the counters of a file. Raises `Refused`."""

MOST_JOBS = 100
"""Jobs per target; those that moved less are left out, and counted."""

_UNEVEN = 0.1
"""Relative tolerance between the lengths of intervals; if they differ by more, there are no samples."""

_TITLES: Mapping[Origin, str] = {
    "target": "as the server counts",
    "disks": "as the server's disks count",
    "client": "as the client counts",
    "network": "as LNet counts",
    "gpfs": "as GPFS counts on the node",
}


def reader(read: ReadCounters) -> Reader:
    def cases(source: Source, _: OpenSibling) -> list[Case]:
        all_series = series(read(source))
        active, left_out = _most_active(all_series)
        cases = [
            case
            for counted in active
            if (case := _case(source, counted, left_out[_target(counted.counter_source)])) is not None
        ]
        if not cases:
            raise Refused("has counters that did not change between its readings: nothing was measured")
        return cases

    return cases


def _target(counter_source: CounterSource) -> tuple[Origin, str]:
    return counter_source.origin, counter_source.name


def _most_active(all_series: Sequence[Series]) -> tuple[list[Series], Counter[tuple[Origin, str]]]:
    """The series without jobs beyond `MOST_JOBS` of a target, and the number left out by target."""
    jobs: Counter[tuple[Origin, str]] = Counter()
    left_out: Counter[tuple[Origin, str]] = Counter()
    active = []
    for counted in sorted(all_series, key=lambda counted: -_moved(counted)):
        if counted.counter_source.job is not None:
            jobs[_target(counted.counter_source)] += 1
            if jobs[_target(counted.counter_source)] > MOST_JOBS:
                left_out[_target(counted.counter_source)] += 1
                continue
        active.append(counted)
    return [counted for counted in all_series if counted in active] if left_out else list(all_series), left_out


def _moved(counted: Series) -> int:
    return sum(count.bytes or 0 for count in counted.readings[-1].counts.values())


def _case(source: Source, counted: Series, left_out: int) -> Case | None:
    intervals = counted.intervals
    first, last = counted.readings[0], counted.readings[-1]
    measured = list(_totals(source, last) if not intervals else _rates(source, counted, intervals))
    if not measured:
        return None
    if left_out and measured:
        measured[0] = _with(measured[0], _jobs_left_out(left_out))
    settings = {
        "counted": _TITLES[counted.counter_source.origin],
        "target": counted.counter_source.name,
        "job": f"job {counted.counter_source.job}" if counted.counter_source.job is not None else "",
    }
    return Case(
        tool_version=None,
        settings=model.nonempty_settings(settings),
        amount="",
        clients=None,
        ranks=None,
        measured=measured,
        target=counted.counter_source.file_system or counted.counter_source.name,
        facts=model.nonempty_settings(
            {
                "counters since": _moment(last.began_ns),
                **{
                    f"total: {name}": _amount(count)
                    for name, count in last.counts.items()
                    if not intervals and not count.is_zero
                },
                **_shares(last),
            }
        ),
        started_unix_ns=_unix(first.at_ns if intervals else last.began_ns),
        ended_unix_ns=_unix(last.at_ns),
    )


def _unix(at_ns: int | None) -> int | None:
    """The time, unless it counts from the server's boot."""
    return at_ns if at_ns is not None and at_ns >= EARLIEST_NS else None


def _moment(at_ns: int | None) -> str:
    at_ns = _unix(at_ns)
    return datetime.fromtimestamp(at_ns // NS_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at_ns else ""


def _amount(count: Count) -> str:
    """`931 GiB in 1000000 operations`."""
    times = format_count(count.times or 0, "operation")
    return f"{format_about_bytes(count.bytes)} in {times}" if count.bytes else times


def _with(measured: Measurement, doubt: Doubt) -> Measurement:
    return replace(measured, doubts=[*measured.doubts, doubt])


def _totals(source: Source, reading: Reading) -> Iterator[Measurement]:
    """The measurements of a single reading."""
    since = _moment(reading.began_ns)
    for name, count in sorted(reading.counts.items()):
        if not count.is_zero:
            yield Measurement(
                file=source.path,
                line=reading.line,
                phase=name,
                operation=OPERATIONS[name],
                bytes=count.bytes,
                operations=count.times,
                doubts=[
                    Doubt(
                        kind="totals-only",
                        message=f"one reading of counters: {_amount(count)} since "
                        f"{since or 'the server started or its counters were reset'}, and no rate",
                        remedy="read the counters twice or more: before and after the run, or every few seconds",
                        invalidates=True,
                    )
                ],
            )


def _rates(source: Source, counted: Series, intervals: Sequence[Interval]) -> Iterator[Measurement]:
    known_intervals = [interval for interval in intervals if interval.counts is not None]
    duration_ns = sum(interval.end_ns - interval.begin_ns for interval in known_intervals)
    resets = len(intervals) - len(known_intervals)
    names = sorted({name for interval in known_intervals for name in interval.counts or ()})
    for name in names:
        counts = [(interval.counts or {}).get(name, Count(0)) for interval in known_intervals]
        total = sum(counts[1:], counts[0])
        if not total.is_zero:
            yield Measurement(
                file=source.path,
                line=counted.readings[0].line,
                phase=name,
                operation=OPERATIONS[name],
                started_unix_ns=_unix(intervals[0].begin_ns),
                bytes=total.bytes,
                operations=total.times,
                duration_ns=duration_ns,
                samples=None if resets else _samples(known_intervals, counts),
                doubts=list(_doubts(counted, intervals, resets)),
            )


def _samples(intervals: Sequence[Interval], counts: Sequence[Count]) -> Samples | None:
    """Amounts of each interval, if all have about one length."""
    lengths = [interval.end_ns - interval.begin_ns for interval in intervals]
    typical = round(median(lengths))
    if len(lengths) < 2 or any(abs(length - typical) > _UNEVEN * typical for length in lengths):
        return None
    return Samples(
        interval_ns=typical,
        rank=[0] * len(counts),
        sample=range(len(counts)),
        bytes=[count.bytes or 0 for count in counts],
        operations=[count.times or 0 for count in counts],
    )


def _doubts(counted: Series, intervals: Sequence[Interval], resets: int) -> Iterator[Doubt]:
    if resets:
        yield Doubt(
            kind="counters-reset",
            message=f"counters fell or were reset in {format_count(resets, 'interval')} of {len(intervals)}, which are "
            "left out: the server restarted, or they were cleared",
            remedy="read the counters at shorter intervals, and do not clear them",
            evidence={"intervals": len(intervals), "left_out": resets},
        )
    longest = max(interval.end_ns - interval.begin_ns for interval in intervals) / NS_PER_S
    yield Doubt(
        kind="mean-of-intervals",
        message=f"the rate is the mean over {format_count(len(intervals), 'interval')} of up to "
        f"{format_number(longest)} s, pauses included"
        + (
            ": in job_stats an interval ends with the job's last operation"
            if counted.counter_source.job is not None
            else ""
        ),
        remedy="compare the timeline with that of the run: import it with --beside",
        evidence={"intervals": len(intervals), "longest_s": longest},
    )


def _jobs_left_out(number: int) -> Doubt:
    return Doubt(
        kind="not-imported",
        message=f"{format_count(number, 'job')} of this target that moved less than the {MOST_JOBS} shown are left out",
        remedy="import job_stats of fewer jobs",
        evidence={"jobs": number},
    )


def _shares(reading: Reading) -> dict[str, str]:
    """The histogram of I/O sizes in words: the share of each size, for reads and writes."""
    words_by_title = {}
    for title in ("disk I/O size", "pages per bulk r/w"):
        rows = reading.histograms.get(title, {})
        for column, noun in ((0, "reads"), (1, "writes")):
            if total := sum(row[column] for row in rows.values()):
                shares = {size: 100 * row[column] / total for size, row in rows.items()}
                words_by_title[f"{title}, {noun}"] = ", ".join(
                    f"{size} {share:.0f} %" for size, share in shares.items() if share >= 1
                )
    return words_by_title
