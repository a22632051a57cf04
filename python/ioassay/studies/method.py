"""The method of a study in sentences, as the method section of a white paper says it.

Written from the resolved study, never by hand, so that what a report claims is what the engine was told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ioassay.studies import sweep
from ioassay.studies.model import Step, Study, Workload
from ioassay.units import format_bytes, format_duration

_ORDERS = {
    "sequential": "in ascending order",
    "random": "in random order, each transfer exactly once",
    "random-with-replacement": "at random offsets, each drawn afresh",
}

_CACHE_METHODS = {
    "drop-caches": "dropping all caches of the nodes (needs root)",
    "fadvise": "asking the kernel to forget the files' pages",
    "read-other-rank": "letting each rank read what the next rank wrote",
}


def method(study: Study) -> list[str]:
    """The method in sentences."""
    return [
        *(_data(workload) for workload in study.workloads.values()),
        *_said_once(study, _clients),
        *_said_once(study, _steps),
        "All ranks wait for one another before each step, so that each phase starts together on all of them.",
        f"Every operation is timed. Every {format_duration(study.sample_interval)} the bytes and operations of each "
        f"rank are kept as a sample. I/O goes through the {study.storage} storage API; random choices begin at "
        f"seed {study.seed}.",
    ]


def _data(workload: Workload) -> str:
    """What is written and read."""
    files = "every rank has a file of its own" if workload.layout == "N-N" else "all ranks share one file"
    if workload.total is not None:
        size = f"{format_bytes(workload.total)} in all, divided evenly among the ranks"
    else:
        size = f"{format_bytes(workload.per_client or 0)} per client"
    segments = f", in {workload.segments} segments" if workload.segments > 1 else ""
    return (
        f"{workload.title}: {files}; {size}{segments}, moved in transfers of {format_bytes(workload.transfer)} "
        f"{_ORDERS[workload.order]}."
    )


def _clients(workload: Workload) -> str:
    """On how many clients, how often."""
    counts = _listed([str(clients) for clients in workload.clients])
    clients = "client" if workload.clients == [1] else "clients"
    ranks = "rank" if workload.ranks_per_client == 1 else "ranks"
    often = "once" if workload.repetitions == 1 else f"{workload.repetitions} times, sweep after sweep"
    return f"is done with {counts} {clients} and {workload.ranks_per_client} {ranks} on each, {often}."


def _steps(workload: Workload) -> str:
    """What happens in a case."""
    return f"takes these steps in each case: {'; '.join(_step(workload, step) for step in workload.steps)}."


def _step(workload: Workload, step: Step) -> str:
    if step.pause is not None:
        return f"wait {format_duration(step.pause)}"
    if step.cold_cache is not None:
        ways = ", then by ".join(_CACHE_METHODS[way] for way in step.cold_cache)
        return f"empty the caches by {ways}, until at most 1 % of the files is in memory; what still is, is measured"
    name, operation = sweep.name_of(step), str(step.operation)
    said = operation if name == operation else f"{operation} ({name})"
    if (order := sweep.order_of(workload, step)) != workload.order:
        said += f" {_ORDERS[order]}"
    if sweep.fsync_of(step) == "at-end":
        said += ", with an fsync of every file at the end that counts in the time"
    return said


def _said_once(study: Study, say: Callable[[Workload], str]) -> list[str]:
    """One sentence for all workloads where it is the same for all, else one for each."""
    sentences = {name: say(workload) for name, workload in study.workloads.items()}
    if len(set(sentences.values())) == 1:
        return [f"Each workload {next(iter(sentences.values()))}"]
    return [f"{study.workloads[name].title} {sentence}" for name, sentence in sentences.items()]


def _listed(items: Sequence[str]) -> str:
    """`1, 2 and 4`."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else items[0]
