"""A plan in words, for the method section of a report: what a case does, step by step.

Not: what one kind of work does (`kinds`), amounts (`sizes`), what a study says of its sweep (`ioassay.studies.method`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ioassay.plans import registry
from ioassay.plans.kind import has_several, phase_name, which, with_additions
from ioassay.plans.kinds.checkpoint import checkpoint
from ioassay.plans.kinds.data import file_set
from ioassay.plans.kinds.metadata import tree
from ioassay.plans.kinds.train import dataset
from ioassay.protocol.facts import COLD_SHARE
from ioassay.text.prose import listed
from ioassay.text.units import format_bytes, format_duration

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import (
        CacheMethod,
        Hook,
        Job,
        Limit,
        Rate,
        SiteCommand,
        Step,
        StepColdCache,
        Storage,
        Think,
    )


_CACHE_METHODS = {
    "drop-caches": "dropping all caches of the nodes (needs root)",
    "fadvise": "asking the kernel to forget the files' pages",
    "remount": "unmounting the file system and mounting it anew",
    "read-other-rank": "letting each rank read what another rank wrote, of the next node where there are several",
}

BARRIERS = "All ranks wait for one another before each step, so that each phase starts together on all of them."


def recording(sample_interval_ns: int) -> str:
    """What is kept of every operation."""
    return (
        f"Every operation is timed. Every {format_duration(sample_interval_ns)} the bytes and operations of each rank "
        "are kept as a sample."
    )


def storage(through: Storage) -> str:
    """How I/O is done."""
    parts = [f"{through['api']} storage API"]
    parts += ["past the page cache"] * through.get("direct", False)
    parts += ["uncached (RWF_DONTCACHE)"] * through.get("uncached", False)
    parts += [f"with {through['depth']} transfers of each rank in flight"] if through.get("depth", 1) > 1 else []
    parts += [f"in {through['vectors']} pieces per call"] if through.get("vectors", 1) > 1 else []
    parts += [f"with up to {retries} retries of a request"] if (retries := through.get("retries")) else []
    parts += [f"{key} {value}" for key, value in sorted(through.get("options", {}).items())]
    if uring := through.get("uring"):
        parts += [f"io_uring {key.replace('_', ' ')}" for key, on in uring.items() if on is True]
        parts += [f"io_uring batches of {uring['batch']}"] if uring.get("batch") else []
    return ", ".join(parts)


def sets(plan: Contents) -> Iterator[str]:
    """What is written, read, created and examined, a sentence for each file set, tree, dataset and checkpoint."""
    several = has_several(plan)
    for name, files in plan.get("files", {}).items():
        yield (f"file set {name}: " if several else "") + file_set(plan, name, files)
    for name, shape in plan.get("trees", {}).items():
        yield (f"tree {name}: " if several else "") + tree(shape)
    for name, of in plan.get("datasets", {}).items():
        yield (f"dataset {name}: " if several else "") + dataset(of)
    for name, saved in plan.get("checkpoints", {}).items():
        yield (f"checkpoint {name}: " if several else "") + checkpoint(saved)


def steps(plan: Contents) -> str:
    """What happens in a case, step after step: the end of a sentence about a workload."""
    return f"takes these steps in each case: {'; '.join(each_step(plan))}."


def each_step(plan: Contents) -> list[str]:
    """What each step does, in their order."""
    return [_step(plan, step) for step in plan["steps"]]


def shared_once(sentences: Sequence[tuple[str, str]]) -> list[str]:
    """(title, end of a sentence) of every workload: one sentence where it is the same for all, else one for each."""
    if len({sentence for _, sentence in sentences}) == 1:
        return [f"Each workload {sentences[0][1]}"]
    return [f"{title} {sentence}" for title, sentence in sentences]


def rate(limit: Rate) -> str:
    """The rate of a job."""
    if "bytes_per_s" in limit:
        return f"{format_bytes(limit['bytes_per_s'])}/s"
    return f"{limit['operations_per_s']} operations per second"


def think(pauses: Think) -> str:
    """The pauses between operations."""
    every = pauses["every_operations"]
    after = "each operation" if every == 1 else f"every {every} operations"
    return f"a pause of {format_duration(pauses['duration_ns'])} after {after}"


def _step(plan: Contents, step: Step) -> str:
    match step["step"]:
        case "pause":
            return f"wait {format_duration(step['duration_ns'])}"
        case "cold-cache":
            return _cold_cache(step)
        case "remove-files":
            return f"remove the files{which(plan, listed(step['files']))}"
    settled = "wait until all that was written before is on stable storage, then " if step.get("settle") else ""
    name, jobs = step["name"], step["jobs"]
    if len(jobs) == 1 and jobs[0]["name"] == name:
        return settled + _work(plan, jobs[0], name)
    all_jobs = " | ".join(f"{job['name']}: {_work(plan, job)}" for job in jobs)
    return f"{settled}at the same time ({name}) {all_jobs}"


def _work(plan: Contents, job: Job, name: str | None = None) -> str:
    work = job["work"]
    return registry.kind_of(work).words(plan, work, name) + _through(job) + _pace(plan, job)


def _cold_cache(step: StepColdCache) -> str:
    parts = [_hook(hook) for hook in step.get("hooks", [])]
    ways = ", then by ".join(_way(step, way) for way in step["attempts"])
    if ways:
        parts.append(
            f"empty the caches on every node by {ways}, until at most {100 * COLD_SHARE:g} % of the files is in memory"
        )
    return f"{', then '.join(parts)}; what still is in memory is measured on every node"


def _way(step: StepColdCache, way: CacheMethod) -> str:
    remount = step.get("remount")
    return _CACHE_METHODS[way] + (f" (`{_line(remount)}`)" if way == "remount" and remount else "")


def _hook(hook: Hook) -> str:
    host = f" for the server {hook['host']}" if "host" in hook else ""
    return f"run `{_line(hook['command'])}`{host}"


def _line(command: SiteCommand) -> str:
    """A command as it was meant: what is for a shell as its line."""
    words = command["words"]
    return str(words[2]) if words[:2] == ["sh", "-c"] and len(words) == 3 else shlex.join(words)


def _through(job: Job) -> str:
    """How a job does its I/O, where it says so itself."""
    job_storage = job.get("storage")
    return f", through the {storage(job_storage)}" if job_storage else ""


def _pace(plan: Contents, job: Job) -> str:
    additions = [*_limits(plan, job.get("limit", {}))]
    if at_most := job.get("rate"):
        additions.append(f"at most {rate(at_most)}")
    if pauses := job.get("think"):
        additions.append(f"with {think(pauses)}")
    return with_additions(additions)


def _limits(plan: Contents, limit: Limit) -> Iterator[str]:
    if (most_bytes := limit.get("bytes_per_rank")) is not None:
        yield f"at most {format_bytes(most_bytes)} per rank"
    if (most := limit.get("operations_per_rank")) is not None:
        yield f"at most {most} operations per rank"
    if earlier := limit.get("at_rate_of"):
        of_phase, time = phase_name(plan, earlier["step"]), format_duration(earlier["duration_ns"])
        yield f"as many as {of_phase} would have done in {time}"
    stonewall_ns, minimum_ns = limit.get("stonewall_ns"), limit.get("minimum_ns")
    if stonewall_ns is not None and stonewall_ns == minimum_ns:
        yield f"for {format_duration(stonewall_ns)}, starting over when all is done"
        return
    if stonewall_ns is not None:
        after = ", after which every rank does as much as the fastest" if limit.get("wear_out") else ""
        yield f"for at most {format_duration(stonewall_ns)} (stonewall){after}"
    if minimum_ns is not None:
        # A pass that was begun before is done to its end, or to the stonewall.
        yield f"starting over until {format_duration(minimum_ns)} has passed"
