"""Reads `events.jsonl` and `progress.jsonl`: what the engine appends, one JSON object per line.

The engine may be killed, or the disk fill up, in the middle of a line; such a half line at the end is
no event yet and is left out. The shape of an event is the contract's (`crates/contract/src/events.rs`)
and is trusted here: both sides are built from one version and every event file opens with it.

Not: what an event means (`ingest`, `outcome`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ioassay.errors import UsageError

CONTRACT_VERSION = 2
"""The version of the contract that this reader understands."""

Event = dict[str, Any]
"""One line: a tagged object of the contract."""


class EventTail:
    """Follows a file that another process appends to. A file that does not exist yet is an empty one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self._lines = 0

    def new(self) -> list[Event]:
        """The events of all lines completed since the last call. Raises `UsageError` on a line that is none."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                text = file.read()
        except FileNotFoundError:
            return []
        complete = text[: text.rfind(b"\n") + 1]
        self._read_bytes += len(complete)
        return [self._parse(line) for line in complete.split(b"\n")[:-1]]

    def _parse(self, line: bytes) -> Event:
        self._lines += 1
        where = f"{self._path}, line {self._lines}"
        try:
            event = json.loads(line)
        except ValueError as error:
            raise UsageError(
                f"{where}: not an event: {error}.",
                "The file is damaged. Restore it, or remove that line to read the rest.",
            ) from error
        if not isinstance(event, dict):
            raise UsageError(
                f"{where}: not an event: a JSON object is expected.",
                "The file is damaged. Restore it, or remove that line to read the rest.",
            )
        if event.get("event") == "started" and event["version"] > CONTRACT_VERSION:
            raise UsageError(
                f"{where}: written by an engine with version {event['version']} of the contract; "
                f"this ioassay reads up to {CONTRACT_VERSION}.",
                "Use the ioassay that made the run, or a newer one.",
            )
        return event


def read_events(path: Path) -> list[Event]:
    """All events of a file, complete or cut off. A missing file has none."""
    return EventTail(path).new()
