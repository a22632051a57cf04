"""The work of the drives of a brick for each byte, or each operation of 4 KiB, that is asked of them.

Full stripes write parity besides. Sequential reads take data only: on disks the heads pass over the parity between, so
that a group reads as fast as its data drives (as Patterson, Gibson, Katz, *A Case for Redundant Arrays of Inexpensive
Disks*, 1988, have it of level 5); flash skips it, and all its drives read (as Chen et al., *RAID*, 1994, table 1), as
both copies of a mirror do. Small random writes have the write penalty of `raid_writes`.

ZFS writes no stripe in part: it collects writes in transaction groups, whatever their size, and rewrites whole records
elsewhere. Each full record occupies all drives of its stripe (`Groups.stripes_at_once`); a random write of less
than a record reads it first.

Not: the rate of a drive (`drives`), what a rebuild takes (`degraded`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ioassay.sizing.arithmetic import Value, exactly, product, total
from ioassay.sizing.components import RANDOM_BYTES, IoKind
from ioassay.sizing.rates.groups import PER_OPERATION, Groups
from ioassay.sizing.rates.raid_writes import ios_per_small_write, moved_per_byte

OPERATION = exactly("bytes of a random operation", RANDOM_BYTES, PER_OPERATION)

_OVER_PARITY = "The heads of disks pass over the parity between data, so that a group reads as its data drives do."
_PENALTY = (
    "A small write reads and writes its data and all parity, or less of a narrow group: 4 I/Os of RAID 5, 6 of RAID 6 "
    "(Chen et al., RAID, 1994)."
)
_RECORDS = "A full record occupies all drives of its stripe (OpenZFS documentation, dRAID Howto)."
_NO_CHUNK = "The catalogue has no chunk of this brick, so that its writes are taken for full stripes."


@dataclass(frozen=True)
class Work:
    """The cost of one byte or one operation; `None` means as much as is asked for."""

    place: str
    """The cause of a higher cost than is asked for, as a noun; `drives` where it is no place of its own."""
    drives: Value | None
    """Sequential: by how much more the drives are busy than with the bytes asked for. Random: their I/Os."""
    link: Value | None
    """Sequential: bytes between drives and RAID for each byte. Random: bytes for each operation."""
    why: str = ""
    """The reason, of `drives`, as a sentence."""


def is_random(kind: IoKind) -> bool:
    """True of I/O that is counted in operations of 4 KiB."""
    return kind.startswith("random")


def work(groups: Groups, kind: IoKind, request_bytes: int | None) -> Work:
    """The work of a kind of I/O. `request_bytes` is the size of sequential writes; `None` means full stripes."""
    match kind:
        case "write":
            return _write(groups, request_bytes)
        case "read":
            return _read(groups)
        case _:
            return _random(groups, kind) if groups.record is None else _of_records(groups, groups.record, kind)


def _write(groups: Groups, request_bytes: int | None) -> Work:
    if groups.parity == 0:
        return Work("drives", None, None)
    if groups.family == "mirror":
        copies = exactly("copies of a mirror", groups.drives)
        return Work("mirror copies", copies, copies)
    if request_bytes is None or groups.chunk is None or groups.is_zfs:
        moved = groups.moved_per_byte
        why = "" if request_bytes is None or groups.is_zfs else _NO_CHUNK
        return Work(f"{groups.family} full-stripe writes", moved, moved, why)
    method, moved = moved_per_byte(request_bytes, groups.data, groups.parity, groups.chunk)
    return Work(f"{groups.family} {method}", moved, moved)


def _read(groups: Groups) -> Work:
    if groups.is_disk and groups.parity and groups.family != "mirror":
        return Work("drives", groups.moved_per_byte, None, _OVER_PARITY)
    return Work("drives", None, None)


def _random(groups: Groups, kind: IoKind) -> Work:
    if kind == "random_read" or groups.parity == 0:
        return Work("drives", None, OPERATION)
    ios = exactly("drive I/Os of a random write", ios_per_small_write(groups.data, groups.parity))
    link = product("bytes that drives move for a random write", ios, OPERATION)
    if groups.family == "mirror":
        return Work("mirror copies", ios, link)
    return Work(f"{groups.family} parity updates", ios, link, _PENALTY)


def _of_records(groups: Groups, record: Value, kind: IoKind) -> Work:
    busy = exactly("drives that a record occupies", Fraction(groups.drives, groups.stripes_at_once))
    place = f"{groups.family} groups"
    if kind == "random_read":
        return Work(place, busy, record, _RECORDS)
    written = product("bytes that drives write for a record", record, groups.moved_per_byte)
    if record.nominal <= RANDOM_BYTES:
        return Work(place, busy, written, _RECORDS)
    twice = product("drive I/Os of a random write", exactly("I/Os of a record, read and then written", 2), busy)
    return Work(place, twice, total("bytes moved for a random write", record, written), _RECORDS)
