"""Network interfaces and InfiniBand ports, and the PCI Express slots that they and other devices sit in.

Sources: Documentation/ABI/testing/sysfs-class-net, sysfs-bus-pci and ABI/stable/sysfs-class-infiniband of Linux.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system.numbers import is_whole

if TYPE_CHECKING:
    from ioassay.tuning.system import System

_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ETHERNET = 1
"""The kernel's number of the type of link (`if_arp.h`)."""


@dataclass(frozen=True)
class PciDevice:
    """A device on PCI Express."""

    path: str
    """Its directory, `sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0`."""
    snapshot: Snapshot = field(repr=False)

    @property
    def address(self) -> str:
        """`0000:81:00.0`."""
        return self.path.rpartition("/")[2]

    @property
    def width(self) -> int | None:
        """How many lanes are in use. Raises `Unreadable`."""
        return self._positive("current_link_width")

    @property
    def max_width(self) -> int | None:
        """How many lanes the device has. Raises `Unreadable`."""
        return self._positive("max_link_width")

    @property
    def speed(self) -> float | None:
        """The speed of one lane, GT/s. Raises `Unreadable`."""
        return self._speed("current_link_speed")

    @property
    def max_speed(self) -> float | None:
        """The highest speed of one lane, GT/s. Raises `Unreadable`."""
        return self._speed("max_link_speed")

    @property
    def numa_node(self) -> int | None:
        """The NUMA node that it hangs on; `None` where the firmware does not say. Raises `Unreadable`."""
        node = self.snapshot.text(f"{self.path}/numa_node")
        return int(node) if node is not None and is_whole(node) else None

    def _positive(self, attribute: str) -> int | None:
        """A number that devices without a link give as 0 or 255."""
        text = self.snapshot.text(f"{self.path}/{attribute}")
        return int(text) if text is not None and re.fullmatch(r"[0-9]{1,3}", text) and 0 < int(text) < 255 else None

    def _speed(self, attribute: str) -> float | None:
        match = re.match(r"[\d.]+", self.snapshot.text(f"{self.path}/{attribute}") or "")
        return float(match[0]) if match else None

    @property
    def interrupts(self) -> list[int]:
        """The numbers of its message-signalled interrupts; none where it has none, or an older snapshot lacks them."""
        return sorted(int(name) for name in self.snapshot.names(f"{self.path}/msi_irqs") if is_whole(name))


def pci_device(snapshot: Snapshot, path: str) -> PciDevice | None:
    """The innermost PCI device on the way to a file of /sys; `None` where there is none."""
    parts = snapshot.resolve(path).split("/")
    for length in range(len(parts), 0, -1):
        if _ADDRESS.fullmatch(parts[length - 1]):
            return PciDevice("/".join(parts[:length]), snapshot)
    return None


@dataclass(frozen=True)
class Interface:
    """A network interface of /sys/class/net."""

    name: str
    snapshot: Snapshot = field(repr=False)

    def text(self, attribute: str) -> str | None:
        """An attribute; `None` where there is none. Raises `Unreadable`."""
        return self.snapshot.text(f"sys/class/net/{self.name}/{attribute}")

    @cached_property
    def megabits(self) -> int:
        """The speed that was negotiated, in Mb/s; 0 where there is no link, or the driver does not say."""
        text = _text_or_empty(self, "speed")
        return int(text) if is_whole(text) else 0

    @property
    def mtu(self) -> int | None:
        """The largest packet, in bytes. Raises `Unreadable`."""
        text = self.text("mtu")
        return int(text) if text is not None and is_whole(text) else None

    @cached_property
    def is_ethernet(self) -> bool:
        """Whether it is Ethernet, not loopback or IP over InfiniBand."""
        return _text_or_empty(self, "type") == str(_ETHERNET)

    @cached_property
    def is_up(self) -> bool:
        """Whether it has a link."""
        return _text_or_empty(self, "operstate") == "up"

    @cached_property
    def is_bonded(self) -> bool:
        """Whether it belongs to a bond, a team or a bridge, which rules its MTU."""
        return "master" in self.snapshot.names(f"sys/class/net/{self.name}")

    @cached_property
    def members(self) -> tuple[str, ...]:
        """The interfaces of a bond."""
        return tuple(_text_or_empty(self, "bonding/slaves").split())

    @cached_property
    def pci(self) -> PciDevice | None:
        """Its adapter; `None` for virtual interfaces."""
        return pci_device(self.snapshot, f"sys/class/net/{self.name}/device")

    @cached_property
    def is_physical(self) -> bool:
        """Whether an adapter is behind it, not a virtual machine's or container's other end."""
        return "device" in self.snapshot.names(f"sys/class/net/{self.name}")


@dataclass(frozen=True)
class Port:
    """A port of an RDMA adapter."""

    device: str
    """`mlx5_0`."""
    number: str
    snapshot: Snapshot = field(repr=False)

    @property
    def name(self) -> str:
        """`mlx5_0/1`."""
        return f"{self.device}/{self.number}"

    def text(self, attribute: str) -> str:
        """An attribute; empty where there is none. Raises `Unreadable`."""
        return self.snapshot.text(f"sys/class/infiniband/{self.device}/ports/{self.number}/{attribute}") or ""

    @property
    def is_active(self) -> bool:
        """Whether it carries data."""
        return "ACTIVE" in self.text("state")

    @property
    def is_infiniband(self) -> bool:
        """Whether its link is InfiniBand, not Ethernet."""
        return self.text("link_layer") == "InfiniBand"

    @property
    def megabits(self) -> int:
        """Its rate in Mb/s; 0 where it does not say."""
        match = re.match(r"([\d.]+) Gb/sec", self.text("rate"))
        return round(float(match[1]) * 1000) if match else 0

    @property
    def lanes(self) -> int | None:
        """How many lanes its link has: 4 of `100 Gb/sec (4X EDR)`."""
        match = re.search(r"\((\d{1,18})X", self.text("rate"))
        return int(match[1]) if match else None

    @property
    def pci(self) -> PciDevice | None:
        """Its adapter."""
        return pci_device(self.snapshot, f"sys/class/infiniband/{self.device}/device")


def interfaces(snapshot: Snapshot) -> list[Interface]:
    """The interfaces of the node."""
    return [
        Interface(name, snapshot)
        for name in snapshot.names("sys/class/net")
        if snapshot.exists(f"sys/class/net/{name}/mtu")
    ]


def ports(snapshot: Snapshot) -> list[Port]:
    """The ports of its RDMA adapters."""
    return [
        Port(device, number, snapshot)
        for device in snapshot.names("sys/class/infiniband")
        for number in snapshot.names(f"sys/class/infiniband/{device}/ports")
    ]


def fastest_megabits(snapshot: Snapshot) -> int:
    """The rate of the fastest link that is up, in Mb/s; 0 where none says its rate."""
    of_interfaces = [interface.megabits for interface in interfaces(snapshot) if interface.is_up]
    return max([*of_interfaces, *(port.megabits for port in ports(snapshot) if port.is_active)], default=0)


def _text_or_empty(interface: Interface, attribute: str) -> str:
    """An attribute that only describes the interface: reading `speed` fails where there is no link."""
    try:
        return interface.text(attribute) or ""
    except Unreadable:
        return ""


def storage_adapters(system: System) -> list[tuple[str, PciDevice]]:
    """The SCSI adapters that disks to judge hang on, `host0 (mpt3sas)`, each with its device. Raises `Unreadable`.

    NVMe devices are their own adapters; the kernel places their interrupts, and they cannot be moved.
    """
    known = {device.adapter.name: device.adapter for device in system.concerned() if device.adapter is not None}
    adapters = [
        (adapter, pci_device(system.snapshot, f"sys/class/scsi_host/{adapter.name}")) for adapter in known.values()
    ]
    return [(f"{adapter.name} ({adapter.driver})", pci) for adapter, pci in adapters if pci is not None]
