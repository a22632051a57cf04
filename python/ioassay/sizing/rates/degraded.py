"""The rates while a drive of every brick is rebuilt, or a server of every brick is down. One failure at a time.

Rebuilding: the rebuild takes a share of each surviving drive of the group. Full stripes are written and read with the
drives that are left, one chunk less of each, so that they lose that share only; flash and mirrors, which read with all
their drives, lose one. A random read of the lost drive costs as many reads as a stripe has data drives; a random write
there reads the other data drives and writes parity. Files that are striped over all groups wait for the slowest, so
the brick goes at the pace of the group that rebuilds; files on other groups do better. What the rebuild moves over
links and through controllers is not counted.

Failed over: of several servers one is down, and its adapters with it; the others take over its drives, or, where
stripes are spread over the servers, restore what it had. RAID controllers stay. Where a brick does not survive it
(`failure_domains`), it has no rate.

A brick without parity loses data with a drive: it has no rate while rebuilding.

Not: how long a rebuild takes and what else may fail meanwhile (`times`, `reliability`).
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.sizing.arithmetic import Value, applied, assumed, difference, exactly, product, quotient
from ioassay.sizing.components import Brick, IoKind
from ioassay.sizing.rates.groups import Groups
from ioassay.sizing.rates.raid_writes import ios_per_small_write
from ioassay.systems.amounts import NUMBER
from ioassay.text.units import format_count

REBUILD_SHARE = assumed(
    "share of a drive's rate that rebuilds get",
    Fraction(3, 10),
    NUMBER,
    "The rest is left to users; controllers let it be set from 0 to 100 % (Dell OpenManage Server Administrator, "
    "Storage Management User's Guide, Setting the Rebuild Rate).",
    "30%",
)
"""The share of each surviving drive of a group."""

_SLOWEST_GROUP = "Files striped over all groups wait for the one that rebuilds; files on other groups do not."


def pace_of_rebuild(groups: Groups, kind: IoKind) -> Value:
    """The rate of a group that rebuilds a drive, as a share of a healthy group's."""
    name = "pace of the group that rebuilds"
    left = difference(name, exactly("drive", 1), REBUILD_SHARE, note=_SLOWEST_GROUP)
    lost = _without(groups, kind, exactly("drives lost", 1))
    return left if lost is None else product(name, left, lost, note=_SLOWEST_GROUP)


def pace_without_server(brick: Brick, groups: Groups, kind: IoKind) -> Value | None:
    """The rate of all drives without those of a server, as a share; `None` where the other servers reach them all."""
    if brick.redundancy.spread_over != "servers":
        return None
    lost = quotient(
        "drives lost", exactly("drives of a group", groups.drives), exactly("servers", sum(brick.servers.values()))
    )
    return _without(groups, kind, lost) or servers_left(brick)


def servers_left(brick: Brick) -> Value:
    """The share of a brick's servers, and of their adapters, that is left when one of several is down."""
    return applied(
        "share of the servers that is left",
        lambda servers: (servers - 1) / servers,
        exactly("servers of a brick", sum(brick.servers.values())),
        text="(servers − 1) ÷ servers",
        dimension=NUMBER,
    )


def _without(groups: Groups, kind: IoKind, lost: Value) -> Value | None:
    """The share that a group does without some of its drives; `None` of full stripes, which have so many chunks less.

    All functions fall with the drives lost.
    """
    drives, data = groups.drives, groups.data
    counted = format_count(drives, "drive")
    if kind == "read" and (groups.family == "mirror" or not groups.is_disk):
        return applied(
            "share of reads without the drives lost",
            lambda lost: (drives - lost) / drives,
            lost,
            text=f"({counted} of the group − drives lost) ÷ {drives}",
            dimension=NUMBER,
            falling=(0,),
        )
    if groups.is_zfs or kind in ("write", "read"):
        return None
    if kind == "random_read":
        return applied(
            "share of random reads without the drives lost",
            lambda lost: (drives - lost) / (drives - lost + lost * data),
            lost,
            text=f"survivors ÷ (survivors + drives lost × {data} reads in place of each), of {counted}",
            dimension=NUMBER,
            falling=(0,),
        )
    if groups.family == "mirror":
        return None
    usual, there = ios_per_small_write(data, groups.parity), data - 1 + groups.parity
    return applied(
        "share of random writes without the drives lost",
        lambda lost: (drives - lost) * usual / ((drives - lost) * usual + lost * there),
        lost,
        text=f"survivors × {usual} I/Os ÷ (survivors × {usual} I/Os + drives lost × {there} I/Os), of {counted}",
        dimension=NUMBER,
        falling=(0,),
    )
