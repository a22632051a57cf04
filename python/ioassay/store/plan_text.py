"""A plan in words, for the method section of a report: what a case does, step by step.

Not: amounts (`planned`), what a study says of its sweep (`ioassay.studies.method`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ioassay.protocol.facts import COLD_SHARE
from ioassay.store.plan_sizes import Shape, bytes_each
from ioassay.text.prose import listed
from ioassay.text.units import format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from ioassay.protocol.plan import (
        CacheMethod,
        FileSet,
        Fsync,
        Hook,
        Job,
        Limit,
        Order,
        Rate,
        SiteCommand,
        Source,
        Step,
        StepColdCache,
        Storage,
        Stream,
        Think,
        Tree,
        WorkData,
        WorkFind,
        WorkMetadata,
        WorkReplay,
    )
    from ioassay.store.plan_sizes import Contents

_CACHE_METHODS = {
    "drop-caches": "dropping all caches of the nodes (needs root)",
    "fadvise": "asking the kernel to forget the files' pages",
    "remount": "unmounting the file system and mounting it anew",
    "read-other-rank": "letting each rank read what another rank wrote, of the next node where there are several",
}

_FSYNCS = {
    "never": "",
    "at-close": "with an fsync of every file at the end that counts in the time",
    "at-end": "with an fsync of all files after the last write that counts in the time",
    "every-writes": "with an fsync after every {} writes that counts in the time",
}

_ORDERS = {
    "sequential": "in ascending order",
    "backward": "in descending order",
    "random": "in random order, each transfer exactly once",
    "random-with-replacement": "at random offsets, each drawn afresh",
    "ior-shuffled": "in random order within each segment, as IOR's -z has it",
    "ior-drawn": "block by block, each drawn afresh from the whole file, as IOR's -z given twice has it",
    "strided": "every {}th transfer, then every {}th beginning with the second, and so on, each exactly once",
    "zipf": "at offsets drawn from a Zipf distribution with the exponent {}, few often, most rarely",
    "hot-spot": "with {operations_percent} % of the operations in the first {transfers_percent} % of the transfers",
}

_SOURCES = {
    "own": "",
    "shift": "each rank the part of the rank {} further on",
    "shuffled": "parts exchanged",
    "listed": "each rank a part that the plan names",
}

_ITEM_ORDERS = {
    "sequential": "",
    "interleaved": "one of each directory in turn",
    "random": "in random order",
}

_SHARINGS = {
    "unique": "every rank has a tree of its own",
    "shared": "all ranks share one tree, each with items of its own",
    "shared-items": "all ranks share one tree and its items",
}

_ON_TREES = {
    "create-tree": "create the directories",
    "create": "create the items",
    "stat": "stat every item",
    "read": "read every item",
    "write": "write every item",
    "rename": "rename every item",
    "replace": "look at every item, read it, remove it and create another one",
    "remove": "remove every item",
    "remove-tree": "remove the directories",
}

_MOST_STREAMS = 4
"""Of a replay, that are said."""

BARRIERS = "All ranks wait for one another before each step, so that each phase starts together on all of them."


def recording(sample_interval_ns: int) -> str:
    """What is kept of every operation."""
    return (
        f"Every operation is timed. Every {format_duration(sample_interval_ns)} the bytes and operations of each rank "
        "are kept as a sample."
    )


def storage(through: Storage) -> str:
    """How I/O is done."""
    said = [f"{through['api']} storage API"]
    said += ["past the page cache"] * through.get("direct", False)
    said += ["uncached (RWF_DONTCACHE)"] * through.get("uncached", False)
    said += [f"with {through['depth']} transfers of each rank in flight"] if through.get("depth", 1) > 1 else []
    said += [f"in {through['vectors']} pieces per call"] if through.get("vectors", 1) > 1 else []
    said += [f"with up to {retries} retries of a request"] if (retries := through.get("retries")) else []
    said += [f"{key} {value}" for key, value in sorted(through.get("options", {}).items())]
    if uring := through.get("uring"):
        said += [f"io_uring {key.replace('_', ' ')}" for key, on in uring.items() if on is True]
        said += [f"io_uring batches of {uring['batch']}"] if uring.get("batch") else []
    return ", ".join(said)


def sets(plan: Contents) -> Iterator[str]:
    """What is written, read, created and looked at, a sentence for each file set and tree."""
    several = len(plan.get("files", {})) + len(plan.get("trees", {})) > 1
    for name, files in plan.get("files", {}).items():
        yield (f"file set {name}: " if several else "") + _file_set(plan, name, files)
    for name, one in plan.get("trees", {}).items():
        yield (f"tree {name}: " if several else "") + tree(one)


def _file_set(plan: Contents, name: str, files: FileSet) -> str:
    count = files["files_per_rank"]
    own = "a file" if count == 1 else f"{count} files"
    shared = "one file" if count == 1 else own
    match files["layout"]:
        case "N-N":
            layout = f"every rank has {own} of its own"
        case "N-1":
            layout = f"all ranks share {shared}"
        case groups:
            layout = f"{groups['N-M']} groups of ranks share {own} each"
    block = f"{format_bytes(files['block_bytes'])} of each rank"
    segments = "" if files["segments"] == 1 else f" in each of {files['segments']} segments"
    in_each = " in each file" if count > 1 else ""
    offset = f", beginning {format_bytes(files['offset_bytes'])} into each file" if files.get("offset_bytes") else ""
    moved = f"moved in transfers of {format_bytes(files['transfer_bytes'])} {order(_usual_order(plan, name))}"
    return f"{layout}; {block}{segments}{in_each}{offset}, {moved}"


def tree(one: Tree) -> str:
    """A tree."""
    count = Shape.of(one, ranks=1).directories
    directories = "one directory" if count == 1 else f"{count} directories"
    below = format_count(one["depth"], "level")
    levels = f" in {below} below the root, {one['branch']} in each" if one["depth"] else ""
    where = "each of the deepest directories" if one["leaves_only"] else "each directory"
    items = f"{one['items_per_directory']} {one['items']} of each rank in {where}"
    displaced = f" in the tree of the rank {one['displaced']} further on" if one.get("displaced") else ""
    names = ", called as md-workbench calls them" if one.get("names") == "md-workbench" else ""
    return f"{_SHARINGS[one['sharing']]}; {directories}{levels}, with {items}{displaced}{names}"


def steps(plan: Contents) -> str:
    """What happens in a case, step after step: the end of a sentence about a workload."""
    return f"takes these steps in each case: {'; '.join(each_step(plan))}."


def each_step(plan: Contents) -> list[str]:
    """What each step does, in their order."""
    return [_step(plan, step) for step in plan["steps"]]


def said_once(sentences: Sequence[tuple[str, str]]) -> list[str]:
    """(title, end of a sentence) of every workload: one sentence where it is the same for all, else one for each."""
    if len({sentence for _, sentence in sentences}) == 1:
        return [f"Each workload {sentences[0][1]}"]
    return [f"{title} {sentence}" for title, sentence in sentences]


def order(of: Order) -> str:
    """The order of a file set's transfers."""
    return _filled(_ORDERS, of)


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


def _filled(words: Mapping[str, str], value: Order | Fsync | Source) -> str:
    """The words for a variant of the plan, with what it carries put in."""
    if isinstance(value, str):
        return words[value]
    ((variant, carried),) = value.items()
    carries = carried if isinstance(carried, Mapping) else {}
    return words[variant].format(carried, carried, **carries)


def _step(plan: Contents, step: Step) -> str:
    match step["step"]:
        case "pause":
            return f"wait {format_duration(step['duration_ns'])}"
        case "cold-cache":
            return _cold_cache(step)
        case "remove-files":
            return f"remove the files{_which(plan, listed(step['files']))}"
    settled = "wait until all that was written before is on stable storage, then " if step.get("settle") else ""
    name, jobs = step["name"], step["jobs"]
    if len(jobs) == 1 and jobs[0]["name"] == name:
        return settled + _work(plan, jobs[0], name)
    beside = " | ".join(f"{job['name']}: {_work(plan, job)}" for job in jobs)
    return f"{settled}at the same time ({name}) {beside}"


def _cold_cache(step: StepColdCache) -> str:
    said = [_hook(hook) for hook in step.get("hooks", [])]
    ways = ", then by ".join(_way(step, way) for way in step["attempts"])
    if ways:
        said.append(
            f"empty the caches on every node by {ways}, until at most {100 * COLD_SHARE:g} % of the files is in memory"
        )
    return f"{', then '.join(said)}; what still is in memory is measured on every node"


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


def _which(plan: Contents, name: str) -> str:
    """A file set or tree by name, where there are several."""
    return f" of {name}" if len(plan.get("files", {})) + len(plan.get("trees", {})) > 1 else ""


def _work(plan: Contents, job: Job, name: str | None = None) -> str:
    work = job["work"]
    match work["kind"]:
        case "data":
            return _data(plan, work, name) + _through(job) + _pace(plan, job)
        case "metadata":
            verb = work["operation"]["kind"]
            said = f"{_ON_TREES[verb]}{_which(plan, work['tree'])}{_called(name, verb)}"
            return said + _on_tree(work) + _through(job) + _pace(plan, job)
        case "find":
            tree = f"the tree {work['tree']}" if "tree" in work else "what the run has created"
            where = work.get("root") or tree
            return (
                f"walk through {where}{_called(name, 'find')}, looking for {_conditions(plan, work)}{_pace(plan, job)}"
            )
        case "replay":
            return _replay(work, name) + _through(job)


def _replay(work: WorkReplay, name: str | None) -> str:
    streams = work["streams"]
    pace = work.get("duration_ns")
    within = f" within {format_duration(pace)}, no operation before its time" if pace else " as fast as it goes"
    said = "; ".join(map(_stream, streams[:_MOST_STREAMS]))
    more = f"; and {len(streams) - _MOST_STREAMS} more" if len(streams) > _MOST_STREAMS else ""
    return f"replay {format_count(len(streams), 'stream')}{_called(name, 'replay')}{within} ({said}{more})"


def _stream(stream: Stream) -> str:
    operation = stream["operation"]
    some = stream.get("ranks")
    who = f"{format_count(some['count'], 'rank')} each " if some else "each rank "
    match operation["kind"]:
        case "fill":
            return f"fill {stream['tree']} with {format_bytes(operation['bytes'])} a file"
        case "read" | "write":
            moved = format_count(operation["count"], "transfer")
            where = "into" if operation["kind"] == "write" else "from"
            return f"{who}{operation['kind']} {moved} {where} {stream['tree']}"
        case "open" | "stat":
            absent = " that is absent" if operation.get("absent") else ""
            return f"{who}{operation['kind']} {stream['tree']}{absent} {format_count(operation['count'], 'time')}"
        case kind:
            return f"{who}{kind} {format_count(operation['count'], 'file')} of {stream['tree']}"


def _called(name: str | None, verb: str) -> str:
    return "" if name in (None, verb) else f" ({name})"


def _data(plan: Contents, work: WorkData, name: str | None) -> str:
    which = _which(plan, work["files"])
    transfer = work["transfer"]
    if isinstance(transfer, str):
        said = f"{transfer}{which.removeprefix(' of')}{_called(name, transfer)}"
    else:
        said = f"read {transfer['mixed']} % of the transfers{which} and write the others{_called(name, 'mixed')}"
    if work["order"] != _usual_order(plan, work["files"]):
        said += f" {order(work['order'])}"
    return said + _on_files(work)


def _usual_order(plan: Contents, files: str) -> Order:
    """The order in which a file set is taken first; only others need saying."""
    works = (job["work"] for step in plan["steps"] if step["step"] == "phase" for job in step["jobs"])
    return next((work["order"] for work in works if work["kind"] == "data" and work["files"] == files), "sequential")


def _on_files(work: WorkData) -> str:
    """What a job says beyond its file set."""
    said = [_filled(_FSYNCS, work["fsync"]), _filled(_SOURCES, work.get("source", "own"))]
    pieces = work.get("piece_bytes")
    said += [f"in pieces of {format_bytes(pieces)}"] if pieces else []
    said += [f"with all {work['verify']} compared"] if work.get("verify") else []
    said += [f"under a lock of the {work['lock']}"] if work.get("lock") else []
    said += [f"into files made {work['size']} at open"] if work.get("size") else []
    said += [f"with the advice {listed(work['advice'])}"] if work.get("advice") else []
    said += ["with barriers between open, transfers and close"] if work.get("barriers") else []
    return _beside(said)


def _on_tree(work: WorkMetadata) -> str:
    """What a job says beyond its tree."""
    operation = work["operation"]
    said = [_FSYNCS["at-close"]] if operation.get("fsync") else []
    said += ["with a sync of the nodes at the end that counts in the time"] if work.get("sync_at_end") else []
    each = bytes_each(operation)
    said += [f"{format_bytes(each)} each"] if each else []
    said += [_ITEM_ORDERS[work["order"]]]
    said += [_shifted(operation["kind"], work["shift"])] if work.get("shift") else []
    # The plan only says that something is compared.
    compared = "reads" if operation["kind"] in ("read", "replace") else "writes"
    said += [f"with all {compared} compared"] if work.get("verify") else []
    return _beside(said)


def _beside(said: Sequence[str]) -> str:
    return "".join(f", {one}" for one in said if one)


def _shifted(kind: str, shift: int) -> str:
    """Whose items a rank works on."""
    if kind != "replace":
        return f"those of the rank {shift} further on"
    times = "n" if shift == 1 else f"{shift} × n"
    return f"in the n-th directory those of the rank {times} before, by new ones of the rank {times} after"


def _through(job: Job) -> str:
    """How a job does its I/O, where it says so itself."""
    own = job.get("storage")
    return f", through the {storage(own)}" if own else ""


def _pace(plan: Contents, job: Job) -> str:
    said = [*_limits(plan, job.get("limit", {}))]
    if at_most := job.get("rate"):
        said.append(f"at most {rate(at_most)}")
    if pauses := job.get("think"):
        said.append(f"with {think(pauses)}")
    return _beside(said)


def _limits(plan: Contents, limit: Limit) -> Iterator[str]:
    if (most_bytes := limit.get("bytes_per_rank")) is not None:
        yield f"at most {format_bytes(most_bytes)} per rank"
    if (most := limit.get("operations_per_rank")) is not None:
        yield f"at most {most} operations per rank"
    if earlier := limit.get("at_rate_of"):
        yield f"as many as {_phase(plan, earlier['step'])} would have done in {format_duration(earlier['duration_ns'])}"
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


def _phase(plan: Contents, step: int) -> str:
    """The name of the phase that is this step."""
    phase = plan["steps"][step]
    assert phase["step"] == "phase"  # checked when the plan was read
    return phase["name"]


def _conditions(plan: Contents, find: WorkFind) -> str:
    said: list[str] = [find.get("entries") or "every entry"]
    said += [f"named {find['name']}"] if find.get("name") else []
    if (exactly := find.get("size_bytes")) is not None:
        said.append(f"of exactly {format_bytes(exactly)}")
    if (at_least := find.get("at_least_bytes")) is not None:
        said.append(f"of at least {format_bytes(at_least)}")
    if (at_most := find.get("at_most_bytes")) is not None:
        said.append(f"of at most {format_bytes(at_most)}")
    if (step := find.get("newer_than_step")) is not None:
        said.append(f"changed since the phase {_phase(plan, step)}")
    said += ["newer than a given time"] if find.get("newer_than_unix_ns") is not None else []
    return " ".join(said)
