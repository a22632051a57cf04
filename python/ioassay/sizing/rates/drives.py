"""The first places on the path: drives, and what RAID asks of them.

Not: what one byte costs (`work`).
"""

from __future__ import annotations

from ioassay.sizing.arithmetic import exactly, product, quotient
from ioassay.sizing.model import Ceiling
from ioassay.sizing.rates.brick_io import BrickIo


def drive_ceilings(io: BrickIo) -> list[Ceiling]:
    """The ceilings of the drives, and of RAID over them; empty where the drive has no such figure."""
    each = io.figure(io.choice.drive, io.kind, f"{io.rate} of a drive")
    if each is None:
        return []
    count = exactly("drives at work", io.groups.groups * io.groups.drives)
    together = product(f"{io.rate} of the drives", count, each, *filter(None, [io.pace]))
    if io.work.drives is None:
        return [Ceiling("drives", together)]
    if io.work.place == "drives":
        return [Ceiling("drives", quotient(f"{io.rate} of the drives", together, io.work.drives, note=io.work.why))]
    left = quotient(f"{io.rate} that {io.work.place} leave", together, io.work.drives, note=io.work.why)
    return [Ceiling("drives", together), Ceiling(io.work.place, left)]
