"""The sectors that OpenZFS allocates for a record on raidz and dRAID: data, parity, and padding.

Computed as the sources do it. Raidz adds its parity to every row of data sectors, the last one included, and rounds
the whole up to a multiple of parity + 1, so that no hole is left that is too small for anything. dRAID always writes
whole stripes.

Not: what a pool keeps for itself (`zfs`).
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Value, applied, assumed, exactly
from ioassay.sizing.capacity.redundancy import Geometry
from ioassay.sizing.components import Redundancy
from ioassay.systems.amounts import BYTES, NUMBER

RAIDZ = "OpenZFS, module/zfs/vdev_raidz.c, vdev_raidz_asize (from 2.4 on vdev_raidz_psize_to_asize)"
DRAID = "OpenZFS, module/zfs/vdev_draid.c, vdev_draid_asize (from 2.4 on vdev_draid_psize_to_asize)"

KIB = 1024
_DEFAULT_SECTOR = 4 * KIB
_SECTORS, _RECORDS = (512, 64 * KIB), (512, 16 * KIB * KIB)
"""The smallest and the largest that OpenZFS takes; in between powers of two."""


def raidz_allocation(record: int, sector: int, drives: int, parity: int) -> int:
    """Bytes that a record of `record` bytes takes on a raidz group of so many drives, its parity included."""
    data = -(-record // sector)
    rows = -(-data // (drives - parity))
    unit = parity + 1
    return -(-(data + parity * rows) // unit) * unit * sector


def draid_allocation(record: int, sector: int, data: int, parity: int) -> int:
    """Bytes that a record of `record` bytes takes on dRAID with stripes of `data` + `parity` sectors."""
    stripes = -(-record // (data * sector))
    return stripes * (data + parity) * sector


def allocation(geometry: Geometry, record: int, sector: int) -> int:
    """Bytes that a record takes on a group of this geometry, raidz or dRAID."""
    if geometry.layout.startswith("raidz"):
        return raidz_allocation(record, sector, geometry.drives, geometry.parity)
    return draid_allocation(record, sector, geometry.data, geometry.parity)


def data_share(geometry: Geometry, record: Value, sector: Value) -> Value:
    """The share of the allocated bytes that holds data, for full records of this size."""

    def share(record: Fraction, sector: Fraction) -> Fraction:
        return record / allocation(geometry, int(record), int(sector))

    taken = allocation(geometry, int(record.interval.nominal), int(sector.interval.nominal))
    return applied(
        "share for data",
        share,
        record,
        sector,
        text=f"{_kib(record.interval.nominal)} ÷ {_kib(taken)} that a record takes with parity and padding",
        dimension=NUMBER,
        source=RAIDZ if geometry.layout.startswith("raidz") else DRAID,
        note="Files smaller than a record, and other record sizes, take other shares.",
    )


def _kib(size: Fraction | int) -> str:
    return f"{float(Fraction(size, KIB)):g} KiB"


def record_size(redundancy: Redundancy, default: int, why: str) -> Value:
    """The record size: given, else `default` for the reason `why`."""
    return _size("record size", redundancy.record, default, why, _RECORDS)


def sector_size(redundancy: Redundancy) -> Value:
    """The sector size, 1 << ashift: given, else 4 KiB."""
    return _size(
        "sector size", redundancy.sector, _DEFAULT_SECTOR, "Current drives have sectors of 4 KiB (ashift=12).", _SECTORS
    )


def _size(name: str, stated: int | None, default: int, why: str, limits: tuple[int, int]) -> Value:
    if stated is None:
        return assumed(name, default, BYTES, why)
    low, high = limits
    if not low <= stated <= high or stated & (stated - 1):
        raise UsageError(
            f"The {name} of {stated} bytes is not one that ZFS takes.",
            f"Use a power of two from {low} to {high} bytes.",
        )
    return exactly(name, stated, BYTES)
