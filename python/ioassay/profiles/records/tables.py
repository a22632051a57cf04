"""A recorder's tables out of bytes that nobody vouches for: another user may have written them, a crash cut them.

As `crates/record/src/read.rs` reads them: nothing is read outside of a table, whatever it says of itself. A file is
table after table. Where one is damaged, the next is looked for by the word with which each begins. Files are read, not
mapped: one that is cut meanwhile would kill its reader. Of a table with damaged chunks (`checksums`) those blocks are
read that no damage touches.

Not: what the numbers mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ioassay.profiles.records.checksums import Damage
from ioassay.protocol import record_layout
from ioassay.protocol.record_layout import (
    ALIGNMENT,
    HEADER,
    LARGEST_BYTES,
    MAGIC,
    SECOND,
    VERSION,
    BlockKind,
    Clock,
    State,
)

_STRUCTURES: dict[BlockKind, np.dtype[np.void]] = {
    BlockKind.TEXT: record_layout.TEXT,
    BlockKind.THREAD: record_layout.THREAD,
    BlockKind.LATENCIES: record_layout.LATENCIES,
    BlockKind.SECONDS: record_layout.SECONDS,
    BlockKind.STEPS: record_layout.STEPS,
    BlockKind.FILE: record_layout.FILE,
    BlockKind.OPENED: record_layout.OPENED,
    BlockKind.TRANSFERS: record_layout.TRANSFERS,
    BlockKind.ERRORS: record_layout.ERRORS,
    BlockKind.WATCHED: record_layout.WATCHED,
    BlockKind.REGION: record_layout.REGION,
    BlockKind.MAP: record_layout.MAP,
    BlockKind.RING: record_layout.RING,
    BlockKind.FOLDED: record_layout.FOLDED,
    BlockKind.MODULE: record_layout.MODULE,
    BlockKind.FRAME: record_layout.FRAME,
    BlockKind.STACK: record_layout.STACK,
    BlockKind.CALLER: record_layout.CALLER,
}

Rows = NDArray[Any]
"""An array of one of the structures."""

_OLDEST_BYTES: dict[np.dtype[np.void], int] = {
    HEADER: HEADER.fields["storage_of_ended"][1],  # type: ignore[index]
    record_layout.THREAD: record_layout.THREAD.fields["storage"][1],  # type: ignore[index]
    record_layout.OPENED: record_layout.OPENED.fields["birth_ns"][1],  # type: ignore[index]
    record_layout.RING: record_layout.RING.fields["size_unknown"][1],  # type: ignore[index]
}
"""Of structures that have grown at their end: what the first tables of this version have of them."""

_CHUNK_BYTES = 1 << 20
"""Read at once while a table is looked for."""

_EARLIEST_NS, _LATEST_NS = 946_684_800 * 10**9, 4_102_444_800 * 10**9
"""The years 2000 and 2100: no process began before or ends after."""


@dataclass(frozen=True)
class Found:
    """Where a table lies in its file, and its header."""

    offset: int
    length: int
    header: Any
    """A row of `HEADER`."""


@dataclass(frozen=True)
class Lost:
    """Bytes of a file that no table can be made of."""

    offset: int
    length: int
    version: int | None
    """Of a table of another version."""


def find(file: BinaryIO, damage: Damage | None = None) -> Iterator[Found | Lost]:
    """The tables in a file, and what lies between them. Zeros behind a table are no loss: it was to grow."""
    size = file.seek(0, 2)
    offset = 0
    while offset < size:
        is_damaged = damage is not None and damage.touches(offset, min(offset + HEADER.itemsize, size))
        found = None if is_damaged else _table_at(file, offset, size)
        if isinstance(found, Found):
            yield found
            offset += found.length
            continue
        after = _next_table(file, offset + 1, size)
        if found is not None or is_damaged or not _is_zero(file, offset, after):
            yield Lost(offset, after - offset, found)
        offset = after


def read(file: BinaryIO, found: Found, damage: Damage | None = None) -> Table | None:
    """The table; `None` where it is there no more. Its header may be later than that which was found."""
    content = _read_at(file, found.offset, found.length)
    again = _header(content)
    if len(content) < found.length or again is None or not _is_possible(again):
        return None
    if again["begin_ns"] != found.header["begin_ns"]:
        return None
    touched = damage if damage and damage.touches(found.offset, found.offset + found.length) else None
    return Table(content, again, found.offset, touched)


class Table:
    """A table in memory."""

    def __init__(self, content: bytes, header: Any, offset: int = 0, damage: Damage | None = None) -> None:
        self.header = header
        self.offset = offset
        """In its file."""
        self.damage = damage
        """Of its file, where that touches this table."""
        self._content = content
        self._words = np.frombuffer(content, dtype="<u8", count=len(content) // ALIGNMENT)
        self.unread_bytes = 0
        """In damaged blocks, and behind one that cannot be. Of a table that is being written these may be a block that
        just begins.
        """
        self._places = self._blocks()
        self._rows: dict[BlockKind, tuple[NDArray[np.int64], Rows]] = {}

    def _blocks(self) -> dict[int, list[int]]:
        """The places of all blocks by kind."""
        words = memoryview(self._content)[: self._words.nbytes].cast("Q")
        places: dict[int, list[int]] = {}
        place, end = int(self.header["header_bytes"]), len(self._content)
        while place + ALIGNMENT <= end:
            if self._is_damaged(place, ALIGNMENT):
                following = self._next_block(place)
                self.unread_bytes += following - place
                place = following
                continue
            word = words[place // ALIGNMENT]
            length = word & 0xFFFF_FFFF
            if length < ALIGNMENT or length % ALIGNMENT or place + length > end:
                break
            if self._is_damaged(place, length):
                self.unread_bytes += length
            else:
                places.setdefault(word >> 32, []).append(place)
            place += length
        self.unread_bytes += end - place
        return places

    def _is_damaged(self, place: int, length: int) -> bool:
        return self.damage is not None and self.damage.touches(self.offset + place, self.offset + place + length)

    def _next_block(self, place: int) -> int:
        """The first block behind the damage at a place, or the end."""
        following = self.damage.next_block(self.offset + place) if self.damage else None
        return len(self._content) if following is None else min(following - self.offset, len(self._content))

    def rows(self, kind: BlockKind) -> tuple[NDArray[np.int64], Rows]:
        """The structures of all blocks of a kind, with their places. Fields that an older table lacks are 0.
        Blocks that are too short are left out.
        """
        if kind not in self._rows:
            structure = _STRUCTURES[kind]
            found = np.array(self._places.get(kind, ()), dtype=np.int64)
            lengths = self._lengths(found)
            is_whole = lengths >= _OLDEST_BYTES.get(structure, structure.itemsize)
            found, lengths = found[is_whole], lengths[is_whole]
            within = np.arange(structure.itemsize // ALIGNMENT)
            is_there = within < lengths[:, None] // ALIGNMENT
            words = self._words[np.where(is_there, found[:, None] // ALIGNMENT + within, 0)]
            self._rows[kind] = found, np.where(is_there, words, 0).view(structure)[:, 0]
        return self._rows[kind]

    def _lengths(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of the blocks at these places."""
        return (self._words[places // ALIGNMENT] & 0xFFFF_FFFF).astype(np.int64)

    def after(self, kind: BlockKind, lengths: NDArray[Any]) -> list[bytes]:
        """So many of the bytes that follow the structure of each block of `rows`; fewer where the block ends before."""
        places, _ = self.rows(kind)
        begins = places + _STRUCTURES[kind].itemsize
        ends = np.minimum(begins + lengths, places + self._lengths(places))
        content = self._content
        return [content[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]

    @cached_property
    def texts(self) -> dict[int, str]:
        """The texts of a table by `TextKind`; of several of a kind the last."""
        _, texts = self.rows(BlockKind.TEXT)
        contents = self.after(BlockKind.TEXT, texts["text_bytes"].astype(np.int64))
        return {
            kind: content.decode(errors="replace")
            for kind, content in zip(texts["kind"].tolist(), contents, strict=True)
        }

    def seconds(self) -> Rows:
        """All rows of seconds that are in use."""
        return self._rows_of(BlockKind.SECONDS)

    def steps(self) -> Rows:
        """All rows of steps that are in use: `SECOND`."""
        return self._rows_of(BlockKind.STEPS)

    def _rows_of(self, kind: BlockKind) -> Rows:
        places, blocks = self.rows(kind)
        ends = places + self._lengths(places)
        of_each = zip(places.tolist(), ends.tolist(), blocks["rows"].tolist(), strict=True)
        begin = _STRUCTURES[kind].itemsize
        parts = [self._seconds(place + begin, end, rows) for place, end, rows in of_each]
        return np.concatenate(parts) if parts else np.empty(0, SECOND)

    def _seconds(self, begin: int, end: int, rows: int) -> Rows:
        return np.frombuffer(self._content, SECOND, count=min(rows, (end - begin) // SECOND.itemsize), offset=begin)


def find_places(places: NDArray[np.int64], wanted: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool]]:
    """Where each of `wanted` is among `places`, which ascend, and whether it is there at all."""
    if not len(places):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool)
    at = np.minimum(np.searchsorted(places, wanted.astype(np.int64)), len(places) - 1)
    return at, places[at] == wanted


def _table_at(file: BinaryIO, offset: int, size: int) -> Found | int | None:
    """The table there, or the version of one that cannot be read, or nothing."""
    header = _header(_read_at(file, offset, HEADER.itemsize))
    if header is None:
        return None
    if header["version"] != VERSION:
        return int(header["version"])
    used = int(header["used_bytes"])
    begin = int(header["header_bytes"])
    is_whole = begin % ALIGNMENT == 0 and _OLDEST_BYTES[HEADER] <= begin <= used <= min(size - offset, LARGEST_BYTES)
    return Found(offset, used, header) if is_whole and _is_possible(header) else None


def _header(content: bytes) -> Any | None:
    """The header at the beginning, if there is one. What an older one lacks is 0."""
    if len(content) < _OLDEST_BYTES[HEADER] or not content.startswith(MAGIC):
        return None
    length = int(np.frombuffer(content, "<u4", count=1, offset=HEADER.fields["header_bytes"][1])[0])  # type: ignore[index]
    # Of bytes of its own: it would keep the whole table in memory.
    return np.frombuffer(content[: min(length, HEADER.itemsize)].ljust(HEADER.itemsize, b"\0"), HEADER)[0]


def _is_possible(header: Any) -> bool:
    """True if state, clock and times can be what a recorder wrote. A clock may have been set back between the times."""
    times = (int(header["begin_ns"]), int(header["latest_ns"]) or int(header["begin_ns"]))
    return (
        int(header["state"]) in set(State)
        and int(header["clock"]) in set(Clock)
        and all(_EARLIEST_NS <= time <= _LATEST_NS for time in times)
    )


def _next_table(file: BinaryIO, offset: int, size: int) -> int:
    """Where the next table may begin, or the end of the file."""
    while offset < size:
        content = _read_at(file, offset, _CHUNK_BYTES)
        at = content.find(MAGIC)
        if at >= 0:
            return offset + at
        if len(content) < _CHUNK_BYTES:
            break
        offset += len(content) - len(MAGIC) + 1
    return size


def _is_zero(file: BinaryIO, offset: int, end: int) -> bool:
    while offset < end:
        content = _read_at(file, offset, min(_CHUNK_BYTES, end - offset))
        if not content or content.strip(b"\0"):
            return False
        offset += len(content)
    return True


def _read_at(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)
