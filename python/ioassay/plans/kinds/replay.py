"""Replays: what an application did, stream by stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.plans.kind import Description, Kind, called
from ioassay.protocol.facts import Operation
from ioassay.text.units import format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import Stream, StreamOperation, WorkReplay

_ORDER: tuple[Operation, ...] = ("write", "read", "open", "close", "sync", "stat", "create", "rename", "remove")
"""That of the engine's records."""

_MOST_STREAMS = 4
"""Streams of a replay that are described; the others are counted."""


class Replayed(Kind["WorkReplay"]):
    """The streams of an application."""

    def words(self, plan: Contents, work: WorkReplay, name: str | None) -> str:
        """Its pace and its first streams."""
        return _replay(work, name)

    def description(self, plan: Contents, work: WorkReplay) -> Description:
        """It works on several trees, each in a way of its own."""
        return {"file_set": "", "layout": "", "order": "replayed", "transfer_bytes": None}

    def trees(self, work: WorkReplay) -> list[str]:
        """Those of its streams."""
        return [stream["tree"] for stream in work["streams"]]


def operations(work: WorkReplay) -> list[Operation]:
    """What the operations of a replay do: a measurement for each."""
    every: set[Operation] = set()
    for stream in work["streams"]:
        every.update(_operations_of(stream["operation"]))
    return [operation for operation in _ORDER if operation in every]


def _operations_of(operation: StreamOperation) -> tuple[Operation, ...]:
    match operation["kind"]:
        case "fill":
            return ("write", "open", "close")
        case "read":
            return ("read", "open", "close")
        case "write":
            return ("write", "open", "close", "sync") if operation.get("sync_every") else ("write", "open", "close")
        case "open":
            return ("open",) if operation.get("absent") else ("open", "close")
        case kind:
            return (kind,)


def _replay(work: WorkReplay, name: str | None) -> str:
    streams = work["streams"]
    pace = work.get("duration_ns")
    within = f" within {format_duration(pace)}, no operation before its time" if pace else " as fast as it goes"
    parts = "; ".join(map(_stream, streams[:_MOST_STREAMS]))
    more = f"; and {len(streams) - _MOST_STREAMS} more" if len(streams) > _MOST_STREAMS else ""
    return f"replay {format_count(len(streams), 'stream')}{called(name, 'replay')}{within} ({parts}{more})"


def _stream(stream: Stream) -> str:
    operation = stream["operation"]
    some = stream.get("ranks")
    who = f"{format_count(some['count'], 'rank')} each " if some else "each rank "
    match operation["kind"]:
        case "fill":
            return f"fill {stream['tree']} with {format_bytes(operation['bytes'])} a file"
        case "read" | "write":
            moved = format_count(operation["count"], "transfer")
            where = "into" if operation["kind"] == "write" else "from"
            return f"{who}{operation['kind']} {moved} {where} {stream['tree']}"
        case "open" | "stat":
            absent = " that is absent" if operation.get("absent") else ""
            return f"{who}{operation['kind']} {stream['tree']}{absent} {format_count(operation['count'], 'time')}"
        case kind:
            return f"{who}{kind} {format_count(operation['count'], 'file')} of {stream['tree']}"
