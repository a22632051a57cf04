"""Drives that protect each other, as far as rates depend on them.

Not: what they hold (`capacity`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ioassay.sizing.components import Drive, Redundancy

Family = Literal["none", "mirror", "RAID", "erasure-coded", "raidz", "dRAID"]

_PARITY = {"raid5": 1, "raid6": 2, "raidz1": 1, "raidz2": 2, "raidz3": 3, "draid1": 1, "draid2": 2, "draid3": 3}


@dataclass(frozen=True)
class Groups:
    """Equal groups of drives. A group of `raid10` counts as as many mirrors as it has data drives."""

    family: Family
    groups: int
    drives: int
    """Of a group, those that are at work: without spares that wait, but with all children of dRAID."""
    data: int
    parity: int
    """In a stripe; of a mirror its further copies."""
    spares: int
    """Of dRAID: drives' worth of spare space in a group."""
    chunk: int | None
    record: int | None
    is_disk: bool
    """True of disks, whose heads pass over what they skip; false of flash."""

    @property
    def stripe(self) -> int:
        """Data and parity drives of a stripe."""
        return self.data + self.parity

    @property
    def overhead(self) -> Fraction:
        """Bytes that drives write for each byte of a full stripe."""
        return Fraction(self.stripe, self.data)

    @property
    def is_zfs(self) -> bool:
        """True where records are written elsewhere each time, and each lies on all drives of a stripe."""
        return self.family in ("raidz", "dRAID")

    @property
    def stripes_at_once(self) -> int:
        """Full records that a group of ZFS reads or writes at a time, each with all drives of its stripe.

        floor((N - S) / (D + P)) (OpenZFS documentation, "dRAID Howto", which calls raidz similar).
        """
        return max((self.drives - self.spares) // self.stripe, 1)


def groups_of(redundancy: Redundancy, drive: Drive) -> Groups:
    """The groups of a brick of such drives."""
    layout, data, groups = redundancy.layout, redundancy.data, redundancy.groups
    parity = _parity(redundancy)
    spares = 0
    if layout == "raid10":
        data, parity, groups = 1, max(parity // data, 1), groups * data
    drives = data + parity
    if layout.startswith("draid"):
        drives, spares = redundancy.children or drives, redundancy.spares
    return Groups(
        family=_family(redundancy),
        groups=groups,
        drives=drives,
        data=data,
        parity=parity,
        spares=spares,
        chunk=redundancy.chunk,
        record=redundancy.record,
        is_disk=drive.media == "hdd",
    )


def _parity(redundancy: Redundancy) -> int:
    if redundancy.layout == "none":
        return 0
    if redundancy.parity is not None:
        return redundancy.parity
    return _PARITY.get(redundancy.layout, redundancy.data if redundancy.layout == "raid10" else 1)


def _family(redundancy: Redundancy) -> Family:
    match redundancy.layout:
        case "none":
            return "none"
        case "mirror" | "raid10":
            return "mirror"
        case "raid5" | "raid6":
            return "RAID"
        case "erasure":
            return "erasure-coded"
        case "raidz1" | "raidz2" | "raidz3":
            return "raidz"
        case _:
            return "dRAID"
