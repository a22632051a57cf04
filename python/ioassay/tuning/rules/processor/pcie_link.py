"""Whether devices use all of their PCI Express lanes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.system import System
from ioassay.tuning.system.network import PciDevice, interfaces, pci_device, ports


def _judge(system: System) -> Iterator[Judgement]:
    return each(
        _devices(system).values(), _device, otherwise="the snapshot has no PCI Express adapter or storage device"
    )


def _devices(system: System) -> dict[str, tuple[str, PciDevice]]:
    """Adapters with a link, and the devices of the disks to judge, by their path, with a name that people know."""
    named = [(port.device, port.pci) for port in ports(system.snapshot) if port.is_active]
    named += [(one.name, one.pci) for one in interfaces(system.snapshot) if one.is_up]
    named += [
        (
            device.adapter.name if device.adapter is not None else device.name,
            pci_device(system.snapshot, f"sys/block/{device.name}"),
        )
        for device in system.concerned()
        if device.kind in ("nvme", "scsi")
    ]
    found: dict[str, tuple[str, PciDevice]] = {}
    for name, pci in named:
        if pci is not None:
            found.setdefault(pci.path, (name, pci))
    return found


def _device(named: tuple[str, PciDevice]) -> Iterator[Judgement]:
    name, pci = named
    subject = f"{name} ({pci.address})"
    width, most = pci.width, pci.max_width
    speed, fastest = pci.speed, pci.max_speed
    if width is None or most is None:
        yield NotReadable(f"PCI Express link of {subject}", "the snapshot does not have it, or it is a virtual device")
        return
    now = f"x{width}" + (f" at {speed:g} GT/s" if speed is not None else "")
    wanted = f"x{most}" + (f" at {fastest:g} GT/s" if fastest is not None else "")
    if width < most or (speed is not None and fastest is not None and speed < fastest):
        share = width / most * ((speed or 1) / (fastest or 1) if speed and fastest else 1)
        because = f"the link carries {share:.0%} of what the device can"
        command = f"lspci -vv -s {pci.address}; move the card to another slot, or seat it again"
        yield Change(subject, now, wanted, because, command=command)
    else:
        yield Fine(subject, now)


RULE = Rule(
    name="pcie-link",
    title="Give adapters and NVMe devices all of their PCI Express lanes",
    area="processor and network",
    reason="A card in a slot with fewer lanes, a bad contact or an older riser trains to a narrower or slower link, "
    "which caps throughput without any error.",
    risk="None, but a second look: the slot may have no more lanes by design, two-port adapters may not need them, "
    "and power saving can lower the speed of an idle link; look again under load.",
    sources=(
        Source(
            "Linux, sysfs-bus-pci: current_link_width, max_link_width",
            "https://docs.kernel.org/admin-guide/abi-testing.html",
        ),
        Source("Linux, PCI: pcie_bandwidth_available", "https://docs.kernel.org/driver-api/pci/pci.html"),
    ),
    judge=_judge,
    parameters=("current_link_width", "current_link_speed"),
)
