"""The command line of IOR or mdtest that does the same as a phase, for the report's appendix.

It is printed as the studies of the field print theirs, so that a reader can repeat a case with the tools that
everybody has. Where these cannot do quite the same, a comment at its end says so. Only options that our own front ends
take can be printed, with a value where they have one: mypy looks them up in the generated facts.

Not here: running them, reading their command lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from ioassay.launchers import find_launcher
from ioassay.plans import text as plan_text
from ioassay.protocol.facts import (
    IOR_APIS,
    MPI_APIS,
    IorDirective,
    IorFlag,
    IorOption,
    MdtestFlag,
    MdtestOption,
)
from ioassay.studies import spelling, sweep
from ioassay.studies.files import Tree
from ioassay.studies.model import Workload
from ioassay.studies.steps import Limit, Mixed, Phase, Work
from ioassay.studies.storage import Storage
from ioassay.studies.sweep import Placed, Point
from ioassay.text.units import format_bytes, format_duration

_LETTERS = {"g": 1 << 30, "m": 1 << 20, "k": 1 << 10}


_Flag = TypeVar("_Flag", bound=str)
_Option = TypeVar("_Option", bound=str)


@dataclass
class _Line(Generic[_Flag, _Option]):
    """A command line that is being built, and its notes."""

    tokens: list[str]
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return shlex.join(self.tokens) + (f"  # {'; '.join(self.notes)}" if self.notes else "")

    def flag(self, name: _Flag) -> None:
        self.tokens.append(name)

    def option(self, name: _Option, value: object) -> None:
        self.tokens += [f"{name}={value}"] if name.startswith("--") else [name, str(value)]


class _Ior(_Line[IorFlag, IorOption]):
    def directive(self, name: IorDirective, value: object) -> None:
        self.option("-O", f"{name}={value}")


_Mdtest = _Line[MdtestFlag, MdtestOption]


_APIS = {api: ior for ior, api in IOR_APIS.items()}
"""IOR's APIs that do as our storage APIs do."""


_FLAGS: Mapping[tuple[str, str], IorFlag] = {
    **{(api, "collective"): "-c" for api in MPI_APIS},
    ("MPIIO", "view"): "--mpiio.useFileView",
    ("HDF5", "collective_metadata"): "--hdf5.collectiveMetadata",
}
"""IOR's words for options of plug-ins that are on or off, by its API."""


_VALUED: Mapping[tuple[str, str], IorOption] = {("HDF5", "alignment"): "--hdf5.setAlignment"}
"""The same of those with a value."""


def command(point: Point, work: Work, *, storage: Storage, inside: str, launcher: str) -> str:
    """The equivalent of a job that does its I/O by `storage`. `inside` is a place of the case's own on the target."""
    workload = point.workload
    if not isinstance(work.body, Phase):
        return work.body.equivalent
    on = sweep.works_on(workload, work)
    assert on is not None  # checked before
    start = _start(sweep.rank_ranges(point)[on].count, point, launcher)
    if on in workload.files:
        line = _ior(start, workload, work, sweep.placed(point)[on], storage=storage, inside=inside)
        is_one_node = point.clients == 1 or not find_launcher(launcher).needs_mpi
        _source(line, work.body, None if is_one_node else point.ranks_per_client)
        return str(line)
    return str(_mdtest(start, work, storage, workload.trees[on], inside))


def _start(ranks: int, point: Point, launcher: str) -> list[str]:
    if not find_launcher(launcher).needs_mpi:  # all ranks on this one machine: a host file would be another experiment
        return ["mpirun", "-np", str(ranks)]
    return ["mpirun", "-np", str(ranks), "-npernode", str(point.ranks_per_client), "-hostfile", "hosts"]


def _ior_storage(line: _Ior, storage: Storage) -> None:
    api = _APIS.get(storage.api)
    line.option("-a", api or "POSIX")
    if api is None:
        line.notes.append(f"here through the {storage.api} storage API")
    for key, value in storage.options.items():
        if (flag := _FLAGS.get((api or "", key))) is not None:
            if value != "no":
                line.flag(flag)
        elif (option := _VALUED.get((api or "", key))) is not None:
            line.option(option, value)
        else:
            line.notes.append(f"here with {key} {value}")
    if storage.direct:
        line.flag("--posix.odirect")
    line.notes += _uncached(storage)
    if api == "AIO":
        line.option("--aio.max-pending", storage.depth)
        line.notes.append("here by io_uring")
    else:
        line.notes += _in_flight(storage)
    line.notes += [*_vectors(storage), *_retries(storage)]


def _mdtest_storage(line: _Mdtest, storage: Storage) -> None:
    line.option("-a", "DUMMY" if _APIS.get(storage.api) == "DUMMY" else "POSIX")
    if _APIS.get(storage.api) not in ("POSIX", "DUMMY"):
        line.notes.append(f"here through the {storage.api} storage API")
    line.notes += [f"here with {key} {value}" for key, value in storage.options.items()]
    if storage.direct:
        line.flag("--posix.odirect")
    line.notes += [*_uncached(storage), *_in_flight(storage), *_vectors(storage), *_retries(storage)]


def _uncached(storage: Storage) -> Iterator[str]:
    if storage.cache == "uncached":
        yield "here with pages dropped from the page cache as soon as they were moved (RWF_DONTCACHE)"


def _in_flight(storage: Storage) -> Iterator[str]:
    if storage.depth > 1:
        yield f"here each rank kept {storage.depth} transfers in flight"


def _vectors(storage: Storage) -> Iterator[str]:
    if storage.vectors > 1:
        yield f"here each call moved {storage.vectors} pieces of memory"


def _retries(storage: Storage) -> Iterator[str]:
    if storage.retries:
        yield f"here each request was repeated up to {storage.retries} times"


def _ior(start: list[str], workload: Workload, work: Work, files: Placed, *, storage: Storage, inside: str) -> _Ior:
    phase = work.phase
    assert phase is not None
    line = _Ior([*start, "ior"])
    _ior_storage(line, storage)
    line.flag("-v")
    line.option("-i", 1)
    _pause(line, workload)
    # IOR takes -e for a whole job and heeds it in writes only; the field's scripts give it to both halves.
    fsyncs = {
        sweep.fsync_of(workload, job)
        for _, _, job in sweep.jobs(workload)
        if sweep.works_on(workload, job) == files.name and job.verb in ("write", "mixed")
    }
    if fsyncs & {"at-close", "at-end"}:
        line.flag("-e")
    _fsync_every(line, next((fsync for fsync in fsyncs if fsync.startswith("every")), None))
    _layout(line, files)
    line.flag("-k")
    line.option("-o", f"{inside}.{files.name}")
    if isinstance(phase, Mixed):
        line.flag("-w")
        line.flag("-r")
        line.notes.append(f"IOR does not mix; here {phase.read} % of the transfers were reads, at the same time")
    else:
        line.flag("-w" if work.verb == "write" else "-r")
    _order(line, sweep.order_of(workload, work))
    _payload(line, files.files_of.payload)
    if phase.verify is not None:
        line.flag("-R" if phase.verify == "reads" else "-W")
        if phase.verify == "writes":
            line.notes.append("-W reads all back after the write; here each transfer was read back at once")
    if phase.barriers:
        line.flag("-g")
    if phase.limit is not None:
        _ior_limit(line, phase.limit)
    line.notes += _pace(phase)
    line.notes += [
        f"{what} has no counterpart"
        for what in (phase.size and f"size {phase.size}", phase.lock and f"lock {phase.lock}", *phase.advice)
        if what
    ]
    line.option("-s", files.segments)
    line.option("-t", _ior_size(files.files_of.transfer))
    line.option("-b", _ior_size(files.block_bytes))
    return line


def _pause(line: _Ior, workload: Workload) -> None:
    pause_ns = max((step.pause for step in workload.steps if step.pause is not None), default=0)
    if not pause_ns:
        return
    line.option("-d", -(-pause_ns // 10**9))
    if pause_ns % 10**9:
        line.notes.append(f"the pause was {format_duration(pause_ns)}; -d takes whole seconds")


def _fsync_every(line: _Ior, fsync: str | None) -> None:
    if fsync is None:
        return
    line.flag("-Y")
    if spelling.FSYNC.plan(fsync) != {"every-writes": 1}:
        line.notes.append(f"-Y syncs after each write; here {fsync}")


def _layout(line: _Ior, files: Placed) -> None:
    if files.files_of.layout == "N-N":
        line.flag("-F")
    if files.files_of.layout == "N-M":
        line.notes.append(f"IOR shares one file or none; here {files.groups} groups of ranks shared files")
    if files.files_of.files_per_rank > 1:
        each = " per rank" if files.files_of.layout == "N-N" else ""
        line.notes.append(f"IOR uses one file{each}; this run used {files.files_of.files_per_rank}")
    if files.files_of.offset:
        line.notes.append(f"IOR begins at 0; here each file began at {format_bytes(files.files_of.offset)}")


def _order(line: _Ior, order: str) -> None:
    match order.split(" ", maxsplit=1)[0]:
        case "sequential":
            return
        case "random":
            line.flag("-z")
        case "random-with-replacement":
            line.flag("-z")
            line.notes.append("-z visits each offset once; here each was drawn afresh")
        case _:
            line.notes.append(f"IOR has no such order; here it was {order}")


def _source(line: _Ior, phase: Phase, per_node: int | None) -> None:
    """`per_node` ranks are on each of several nodes; `None`: all are on one."""
    source = spelling.SOURCE.plan(phase.read_from or "own")
    if "shift" in source:
        shift = source["shift"]
        if per_node is not None and shift % per_node == 0:
            line.flag("-C")
            line.option("-Q", shift // per_node)
        elif shift:
            line.notes.append(f"IOR's -C goes to other nodes; here each read the part of the rank {shift} further on")
    elif "shuffled" in source:
        # Once would draw a part for each rank, some of them twice.
        line.flag("-Z")
        line.flag("-Z")
        line.option("-X", source["shuffled"])


def _payload(line: _Ior, payload: str) -> None:
    if payload.startswith("ior-"):
        kind, signature = _marked(payload)
        line.option("-l", kind)
        line.option("-G", signature)


def _marked(payload: str) -> tuple[str, str]:
    """One of IOR's payloads: its kind and its signature."""
    kind, signature = payload.split(" ")
    return kind.removeprefix("ior-"), signature


def _ior_limit(line: _Ior, limit: Limit) -> None:
    if limit.runtime is not None:
        line.option("-D", -(-limit.runtime // 10**9))
        line.directive("minTimeDuration", -(-limit.runtime // 10**9))
        line.notes += _whole_seconds("the runtime", "-D", limit.runtime)
    if limit.stonewall is not None:
        line.option("-D", -(-limit.stonewall // 10**9))
        if limit.wear_out:
            line.directive("stoneWallingWearOut", 1)
        line.notes += _whole_seconds("the stonewall", "-D", limit.stonewall)
    if limit.minimum is not None:
        line.directive("minTimeDuration", -(-limit.minimum // 10**9))
    line.notes += _amounts(limit)


def _mdtest_limit(line: _Mdtest, limit: Limit) -> None:
    if limit.stonewall is not None:
        line.option("-W", -(-limit.stonewall // 10**9))
        line.notes += _whole_seconds("the stonewall", "-W", limit.stonewall)
    if limit.minimum is not None:
        line.notes.append(f"mdtest has no minimum time; here it was {format_duration(limit.minimum)}")
    line.notes += _amounts(limit)


def _whole_seconds(what: str, option: Literal["-D", "-W"], duration_ns: int) -> Iterator[str]:
    if duration_ns % 10**9:
        yield f"{what} was {format_duration(duration_ns)}; {option} takes whole seconds"


def _amounts(limit: Limit) -> Iterator[str]:
    if limit.bytes is not None:
        yield f"here each rank moved at most {format_bytes(limit.bytes)}"
    if limit.operations is not None:
        yield f"here each rank did at most {limit.operations} operations"
    if limit.at_rate_of is not None:
        as_much = f"as much as {limit.at_rate_of.phase} would have done in {format_duration(limit.at_rate_of.time)}"
        yield f"here the ranks did {as_much}"


def _pace(phase: Phase) -> Iterator[str]:
    if phase.rate is not None:
        yield f"here at most {plan_text.rate(spelling.rate_plan(phase.rate))}"
    if phase.think is not None:
        yield f"here {plan_text.think(spelling.think_plan(phase.think))}"


_MDTEST_PHASES: Mapping[str, MdtestFlag] = {
    "create-tree": "-C",
    "create": "-C",
    "stat": "-T",
    "read": "-E",
    "remove": "-r",
    "remove-tree": "-r",
}


_NOT_IN_MDTEST = {
    "rename": "mdtest measures renames of directories only",
    "replace": "no replace in mdtest; md-workbench does it",
}


def _mdtest(start: list[str], work: Work, storage: Storage, tree: Tree, inside: str) -> _Mdtest:
    phase, verb = work.phase, str(work.verb)
    assert phase is not None
    line = _Mdtest([*start, "mdtest"])
    _mdtest_storage(line, storage)
    line.flag("-F" if tree.of == "files" else "-D")
    if verb in _MDTEST_PHASES:
        line.flag(_MDTEST_PHASES[verb])
    else:
        line.notes.append(_NOT_IN_MDTEST.get(verb, f"no {verb} in mdtest"))
    _shape(line, tree)
    _stride(line, verb, phase.shift or 0, tree)
    if phase.order == "random":
        line.flag("-R")
    if phase.bytes:
        line.option("-e" if verb == "read" else "-w", phase.bytes)
    if phase.fsync in ("at-close", "at-end"):
        line.flag("-y" if phase.fsync == "at-close" else "-Y")
    if phase.verify == "reads":
        line.flag("-X")
    if phase.verify == "writes":
        line.notes.append("here each item was read back at once and compared")
    if tree.payload:
        kind, signature = _marked(tree.payload)
        line.option("--dataPacketType", kind)
        line.option("-G", signature)
    if phase.using == "mknod":
        line.flag("-k")
    if phase.limit is not None:
        _mdtest_limit(line, phase.limit)
    line.notes += _pace(phase)
    line.option("-d", inside)
    if verb in ("create-tree", "remove-tree"):
        line.notes.append("mdtest does its tree in the same phase as its items, and times both")
    return line


def _shape(line: _Mdtest, tree: Tree) -> None:
    line.option("-I", tree.items)
    line.option("-z", tree.depth)
    line.option("-b", tree.branch)
    if tree.leaves_only:
        line.flag("-L")
    if tree.sharing != "shared":
        line.flag("-u" if tree.sharing == "unique" else "-S")


def _stride(line: _Mdtest, verb: str, shift: int, tree: Tree) -> None:
    """mdtest's -N goes one stride further with each kind of phase, wherever the phase comes. Where each rank has a tree
    it says in whose tree the items are, too.
    """
    strides = {"stat": 1, "read": 2, "remove": 3}.get(verb, 0)
    if tree.sharing == "unique":
        stride = tree.displaced if shift or not strides else 0
    else:
        stride = max(1, shift // strides) if shift and strides else 0
    if stride:
        line.option("-N", stride)
    if stride * strides != shift:
        line.notes.append(f"here each rank took the items of the rank {shift} further on")


def _ior_size(size_bytes: int) -> str:
    letter = next((letter for letter, factor in _LETTERS.items() if size_bytes % factor == 0), None)
    return f"{size_bytes // _LETTERS[letter]}{letter}" if letter else str(size_bytes)
