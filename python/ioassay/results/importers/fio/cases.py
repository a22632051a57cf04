"""Jobs of fio as a case: what runs side by side is a phase, the processes of one job are ranks of one measurement."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ioassay.results.document import Operation
from ioassay.results.importers import doubts, model
from ioassay.results.importers.fio.jobs import Entry, Execution, Moved
from ioassay.results.importers.fio.latencies import latencies
from ioassay.results.importers.fio.options import Options
from ioassay.results.importers.model import Case, Doubt, Measured, Rank, Setting
from ioassay.results.importers.numbers import NS_PER_S
from ioassay.results.importers.source import Source
from ioassay.units import format_count

_NS_PER_MS = 1_000_000
_ORDER: tuple[Operation, ...] = ("write", "read")


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
        """What it was told. Of an entry that is the sum of several jobs (group_reporting) fio tells but one of them."""
        told = self.entries[0].options
        is_sum = told.given.get("name", self.name) != self.name
        is_sum = is_sum or not all(told.moves(operation) for operation in self.operations)
        return Options({}, is_told=False) if is_sum else told

    @property
    def operations(self) -> list[Operation]:
        return [name for name in _ORDER if any(name in entry.moved for entry in self.entries)]

    @property
    def ranks(self) -> int | None:
        """How many processes it had; of a sum (group_reporting) as many as it was told, `None` if it was not told."""
        hosts = len({entry.host for entry in self.entries})
        if len(self.entries) > hosts:
            return len(self.entries)
        return hosts * self.options.jobs if self.options.is_told else None


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
    if operation == "write" and options.may_leave_unsynced:
        yield doubts.unsynced_write("end_fsync=1")
    if operation == "read" and not options.is_direct and options.keeps_cache and job.wrote_before & set(options.names):
        yield doubts.may_be_cached("an earlier job wrote the same file, and the page cache was not dropped", "direct=1")
    yield from doubts.short_phase(duration_ns / NS_PER_S)


def _failed(entry: Entry) -> Doubt:
    return Doubt(
        kind="job-failed",
        message=f"job {entry.name} ended with error {entry.error} ({os.strerror(entry.error)})",
        remedy="look for the failure in the kernel's log and fio's standard error; measure again",
        invalidates=True,
        evidence={"errno": entry.error},
    )
