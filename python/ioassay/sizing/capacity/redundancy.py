"""The geometry of a brick: which of its drives hold data, parity or copies, and which wait as spares.

Not: what the drives hold (`capacity`), what may fail (`failure_domains`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from ioassay.errors import UsageError
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Enclosure, Layout, Redundancy
from ioassay.text.units import format_count

PARITY: dict[Layout, int] = {
    "none": 0,
    "mirror": 1,
    "raid5": 1,
    "raid6": 2,
    "raidz1": 1,
    "raidz2": 2,
    "raidz3": 3,
    "draid1": 1,
    "draid2": 2,
    "draid3": 3,
}
"""Parity drives of a group by its layout; of a mirror further copies, of which there may be more."""

MAX_DRAID_CHILDREN = 255
"""OpenZFS, include/sys/vdev_draid.h: no permutation is defined for more."""

MOST_TOLERATED = 64
"""Drives that a group may lose: more than any product offers, and few enough for the Markov chain of `reliability`."""


@dataclass(frozen=True)
class Geometry:
    """How many drives do what. All groups are equal."""

    layout: Layout
    groups: int
    data: int
    """Data drives, or pieces, of a stripe."""
    parity: int
    """Parity drives of a stripe, or drives with further copies."""
    drives: int
    """The drives of a group, with distributed spares."""
    distributed_spares: int
    """Drives of a group whose space is left free all over the group to rebuild into."""
    spares: int
    """Drives of the brick that are in no group."""

    @property
    def width(self) -> int:
        """Drives of a stripe."""
        return self.data + self.parity

    @property
    def drives_in_use(self) -> int:
        """Drives of a group whose space is not left free for rebuilding."""
        return self.drives - self.distributed_spares

    @property
    def is_declustered(self) -> bool:
        """True if stripes are narrower than their group, and lie on other drives of it each time."""
        return self.drives != self.width or self.layout.startswith("draid")

    @property
    def is_zfs(self) -> bool:
        """True of the layouts that only ZFS has."""
        return self.layout.startswith(("raidz", "draid"))

    @property
    def tolerated(self) -> int:
        """Drives of any one group that may fail at a time without loss, whichever they are."""
        return self.parity // self.data if self.layout == "raid10" else self.parity

    @property
    def has_spares(self) -> bool:
        """True if a rebuild can begin before the failed drive is replaced.

        A declustered erasure code without spares, such as that of OneFS, rebuilds into free space.
        """
        rebuilds_into_free_space = self.layout == "erasure" and self.is_declustered
        return self.spares + self.distributed_spares > 0 or rebuilds_into_free_space

    @property
    def lost_together(self) -> Geometry:
        """The same drives in groups that are lost as a whole: RAID 10 of several data drives is as many mirrors."""
        if self.layout != "raid10":
            return self
        copies = self.tolerated
        return replace(self, groups=self.groups * self.data, data=1, parity=copies, drives=1 + copies)


def geometry(catalogue: Catalogue, name: str) -> Geometry:
    """The geometry of the brick `name`. Raises `UsageError` with the numbers where it is impossible."""
    brick = catalogue.find(name, Brick)
    group = _of_group(name, brick.redundancy)
    _check_drives(name, brick, group)
    _check_slots(catalogue, name, brick)
    return group


def _of_group(name: str, redundancy: Redundancy) -> Geometry:
    layout, data = redundancy.layout, redundancy.data
    parity = _parity(name, redundancy)
    may_decluster = layout == "erasure" or layout.startswith("draid")
    if redundancy.children is not None and not may_decluster:
        _refuse(name, f"{layout} has no children: stripes are as wide as their group", "Remove `children`.")
    declustered = layout.startswith("draid") or redundancy.children is not None
    spares = redundancy.spares if declustered else 0
    drives = redundancy.children or data + parity + spares
    if drives < data + parity + spares:
        _refuse(
            name,
            f"a stripe of {data} + {parity} drives and {format_count(spares, 'spare')} need "
            f"{format_count(data + parity + spares, 'drive')}, "
            f"but a group has {drives}",
            "Raise `children`, or lower `data`, `parity` or `spares`.",
        )
    if layout.startswith("draid") and drives > MAX_DRAID_CHILDREN:
        _refuse(name, f"dRAID takes up to {MAX_DRAID_CHILDREN} drives, not {drives}", "Make more groups.")
    layout_of_group = Geometry(
        layout, redundancy.groups, data, parity, drives, spares, 0 if declustered else redundancy.spares
    )
    if layout_of_group.tolerated > MOST_TOLERATED:
        _refuse(
            name,
            f"each group may lose {layout_of_group.tolerated} drives; at most {MOST_TOLERATED} can be computed with",
            "Lower `parity`, or make more groups.",
        )
    return layout_of_group


def _parity(name: str, redundancy: Redundancy) -> int:
    layout, data = redundancy.layout, redundancy.data
    if layout == "erasure":
        if redundancy.parity is None:
            _refuse(name, "an erasure code needs its number of parity pieces", "Add `parity`.")
        return redundancy.parity
    if layout == "raid10":
        parity = redundancy.parity or data
        if parity % data:
            _refuse(
                name,
                f"raid10 with {format_count(data, 'data drive')} cannot have {format_count(parity, 'drive')} of copies",
                f"Give as many, or a multiple: {data}, {2 * data}, ….",
            )
        return parity
    parity = redundancy.parity or PARITY[layout]
    if layout == "mirror" and data != 1:
        _refuse(name, f"a mirror has 1 data drive, not {data}", "Use `raid10`, or several groups of one.")
    if layout != "mirror" and parity != PARITY[layout]:
        parity_text = format_count(PARITY[layout], "parity drive")
        _refuse(name, f"{layout} has {parity_text} in a group, not {parity}", "Remove `parity`.")
    return parity


def _check_drives(name: str, brick: Brick, geometry: Geometry) -> None:
    used = geometry.groups * geometry.drives + geometry.spares
    if used == brick.drive_count:
        return
    inside = f", {geometry.distributed_spares} of them distributed spares" if geometry.distributed_spares else ""
    off = brick.drive_count - used
    are = "is" if abs(off) == 1 else "are"
    outcome = f"{off} {are} neither in a group nor a spare" if off > 0 else f"{-off} {are} missing"
    _refuse(
        name,
        f"{format_count(geometry.groups, 'group')} of {format_count(geometry.drives, 'drive')}{inside} and "
        f"{format_count(geometry.spares, 'spare')} make {format_count(used, 'drive')}, but "
        f"the brick has {brick.drive_count}: {outcome}",
        "Change `drive_count`, `groups` or `spares` until they add up.",
    )


def _check_slots(catalogue: Catalogue, name: str, brick: Brick) -> None:
    if not brick.enclosures:
        return
    slots = sum(count * catalogue.find(enclosure, Enclosure).slots for enclosure, count in brick.enclosures.items())
    if brick.drive_count > slots:
        _refuse(
            name,
            f"its {brick.drive_count} drives do not fit into the {format_count(slots, 'slot')} of its enclosures",
            "Add an enclosure, or lower `drive_count`.",
        )


def _refuse(name: str, what: str, remedy: str) -> NoReturn:
    raise UsageError(f"{name}: {what}.", remedy)
