"""The method of a study in sentences, as the method section of a white paper says it.

Written from the resolved study, never by hand, so that what a report claims is what the engine was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ioassay.results.planned import Shape
from ioassay.studies import spelling, sweep
from ioassay.studies.files import FileSet, Tree
from ioassay.studies.model import Storage, Study, Workload
from ioassay.studies.shorthand import DATA
from ioassay.studies.steps import Find, Limit, Mixed, Phase, Step, Work
from ioassay.units import format_bytes, format_duration

_ORDERS = {
    "sequential": "in ascending order",
    "backward": "in descending order",
    "random": "in random order, each transfer exactly once",
    "random-with-replacement": "at random offsets, each drawn afresh",
}

_CACHE_METHODS = {
    "drop-caches": "dropping all caches of the nodes (needs root)",
    "fadvise": "asking the kernel to forget the files' pages",
    "read-other-rank": "letting each rank read what the next rank wrote",
}

_FSYNCS = {
    "at-close": "with an fsync of every file at the end that counts in the time",
    "at-end": "with an fsync of all files after the last write that counts in the time",
}

_SIZES = {
    "total": "{size} in all, divided evenly among the ranks",
    "per_client": "{size} per client",
    "per_rank": "{size} per rank",
    "per_file": "{size} in each file",
}

_SHARING = {
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
    "remove": "remove every item",
    "remove-tree": "remove the directories",
}


def method(study: Study) -> list[str]:
    """The method in sentences."""
    return [
        *(sentence for workload in study.workloads.values() for sentence in _sets(workload)),
        *_said_once(study, _clients),
        *_said_once(study, _steps),
        "All ranks wait for one another before each step, so that each phase starts together on all of them.",
        f"Every operation is timed. Every {format_duration(study.sample_interval)} the bytes and operations of each "
        f"rank are kept as a sample. I/O goes through the {_storage(study.storage)}; random choices begin at "
        f"seed {study.seed}.",
    ]


def _sets(workload: Workload) -> Iterator[str]:
    """What is written, read, created and looked at."""
    for name, files in workload.files.items():
        label = "" if name == DATA and len(workload.files) == 1 else f", file set {name}"
        yield f"{workload.title}{label}: {_share(files)}{_file_set(files)}."
    for name, tree in workload.trees.items():
        label = "" if len(workload.trees) == 1 else f", tree {name}"
        yield f"{workload.title}{label}: {_share(tree)}{_tree(tree)}."


def _share(part: FileSet | Tree) -> str:
    return f"for {part.ranks.numerator}/{part.ranks.denominator} of the ranks, " if part.ranks else ""


def _file_set(files: FileSet) -> str:
    layout = {
        "N-N": "every rank has a file of its own",
        "N-1": "all ranks share one file",
        "N-M": f"{_listed([str(group) for group in files.groups or [0]])} groups of ranks share a file each",
    }[files.layout]
    if files.files_per_rank > 1:
        layout = {
            "N-N": f"every rank has {files.files_per_rank} files of its own",
            "N-1": f"all ranks share {files.files_per_rank} files",
        }.get(files.layout, f"{layout.removesuffix('a file each')}{files.files_per_rank} files each")
    size = _SIZES[files.size_key].format(size=format_bytes(files.size))
    segments = f", in {files.segments} segments" if files.segments > 1 else ""
    strided = ", the transfers of the ranks by turns" if files.interleave == "strided" else ""
    offset = f", beginning {format_bytes(files.offset)} into each file" if files.offset else ""
    payload = "" if files.payload == "repeated" else f" The data is {files.payload}"
    moved = f"moved in transfers of {format_bytes(files.transfer)} {_order(files.order)}"
    return f"{layout}; {size}{segments}{strided}{offset}, {moved}" + (f".{payload}" if payload else "")


def _tree(tree: Tree) -> str:
    count = Shape.of(tree.plan(), ranks=1).directories
    directories = "one directory" if count == 1 else f"{count} directories"
    levels = f" in {tree.depth} levels below the root, {tree.branch} in each" if tree.depth else ""
    where = "each of the deepest directories" if tree.leaves_only else "each directory"
    return f"{_SHARING[tree.sharing]}; {directories}{levels}, with {tree.items} {tree.of} of each rank in {where}"


def _order(order: str) -> str:
    """An order in words."""
    if order in _ORDERS:
        return _ORDERS[order]
    form = spelling.ORDER.forms[order.split(" ", maxsplit=1)[0]]
    return f"in the order {order} (as `{form.example}`: {form.meaning})".replace("`", "")


def _storage(storage: Storage) -> str:
    said = [f"{storage.api} storage API"]
    said += ["past the page cache"] * storage.direct
    said += [f"with {storage.depth} transfers of each rank in flight"] if storage.depth > 1 else []
    said += [f"in {storage.vectors} pieces per call"] if storage.vectors > 1 else []
    if storage.uring:
        said += [f"io_uring {key.replace('_', ' ')}" for key, on in storage.uring.model_dump().items() if on is True]
        said += [f"io_uring batches of {storage.uring.batch}"] if storage.uring.batch else []
    return ", ".join(said)


def _clients(workload: Workload) -> str:
    """On how many clients, how often."""
    counts = _listed([str(clients) for clients in workload.clients])
    clients = "client" if workload.clients == [1] else "clients"
    each = _listed([str(ranks) for ranks in workload.ranks_per_client])
    ranks = "rank" if workload.ranks_per_client == [1] else "ranks"
    often = "once" if workload.repetitions == 1 else f"{workload.repetitions} times, sweep after sweep"
    return f"is done with {counts} {clients} and {each} {ranks} on each, {often}."


def _steps(workload: Workload) -> str:
    """What happens in a case."""
    return f"takes these steps in each case: {'; '.join(_step(workload, step) for step in workload.steps)}."


def _step(workload: Workload, step: Step) -> str:
    if step.pause is not None:
        return f"wait {format_duration(step.pause)}"
    if step.cold_cache is not None:
        ways = ", then by ".join(_CACHE_METHODS[way] for way in step.cold_cache)
        return f"empty the caches by {ways}, until at most 1 % of the files is in memory; what still is, is measured"
    if step.together is not None:
        jobs = [f"{name}: {_work(workload, work)}" for name, work in step.together.jobs.items()]
        return f"at the same time ({step.name}) {' | '.join(jobs)}"
    return _work(workload, step, step.name)


def _work(workload: Workload, work: Work, name: str | None = None) -> str:
    body, verb = work.body, str(work.verb)
    called = f" ({name})" if name not in (None, verb) else ""
    if isinstance(body, Find):
        return f"walk through {body.root or 'what the run has created'}{called}, looking for {_conditions(body)}"
    on = sweep.works_on(workload, work)
    several = len(workload.files) + len(workload.trees) > 1
    which = f" {on}" if several else ""
    if on in workload.trees:
        return f"{_ON_TREES[verb]}{f' of{which}' if which else ''}{called}{_details(body)}"
    said = f"{verb}{which}{called}"
    if isinstance(body, Mixed):
        said = f"read {body.read} % of the transfers and write the others{f' in{which}' if which else ''}{called}"
    order = sweep.order_of(workload, work)
    files = workload.files.get(on or "")
    if files is not None and order != files.order:
        said += f" {_order(order)}"
    fsync = sweep.fsync_of(workload, work)
    if fsync != "never":
        said += f", {_FSYNCS.get(fsync, f'with an fsync after {fsync} that counts in the time')}"
    return said + _details(body)


def _details(phase: Phase) -> str:
    """What a phase says beyond its file set or tree."""
    said = []
    if phase.read_from not in (None, "own"):
        by = spelling.SOURCE.plan(phase.read_from or "own")
        said.append(f"each rank the part of the rank {by['shift']} further on" if "shift" in by else "parts exchanged")
    if phase.bytes:
        said.append(f"{format_bytes(phase.bytes)} each")
    if phase.order == "random" and phase.tree is not None:
        said.append("in random order")
    if phase.shift:
        said.append(f"those of the rank {phase.shift} further on")
    if phase.verify:
        said.append(f"with all {phase.verify} compared")
    if phase.lock:
        said.append(f"under a lock of the {phase.lock}")
    if phase.size:
        said.append(f"into files made {phase.size} at open")
    if phase.advice:
        said.append(f"with the advice {_listed(phase.advice)}")
    if phase.limit:
        said += _limits(phase.limit)
    if phase.rate:
        said.append(f"at most {spelling.described_rate(phase.rate)}")
    if phase.think:
        said.append(f"with {spelling.described_think(phase.think)}")
    return "".join(f", {one}" for one in said)


def _limits(limit: Limit) -> Iterator[str]:
    if limit.bytes is not None:
        yield f"at most {format_bytes(limit.bytes)} per rank"
    if limit.operations is not None:
        yield f"at most {limit.operations} operations per rank"
    if limit.stonewall is not None:
        after = ", after which every rank does as much as the fastest" if limit.wear_out else ""
        yield f"until a stonewall at {format_duration(limit.stonewall)}{after}"
    if limit.minimum is not None:
        yield f"again and again for at least {format_duration(limit.minimum)}"


def _conditions(find: Find) -> str:
    said: list[str] = [find.entries or "every entry"]
    said += [f"named {find.named}"] if find.named else []
    said += [f"of exactly {format_bytes(find.exactly)}"] if find.exactly is not None else []
    said += [f"of at least {format_bytes(find.at_least)}"] if find.at_least is not None else []
    said += [f"of at most {format_bytes(find.at_most)}"] if find.at_most is not None else []
    said += [f"changed since the phase {find.newer_than}"] if find.newer_than else []
    return " ".join(said)


def _said_once(study: Study, say: Callable[[Workload], str]) -> list[str]:
    """One sentence for all workloads where it is the same for all, else one for each."""
    sentences = {name: say(workload) for name, workload in study.workloads.items()}
    if len(set(sentences.values())) == 1:
        return [f"Each workload {next(iter(sentences.values()))}"]
    return [f"{study.workloads[name].title} {sentence}" for name, sentence in sentences.items()]


def _listed(items: Sequence[str]) -> str:
    """`1, 2 and 4`."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else items[0]
