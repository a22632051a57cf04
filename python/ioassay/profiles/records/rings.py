"""Rings of io_uring whose requests could not all be read: how many, why, and what the kernel counted instead.

Not: the requests that were read; those are transfers of their files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from ioassay.profiles.model import Loss
from ioassay.profiles.records.processes import Image
from ioassay.profiles.records.tables import Table
from ioassay.protocol.record_layout import SQPOLL, BlockKind, Unreadable
from ioassay.text.units import format_size

_WHY = {
    Unreadable.SET_UP_UNSEEN: "the recorder did not see the ring being set up",
    Unreadable.KIND: "the ring has a layout that is unknown here",
    Unreadable.MEMORY: "the memory of the ring could not be mapped",
    Unreadable.TOO_MANY: "the process had too many rings",
}
_NO_COMPLETION = "no completion of them was seen, which alone says how much they moved"


@dataclass(frozen=True)
class _Unread:
    process: int
    where: str
    requests: int
    why: str


class Rings:
    """Requests that no table tells more of than their number, while tables are read."""

    def __init__(self) -> None:
        self._unread: list[_Unread] = []

    def add(self, image: Image, table: Table, where: str) -> None:
        """Adds what a table says of its rings."""
        _, rings = table.rows(BlockKind.RING)
        for ring in rings[rings["unread"] > 0]:
            unread = min(int(ring["unread"]), 2**60)
            sizes = min(int(ring["size_unknown"]), unread)
            why = _why(int(ring["flags"]), int(ring["unreadable"]))
            for requests, reason in ((unread - sizes, why), (sizes, _NO_COMPLETION)):
                if requests:
                    self._unread.append(_Unread(image.process, where, requests, reason))

    def losses(self, processes: pl.DataFrame) -> Iterator[Loss]:
        """One for each process and cause. `processes` is that of the profile."""
        counted = {row["process"]: row for row in processes.iter_rows(named=True)}
        requests: dict[tuple[int, str, str], int] = {}
        for unread in self._unread:
            key = (unread.process, unread.where, unread.why)
            requests[key] = requests.get(key, 0) + unread.requests
        reported: set[int] = set()
        for (process, where, why), amount in requests.items():
            storage = _storage(counted[process])
            unsaid = None if process in reported else storage
            reported.add(process)
            yield Loss("unread-rings", amount, where, why + _instead(storage), storage_bytes=unsaid)


def _instead(storage: tuple[int, int] | None) -> str:
    if storage is None:
        return ""
    read, written = map(format_size, storage)
    return f"; the kernel counted {read} read from storage and {written} written"


def _storage(process: Mapping[str, Any]) -> tuple[int, int] | None:
    """What is known of a process all the same: read from storage, and written."""
    read, written = process["storage_read_bytes"], process["storage_written_bytes"]
    return None if read is None or written is None else (read, written)


def _why(flags: int, unreadable: int) -> str:
    if unreadable in _WHY:
        return _WHY[Unreadable(unreadable)]
    if flags & SQPOLL:
        return "the kernel's thread (SQPOLL) took them without a call"
    return "the program enters its rings without the C library, which only --via ptrace sees"
