"""The work of a RAID with parity for a write: a full stripe, or reads before it can write.

A write that covers part of a stripe must bring parity up to date, in one of two ways:

    read-modify-write    read the old data of the k segments that are written, and the p parity segments: k + p reads
    reconstruct-write    read what is not overwritten of the d data segments: d - k reads, k being whole segments

Both then write k + p segments. A write of the full stripe reads nothing and writes d + p. The way with fewer reads is
taken, as Linux MD does; what a controller's firmware does is not published, and its write cache may join requests to
full stripes.

Sources: Chen, Lee, Gibson, Katz, Patterson: RAID: High-Performance, Reliable Secondary Storage, ACM Computing Surveys
26(2), 1994, section 3; Thomasian: Reconstruct versus read-modify writes in RAID, Information Processing Letters 93(4),
2005.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ioassay.tuning.path.requests import Request
from ioassay.tuning.system import Array

Method = Literal["full stripe", "read-modify-write", "reconstruct-write", "no parity"]


@dataclass(frozen=True)
class StripeWrite:
    """The part of one stripe that one request writes, and the work of the array for it."""

    request: int
    """The request's place among those that arrive."""
    member: int
    stripe: int
    stripe_offset_bytes: int
    """Where the stripe begins in the file; less than 0 where it begins before it."""
    start_bytes: int
    end_bytes: int
    """The written range, from the start of the stripe."""
    method: Method
    reads: int
    """Disks that are read first."""
    writes: int
    """Disks that are written."""
    read_bytes: int
    write_bytes: int
    array: Array

    @property
    def written_segments(self) -> range:
        """The data segments that are written, at least in part."""
        return range(self.start_bytes // self.array.segment_bytes, -(-self.end_bytes // self.array.segment_bytes))

    @property
    def read_segments(self) -> list[int]:
        """The data segments that are read first."""
        if self.method == "read-modify-write":
            return list(self.written_segments)
        if self.method == "reconstruct-write":
            return [index for index in range(self.array.data_disks) if index not in self._segments_not_read()]
        return []

    @property
    def reads_parity(self) -> bool:
        """Whether the old parity is read first."""
        return self.method == "read-modify-write"

    def _segments_not_read(self) -> list[int]:
        """Segments that a reconstruct-write has all of what it needs of."""
        return _fully_written_segments(self.start_bytes, self.end_bytes, self.array.segment_bytes)


def stripe_writes(requests: Iterable[Request], array: Array) -> list[StripeWrite]:
    """The stripes that each request at the array writes, in the order of the requests."""
    parts = []
    for index, request in enumerate(requests):
        first = request.address_bytes // array.stripe_bytes
        last = (request.address_bytes + request.size_bytes - 1) // array.stripe_bytes
        for stripe in range(first, last + 1):
            begin = stripe * array.stripe_bytes
            start = max(request.address_bytes, begin) - begin
            end = min(request.address_bytes + request.size_bytes, begin + array.stripe_bytes) - begin
            offset = request.offset_bytes - (request.address_bytes - begin)
            parts.append(_stripe_write(array, start, end, (index, request.member, stripe, offset)))
    return parts


def _stripe_write(array: Array, start: int, end: int, place: tuple[int, int, int, int]) -> StripeWrite:
    segment, data, parity = array.segment_bytes, array.data_disks, array.parity_disks
    written, touched = end - start, -(-end // segment) - start // segment
    rows = _rows(start, end, segment)
    writes, write_bytes = touched + parity, written + parity * rows
    method: Method
    if parity == 0:
        method, reads, read_bytes = "no parity", 0, 0
    elif written == array.stripe_bytes:
        method, reads, read_bytes = "full stripe", 0, 0
    else:
        modify = (touched + parity, written + parity * rows)
        reconstruct = (data - len(_fully_written_segments(start, end, segment)), data * rows - written)
        method = "read-modify-write" if modify < reconstruct else "reconstruct-write"
        reads, read_bytes = min(modify, reconstruct)
    return StripeWrite(*place, start, end, method, reads, writes, read_bytes, write_bytes, array)


def _rows(start: int, end: int, segment: int) -> int:
    """Bytes of a parity segment that change: the union of what is written of the data segments."""
    touched = -(-end // segment) - start // segment
    return end - start if touched == 1 else min(segment, end - start)


def _fully_written_segments(start: int, end: int, segment: int) -> list[int]:
    """The segments that are written wherever parity changes."""
    rows = _rows(start, end, segment)
    segments = range(start // segment, -(-end // segment))
    written = {index: min(end, (index + 1) * segment) - max(start, index * segment) for index in segments}
    return [index for index, size in written.items() if size == rows]


@dataclass(frozen=True)
class RaidWork:
    """The work of an array for many requests in a row."""

    array: Array
    stripe_writes: int
    full_stripes: int
    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    data_bytes: int
    """The bytes of the requests."""

    @property
    def full_stripe_share(self) -> float:
        """The share of writes to a stripe that cover it."""
        return self.full_stripes / self.stripe_writes if self.stripe_writes else 0.0

    @property
    def disk_ios(self) -> int:
        """Reads and writes of disks."""
        return self.reads + self.writes

    @property
    def least_disk_ios(self) -> float:
        """As many as the same amount takes in full stripes."""
        return self.data_bytes / self.array.stripe_bytes * (self.array.data_disks + self.array.parity_disks)

    @property
    def amplification(self) -> float:
        """Bytes that disks read and write for each byte of data."""
        return (self.read_bytes + self.write_bytes) / self.data_bytes if self.data_bytes else 0.0

    @property
    def least_amplification(self) -> float:
        """The same, for full stripes."""
        return (self.array.data_disks + self.array.parity_disks) / self.array.data_disks


def work(array: Array, writes: Iterable[StripeWrite]) -> RaidWork:
    """The sum of what the array does."""
    known = list(writes)
    return RaidWork(
        array,
        stripe_writes=len(known),
        full_stripes=sum(write.end_bytes - write.start_bytes == array.stripe_bytes for write in known),
        reads=sum(write.reads for write in known),
        writes=sum(write.writes for write in known),
        read_bytes=sum(write.read_bytes for write in known),
        write_bytes=sum(write.write_bytes for write in known),
        data_bytes=sum(write.end_bytes - write.start_bytes for write in known),
    )
