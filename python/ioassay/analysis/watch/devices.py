"""Which block devices and network interfaces count.

A byte that goes through RAID, LVM or encryption is counted at the device on top and at those below; what counts is
what reaches the lowest. The kernel's names tell them apart, and a study of a site has no access to more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ON_TOP = re.compile(r"(dm-|md|loop|bcache|drbd|ram|zram|zd|sr|fd)\d")
"""Device mapper, RAID, loop, caches, replication, memory, volumes of ZFS, and what is no disk of a server."""

_MADE_OF_OTHERS = re.compile(
    r"(bond|team|br|virbr|docker|veth|vxlan|vnet|tap|tun|wg|dummy|ifb|cali|cni|flannel)[-_\d]|.*[.@]"
)
"""Bonds, bridges, VLANs and interfaces of guests, whose packets a physical interface carries too, if they leave."""

_OVER_INFINIBAND = re.compile(r"ib\w*\d")
"""IP over InfiniBand, which the port counts too."""


def disks(seen: Iterable[str], own: Iterable[str] | None) -> list[str]:
    """The devices that count of those that a host has `seen`: its `own`, if others' are among them, else the lowest."""
    if own is not None:
        return sorted(set(seen) & set(own))
    return sorted(name for name in seen if not _ON_TOP.match(name))


def interfaces(seen: Iterable[str], *, has_infiniband: bool) -> list[str]:
    """The interfaces that count of those that a host has `seen`."""
    return sorted(
        name
        for name in seen
        if not _MADE_OF_OTHERS.match(name) and not (has_infiniband and _OVER_INFINIBAND.match(name))
    )
