"""NVMe over fabrics: the subsystems that this node is connected to, and the controllers that lead to each.

Sources: Documentation/admin-guide/nvme-multipath.rst and drivers/nvme/host/sysfs.c of Linux.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ioassay.tuning.snapshot import Snapshot

if TYPE_CHECKING:
    from ioassay.tuning.system import System

_LOCAL = ("pcie", "apple-nvme", "")


@dataclass(frozen=True)
class Controller:
    """A connection to a subsystem: one path."""

    name: str
    """`nvme3`."""
    snapshot: Snapshot = field(repr=False)

    def text(self, attribute: str) -> str:
        """An attribute; empty where it has none. Raises `Unreadable`."""
        return self.snapshot.text(f"sys/class/nvme/{self.name}/{attribute}") or ""

    def number(self, attribute: str) -> int | None:
        """An attribute that is an integer. Raises `Unreadable`."""
        return self.snapshot.number(f"sys/class/nvme/{self.name}/{attribute}")

    @property
    def transport(self) -> str:
        """`tcp`, `rdma`, `fc`, `loop`. Raises `Unreadable`."""
        return self.text("transport")


@dataclass(frozen=True)
class Subsystem:
    """The subsystem that the controllers lead to."""

    name: str
    """`nvme-subsys1`."""
    policy: str
    """How a path is chosen: `numa`, `round-robin`, `queue-depth`; empty where the kernel chooses none."""
    controllers: tuple[Controller, ...]


def controllers(system: System) -> list[Controller]:
    """The connections to judge: those below the target, or without a target all. Raises `Unreadable`."""
    snapshot = system.snapshot
    names = [name for name in snapshot.names("sys/class/nvme") if re.fullmatch(r"nvme\d+", name)]
    known = [Controller(name, snapshot) for name in names]
    known = [controller for controller in known if controller.transport not in _LOCAL]
    if snapshot.target is None:
        return known
    numbers = [re.match(r"nvme(\d+)n", device.name) for device in system.concerned()]
    of_target = {f"nvme-subsys{number[1]}" for number in numbers if number is not None}
    below = {f"nvme{number[1]}" for number in numbers if number is not None}
    for name in of_target:
        below.update(snapshot.names(f"sys/class/nvme-subsystem/{name}"))
    return [controller for controller in known if controller.name in below]


def subsystems(system: System) -> list[Subsystem]:
    """The subsystems of those connections. Raises `Unreadable`."""
    snapshot, known = system.snapshot, {controller.name: controller for controller in controllers(system)}
    subsystems_found = []
    for name in snapshot.names("sys/class/nvme-subsystem"):
        path = f"sys/class/nvme-subsystem/{name}"
        members = tuple(known[name] for name in snapshot.names(path) if name in known)
        if members:
            subsystems_found.append(Subsystem(name, snapshot.text(f"{path}/iopolicy") or "", members))
    return subsystems_found
