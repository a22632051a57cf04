"""What is left while a drive of every brick is rebuilt, or a server of every brick is down. One failure at a time.

Rebuilding: the rebuild takes a share of each surviving drive of the group. Full stripes are written and read with the
drives that are left, one chunk less of each, so that they lose that share only; flash and mirrors, which read with all
their drives, lose one. A random read of the lost drive costs as many reads as a stripe has data drives; a random write
there reads the other data drives and writes parity. Files that are striped over all groups wait for the slowest, so
the brick goes at the pace of the group that rebuilds; files on other groups do better. What the rebuild moves over
links and through controllers is not counted.

Failed over: of several servers one is down, and its adapters with it; the others take over all drives. RAID
controllers stay. With a single server, or none that the catalogue knows, nothing takes over: no rate.

A brick without parity loses data with a drive: it has no rate while rebuilding.

Not: how long a rebuild takes and what else may fail meanwhile (`times`, `reliability`).
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.sizing.arithmetic import Value, applied, assumed, difference, exactly, product
from ioassay.sizing.components import Brick, IoKind
from ioassay.sizing.rates.groups import Groups
from ioassay.sizing.rates.raid_writes import ios_per_small_write
from ioassay.systems.amounts import NUMBER, Interval

SLOWEST_GROUP = "Files striped over all groups wait for the one that rebuilds; files on other groups do not."


def rebuild_share() -> Value:
    """The share of each surviving drive of a group that a rebuild takes."""
    why = (
        "Chosen as moderate: controllers let it be set from 0 to 100 % (Dell OpenManage Server Administrator, Storage "
        "Management User's Guide, Setting the Rebuild Rate). Yours may differ."
    )
    share = Fraction(3, 10)
    return assumed("share of each drive that a rebuild takes", Interval(share, share, share), NUMBER, why, "30 %")


def pace(groups: Groups, kind: IoKind) -> Value:
    """The rate of a group that rebuilds a drive, as a share of a healthy group's."""
    left = difference("share of each drive left by the rebuild", exactly("whole", 1), rebuild_share())
    if (lost := _without_a_drive(groups, kind)) is None:
        return left.named("pace of the group that rebuilds")
    return product("pace of the group that rebuilds", left, lost, note=SLOWEST_GROUP)


def _without_a_drive(groups: Groups, kind: IoKind) -> Value | None:
    """What a group does without one drive, as a share; `None` where that is all."""
    drives, data = groups.drives, groups.data
    survivors = exactly("surviving drives of the group", drives - 1)
    if kind == "read" and (groups.family == "mirror" or not groups.is_disk):
        return applied(
            "share of reads without a drive",
            lambda left: left / drives,
            survivors,
            text="surviving drives ÷ drives of the group",
            dimension=NUMBER,
        )
    if groups.is_zfs or kind in ("write", "read"):
        return None
    if kind == "random_read":
        return applied(
            "share of random reads without a drive",
            lambda left, reads: left / (left + reads),
            survivors,
            exactly("reads in place of a lost one", data),
            text="survivors ÷ (survivors + reads in place of a lost one)",
            dimension=NUMBER,
            falling=(1,),
        )
    if groups.family == "mirror":
        return None
    return applied(
        "share of random writes without a drive",
        lambda left, ios, lost: left * ios / (left * ios + lost),
        survivors,
        exactly("drive I/Os of a random write", ios_per_small_write(data, groups.parity)),
        exactly("drive I/Os of a random write to the lost drive", data - 1 + groups.parity),
        text="survivors × I/Os ÷ (survivors × I/Os + I/Os of a write to the lost drive)",
        dimension=NUMBER,
        falling=(2,),
    )


def servers(brick: Brick) -> int:
    """Servers of a brick, of all kinds."""
    return sum(brick.servers.values())


def servers_left(brick: Brick) -> Value:
    """The share of a brick's servers, and of their adapters, that is left when one of several is down."""
    every = servers(brick)
    return applied(
        "share of the servers that is left",
        lambda number: (number - 1) / number,
        exactly("servers of a brick", every),
        text="(servers − 1) ÷ servers",
        dimension=NUMBER,
    )
