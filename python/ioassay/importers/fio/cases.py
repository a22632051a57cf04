"""Jobs of fio as a case: concurrent jobs are a phase, the processes of one job are ranks of one measurement."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ioassay.importers import doubts, model
from ioassay.importers.fio.jobs import Entry, Execution, IoTotals
from ioassay.importers.fio.latencies import BeyondBins, latencies
from ioassay.importers.fio.options import Options
from ioassay.importers.model import Case, Doubt, Measurement, Rank, Setting
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Source
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes, format_count

_NS_PER_MS = 1_000_000
_ORDER: tuple[Operation, ...] = ("write", "read")

_PROCESS_OVERHEAD, _PROCESS_OVERHEAD_MS = 1.1, 1000
"""How much longer than its reads and writes a process may take: it also opens files and reads the clock."""

_FEW_IOS = 20
"""With fewer I/Os per process, those at the ends of files may be a large share."""

_LEAST_MEAN = 0.95
"""A mean I/O below this share of the transfer size shows I/Os of several sizes."""

_OVERRUN = 2
"""A job that takes more than this multiple of its time limit was not ended by it."""


def of(source: Source, execution: Execution) -> Case:
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
    """When the first job began. Older versions print only when the document was written; the latest moment at which the
    longest job can have begun then stands in, which keeps runs in order.
    """
    starts = [entry.started_unix_ns for entry in execution.entries if entry.started_unix_ns is not None]
    if starts or execution.ended_unix_ns is None:
        return min(starts, default=None)
    longest_ms = max(moved.runtime_ms for entry in execution.entries for moved in entry.moved.values())
    return execution.ended_unix_ns - longest_ms * _NS_PER_MS


@dataclass(frozen=True)
class _Job:
    """A job: entries of one name in one group."""

    name: str
    phase: str
    entries: Sequence[Entry]

    failed: Sequence[Entry]
    """Entries that ran concurrently and moved nothing."""
    wrote_before: frozenset[str]
    """Files that earlier jobs wrote."""

    @property
    def options(self) -> Options:
        """The options; none if the entry sums up different jobs, of which fio prints the options of one."""
        return Options({}, is_printed=False) if self.unlike else self.entries[0].options

    @cached_property
    def unlike(self) -> str:
        """Why the entry must be the sum of several different jobs (group_reporting), in words; empty if nothing shows
        it.
        """
        options = self.entries[0].options
        if options.values.get("name", self.name) != self.name:
            return f"its name is {self.name}, and that of its options {options.values['name']}"
        for operation in self.operations:
            if not options.moves(operation):
                return f"its options have it {options.access}, but it did a {operation}"
        processes = 1 if len(self.entries) > self.hosts else options.jobs
        return next((reason for entry in self.entries if (reason := _more_than_told(entry, options, processes))), "")

    @property
    def hosts(self) -> int:
        return len({entry.host for entry in self.entries})

    @property
    def operations(self) -> list[Operation]:
        return [name for name in _ORDER if any(name in entry.moved for entry in self.entries)]

    @property
    def ranks(self) -> int | None:
        """The number of processes; for a sum (group_reporting) as configured, `None` if fio does not print it."""
        if len(self.entries) > self.hosts and not self.unlike:
            return len(self.entries)
        return self.hosts * self.options.jobs if self.options.is_printed else None


def _more_than_told(entry: Entry, options: Options, processes: int) -> str:
    """What an entry did that `processes` with these options cannot do, in words; empty if there is nothing."""
    if not options.is_printed:
        return ""
    most_ms = processes * (entry.runtime_ms * _PROCESS_OVERHEAD + _PROCESS_OVERHEAD_MS)
    if entry.processes_ms is not None and entry.runtime_ms and entry.processes_ms > most_ms:
        return (
            f"its processes took {entry.processes_ms / 1000:g} s together, but its options have "
            f"{processes} of at most {entry.runtime_ms / 1000:g} s"
        )
    for operation, moved in entry.moved.items():
        size = options.transfer_bytes(operation)
        if not size or not moved.operations:
            continue
        may_be_less = moved.short_ios or options.may_have_short_ios or moved.operations < _FEW_IOS * processes
        mean = moved.bytes / moved.operations
        if mean > size or (mean < size * _LEAST_MEAN and not may_be_less):
            return (
                f"a {operation} moved {format_bytes(round(mean))} in the mean, but its options have transfers of "
                f"{format_bytes(size)}"
            )
    return ""


def _jobs(execution: Execution) -> Iterator[_Job]:
    groups: dict[int, dict[str, list[Entry]]] = {}
    for entry in execution.entries:
        groups.setdefault(entry.group, {}).setdefault(entry.name, []).append(entry)
    phase_names: set[str] = set()
    written_files: set[str] = set()
    for number, named in groups.items():
        phase = next(iter(named)) if len(named) == 1 else f"group {number}"
        if phase in phase_names:
            phase = f"{phase} ({number})"
        phase_names.add(phase)
        failed = [entry for entries in named.values() for entry in entries if entry.error and not entry.moved]
        for name, entries in named.items():
            if any(entry.moved for entry in entries):
                yield _Job(name, phase, entries, failed, frozenset(written_files))
        for entries in named.values():
            written_files |= {name for entry in entries if "write" in entry.moved for name in entry.options.names}


def _most_ranks(jobs: Sequence[_Job]) -> int | None:
    """Ranks of the phase with the most; `None` if any phase's are unknown."""
    of_phase: Counter[str] = Counter()
    for job in jobs:
        if job.ranks is None:
            return None
        of_phase[job.phase] += job.ranks
    return max(of_phase.values())


def _settings(jobs: Sequence[_Job]) -> list[Setting]:
    """Settings that distinguish this execution; where jobs differ, the settings of each."""
    values_by_name: dict[str, dict[str, None]] = {}
    if any(job.unlike for job in jobs):
        values_by_name["jobs"] = {"sum of unlike jobs": None}
    for job in jobs:
        for setting in job.options.settings:
            values_by_name.setdefault(setting.name, {})[setting.value] = None
    return [Setting(name=name, value="/".join(values)) for name, values in values_by_name.items()]


def _measured(source: Source, job: _Job, operation: Operation) -> Measurement:
    entries = [(entry, entry.moved[operation]) for entry in job.entries if operation in entry.moved]
    moved = [io for _, io in entries]
    options, ranks = job.options, job.ranks
    runtimes = [io.runtime_ms * _NS_PER_MS for io in moved]
    operations = [io.operations for io in moved if io.operations is not None]
    return Measurement(
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
        started_unix_ns=min((entry.started_unix_ns for entry in job.entries if entry.started_unix_ns), default=None),
        ranks=ranks,
        bytes=sum(io.bytes for io in moved),
        operations=sum(operations) if len(operations) == len(moved) else None,
        # fio prints no start times of its own: the jobs are taken to begin together, and the slowest ends the phase.
        duration_ns=max(runtimes) or None,
        # Before 2.2 fio printed no number of I/Os, only their rate.
        rate_operations_per_s=moved[0].operations_per_s if len(moved) == 1 and not operations else None,
        finish_spread_ns=max(runtimes) - min(runtimes) if len(moved) > 1 else None,
        each=model.ranks(_ranks(entries)) if len(entries) == ranks else None,
        latencies=latencies(io.bins for io in moved),
        doubts=list(_doubts(job, operation, max(runtimes))),
    )


def _ranks(entries: Sequence[tuple[Entry, IoTotals]]) -> list[Rank]:
    return [
        Rank(
            rank=rank,
            node=entry.host,
            end_ns=moved.runtime_ms * _NS_PER_MS,
            bytes=moved.bytes,
            operations=moved.operations,
        )
        for rank, (entry, moved) in enumerate(entries)
    ]


def _doubts(job: _Job, operation: Operation, duration_ns: int) -> Iterator[Doubt]:
    options = job.options
    ios = [entry.moved[operation] for entry in job.entries if operation in entry.moved]
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
    others = dict.fromkeys(description for entry in job.entries for description in entry.others)
    if others:
        yield Doubt(
            kind="not-imported",
            message=f"the job also {' and '.join(others)}, which is left out: ioassay has no such operation",
            remedy="see fio's own output for it",
        )
    impossible = dict.fromkeys(description for entry in job.entries for description in entry.impossible)
    if impossible:
        yield Doubt(
            kind="not-imported",
            message=f"fio printed {' and '.join(impossible)}",
            remedy="see fio's own output for it; measure reads in a job without verify",
        )
    if beyond := [io.beyond_bins for io in ios if io.beyond_bins]:
        yield _beyond_bins(max(beyond, key=lambda bins: bins.slowest_ns))
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
