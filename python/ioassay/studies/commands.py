"""The command line of IOR or mdtest that does the same as a phase, for the report's appendix.

It is printed as the studies of the field print theirs, so that a reader can repeat a case with the tools that
everybody has. Where these cannot do quite the same, a comment at its end says so.

Not here: running them, reading their command lines.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from ioassay.protocol.facts import IOR_APIS, MPI_APIS
from ioassay.results import plan_text
from ioassay.studies import spelling, sweep
from ioassay.studies.files import Tree
from ioassay.studies.model import Workload
from ioassay.studies.steps import Limit, Mixed, Phase, Work
from ioassay.studies.storage import Storage
from ioassay.studies.sweep import Placed, Point
from ioassay.units import format_bytes, format_duration

_LETTERS = {"g": 1 << 30, "m": 1 << 20, "k": 1 << 10}


@dataclass
class _Line:
    """A command line in the making, and what is to be said of it."""

    tokens: list[str]
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return shlex.join(self.tokens) + (f"  # {'; '.join(self.notes)}" if self.notes else "")


_APIS = {own: ior for ior, own in IOR_APIS.items()}
"""IOR's APIs that do as our storage APIs do."""


_OPTIONS = {
    **{(api, "collective"): "-c" for api in MPI_APIS},
    ("MPIIO", "view"): "--mpiio.useFileView",
    ("HDF5", "alignment"): "--hdf5.setAlignment={}",
    ("HDF5", "collective_metadata"): "--hdf5.collectiveMetadata",
}
"""IOR's words for options of plug-ins, by its API."""


def command(point: Point, work: Work, *, storage: Storage, inside: str, launcher: str) -> str:
    """The equivalent of a job that does its I/O by `storage`. `inside` is a place of the case's own on the target."""
    workload = point.workload
    on = sweep.works_on(workload, work)
    ranks = sweep.rank_ranges(point)[on].count if on is not None else point.ranks
    start = _start(ranks, point, launcher)
    if work.phase is not None and on in workload.files:
        return str(_ior(start, workload, work, sweep.placed(point)[on], storage=storage, inside=inside))
    if work.phase is not None and on in workload.trees:
        return str(_mdtest(start, work, storage, workload.trees[on], inside))
    return "# neither IOR nor mdtest walks through directories; IO500's pfind does"


def _start(ranks: int, point: Point, launcher: str) -> list[str]:
    if launcher == "local":  # all ranks on this one machine: a host file would be another experiment
        return ["mpirun", "-np", str(ranks)]
    return ["mpirun", "-np", str(ranks), "-npernode", str(point.ranks_per_client), "-hostfile", "hosts"]


def _storage(line: _Line, storage: Storage) -> None:
    api = _APIS.get(storage.api)
    line.tokens += ["-a", api or "POSIX"]
    if api is None:
        line.notes.append(f"here through the {storage.api} storage API")
    for key, value in storage.options.items():
        token = _OPTIONS.get((api or storage.api, key))
        if token is None:
            line.notes.append(f"here with {key} {value}")
        elif value != "no":
            line.tokens.append(token.format(value))
    if storage.direct:
        line.tokens.append("--posix.odirect")
    if api == "AIO":
        line.tokens.append(f"--aio.max-pending={storage.depth}")
        line.notes.append("here by io_uring")
    elif storage.depth > 1:
        line.notes.append(f"here each rank kept {storage.depth} transfers in flight")
    if storage.vectors > 1:
        line.notes.append(f"here each call moved {storage.vectors} pieces of memory")


def _ior(start: list[str], workload: Workload, work: Work, files: Placed, *, storage: Storage, inside: str) -> _Line:
    phase = work.phase
    assert phase is not None
    line = _Line([*start, "ior"])
    _storage(line, storage)
    line.tokens += ["-v", "-i", "1"]
    _pause(line, workload)
    # IOR takes -e for a whole job and heeds it in writes only; the field's scripts give it to both halves.
    fsyncs = {
        sweep.fsync_of(workload, one)
        for _, _, one in sweep.jobs(workload)
        if sweep.works_on(workload, one) == files.name and one.verb in ("write", "mixed")
    }
    if fsyncs & {"at-close", "at-end"}:
        line.tokens.append("-e")
    _fsync_every(line, next((fsync for fsync in fsyncs if fsync.startswith("every")), None))
    _layout(line, files)
    line.tokens += ["-k", "-o", f"{inside}.{files.name}"]
    if isinstance(phase, Mixed):
        line.tokens += ["-w", "-r"]
        line.notes.append(f"IOR does not mix; here {phase.read} % of the transfers were reads, at the same time")
    else:
        line.tokens.append("-w" if work.verb == "write" else "-r")
    _order(line, sweep.order_of(workload, work))
    _source(line, phase)
    _payload(line, files.files_of.payload)
    if phase.verify is not None:
        line.tokens.append("-R" if phase.verify == "reads" else "-W")
        if phase.verify == "writes":
            line.notes.append("-W reads all back after the write; here each transfer was read back at once")
    if phase.barriers:
        line.tokens.append("-g")
    if phase.limit is not None:
        _limit(line, phase.limit, "-D", wear_out=["-O", "stoneWallingWearOut=1"])
    _pace(line, phase)
    line.notes += [
        f"{what} has no counterpart"
        for what in (phase.size and f"size {phase.size}", phase.lock and f"lock {phase.lock}", *phase.advice)
        if what
    ]
    line.tokens += ["-s", str(files.segments), "-t", _ior_size(files.files_of.transfer)]
    line.tokens += ["-b", _ior_size(files.block_bytes)]
    return line


def _pause(line: _Line, workload: Workload) -> None:
    pause_ns = max((step.pause for step in workload.steps if step.pause is not None), default=0)
    if not pause_ns:
        return
    line.tokens += ["-d", str(-(-pause_ns // 10**9))]
    if pause_ns % 10**9:
        line.notes.append(f"the pause was {format_duration(pause_ns)}; -d takes whole seconds")


def _fsync_every(line: _Line, fsync: str | None) -> None:
    if fsync is None:
        return
    line.tokens.append("-Y")
    if spelling.FSYNC.plan(fsync) != {"every-writes": 1}:
        line.notes.append(f"-Y syncs after each write; here {fsync}")


def _layout(line: _Line, files: Placed) -> None:
    if files.files_of.layout == "N-N":
        line.tokens.append("-F")
    if files.files_of.layout == "N-M":
        line.notes.append(f"IOR shares one file or none; here {files.groups} groups of ranks shared files")
    if files.files_of.files_per_rank > 1:
        line.notes.append(f"IOR has one file; here each rank had {files.files_of.files_per_rank}")
    if files.files_of.offset:
        line.notes.append(f"IOR begins at 0; here each file began at {format_bytes(files.files_of.offset)}")


def _order(line: _Line, order: str) -> None:
    match order.split(" ", maxsplit=1)[0]:
        case "sequential":
            return
        case "random":
            line.tokens.append("-z")
        case "random-with-replacement":
            line.tokens.append("-z")
            line.notes.append("-z visits each offset once; here each was drawn afresh")
        case _:
            line.notes.append(f"IOR has no such order; here it was {order}")


def _source(line: _Line, phase: Phase) -> None:
    source = spelling.SOURCE.plan(phase.read_from or "own")
    if "shift" in source:
        line.tokens += ["-C", "-Q", str(source["shift"])]
    elif "shuffled" in source:
        line.tokens += ["-Z", "-X", str(source["shuffled"])]


def _payload(line: _Line, payload: str) -> None:
    if payload.startswith("ior-"):
        kind, signature = _marked(payload)
        line.tokens += ["-l", kind, "-G", signature]


def _marked(payload: str) -> tuple[str, str]:
    """One of IOR's payloads: its kind and its signature."""
    kind, signature = payload.split(" ")
    return kind.removeprefix("ior-"), signature


def _limit(line: _Line, limit: Limit, stonewall: str, wear_out: list[str]) -> None:
    if limit.stonewall is not None:
        line.tokens += [stonewall, str(-(-limit.stonewall // 10**9))]
        line.tokens += wear_out if limit.wear_out else []
        if limit.stonewall % 10**9:
            line.notes.append(f"the stonewall was {format_duration(limit.stonewall)}; {stonewall} takes whole seconds")
    if limit.minimum is not None:
        line.tokens += ["-O", f"minTimeDuration={-(-limit.minimum // 10**9)}"]
    if limit.bytes is not None:
        line.notes.append(f"here each rank moved at most {format_bytes(limit.bytes)}")
    if limit.operations is not None:
        line.notes.append(f"here each rank did at most {limit.operations} operations")
    if limit.at_rate_of is not None:
        as_much = f"as much as {limit.at_rate_of.phase} would have done in {format_duration(limit.at_rate_of.time)}"
        line.notes.append(f"here the ranks did {as_much}")


def _pace(line: _Line, phase: Phase) -> None:
    if phase.rate is not None:
        line.notes.append(f"here at most {plan_text.rate(spelling.rate_plan(phase.rate))}")
    if phase.think is not None:
        line.notes.append(f"here {plan_text.think(spelling.think_plan(phase.think))}")


_MDTEST_PHASES = {"create-tree": "-C", "create": "-C", "stat": "-T", "read": "-E", "remove": "-r", "remove-tree": "-r"}


_NOT_IN_MDTEST = {
    "rename": "mdtest measures renames of directories only",
    "replace": "no replace in mdtest; md-workbench does it",
}


def _mdtest(start: list[str], work: Work, storage: Storage, tree: Tree, inside: str) -> _Line:
    phase, verb = work.phase, str(work.verb)
    assert phase is not None
    line = _Line([*start, "mdtest"])
    _storage(line, storage)
    line.tokens.append("-F" if tree.of == "files" else "-D")
    if verb in _MDTEST_PHASES:
        line.tokens.append(_MDTEST_PHASES[verb])
    else:
        line.notes.append(_NOT_IN_MDTEST.get(verb, f"no {verb} in mdtest"))
    line.tokens += ["-I", str(tree.items), "-z", str(tree.depth), "-b", str(tree.branch)]
    line.tokens += ["-L"] * tree.leaves_only
    line.tokens += {"unique": ["-u"], "shared": [], "shared-items": ["-S"]}[tree.sharing]
    _stride(line, verb, phase.shift or 0, tree.displaced)
    if phase.order == "random":
        line.tokens.append("-R")
    if phase.bytes:
        line.tokens += ["-e" if verb == "read" else "-w", str(phase.bytes)]
    if phase.fsync in ("at-close", "at-end"):
        line.tokens.append("-y" if phase.fsync == "at-close" else "-Y")
    if phase.verify == "reads":
        line.tokens.append("-X")
    if phase.verify == "writes":
        line.notes.append("here each item was read back at once and compared")
    if tree.payload:
        kind, signature = _marked(tree.payload)
        line.tokens += [f"--dataPacketType={kind}", "-G", signature]
    if phase.using == "mknod":
        line.tokens.append("-k")
    if phase.limit is not None:
        _limit(line, phase.limit, "-W", wear_out=[])
    _pace(line, phase)
    line.tokens += ["-d", inside]
    if verb in ("create-tree", "remove-tree"):
        line.notes.append("mdtest does its tree in the same phase as its items, and times both")
    return line


def _stride(line: _Line, verb: str, shift: int, displaced: int) -> None:
    """mdtest's -N goes one stride further with each kind of phase, wherever the phase comes."""
    strides = {"stat": 1, "read": 2, "remove": 3}.get(verb, 0)
    stride, rest = divmod(shift, strides) if strides else (displaced, 0)
    if stride or rest:
        line.tokens += ["-N", str(stride or 1)]
    if rest:
        line.notes.append(f"here each rank took the items of the rank {shift} further on")


def _ior_size(size_bytes: int) -> str:
    letter = next((letter for letter, factor in _LETTERS.items() if size_bytes % factor == 0), None)
    return f"{size_bytes // _LETTERS[letter]}{letter}" if letter else str(size_bytes)
