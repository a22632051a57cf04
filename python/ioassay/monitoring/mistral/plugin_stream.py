"""The protocol between Mistral and an output plug-in: lines on the plug-in's standard input, answers on its output.

    → :PGNSUPVRSN:5:6:        the offered versions, at once
    ← :PGNVERSION:6:          the version of the plug-in; or :PGNSHUTDWN:, before it exits
    → :PGNDATASRT:1:          a block, with a number that counts from 1
    → local#monitor#…         log lines of that version
    → :PGNDATAEND:1:          its end, with the same number
    → :PGNSHUTDWN:            the plug-in finishes its work, and exits

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
"""The first line of a stream."""

SHUTDOWN: Final = ":PGNSHUTDWN:\n"
"""The last line; from a plug-in, before it exits."""

_CONTROL: Final = re.compile(
    r":(PGNSUPVRSN):([0-9]{1,9}):([0-9]{1,9}):|:(PGNDATASRT|PGNDATAEND):([0-9]{1,18}):|:(PGNSHUTDWN):"
)
_CONTROL_MARK: Final = ":PGN"
_ANSWER: Final = re.compile(r":PGNVERSION:([0-9]{1,9}):")


@dataclass
class Stream:
    """The parsed input of a plug-in."""

    least_version: int
    most_version: int
    blocks: list[list[LogEntry]] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    """Unreadable log lines; the others of their block are read."""
    is_shut_down: bool = False


def write_block(number: int, entries: Iterable[LogEntry], version: Version) -> str:
    """A block of entries. The first of a stream has the number 1."""
    return f":PGNDATASRT:{number}:\n{write_log(entries, version, marked=True)}:PGNDATAEND:{number}:\n"


def write_stream(blocks: Sequence[Sequence[LogEntry]], version: Version) -> str:
    """The whole input of a plug-in that answers `version`."""
    return "".join((OFFER, *(write_block(*block, version) for block in enumerate(blocks, start=1)), SHUTDOWN))


def read_answer(line: str) -> Version | None:
    """The version in a plug-in's answer; `None` if it exits. Raises `Unreadable` for anything else."""
    if line == SHUTDOWN.rstrip("\n"):
        return None
    match = _ANSWER.fullmatch(line)
    for version in VERSIONS:
        if match is not None and int(match[1]) == version:
            return version
    raise Unreadable(f"{shown(line)} is not an answer of a plug-in", f"expected :PGNVERSION:{VERSIONS[-1]}:")


def read_stream(text: str, file: str) -> Stream:
    """Parses the input of a plug-in; `file` is its name in problems.

    An unreadable log line does not affect others. Raises `SourceError` with the line for anything else that does not
    belong there. Lines after the end of the stream are ignored, as by a plug-in.
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
    """The stream and the current block after a line. Raises `Unreadable`."""
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
