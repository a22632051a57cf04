"""Which bricks survive what must be survived. Not: how likely it fails (`sizing.reliability`)."""

from __future__ import annotations

from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.requirements import Survives

_PARITY = {
    "none": 0,
    **dict.fromkeys(("mirror", "raid10", "raid5", "raidz1", "draid1", "erasure"), 1),
    **dict.fromkeys(("raid6", "raidz2", "draid2"), 2),
    **dict.fromkeys(("raidz3", "draid3"), 3),
}


def why_not_survived(catalogue: Catalogue, choice: BrickChoice, survives: Survives) -> str:
    """What of `survives` a brick does not survive, as a clause; empty where it survives all."""
    brick = catalogue.find(choice.brick, Brick)
    drives = brick.redundancy.parity or _PARITY[brick.redundancy.layout]
    servers = max(sum(brick.servers.values()) - 1, 0)
    for what, has, wanted in (
        ("drives of a group", drives, survives.drives),
        ("servers", servers, survives.servers),
        ("enclosures", 0, survives.enclosures),
    ):
        if has < wanted:
            return f"survives {has} failed {what}, not {wanted}"
    return ""
