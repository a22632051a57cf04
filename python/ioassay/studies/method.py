"""The method of a study in sentences, as the method section of a white paper says it.

Written from the resolved study, never by hand, so that what a report claims is what the engine was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ioassay.plans import text as plan_text
from ioassay.plans.kinds import data, metadata
from ioassay.store.document import CaseOrder
from ioassay.studies import plans, spelling, sweep
from ioassay.studies.files import FileSet, Tree
from ioassay.studies.model import Study, Workload
from ioassay.studies.shorthand import DATA
from ioassay.text.prose import listed
from ioassay.text.units import format_bytes, format_count

_SIZES = {
    "total": "{size} in all, divided evenly among the ranks",
    "per_client": "{size} per client",
    "per_rank": "{size} per rank",
    "per_file": "{size} in each file",
}

_ORDERS: dict[CaseOrder, str] = {
    "randomised": "In each sweep the cases run in another random order, drawn from seed {seed}, so that drift of the "
    "system falls on all of them alike and does not pose as a difference between them.",
    "interleaved": "Every second sweep runs in reverse order, A B … B A, so that over each pair of sweeps a steady "
    "drift of the system cancels out and does not pose as a difference between cases.",
}


def method(study: Study) -> list[str]:
    """The method in sentences."""
    return [
        *(sentence for workload in study.workloads.values() for sentence in _sets(workload)),
        *(_swept(workload) for workload in study.workloads.values() if workload.sweep),
        *_shared_once(study, _clients),
        *(words.format(seed=study.seed) for order, words in _ORDERS.items() if order == study.case_order),
        *_shared_once(study, _steps),
        plan_text.BARRIERS,
        f"{plan_text.recording(study.sample_interval)} {_storage(study)}; random choices begin at seed {study.seed}.",
    ]


def _sets(workload: Workload) -> Iterator[str]:
    """What is written, read, created and queried."""
    for name, files in workload.files.items():
        label = "" if name == DATA and len(workload.files) == 1 else f", file set {name}"
        yield f"{workload.title}{label}: {_share(files)}{_file_set(files)}."
    for name, tree in workload.trees.items():
        label = "" if len(workload.trees) == 1 else f", tree {name}"
        yield f"{workload.title}{label}: {_share(tree)}{metadata.tree(tree.plan())}."


def _share(part: FileSet | Tree) -> str:
    return f"for {part.ranks.numerator}/{part.ranks.denominator} of the ranks, " if part.ranks else ""


def _file_set(files: FileSet) -> str:
    layout = {
        "N-N": "every rank has a file of its own",
        "N-1": "all ranks share one file",
        "N-M": f"{listed([str(group) for group in files.groups or [0]])} groups of ranks share a file each",
    }[files.layout]
    if files.files_per_rank > 1:
        layout = {
            "N-N": f"every rank has {files.files_per_rank} files of its own",
            "N-1": f"all ranks share {files.files_per_rank} files",
        }.get(files.layout, f"{layout.removesuffix('a file each')}{files.files_per_rank} files each")
    size = _SIZES[files.size_key].format(size=format_bytes(files.size))
    segments = f", in {files.segments} segments" if files.segments > 1 else ""
    strided = ", the transfers of the ranks alternating" if files.interleave == "strided" else ""
    offset = f", beginning {format_bytes(files.offset)} into each file" if files.offset else ""
    payload = "" if files.payload == "repeated" else f" The data is {files.payload}"
    moved = f"moved in transfers of {format_bytes(files.transfer)} {data.order(spelling.ORDER.plan(files.order))}"
    return f"{layout}; {size}{segments}{strided}{offset}, {moved}" + (f".{payload}" if payload else "")


def _clients(workload: Workload) -> str:
    """On how many clients, how often."""
    counts = listed([str(clients) for clients in workload.clients])
    clients = "client" if workload.clients == [1] else "clients"
    each = listed([str(ranks) for ranks in workload.ranks_per_client])
    ranks = "rank" if workload.ranks_per_client == [1] else "ranks"
    return f"is done with {counts} {clients} and {each} {ranks} on each, {_often(workload)}."


def _often(workload: Workload) -> str:
    repetitions = workload.repetitions
    rule = repetitions.until
    if workload.search != "none":
        return (
            "of which a search measures only those that it takes to find the most accelerators that storage feeds, by "
            f"bisection, each at most {format_count(repetitions.most, 'time')}"
        )
    if rule is None:
        return "once" if repetitions.most == 1 else f"{repetitions.most} times, sweep after sweep"
    return (
        f"sweep after sweep, each point at least {rule.at_least} and at most {rule.at_most} times: until the "
        f"half-width of the 95 % confidence interval of each of its medians is at most {100 * rule.share:g} % of it"
    )


def _swept(workload: Workload) -> str:
    """The keys of `sweep` with their values, as they are written."""
    axes = listed([f"{axis} ({', '.join(values)})" for axis, values in workload.sweep.items()])
    return f"{workload.title} is swept over {axes}, a case for each combination; the rest describes the first of them."


def _steps(workload: Workload) -> str:
    """What happens in a case, with the first value of each key of `sweep`."""
    return plan_text.steps(plans.work(sweep.points(workload)[0]))


def _storage(study: Study) -> str:
    """How the ranks do their I/O."""
    through = {workload.title: plan_text.storage(workload.storage.plan()) for workload in study.workloads.values()}
    if len(set(through.values())) == 1:
        return f"I/O goes through the {next(iter(through.values()))}"
    return "; ".join(f"I/O of {title} goes through the {storage}" for title, storage in through.items())


def _shared_once(study: Study, say: Callable[[Workload], str]) -> list[str]:
    return plan_text.shared_once([(workload.title, say(workload)) for workload in study.workloads.values()])
