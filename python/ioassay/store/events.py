"""Reads `events.jsonl` and `progress.jsonl`: what the engine appends, one JSON object per line.

The engine may be killed, or the disk fill up, in the middle of a line; such a half line at the end is no event yet and
is left out. Each line is checked against the protocol's schema (`protocol`), so that what is read has its shape.

Not: what an event means (`ingest`, `outcome`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Generic, Literal, TypeVar

from pydantic_core import ValidationError

from ioassay.errors import UsageError
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.store.protocol import reason, validator
from ioassay.store.stored_directory import StoredDirectory

if TYPE_CHECKING:
    from ioassay.protocol.event import Event
    from ioassay.protocol.progress import Progress  # noqa: F401 (in the bases of a class)

MOST_BYTES = 1 << 30
"""The largest file of the events of a case. A phase of 4096 ranks sampled for ten minutes takes 40 MiB."""

_MOST_LINE_BYTES = 256 << 20

_REMEDY = "The file is damaged. Restore it, or delete that line to read the rest."

Kind = Literal["event", "progress"]

Line = TypeVar("Line")


class _Tail(Generic[Line]):
    """Follows a file of this process's own that another process appends to. One that does not exist yet is empty."""

    _KIND: ClassVar[Kind]

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self._lines = 0

    def new(self) -> list[Line]:
        """The lines completed since the last call. Raises `UsageError` on a line that is wrong."""
        try:
            with StoredDirectory.open(self._path.parent) as directory:
                file = directory.open_file(self._path.name, MOST_BYTES)
        except FileNotFoundError:
            return []
        with file:
            return self._parse(file)

    def _parse(self, file: BinaryIO) -> list[Line]:
        file.seek(self._read_bytes)
        read = []
        for line, content in _lines(file, self._KIND, self._path, self._lines):
            self._read_bytes += len(line)
            self._lines += 1
            read.append(content)
        return read


class EventTail(_Tail["Event"]):
    """Follows `events.jsonl`."""

    _KIND = "event"


class ProgressTail(_Tail["Progress"]):
    """Follows `progress.jsonl`."""

    _KIND = "progress"


def read_events(path: Path) -> list[Event]:
    """All events of a file of this process's own, complete or cut off. A missing file has none."""
    return EventTail(path).new()


def stored_events(directory: StoredDirectory, name: str) -> list[Event]:
    """All events of a file in a stored directory, complete or cut off. A missing file has none. Raises `UsageError`."""
    try:
        file = directory.open_file(name, MOST_BYTES)
    except FileNotFoundError:
        return []
    with file:
        return [event for _, event in _lines(file, "event", directory.path / name, 0)]


def _lines(file: BinaryIO, kind: Kind, shown: Path, earlier: int) -> Iterator[tuple[bytes, Any]]:
    """Each whole line with what is in it; `earlier` lines are before the first."""
    for number in itertools.count(earlier + 1):
        line = file.readline(_MOST_LINE_BYTES)
        if not line.endswith(b"\n") and len(line) < _MOST_LINE_BYTES:
            return
        yield line, _content(line, kind, f"{shown}, line {number}")


def _content(line: bytes, kind: Kind, where: str) -> Any:
    try:
        content = validator(kind).validate_json(line)
    except ValidationError as error:
        _refuse_newer(line, where)
        raise UsageError(f"{where}: not an event: {reason(error)}.", _REMEDY) from error
    if content.get("event") == "started" and content["version"] > PROTOCOL_VERSION:
        raise _newer(where, content["version"])
    return content


def _refuse_newer(line: bytes, where: str) -> None:
    """Raises `UsageError` for the first line of a newer engine, whose shape may be another."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(event, dict) and event.get("event") == "started":
        version = event.get("version")
        if isinstance(version, int) and version > PROTOCOL_VERSION:
            raise _newer(where, version)


def _newer(where: str, version: int) -> UsageError:
    return UsageError(
        f"{where}: written by an engine with version {version} of the protocol; "
        f"this ioassay reads up to {PROTOCOL_VERSION}.",
        "Use the ioassay that made the run, or a newer one.",
    )
