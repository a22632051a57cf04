"""Which drives of a brick are lost together, however its layout is called.

Not: how a layout uses drives (`ioassay.sizing.capacity.redundancy`), what may fail (`ioassay.sizing.failure_domains`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.sizing.capacity.redundancy import Geometry


@dataclass(frozen=True)
class Protection:
    """Equal groups of drives; each is lost when more of its drives than `parity` are down at a time."""

    groups: int
    """Of a brick."""
    drives: int
    """Of a group. Of a declustered layout all drives over which its stripes are spread."""
    data: int
    """Pieces of a stripe that are read to restore another one; of a mirror 1."""
    parity: int
    is_declustered: bool
    """Stripes are narrower than the group, and spare space, if there is any, is spread over it too."""
    has_spares: bool
    """A rebuild can begin at once. Without, it waits until somebody replaces the drive."""

    @property
    def width(self) -> int:
        """Pieces of a stripe, parity included."""
        return self.data + self.parity


def protection(found: Geometry) -> Protection:
    """How the drives of a brick protect each other.

    RAID 10 of several data drives is as many mirrors. A declustered erasure code without spares, such as that of OneFS,
    rebuilds into free space.
    """
    is_mirror = found.layout in ("mirror", "raid10")
    rebuilds_into_free_space = found.layout == "erasure" and found.is_declustered
    return Protection(
        groups=found.groups * found.data if is_mirror else found.groups,
        drives=1 + found.tolerated if is_mirror else found.drives,
        data=1 if is_mirror else found.data,
        parity=found.tolerated,
        is_declustered=found.is_declustered,
        has_spares=found.spares + found.distributed_spares > 0 or rebuilds_into_free_space,
    )
