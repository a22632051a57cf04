"""What the drives of a brick do for each byte, or each operation of 4 KiB, that is asked of them.

Full stripes write parity besides. Sequential reads take data only: on disks the heads pass over the parity between, so
that a group reads as fast as its data drives (Patterson, Gibson, Katz, *A Case for Redundant Arrays of Inexpensive
Disks*, 1988, section 11); flash skips it, and all its drives read (Chen et al., *RAID*, 1994, table 1), as both copies
of a mirror do. Small random writes have the write penalty of `raid_writes`.

ZFS writes no stripe in part: it collects writes in transaction groups, whatever their size, and rewrites whole records
elsewhere. Each full record occupies all drives of its stripe (`Groups.stripes_at_once`); a random write of less
than a record reads it first.

Not: the rate of a drive (`drives`), what a rebuild takes (`degraded`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ioassay.sizing.arithmetic import Origin, Value, exactly, product, quotient, total
from ioassay.sizing.components import IoKind
from ioassay.sizing.rates.groups import Groups
from ioassay.sizing.rates.raid_writes import ios_per_small_write, moved_per_byte
from ioassay.systems.amounts import Dimension

RANDOM_BYTES = 4096
"""The size of a random operation."""

PER_OPERATION = Dimension(bytes=1, operations=-1)

OPERATION = exactly("bytes of a random operation", RANDOM_BYTES, PER_OPERATION)

_ZFS_RECORD = 128 << 10


@dataclass(frozen=True)
class Work:
    """What one byte or one operation costs; `None` means as much as is asked for."""

    place: str
    """What costs more than is asked for, as a noun; `drives` where it is no place of its own."""
    drives: Value | None
    """Sequential: by how much more the drives are busy than with the bytes asked for. Random: their I/Os."""
    link: Value | None
    """Sequential: bytes between drives and RAID for each byte. Random: bytes for each operation."""


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
            return _random_zfs(groups, kind) if groups.is_zfs else _random(groups, kind)


def _write(groups: Groups, request_bytes: int | None) -> Work:
    if groups.parity == 0:
        return Work("drives", None, None)
    if groups.family == "mirror":
        copies = exactly("copies of a mirror", groups.stripe)
        return Work("mirror copies", copies, copies)
    if request_bytes is None or groups.chunk is None or groups.is_zfs:
        moved = _stripe_over_data(groups)
        return Work(f"{groups.family} full-stripe writes", moved, moved)
    method, moved = moved_per_byte(request_bytes, groups.data, groups.parity, groups.chunk)
    return Work(f"{groups.family} {method}", moved, moved)


def _read(groups: Groups) -> Work:
    if groups.is_disk and groups.parity and groups.family != "mirror":
        return Work("drives", _stripe_over_data(groups), None)
    return Work("drives", None, None)


def _stripe_over_data(groups: Groups) -> Value:
    return quotient(
        "drives of a stripe per data drive",
        exactly("drives of a stripe", groups.stripe),
        exactly("data drives of a stripe", groups.data),
    )


def _random(groups: Groups, kind: IoKind) -> Work:
    if kind == "random_read" or groups.parity == 0:
        return Work("drives", None, OPERATION)
    ios = exactly("drive I/Os of a random write", ios_per_small_write(groups.data, groups.parity))
    place = "mirror copies" if groups.family == "mirror" else f"{groups.family} parity updates"
    return Work(place, ios, product("bytes that drives move for a random write", ios, OPERATION))


def _random_zfs(groups: Groups, kind: IoKind) -> Work:
    at_once = Fraction(groups.drives, groups.stripes_at_once)
    busy = exactly("drives that a record occupies", at_once)
    record = _record(groups)
    if kind == "random_read":
        return Work(f"{groups.family} groups", busy, record)
    written = product("bytes that drives write for a record", record, _stripe_over_data(groups))
    if record.nominal <= RANDOM_BYTES:
        return Work(f"{groups.family} groups", busy, written)
    twice = product("drive I/Os of a random write", exactly("I/Os of a record, read and then written", 2), busy)
    return Work(f"{groups.family} groups", twice, total("bytes moved for a random write", record, written))


def _record(groups: Groups) -> Value:
    if groups.record is not None:
        return exactly("bytes of a record", groups.record, PER_OPERATION)
    why = Origin("assumed", "The default recordsize of OpenZFS, 128 KiB.")
    return exactly("bytes of a record", _ZFS_RECORD, PER_OPERATION, why)
