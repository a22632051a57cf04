"""What Mistral and an output plug-in say to each other: lines on the plug-in's standard input, answers on its output.

    → :PGNSUPVRSN:5:6:        the versions that are offered, at once
    ← :PGNVERSION:6:          the version that the plug-in speaks; or :PGNSHUTDWN:, before it exits
    → :PGNDATASRT:1:          a block, with a number that counts from 1
    → local#monitor#…         log lines of that version
    → :PGNDATAEND:1:          its end, with the same number
    → :PGNSHUTDWN:            the plug-in finishes what it has, and exits

`testdata/plugin_stream.json` has streams that the agent must write like this module.
Not: starting plug-ins and waiting for their answers (the agent does).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ioassay.monitoring.mistral.log import VERSIONS, LogEntry, Version, read_entry, write_log
from ioassay.monitoring.mistral.terms import Unreadable, shown
from ioassay.yaml_models.source import Origin, Problem, SourceError

OFFER: Final = f":PGNSUPVRSN:{VERSIONS[0]}:{VERSIONS[-1]}:\n"
"""How a stream begins."""

SHUTDOWN: Final = ":PGNSHUTDWN:\n"
"""How it ends; from a plug-in, that it exits."""

_CONTROL: Final = re.compile(
    r":(PGNSUPVRSN):([0-9]{1,9}):([0-9]{1,9}):|:(PGNDATASRT|PGNDATAEND):([0-9]{1,18}):|:(PGNSHUTDWN):"
)
_CONTROL_MARK: Final = ":PGN"
_ANSWER: Final = re.compile(r":PGNVERSION:([0-9]{1,9}):")


@dataclass
class Stream:
    """What a plug-in received."""

    least_version: int
    most_version: int
    blocks: list[list[LogEntry]] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    """Log lines that cannot be read; the others of their block can."""
    is_shut_down: bool = False


def write_block(number: int, entries: Iterable[LogEntry], version: Version) -> str:
    """A block of entries. The first of a stream has the number 1."""
    return f":PGNDATASRT:{number}:\n{write_log(entries, version, marked=True)}:PGNDATAEND:{number}:\n"


def write_stream(blocks: Sequence[Sequence[LogEntry]], version: Version) -> str:
    """All that a plug-in receives that answers `version`."""
    return "".join((OFFER, *(write_block(*block, version) for block in enumerate(blocks, start=1)), SHUTDOWN))


def read_answer(line: str) -> Version | None:
    """The version that a plug-in answers with; `None`: it exits. Raises `Unreadable` for anything else."""
    if line == SHUTDOWN.rstrip("\n"):
        return None
    match = _ANSWER.fullmatch(line)
    for version in VERSIONS:
        if match is not None and int(match[1]) == version:
            return version
    raise Unreadable(f"{shown(line)} is not an answer of a plug-in", f"expected :PGNVERSION:{VERSIONS[-1]}:")


def read_stream(text: str, file: str) -> Stream:
    """Reads what a plug-in received; `file` is what problems call it.

    A log line that cannot be read costs no other. Raises `SourceError` with the line for anything else that is not what
    a plug-in gets. What follows the end of the stream is not looked at, as by a plug-in.
    """
    stream: Stream | None = None
    block: list[LogEntry] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line or (stream is not None and stream.is_shut_down):
            continue
        try:
            stream, block = _after(line, stream, block)
        except Unreadable as error:
            problem = Origin(f"{file}:{number}").problem(error.wrong, error.meant)
            if stream is None or block is None or line.startswith(_CONTROL_MARK):
                raise SourceError([problem]) from None
            stream.unreadable.append(problem)
    if stream is None:
        raise SourceError([Origin(f"{file}:1").problem("the stream is empty", f"begin with {OFFER.strip()}")])
    return stream


def _after(line: str, stream: Stream | None, block: list[LogEntry] | None) -> tuple[Stream, list[LogEntry] | None]:
    """What the stream, and the block under way, are after a line. Raises `Unreadable`."""
    match = _CONTROL.fullmatch(line)
    if stream is None:
        if match is None or match[1] is None:
            raise Unreadable(f"{shown(line)} does not offer versions", f"begin with {OFFER.strip()}")
        return Stream(int(match[2]), int(match[3])), None
    if match is None:
        if block is None:
            raise Unreadable(f"{shown(line)} stands outside of a block", "begin a block with :PGNDATASRT:")
        block.append(read_entry(line))
        return stream, block
    if match[6] is not None:
        stream.is_shut_down = True
        return stream, None
    expected = "PGNDATASRT" if block is None else "PGNDATAEND"
    count = len(stream.blocks) + (block is None)
    if match[4] != expected or int(match[5]) != count:
        raise Unreadable(f"{shown(line)} is out of order", f"expected :{expected}:{count}:")
    if block is None:
        block = []
        stream.blocks.append(block)
        return stream, block
    return stream, None
