"""Selects the block devices and network interfaces that are counted.

The kernel counts a byte that passes RAID, LVM or encryption at the device on top and at those below; only the lowest
devices are counted here. The kernel's names distinguish them, and nothing else is known of a site's devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ON_TOP = re.compile(r"(dm-|md|loop|bcache|drbd|ram|zram|zd|sr|fd)\d")
"""Device mapper, RAID, loop, caches, replication, memory, volumes of ZFS, and optical and floppy drives."""

_MADE_OF_OTHERS = re.compile(
    r"(bond|team|br|virbr|docker|veth|vxlan|vnet|tap|tun|wg|dummy|ifb|cali|cni|flannel)[-_\d]|.*[.@]"
)
"""Bonds, bridges, VLANs and interfaces of guests, whose outgoing packets a physical interface counts, too."""

_OVER_INFINIBAND = re.compile(r"ib\w*\d")
"""IP over InfiniBand, which the port counts, too."""


def disks(seen: Iterable[str], devices: Iterable[str] | None) -> list[str]:
    """The counted devices of those that a host has `seen`: its `devices` if known, otherwise the lowest ones."""
    if devices is not None:
        return sorted(set(seen) & set(devices))
    return sorted(name for name in seen if not _ON_TOP.match(name))


def interfaces(seen: Iterable[str], *, has_infiniband: bool) -> list[str]:
    """The counted interfaces of those that a host has `seen`."""
    return sorted(
        name
        for name in seen
        if not _MADE_OF_OTHERS.match(name) and not (has_infiniband and _OVER_INFINIBAND.match(name))
    )
