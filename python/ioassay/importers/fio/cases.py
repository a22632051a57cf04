"""Jobs of fio as a case: what runs side by side is a phase, the processes of one job are ranks of one measurement."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ioassay.importers import doubts, model
from ioassay.importers.fio.jobs import Entry, Execution, Moved
from ioassay.importers.fio.latencies import BeyondBins, latencies
from ioassay.importers.fio.options import Options
from ioassay.importers.model import Case, Doubt, Measured, Rank, Setting
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Source
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes, format_count

_NS_PER_MS = 1_000_000
_ORDER: tuple[Operation, ...] = ("write", "read")

_PROCESS_OVERHEAD, _PROCESS_OVERHEAD_MS = 1.1, 1000
"""How much longer than its reads and writes a process may take: it also opens files and looks at the clock."""

_FEW_IOS = 20
"""Of fewer I/Os of a process, those at the ends of files may be a large share."""

_LEAST_MEAN = 0.95
"""The share of the transfer size below which a mean I/O is not that of one size."""

_OVERRUN = 2
"""From so many times its time limit on, a job did not end because of it."""


def of(source: Source, execution: Execution) -> Case:
    """The case."""
    jobs = list(_jobs(execution))
    return Case(
        tool_version=execution.version,
        settings=[*_settings(jobs), Setting(name="version", value=f"fio {execution.version}")],
        amount="/".join(dict.fromkeys(job.options.amount for job in jobs if job.options.amount)),
        clients=execution.hosts,
        ranks=_most_ranks(jobs),
        measured=[_measured(source, job, operation) for job in jobs for operation in job.operations],
        target="/".join(dict.fromkeys(job.options.target for job in jobs if job.options.target)) or None,
        facts=[
            Setting(name="machine", value=host) for host in dict.fromkeys(e.host for e in execution.entries) if host
        ],
        started_unix_ns=_started(execution),
        ended_unix_ns=execution.ended_unix_ns,
    )


def _started(execution: Execution) -> int | None:
    """When its first job began. Older versions tell only when the document was written: then it is the latest moment
    at which the longest job can have begun, which puts runs in order.
    """
    told = [entry.started_unix_ns for entry in execution.entries if entry.started_unix_ns is not None]
    if told or execution.ended_unix_ns is None:
        return min(told, default=None)
    longest_ms = max(moved.runtime_ms for entry in execution.entries for moved in entry.moved.values())
    return execution.ended_unix_ns - longest_ms * _NS_PER_MS


@dataclass(frozen=True)
class _Job:
    """A job: entries of one name in one group."""

    name: str
    phase: str
    entries: Sequence[Entry]

    failed: Sequence[Entry]
    """Those that ran beside it and moved nothing."""
    wrote_before: frozenset[str]
    """Files that jobs before it wrote."""

    @property
    def options(self) -> Options:
        """What it was told; nothing if its entry is the sum of jobs that differ, of which fio tells but one."""
        return Options({}, is_told=False) if self.unlike else self.entries[0].options

    @cached_property
    def unlike(self) -> str:
        """What tells that it is the sum of several jobs that were not alike (group_reporting), in words; empty where
        nothing does.
        """
        told = self.entries[0].options
        if told.given.get("name", self.name) != self.name:
            return f"its name is {self.name}, and that of its options {told.given['name']}"
        for operation in self.operations:
            if not told.moves(operation):
                return f"its options have it {told.access}, but it did a {operation}"
        each = 1 if len(self.entries) > self.hosts else told.jobs
        return next((why for entry in self.entries if (why := _more_than_told(entry, told, each))), "")

    @property
    def hosts(self) -> int:
        """On how many it ran."""
        return len({entry.host for entry in self.entries})

    @property
    def operations(self) -> list[Operation]:
        return [name for name in _ORDER if any(name in entry.moved for entry in self.entries)]

    @property
    def ranks(self) -> int | None:
        """How many processes it had; of a sum (group_reporting) as many as it was told, `None` if it was not told."""
        if len(self.entries) > self.hosts and not self.unlike:
            return len(self.entries)
        return self.hosts * self.options.jobs if self.options.is_told else None


def _more_than_told(entry: Entry, told: Options, processes: int) -> str:
    """What an entry did that `processes` with these options cannot do, in words; empty where there is nothing."""
    if not told.is_told:
        return ""
    most_ms = processes * (entry.runtime_ms * _PROCESS_OVERHEAD + _PROCESS_OVERHEAD_MS)
    if entry.processes_ms is not None and entry.runtime_ms and entry.processes_ms > most_ms:
        return (
            f"its processes took {entry.processes_ms / 1000:g} s together, but its options have "
            f"{processes} of at most {entry.runtime_ms / 1000:g} s"
        )
    for operation, moved in entry.moved.items():
        size = told.transfer_bytes(operation)
        if not size or not moved.operations:
            continue
        may_be_less = moved.short_ios or told.may_have_short_ios or moved.operations < _FEW_IOS * processes
        mean = moved.bytes / moved.operations
        if mean > size or (mean < size * _LEAST_MEAN and not may_be_less):
            return (
                f"a {operation} moved {format_bytes(round(mean))} in the mean, but its options have transfers of "
                f"{format_bytes(size)}"
            )
    return ""


def _jobs(execution: Execution) -> Iterator[_Job]:
    """The jobs, phase by phase."""
    groups: dict[int, dict[str, list[Entry]]] = {}
    for entry in execution.entries:
        groups.setdefault(entry.group, {}).setdefault(entry.name, []).append(entry)
    taken: set[str] = set()
    wrote: set[str] = set()
    for number, named in groups.items():
        phase = next(iter(named)) if len(named) == 1 else f"group {number}"
        if phase in taken:
            phase = f"{phase} ({number})"
        taken.add(phase)
        failed = [entry for entries in named.values() for entry in entries if entry.error and not entry.moved]
        for name, entries in named.items():
            if any(entry.moved for entry in entries):
                yield _Job(name, phase, entries, failed, frozenset(wrote))
        for entries in named.values():
            wrote |= {name for entry in entries if "write" in entry.moved for name in entry.options.names}


def _most_ranks(jobs: Sequence[_Job]) -> int | None:
    """The ranks of the phase that has most; `None` where that of any is not known."""
    of_phase: Counter[str] = Counter()
    for job in jobs:
        if job.ranks is None:
            return None
        of_phase[job.phase] += job.ranks
    return max(of_phase.values())


def _settings(jobs: Sequence[_Job]) -> list[Setting]:
    """What tells this execution from others: where jobs differ, what each was told."""
    found: dict[str, dict[str, None]] = {}
    if any(job.unlike for job in jobs):
        found["jobs"] = {"sum of unlike jobs": None}
    for job in jobs:
        for setting in job.options.settings:
            found.setdefault(setting.name, {})[setting.value] = None
    return [Setting(name=name, value="/".join(values)) for name, values in found.items()]


def _measured(source: Source, job: _Job, operation: Operation) -> Measured:
    did = [(entry, entry.moved[operation]) for entry in job.entries if operation in entry.moved]
    moved = [one for _, one in did]
    options, ranks = job.options, job.ranks
    runtimes = [one.runtime_ms * _NS_PER_MS for one in moved]
    operations = [one.operations for one in moved if one.operations is not None]
    return Measured(
        file=source.path,
        line=moved[0].line,
        phase=job.phase,
        job=job.name,
        operation=operation,
        layout=options.layout,
        order=options.order,
        files=options.files(ranks),
        transfer_bytes=options.transfer_bytes(operation),
        file_set_bytes=options.file_set_bytes(ranks),
        started_unix_ns=min((one.started_unix_ns for one in job.entries if one.started_unix_ns), default=None),
        ranks=ranks,
        bytes=sum(one.bytes for one in moved),
        operations=sum(operations) if len(operations) == len(moved) else None,
        # All begin together, as far as fio tells: the slowest ends the phase.
        duration_ns=max(runtimes) or None,
        # Before 2.2 fio printed no number of I/Os, only their rate.
        rate_operations_per_s=moved[0].operations_per_s if len(moved) == 1 and not operations else None,
        finish_spread_ns=max(runtimes) - min(runtimes) if len(moved) > 1 else None,
        each=model.ranks(_ranks(did)) if len(did) == ranks else None,
        latencies=latencies(one.bins for one in moved),
        doubts=list(_doubts(job, operation, max(runtimes))),
    )


def _ranks(did: Sequence[tuple[Entry, Moved]]) -> list[Rank]:
    return [
        Rank(
            rank=at,
            node=entry.host,
            end_ns=moved.runtime_ms * _NS_PER_MS,
            bytes=moved.bytes,
            operations=moved.operations,
        )
        for at, (entry, moved) in enumerate(did)
    ]


def _doubts(job: _Job, operation: Operation, duration_ns: int) -> Iterator[Doubt]:
    options = job.options
    did = [entry.moved[operation] for entry in job.entries if operation in entry.moved]
    if job.unlike:
        yield _unlike(job)
    for entry in [*job.entries, *job.failed]:
        if entry.error:
            yield _failed(entry)
            break
    ignored = sum(entry.ignored_errors for entry in job.entries)
    if ignored and not any(entry.error for entry in job.entries):
        yield Doubt(
            kind="errors-ignored",
            message=f"fio went on after {format_count(ignored, 'error')} (continue_on_error)",
            remedy="look for the failure in the kernel's log and fio's standard error",
            evidence={"errors": ignored},
        )
    others = dict.fromkeys(what for entry in job.entries for what in entry.others)
    if others:
        yield Doubt(
            kind="not-imported",
            message=f"the job also {' and '.join(others)}, which is left out: ioassay has no such operation",
            remedy="see fio's own output for it",
        )
    impossible = dict.fromkeys(what for entry in job.entries for what in entry.impossible)
    if impossible:
        yield Doubt(
            kind="not-imported",
            message=f"fio printed {' and '.join(impossible)}",
            remedy="see fio's own output for it; measure reads in a job without verify",
        )
    if beyond := [one.beyond_bins for one in did if one.beyond_bins]:
        yield _beyond_bins(max(beyond, key=lambda one: one.slowest_ns))
    limit_ms = options.most_runtime_ms
    if limit_ms and duration_ns > _OVERRUN * (limit_ms + options.ramp_ms) * _NS_PER_MS + NS_PER_S:
        yield _overran(limit_ms, duration_ns)
    if not options.outlasts_ramp:
        yield _measured_ramp(options)
    if operation == "write" and options.may_leave_unsynced:
        yield doubts.unsynced_write("end_fsync=1")
    if operation == "read" and not options.is_direct and options.keeps_cache and job.wrote_before & set(options.names):
        yield doubts.may_be_cached("an earlier job wrote the same file, and the page cache was not dropped", "direct=1")
    yield from doubts.short_phase(duration_ns / NS_PER_S)


def _unlike(job: _Job) -> Doubt:
    return Doubt(
        kind="unlike-jobs",
        message=f"the entry {job.name} is the sum of several jobs that were not alike (group_reporting): {job.unlike}; "
        "the number of processes, transfer size, order, direct I/O and fsync are unknown",
        remedy="run fio without group_reporting, or with one kind of job in each group (new_group)",
    )


def _beyond_bins(beyond: BeyondBins) -> Doubt:
    least, slowest = (f"{ns / NS_PER_S:.1f} s" for ns in (beyond.from_ns, beyond.slowest_ns))
    return Doubt(
        kind="latencies-beyond-bins",
        message=f"the slowest operation took {slowest}, but fio counts all from {least} on in one bin: percentiles "
        "that it prints there are lower bounds",
        remedy=f'read such a percentile as "at least {least}"; record each latency with write_lat_log',
        evidence={"bin_from_ns": beyond.from_ns, "slowest_ns": beyond.slowest_ns},
    )


def _overran(limit_ms: int, duration_ns: int) -> Doubt:
    return Doubt(
        kind="time-limit-overrun",
        message=f"the job took {duration_ns / NS_PER_S:g} s, but its runtime limits it to {limit_ms / 1000:g} s: "
        "operations did not return in time, and the rate includes the wait",
        remedy="look for stalls in the kernel's log and in fio's slowest latencies; measure again",
        evidence={"duration_ns": duration_ns, "limit_ns": limit_ms * _NS_PER_MS},
    )


def _measured_ramp(options: Options) -> Doubt:
    limit_ms = options.most_runtime_ms or 0
    return Doubt(
        kind="ramp-measured",
        message=f"ramp_time ({options.ramp_ms / 1000:g} s) is not shorter than runtime ({limit_ms / 1000:g} s): fio "
        "may have ended the job within its ramp, and printed what it did there",
        remedy="measure again with a runtime that is longer than ramp_time",
        evidence={"ramp_ns": options.ramp_ms * _NS_PER_MS, "limit_ns": limit_ms * _NS_PER_MS},
    )


def _failed(entry: Entry) -> Doubt:
    try:
        meaning = os.strerror(entry.error)
    except (OSError, OverflowError):
        meaning = "unknown"
    return Doubt(
        kind="job-failed",
        message=f"job {entry.name} ended with error {entry.error} ({meaning})",
        remedy="look for the failure in the kernel's log and fio's standard error; measure again",
        invalidates=True,
        evidence={"errno": entry.error},
    )
