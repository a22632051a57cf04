"""How long a case takes, as far as its plan tells: pauses, stonewalls, minimum times, given rates, and computation
between checkpoints.

What depends on the storage has no limit here: a phase that ends when its work is done, the rest of the work after a
stonewall. Nor counted are the preparation of phases, fsync, and emptying caches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.store.document import CaseEntry, JobEntry

if TYPE_CHECKING:
    from ioassay.protocol.plan import Job, Plan


@dataclass(frozen=True)
class TimeRange:
    """From `least_ns` to `most_ns`, which is `None` where the plan sets no limit."""

    least_ns: int
    most_ns: int | None


def summed(ranges: Iterable[TimeRange]) -> TimeRange:
    """One after the other."""
    every = list(ranges)
    most = [duration.most_ns for duration in every]
    return TimeRange(
        sum(duration.least_ns for duration in every), None if None in most else sum(most_ns or 0 for most_ns in most)
    )


def case_time(plan: Plan, entry: CaseEntry) -> TimeRange:
    """The time of a case; `entry` has what each of its jobs does."""
    pauses = [step["duration_ns"] for step in plan["steps"] if step["step"] == "pause"]
    return summed([*(TimeRange(pause, pause) for pause in pauses), *_phases(plan, entry).values()])


def unlimited(plan: Plan, entry: CaseEntry) -> list[str]:
    """The phases to which the plan sets no limit in time."""
    return [name for name, time in _phases(plan, entry).items() if time.most_ns is None]


def _phases(plan: Plan, entry: CaseEntry) -> dict[str, TimeRange]:
    amounts = {(phase.name, job.name): job for phase in entry.phases for job in phase.jobs}
    return {
        step["name"]: _longest([_job(job, amounts[step["name"], job["name"]]) for job in step["jobs"]])
        for step in plan["steps"]
        if step["step"] == "phase"
    }


def _longest(jobs: list[TimeRange]) -> TimeRange:
    most = [job.most_ns for job in jobs]
    return TimeRange(max(job.least_ns for job in jobs), None if None in most else max(most_ns or 0 for most_ns in most))


def _job(job: Job, entry: JobEntry) -> TimeRange:
    limit = job.get("limit", {})
    least, wall = limit.get("minimum_ns") or 0, limit.get("stonewall_ns")
    if (rate := job.get("rate")) is not None:
        amount = entry.planned_bytes if "bytes_per_s" in rate else entry.planned_operations
        per_s = rate["bytes_per_s"] if "bytes_per_s" in rate else rate["operations_per_s"]
        paced = amount * 10**9 // per_s
        least = max(least, paced if wall is None else min(paced, wall))
    work = job["work"]
    if work["kind"] == "checkpoint" and (save := work["operation"])["kind"] == "save":
        least = max(least, save["count"] * save["every_ns"])
    return TimeRange(least, None if limit.get("wear_out") else wall)
