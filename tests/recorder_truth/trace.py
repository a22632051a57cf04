"""What `strace -ff -k -y -ttt -T -s 0` wrote: system calls, each with the stack of functions that led to it.

Not: which process had which file open then (`processes`), what the recorder should have counted (`expected`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Frame:
    """A function on the stack, as the dynamic symbols of its library name it: the nearest that begins before."""

    library: str
    """The file name alone."""
    function: str


@dataclass(frozen=True)
class SystemCall:
    """A system call that returned."""

    thread: int
    """The number of the thread, which is that of the process for its first one."""
    began: float
    """Seconds since 1970."""
    took: float
    """Seconds."""
    name: str
    arguments: tuple[str, ...]
    """The arguments as printed."""
    result: int | None
    """The result; -1 if it failed, `None` if unknown."""
    error: str
    """The error, such as `ENOENT`; empty if it succeeded."""
    opened: str
    """The kernel's name for the returned descriptor; empty if it returned none."""
    stack: tuple[Frame, ...]
    """From the inside out."""

    @property
    def effective(self) -> float:
        """The time at which descriptors change: a new one exists at the end, an old one is gone at the beginning."""
        return self.began + self.took if self.opened else self.began


@dataclass(frozen=True)
class ThreadEnd:
    """A thread ended."""

    thread: int
    began: float
    how: str
    """`exited with 0`, `killed by SIGTERM`."""

    @property
    def effective(self) -> float:
        """The same."""
        return self.began


_LINE = re.compile(r"(?P<began>\d+\.\d+) (?P<rest>.*)")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>.*)")
_RESULT = re.compile(
    r"(?P<number>0x[0-9a-f]+|-?\d+|\?)(?:<(?P<opened>.*)>(?P<deleted>\(deleted\))?)?(?: (?P<error>E[A-Z0-9]+)\b.*)?"
)
_TOOK = re.compile(r" <(\d+\.\d+)>$")
_FRAME = re.compile(r" > (?P<library>.+?)\((?P<function>[^()]*?)(?:\+0x[0-9a-f]+)?\) \[0x[0-9a-f]+\]")
_RESUMED = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")
_ENDED = re.compile(r"\+\+\+ (?P<how>.*) \+\+\+")
_UNFINISHED = "<unfinished ...>"

_DESCRIPTOR = re.compile(r"(?P<number>-?\d+|AT_FDCWD)<(?P<name>.*)>(?P<deleted>\(deleted\))?", re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-f]{2})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b"}


def read(directory: Path, prefix: str = "trace") -> Iterator[SystemCall | ThreadEnd]:
    """All events of a trace in a directory, in the order of their effect. Each file has one thread."""
    events = [
        event
        for path in directory.glob(f"{prefix}.*")
        for event in parse(int(path.suffix[1:]), path.read_bytes().decode("utf-8", "surrogateescape").splitlines())
    ]
    yield from sorted(events, key=lambda event: event.effective)


def parse(thread: int, lines: Iterable[str]) -> Iterator[SystemCall | ThreadEnd]:
    """The events of a thread. Calls that never returned, or restart after a signal, are left out."""
    call: tuple[float, str] | None = None
    stack: list[Frame] = []
    pending = ("", 0.0)
    for line in lines:
        if line.startswith(" > "):
            stack.append(_frame(line))
            continue
        if call is not None and (completed := _system_call(thread, *call, tuple(stack))):
            yield completed
        call, stack = None, []
        if (match := _LINE.match(line)) is None:
            continue
        began, rest = float(match["began"]), match["rest"]
        if end := _ENDED.fullmatch(rest):
            yield ThreadEnd(thread, began, end["how"])
        elif rest.endswith(_UNFINISHED):
            pending = (rest.removesuffix(_UNFINISHED).rstrip(), began)
        elif resumed := _RESUMED.match(rest):
            call = (pending[1], pending[0] + resumed["rest"])
        else:
            call = (began, rest)
    if call is not None and (completed := _system_call(thread, *call, tuple(stack))):
        yield completed


def _frame(line: str) -> Frame:
    """A frame; of one that strace could not find, nothing is known."""
    frame = _FRAME.match(line)
    return Frame(frame["library"].rpartition("/")[2], frame["function"]) if frame else Frame("?", "?")


def _system_call(thread: int, began: float, text: str, stack: tuple[Frame, ...]) -> SystemCall | None:
    took = _TOOK.search(text)
    call = _CALL.fullmatch(_TOOK.sub("", text))
    result = _RESULT.match(call["result"]) if call else None
    if call is None or result is None:
        return None
    error = result["error"] or ""
    if error.startswith("ERESTART") or result["number"] == "?":
        return None
    opened = unescaped((result["opened"] or "") + _deleted(result["deleted"]))
    return SystemCall(
        thread,
        began,
        float(took[1]) if took else 0.0,
        call["name"],
        tuple(split(call["arguments"])),
        int(result["number"], 0),
        error,
        opened,
        stack,
    )


def split(arguments: str) -> list[str]:
    """The arguments of a call: commas within quotes, brackets and names of descriptors separate nothing."""
    parts, begin, depth, index = [], 0, 0, 0
    while index < len(arguments):
        letter = arguments[index]
        if letter == '"':
            index = _end_of_text(arguments, index)
        elif letter == "<" and index and (arguments[index - 1].isdigit() or arguments.endswith("AT_FDCWD", 0, index)):
            # Within the name of a descriptor, strace escapes both.
            index = max(index, arguments.find(">", index))
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(arguments[begin:index].strip())
            begin = index + 1
        index += 1
    rest = arguments[begin:].strip()
    return [*parts, rest] if parts or rest else []


def _end_of_text(arguments: str, index: int) -> int:
    index += 1
    while index < len(arguments) and arguments[index] != '"':
        index += 2 if arguments[index] == "\\" else 1
    return index


def descriptor(argument: str) -> tuple[int | None, str]:
    """The number of a descriptor and what the kernel calls it; `None` is the working directory, "" not open."""
    match = _DESCRIPTOR.fullmatch(argument)
    if match is None:
        return (None if argument == "AT_FDCWD" else _number(argument)), ""
    name = unescaped(match["name"] + _deleted(match["deleted"]))
    return (None if match["number"] == "AT_FDCWD" else int(match["number"])), name


def _number(argument: str) -> int:
    try:
        return int(argument)
    except ValueError:
        return -1


def _deleted(marker: str | None) -> str:
    """The kernel's mark of a deleted file."""
    return " (deleted)" if marker else ""


def path(argument: str) -> str | None:
    """The path of an argument; `None` if it was null or unreadable."""
    if not argument.startswith('"'):
        return None
    return unescaped(argument[1 : _end_of_text(argument, 0)])


def unescaped(text: str) -> str:
    """Text without strace's escapes."""
    if "\\" not in text:
        return text
    raw = text.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescape, raw).decode("utf-8", "surrogateescape")


def _unescape(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, letter = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 255])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    return _LETTERS.get(letter, letter)
