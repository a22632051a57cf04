"""The processes of a trace: the programs that they ran one after another, and what each should have been recorded as.

A file has the name that the recorder gives it: the path with which the process opened it, made absolute; of a
descriptor that nobody saw being opened in this program, the name that the kernel has for it. So it is known here, too,
which descriptor is which.
"""

from __future__ import annotations

import mmap
import os.path
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import takewhile

from . import trace
from .system_calls import (
    COPIES,
    DUPLICATIONS,
    FUNCTIONS,
    KERNEL_READS,
    KERNEL_WRITES,
    LOCKS,
    OWN_FILES,
    SEVERAL,
    SYSTEM_CALLS,
    Of,
    plain_name,
)
from .trace import Frame, SystemCall, ThreadEnd

RECORDER = "libioassay-recorder.so"
_C_LIBRARIES = ("libc.so", "libc-", "libpthread", "libdl", "librt")
_LOADERS = ("ld-linux", "ld-2")
OTHERS = "(others)"
"""The name for calls on no particular file, and for files that do not fit into a table."""


class Caller(Enum):
    """The origin of a system call."""

    RECORDER = "the recorder itself"
    PROGRAM = "the program, through the recorder"
    C_LIBRARY = "the C library or the dynamic linker itself"
    VFORK_CHILD = "the program, in a child of vfork"
    MISSED = "the program, past the recorder"


@dataclass
class Count:
    """Calls of a class on a file."""

    calls: int = 0
    failed: int = 0
    bytes: int = 0

    def add(self, other: Count) -> None:
        """Adds another count."""
        self.calls += other.calls
        self.failed += other.failed
        self.bytes += other.bytes

    @classmethod
    def sum(cls, parts: Iterable[Count]) -> Count:
        """All of them."""
        total = cls()
        for part in parts:
            total.add(part)
        return total


Counts = dict[tuple[str, str], Count]
"""By file and operation."""

PASSED_BY = "passed by"
"""Instead of an operation: a system call that the function makes internally."""

_Found = tuple[str, str | None, Count]
"""An operation; the name of the file, `None` if the recorder cannot know it; the count."""


@dataclass
class Image:
    """A program that a process ran, from `fork` or `exec` to the next or the end."""

    process: int
    began: float
    program: str
    parent: Image | None = None
    """The image that forked it."""
    is_vfork_child: bool = False
    """True if it shares its parent's memory, so that it is not recorded."""
    counts: Counts = field(default_factory=lambda: defaultdict(Count))
    """Calls of the program through the recorder."""
    several: Counter[str] = field(default_factory=Counter)
    """System calls of functions that are one call for several, by operation."""
    closed_unused: Counter[str] = field(default_factory=Counter)
    """Descriptors that were closed and on which no system call was made, by file. Streams may have been used on it."""
    callers: Counter[Caller] = field(default_factory=Counter)
    """Counted system calls by their origin."""
    missed: Counter[str] = field(default_factory=Counter)
    """By `function of the C library ← who called it`."""
    unnamed: int = 0
    """Calls of `close` on descriptors that nothing else was called on: not counted by design."""
    last: dict[int, _Found] = field(default_factory=dict)
    """The last call of each thread."""
    killed: list[_Found] = field(default_factory=list)
    """The last calls of killed threads, which may not have finished."""
    reads: dict[Caller, Count] = field(default_factory=lambda: defaultdict(Count))
    """Counts as the kernel keeps them, which include failed calls."""
    writes: dict[Caller, Count] = field(default_factory=lambda: defaultdict(Count))
    when_asked: dict[str, Count] = field(default_factory=dict)
    """`reads` and `writes` without the recorder's, when the recorder last read the kernel's counts."""

    def not_own(self, kind: str) -> Count:
        """All `reads` or `writes` but those of the recorder."""
        return Count.sum(sums for caller, sums in getattr(self, kind).items() if caller != Caller.RECORDER)


@dataclass
class _Process:
    """The current state of a process."""

    image: Image
    directory: str
    names: dict[int, str] = field(default_factory=dict)
    """File names of descriptors that the recorder knows."""
    opened_as: dict[str, str] = field(default_factory=dict)
    """File names by the kernel's names."""
    has_threads: bool = False
    maps: list[tuple[int, int, str]] = field(default_factory=list)
    """Mapped files that the recorder knows: first address, end address, name."""

    def name(self, number: int, kernel_name: str) -> str | None:
        """The recorder's name for a descriptor.

        When a thread opens a file while another one closes its descriptor, the times of a trace do not always tell
        which was first, but the kernel knows which file it is.
        """
        if self.has_threads:
            opened_name = self.opened_as.get(kernel_name.removesuffix(" (deleted)"))
            return opened_name or self.names.get(number)
        return self.names.get(number)


def images(
    events: Iterable[SystemCall | ThreadEnd], directory: str = "/", *, by_system_call: bool = False
) -> list[Image]:
    """All programs that ran, the first in a directory.

    `by_system_call`: each call is to be recorded, of any library, as `ioassay record --via ptrace` does.
    """
    following = _Following(directory, by_system_call)
    for event in events:
        following.follow(event)
    return following.images


def who_called(stack: tuple[Frame, ...]) -> tuple[Caller, str, str]:
    """Who made a system call, through which function of the C library, and what called that."""
    inner = next(iter(stack), Frame("?", "?"))
    if inner.library == RECORDER:
        return Caller.RECORDER, "", ""
    if inner.library.startswith(_LOADERS):
        return Caller.C_LIBRARY, inner.function, ""
    of_libc = list(takewhile(lambda frame: frame.library.startswith(_C_LIBRARIES), stack))
    entry = of_libc[-1].function if of_libc else "a system call of its own"
    # A thread begins in the C library, and the process ends there: nobody called it.
    outer = stack[len(of_libc)] if len(of_libc) < len(stack) else Frame("", "") if stack else inner
    if outer.library == RECORDER:
        # What the compiler put into a function of its own is not what the program called.
        return Caller.PROGRAM, entry if "::" in outer.function else outer.function, ""
    is_own = not outer.library or entry == "__libc_start_main" or plain_name(entry) in OWN_FILES
    if is_own or outer.library.startswith(_LOADERS):
        return Caller.C_LIBRARY, entry, ""
    return Caller.MISSED, entry, f"{outer.library}({outer.function})"


class _Following:
    """Follows processes through a trace."""

    def __init__(self, directory: str, by_system_call: bool) -> None:
        self._directory = directory
        self._by_system_call = by_system_call
        self.images: list[Image] = []
        self._processes: dict[int, _Process] = {}
        """By thread."""

    def follow(self, event: SystemCall | ThreadEnd) -> None:
        """Applies the next event."""
        process = self._processes.get(event.thread)
        if process is None:
            process = self._begin(event.thread, event.began, "", self._directory)
        if isinstance(event, ThreadEnd):
            if event.how.startswith("killed") and event.thread in process.image.last:
                process.image.killed.append(process.image.last[event.thread])
            return
        match event.name:
            case "execve" | "execveat" if not event.error:
                self._exec(process, event)
            case "clone" | "clone3" | "fork" | "vfork" if event.result:
                self._fork(process, event)
            case "chdir" if not event.error:
                process.directory = os.path.join(process.directory, trace.path(event.arguments[0]) or "")
            case "getcwd" if not event.error:
                process.directory = trace.path(event.arguments[0]) or process.directory
                _, function, _ = who_called(event.stack)
                if (several := SEVERAL.get(plain_name(function))) is not None:
                    process.image.several[several] += 1
            case "fchdir" if not event.error:
                process.directory = trace.descriptor(event.arguments[0])[1]
            case "munmap" | "mremap" if not event.error:
                _move_maps(process, event)
            case "munmap" | "mremap":
                pass
            case _:
                self._call(process, event)

    def _begin(self, thread: int, began: float, program: str, directory: str) -> _Process:
        process = _Process(Image(thread, began, program), directory)
        self.images.append(process.image)
        self._processes[thread] = process
        return process

    def _exec(self, process: _Process, call: SystemCall) -> None:
        program = next((path for argument in call.arguments if (path := trace.path(argument)) is not None), "")
        self._begin(call.thread, call.began, program, process.directory)

    def _fork(self, process: _Process, call: SystemCall) -> None:
        number, flags = call.result or -1, " ".join(call.arguments)
        if number <= 0:
            return
        if "CLONE_THREAD" in flags:
            self._processes[number] = process
            process.has_threads = True
            return
        child = self._begin(number, call.began, process.image.program, process.directory)
        child.image.parent = process.image
        child.image.is_vfork_child = call.name == "vfork" or "CLONE_VM" in flags

    def _call(self, process: _Process, call: SystemCall) -> None:
        caller, function, by = (Caller.PROGRAM, "", "") if self._by_system_call else who_called(call.stack)
        if not self._by_system_call and process.image.is_vfork_child and caller in (Caller.PROGRAM, Caller.MISSED):
            caller = Caller.VFORK_CHILD
        self._count_as_kernel(process.image, caller, call)
        for argument in call.arguments:
            if argument.startswith("AT_FDCWD<"):
                process.directory = trace.descriptor(argument)[1]
        if call.name in ("dup", "dup2", "dup3", "fcntl"):
            self._duplicate(process, caller, call)
        if caller == Caller.RECORDER:
            return
        if self._by_system_call and call.name == "close":
            _of_descriptor(process, call.arguments[0], learns=True)
        counted = list(_counted(process, function, call, learns=caller == Caller.PROGRAM))
        if not counted:
            return
        if caller == Caller.MISSED and counted[0][1] is None and counted[0][0] != PASSED_BY:
            # A hook that counts nothing does not appear on the stack: it jumps to the function that it replaces.
            caller = Caller.PROGRAM
        process.image.callers[caller] += 1
        if caller == Caller.MISSED:
            process.image.missed[f"{function} ({call.name}) ← {by}"] += 1
        if caller == Caller.PROGRAM:
            self._count(process.image, function, call, counted)
        self._open_or_close(process, caller, call, counted)
        if call.name == "mmap" and call.result is not None and not call.error:
            _unmap(process, call.result, int(call.arguments[1]))
            _, name, _ = counted[0]
            if caller == Caller.PROGRAM and name is not None and not name.startswith(("/memfd:", "/dev/")):
                process.maps.append((call.result, call.result + int(call.arguments[1]), name))

    def _count(self, image: Image, function: str, call: SystemCall, counted: list[_Found]) -> None:
        several = SEVERAL.get(plain_name(function))
        for operation, name, count in counted:
            if several is not None:
                image.several[several] += 1
            elif operation == PASSED_BY:
                image.callers[Caller.PROGRAM] -= 1
                image.callers[Caller.C_LIBRARY] += 1
            elif name is None:
                image.unnamed += 1
                if operation == "close":
                    image.closed_unused[_name_of_open(trace.descriptor(call.arguments[0])[1])] += 1
            else:
                image.counts[name, operation].add(count)
                image.last[call.thread] = operation, name, count

    def _open_or_close(self, process: _Process, caller: Caller, call: SystemCall, counted: list[_Found]) -> None:
        names = process.names
        if SYSTEM_CALLS[call.name].opens and call.result is not None and call.result >= 0:
            names.pop(call.result, None)
            _, name, _ = counted[0]
            if caller == Caller.PROGRAM and name is not None:
                names[call.result] = process.opened_as[call.opened] = name
        elif call.name == "close":
            number, _ = trace.descriptor(call.arguments[0])
            names.pop(number if number is not None else -1, None)
        elif call.name == "close_range":
            first, last = (int(argument, 0) if argument[:1].isdigit() else 1 << 32 for argument in call.arguments[:2])
            for number in [number for number in names if first <= number <= last]:
                del names[number]

    def _duplicate(self, process: _Process, caller: Caller, call: SystemCall) -> None:
        if call.result is None or call.result < 0:
            return
        if call.name == "fcntl" and call.arguments[1] not in DUPLICATIONS:
            return
        number, kernel_name = trace.descriptor(call.arguments[0])
        if number is None or number == call.result:
            return
        process.names.pop(call.result, None)
        if caller == Caller.PROGRAM:
            name = process.names.setdefault(number, _name_of_open(kernel_name))
            process.names[call.result] = name

    def _count_as_kernel(self, image: Image, caller: Caller, call: SystemCall) -> None:
        if call.result is None or call.error == "EBADF" or (call.name in COPIES and call.result <= 0):
            return
        if caller == Caller.RECORDER and call.name == "read" and call.arguments[0].endswith("/io>"):
            image.when_asked = {kind: image.not_own(kind) for kind in ("reads", "writes")}
        for calls, sums in ((KERNEL_READS, image.reads), (KERNEL_WRITES, image.writes)):
            if call.name in calls:
                sums[caller].calls += 1
                sums[caller].bytes += max(call.result, 0)


def _counted(process: _Process, function: str, call: SystemCall, *, learns: bool) -> Iterator[_Found]:
    """The counts of a system call. `learns`: the recorder knows the descriptors afterwards."""
    description = SYSTEM_CALLS.get(call.name)
    if description is None or (call.name == "fcntl" and call.arguments[1] not in LOCKS):
        return
    if call.name == "mmap" and ("MAP_ANONYMOUS" in call.arguments[3] or call.arguments[4] == "-1"):
        return
    count = Count(1, int(bool(call.error)), _moved(call))
    function_calls = FUNCTIONS.get(plain_name(function))
    if function_calls is not None and call.name not in function_calls:
        yield PASSED_BY, None, count
        return
    if call.name in COPIES:
        source, target = COPIES[call.name]
        yield "copy from", _of_descriptor(process, call.arguments[source], learns), count
        if not call.error:
            yield "copy to", _of_descriptor(process, call.arguments[target], learns), count
        return
    operation = description.operation if function_calls is None else function_calls[call.name]
    yield operation, _name(process, call, description, learns), count


def _unmap(process: _Process, address: int, length: int) -> None:
    """Removes the maps in a range, rounded up to pages."""
    end = address + -(-length // mmap.PAGESIZE) * mmap.PAGESIZE
    parts = []
    for first, last, name in process.maps:
        parts += [(begin, stop, name) for begin, stop in ((first, min(last, address)), (max(first, end), last))]
    process.maps = [(begin, stop, name) for begin, stop, name in parts if begin < stop]


def _move_maps(process: _Process, call: SystemCall) -> None:
    address, length, *_ = (int(argument, 0) for argument in call.arguments[:2])
    name = _mapped_at(process, address)
    _unmap(process, address, length)
    if call.name == "mremap" and call.result is not None:
        new_length = int(call.arguments[2])
        _unmap(process, call.result, new_length)
        if name != OTHERS:
            process.maps.append((call.result, call.result + new_length, name))


def _mapped_at(process: _Process, address: int) -> str:
    return next((name for first, last, name in process.maps if first <= address < last), OTHERS)


def _moved(call: SystemCall) -> int:
    if call.error or call.result is None:
        return 0
    if call.name == "mmap":
        return int(call.arguments[1])
    is_transfer = call.name in KERNEL_READS or call.name in KERNEL_WRITES or call.name in COPIES
    return call.result if is_transfer else 0


def _name(process: _Process, call: SystemCall, of: Of, learns: bool) -> str | None:
    """The file of a system call."""
    if call.name == "msync":
        return _mapped_at(process, int(call.arguments[0], 0))
    if of.path is not None and not ("O_TMPFILE" in "".join(call.arguments) and call.opened):
        return _name_of_path(process, call, of.descriptor, trace.path(call.arguments[of.path]), learns)
    if of.opens or of.descriptor is None:
        return _name_of_open(call.opened) if call.opened else OTHERS
    if call.name == "close":  # the recorder asks the kernel of no descriptor that is closed
        number, kernel_name = trace.descriptor(call.arguments[of.descriptor])
        return process.name(number if number is not None else -1, kernel_name)
    return _of_descriptor(process, call.arguments[of.descriptor], learns)


def _name_of_path(
    process: _Process, call: SystemCall, descriptor: int | None, path: str | None, learns: bool
) -> str | None:
    base: str | None = process.directory
    if descriptor is not None and (path is None or not path.startswith("/")):
        base = _of_descriptor(process, call.arguments[descriptor], learns)
        if path is None and trace.descriptor(call.arguments[descriptor])[0] is None:
            base = None
    if path is None:
        return base if descriptor is not None and base is not None else OTHERS
    return None if base is None else normal(os.path.join(base, path) if path else base)


def normal(name: str) -> str:
    """A normalized file name."""
    return os.path.normpath(name).replace("//", "/") if name.startswith("/") else name


def _of_descriptor(process: _Process, argument: str, learns: bool) -> str | None:
    """The file of a descriptor; `OTHERS` if it is not open."""
    number, kernel_name = trace.descriptor(argument)
    if number is None:
        return process.directory
    known_name = process.name(number, kernel_name)
    if known_name is not None:
        return known_name
    if not kernel_name:
        return OTHERS
    name = _name_of_open(kernel_name)
    if learns:
        process.names[number] = name
    return name


def _name_of_open(kernel_name: str) -> str:
    """The recorder's name for a kernel's name."""
    for kind in ("pipe", "socket"):
        if kernel_name.startswith((f"{kind}:", f"{kind.upper()}:")):
            return kind
    if kernel_name.startswith("anon_inode:"):
        return "anonymous"
    return normal(kernel_name)
