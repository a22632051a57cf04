"""Counters of servers as a run: a case for each target, and each job of `job_stats`; a phase for each operation.

With two readings or more the rate is that of all intervals between them, and intervals of one length are samples. With
one reading only amounts are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median

from ioassay.importers import model
from ioassay.importers.gather import Reader
from ioassay.importers.model import Beside, Case, Doubt, Measured, Samples
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.servers.counters import (
    EARLIEST_NS,
    OPERATIONS,
    Count,
    Counted,
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
"""Of a target; the others that moved less are left out, and counted."""

_UNEVEN = 0.1
"""The share by which intervals may differ from the usual one; where they do by more, they make no samples."""

_TITLES: Mapping[Origin, str] = {
    "target": "as the server counts",
    "disks": "as the server's disks count",
    "client": "as the client counts",
    "network": "as LNet counts",
    "gpfs": "as GPFS counts on the node",
}


def reader(read: ReadCounters) -> Reader:
    """Makes cases of a file's counters."""

    def cases(source: Source, _: Beside) -> list[Case]:
        found = series(read(source))
        kept, left_out = _most_active(found)
        cases = [case for one in kept if (case := _case(source, one, left_out[_target(one.of)])) is not None]
        if not cases:
            raise Refused("has counters that did not change between its readings: nothing was measured")
        return cases

    return cases


def _target(of: Counted) -> tuple[Origin, str]:
    return of.origin, of.name


def _most_active(found: Sequence[Series]) -> tuple[list[Series], Counter[tuple[Origin, str]]]:
    """The series without the jobs beyond `MOST_JOBS` of a target, and how many of these each target has."""
    jobs: Counter[tuple[Origin, str]] = Counter()
    left_out: Counter[tuple[Origin, str]] = Counter()
    kept = []
    for one in sorted(found, key=lambda one: -_moved(one)):
        if one.of.job is not None:
            jobs[_target(one.of)] += 1
            if jobs[_target(one.of)] > MOST_JOBS:
                left_out[_target(one.of)] += 1
                continue
        kept.append(one)
    return [one for one in found if one in kept] if left_out else list(found), left_out


def _moved(one: Series) -> int:
    return sum(count.bytes or 0 for count in one.readings[-1].counts.values())


def _case(source: Source, one: Series, left_out: int) -> Case | None:
    intervals = one.intervals
    first, last = one.readings[0], one.readings[-1]
    measured = list(_totals(source, last) if not intervals else _rates(source, one, intervals))
    if not measured:
        return None
    if left_out and measured:
        measured[0] = _with(measured[0], _jobs_left_out(left_out))
    settings = {
        "counted": _TITLES[one.of.origin],
        "target": one.of.name,
        "job": f"job {one.of.job}" if one.of.job is not None else "",
    }
    return Case(
        tool_version=None,
        settings=model.told(settings),
        amount="",
        clients=None,
        ranks=None,
        measured=measured,
        target=one.of.file_system or one.of.name,
        facts=model.told(
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
    """A moment, unless it counts from the server's boot."""
    return at_ns if at_ns is not None and at_ns >= EARLIEST_NS else None


def _moment(at_ns: int | None) -> str:
    at_ns = _unix(at_ns)
    return datetime.fromtimestamp(at_ns // NS_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at_ns else ""


def _amount(count: Count) -> str:
    """`931 GiB in 1000000 operations`."""
    times = format_count(count.times or 0, "operation")
    return f"{format_about_bytes(count.bytes)} in {times}" if count.bytes else times


def _with(measured: Measured, doubt: Doubt) -> Measured:
    return replace(measured, doubts=[*measured.doubts, doubt])


def _totals(source: Source, reading: Reading) -> Iterator[Measured]:
    """What one reading says."""
    since = _moment(reading.began_ns)
    for name, count in sorted(reading.counts.items()):
        if not count.is_zero:
            yield Measured(
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


def _rates(source: Source, one: Series, intervals: Sequence[Interval]) -> Iterator[Measured]:
    known = [interval for interval in intervals if interval.counts is not None]
    duration_ns = sum(interval.end_ns - interval.begin_ns for interval in known)
    resets = len(intervals) - len(known)
    names = sorted({name for interval in known for name in interval.counts or ()})
    for name in names:
        counts = [(interval.counts or {}).get(name, Count(0)) for interval in known]
        total = sum(counts[1:], counts[0])
        if not total.is_zero:
            yield Measured(
                file=source.path,
                line=one.readings[0].line,
                phase=name,
                operation=OPERATIONS[name],
                started_unix_ns=_unix(intervals[0].begin_ns),
                bytes=total.bytes,
                operations=total.times,
                duration_ns=duration_ns,
                samples=None if resets else _samples(known, counts),
                doubts=list(_doubts(one, intervals, resets)),
            )


def _samples(intervals: Sequence[Interval], counts: Sequence[Count]) -> Samples | None:
    """What was counted in each interval, where all have about one length."""
    lengths = [interval.end_ns - interval.begin_ns for interval in intervals]
    usual = round(median(lengths))
    if len(lengths) < 2 or any(abs(length - usual) > _UNEVEN * usual for length in lengths):
        return None
    return Samples(
        interval_ns=usual,
        rank=[0] * len(counts),
        sample=range(len(counts)),
        bytes=[count.bytes or 0 for count in counts],
        operations=[count.times or 0 for count in counts],
    )


def _doubts(one: Series, intervals: Sequence[Interval], resets: int) -> Iterator[Doubt]:
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
        + (": in job_stats an interval ends with the job's last operation" if one.of.job is not None else ""),
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
    """The histogram of I/O sizes in words: of reads and of writes the share of each size."""
    found = {}
    for title in ("disk I/O size", "pages per bulk r/w"):
        rows = reading.histograms.get(title, {})
        for side, what in ((0, "reads"), (1, "writes")):
            if total := sum(row[side] for row in rows.values()):
                shares = {size: 100 * row[side] / total for size, row in rows.items()}
                found[f"{title}, {what}"] = ", ".join(
                    f"{size} {share:.0f} %" for size, share in shares.items() if share >= 1
                )
    return found
