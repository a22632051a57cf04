"""Checksums of the tables of a record, and which parts of these are damaged.

`ioassay record` writes them when it brings tables into the record (`crates/record/src/checksums.rs`). Tables of running
processes, those of a recorder that was only preloaded, and those of older records have none. Not: reading tables.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ioassay.protocol.record_layout import (
    CHECKSUMS,
    CHECKSUMS_MAGIC,
    CHECKSUMS_VERSION,
    CHUNK_CHECKSUM,
    NO_BLOCK,
)

_READ_CHUNKS = 256
"""Chunks that are read at once."""

_CRC_BYTES = 4
"""Of the checksum at the end, which is that of the checksums."""


@dataclass(frozen=True)
class Damage:
    """Which chunks of a file of tables are damaged."""

    chunk_bytes: int
    is_damaged: NDArray[np.bool]
    """Of each chunk."""
    first_blocks: NDArray[np.int64]
    """Of each chunk where the first block that begins in it does, in the file; -1: none does."""
    missing_bytes: int
    """At the end of the file."""

    def touches(self, begin: int, end: int) -> bool:
        """True if a byte of the range may be damaged."""
        return bool(self.is_damaged[begin // self.chunk_bytes : -(-end // self.chunk_bytes)].any())

    def next_block(self, offset: int) -> int | None:
        """Where the first block begins behind the damage at an offset; `None`: nobody knows."""
        later = slice(offset // self.chunk_bytes + 1, None)
        usable = np.flatnonzero(~self.is_damaged[later] & (self.first_blocks[later] >= 0))
        return int(self.first_blocks[later][usable[0]]) if len(usable) else None


class DamagedChecksumsError(Exception):
    """The checksums are damaged themselves: nothing is known of the tables."""


def verify(file: BinaryIO, checksums: bytes) -> Damage | None:
    """Compares a file of tables with its checksums. Returns `None` if it is intact. Raises `DamagedChecksumsError`."""
    head, chunks = _parse(checksums)
    length = int(head["chunk_bytes"])
    found = np.full(len(chunks), -1, dtype=np.int64)
    file.seek(0)
    at = 0
    while at < len(chunks) and (content := file.read(length * _READ_CHUNKS)):
        view = memoryview(content)
        for begin in range(0, len(content), length):
            if at < len(chunks):
                found[at] = zlib.crc32(view[begin : begin + length])
            at += 1
    missing = max(0, int(head["bytes"]) - file.seek(0, 2))
    is_damaged = found != chunks["crc32"]
    if not is_damaged.any() and not missing:
        return None
    first = chunks["first_block"].astype(np.int64)
    begins = np.arange(len(chunks)) * length
    return Damage(length, is_damaged, np.where(first == NO_BLOCK, -1, begins + first), missing)


def _parse(checksums: bytes) -> tuple[Any, NDArray[Any]]:
    content, crc32 = checksums[:-_CRC_BYTES], checksums[-_CRC_BYTES:]
    if len(content) < CHECKSUMS.itemsize or zlib.crc32(content).to_bytes(_CRC_BYTES, "little") != crc32:
        raise DamagedChecksumsError
    head = np.frombuffer(content, CHECKSUMS, count=1)[0]
    is_known = head["magic"].tobytes() == CHECKSUMS_MAGIC and head["version"] == CHECKSUMS_VERSION
    rest = len(content) - CHECKSUMS.itemsize
    count = -(-int(head["bytes"]) // max(int(head["chunk_bytes"]), 1))
    if not is_known or not head["chunk_bytes"] or rest != count * CHUNK_CHECKSUM.itemsize:
        raise DamagedChecksumsError
    return head, np.frombuffer(content, CHUNK_CHECKSUM, offset=CHECKSUMS.itemsize)
