"""Rules about the links that data takes between processors and storage: PCI Express, ports, packets, TCP."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import (
    Assignment,
    Bounds,
    Change,
    Fine,
    Judgement,
    NotApplicable,
    NotReadable,
    Rule,
    Source,
    each,
    missing,
)
from ioassay.tuning.system import System
from ioassay.tuning.system.network import Interface, PciDevice, Port, interfaces, pci_device, ports
from ioassay.tuning.system.numbers import is_whole


def _devices(system: System) -> dict[str, tuple[str, PciDevice]]:
    """Adapters with a link, and the devices of the disks to judge, by their path, with a name that people know."""
    named = [(port.device, port.pci) for port in ports(system.snapshot) if port.is_active]
    named += [(interface.name, interface.pci) for interface in interfaces(system.snapshot) if interface.is_up]
    named += [
        (
            device.adapter.name if device.adapter is not None else device.name,
            pci_device(system.snapshot, f"sys/block/{device.name}"),
        )
        for device in system.concerned()
        if device.kind in ("nvme", "scsi")
    ]
    by_path: dict[str, tuple[str, PciDevice]] = {}
    for name, pci in named:
        if pci is not None:
            by_path.setdefault(pci.path, (name, pci))
    return by_path


def _pcie_link(named: tuple[str, PciDevice]) -> Iterator[Judgement]:
    """Whether devices use all of their PCI Express lanes."""
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


PCIE_LINK = Rule(
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
    judge=lambda system: each(
        _devices(system).values(), _pcie_link, otherwise="the snapshot has no PCI Express adapter or storage device"
    ),
    parameters=("current_link_width", "current_link_speed"),
)


_LANES = 4
"""The lanes of InfiniBand cables; a link of one lane has lost the others."""


def _network_link(system: System) -> Iterator[Judgement]:
    """Whether network links run as fast as they should."""
    known = interfaces(system.snapshot)
    physical = [other for other in known if other.is_physical and other.is_ethernet and other.is_up and other.megabits]
    active = [port for port in ports(system.snapshot) if port.is_active]
    if not physical and not active:
        yield NotApplicable("no network link of an adapter is up, or none says its speed")
    fastest = max((port.megabits for port in active), default=0)
    for port in active:
        yield _port(port, fastest)
    bonds = {name: other.name for other in known for name in other.members}
    for interface in physical:
        yield _network_link_of_interface(
            interface, [other for other in physical if bonds.get(other.name, other.name) == bonds.get(interface.name)]
        )


def _port(port: Port, fastest: int) -> Judgement:
    rate = port.text("rate")
    command = f"ibdiagnet, iblinkinfo; check cable and switch port of {port.name}"
    if port.is_infiniband and port.lanes is not None and port.lanes < _LANES:
        return Change(port.name, rate, f"{_LANES} lanes", "lanes of the cable are down", command=command)
    if port.is_infiniband and port.megabits < fastest:
        return Change(port.name, rate, f"{fastest / 1000:g} Gb/s", "as this node's fastest port", command=command)
    return Fine(port.name, rate or "active")


def _network_link_of_interface(interface: Interface, bond: list[Interface]) -> Judgement:
    now = f"{interface.megabits / 1000:g} Gb/s"
    command = f"ethtool {interface.name}; check cable, transceiver and switch port"
    if interface.text("duplex") == "half":
        return Change(interface.name, f"{now}, half duplex", "full duplex", "", command=command)
    fastest = max((member.megabits for member in bond), default=0)
    if interface.megabits < fastest:
        return Change(interface.name, now, f"{fastest / 1000:g} Gb/s", "as other members of its bond", command=command)
    return Fine(interface.name, now)


NETWORK_LINK = Rule(
    name="network-link",
    title="Check links that came up slower than their peers",
    area="processor and network",
    reason="A damaged cable or a wrong transceiver makes both ends agree on fewer lanes or a lower speed, which caps "
    "every transfer without any error.",
    risk="None. What an Ethernet adapter could do is not in /sys: a single link that came up slow is only found with "
    "ethtool.",
    sources=(
        Source("Linux, sysfs-class-net: speed, duplex", "https://docs.kernel.org/admin-guide/abi-testing.html"),
        Source("Linux, sysfs-class-infiniband: rate", "https://docs.kernel.org/admin-guide/abi-stable.html"),
    ),
    judge=_network_link,
    parameters=("speed", "rate"),
)


_PACKET_SIZE_WANTED = 9000
_PACKET_SIZE_FAST_MEGABITS = 10_000


def _packet_size(system: System) -> Iterator[Judgement]:
    """How large packets are."""
    known = interfaces(system.snapshot)
    fast = [
        interface
        for interface in known
        if interface.is_ethernet and interface.is_up and interface.megabits >= _PACKET_SIZE_FAST_MEGABITS
    ]
    return each(
        [interface for interface in fast if not interface.is_bonded and (interface.is_physical or interface.members)],
        _packet_size_of_interface,
        otherwise="no Ethernet link of 10 Gb/s or more is up",
    )


def _packet_size_of_interface(interface: Interface) -> Iterator[Judgement]:
    now = interface.mtu
    if now is None:
        yield missing(f"/sys/class/net/{interface.name}/mtu")
    elif now >= _PACKET_SIZE_WANTED:
        yield Fine(interface.name, f"MTU {now}")
    else:
        because = f"on a link of {interface.megabits / 1000:g} Gb/s, if it leads to the storage"
        assignment = Assignment(f"sys:class/net/{interface.name}/mtu", str(_PACKET_SIZE_WANTED))
        yield Change(interface.name, f"MTU {now}", f"MTU {_PACKET_SIZE_WANTED}", because, (assignment,))


PACKET_SIZE = Rule(
    name="packet-size",
    title="Use an MTU of 9000 on Ethernet storage networks",
    area="processor and network",
    reason="With an MTU of 1500 a transfer takes six times as many packets, each of which costs processor time and "
    "headers: 94 % of the line carries data instead of 99 %.",
    risk="Every adapter, switch and router on the way needs it: where one does not, large packets vanish and mounts "
    "hang although ping works; test with: ping -M do -s 8972. Adapters that join packets themselves leave little to "
    "gain: Dell advises to measure it. Changing it interrupts the link on some adapters.",
    sources=(
        Source(
            "Dell PowerScale: Network Design Considerations, data payload to Ethernet frame efficiency",
            "https://infohub.delltechnologies.com/l/powerscale-network-design-considerations/data-payload-to-ethernet-frame-efficiency",
        ),
        Source(
            "Hitachi NAS Platform, Jumbo frames support",
            "https://docs.hitachivantara.com/r/en-us/nas-platform/15.1.x/mk-92hnas008/network-interfaces/jumbo-frames-support",
        ),
    ),
    judge=_packet_size,
    parameters=("mtu",),
)


_TCP_BUFFERS_FAST_MEGABITS = 25_000
_ROUND_TRIP_S = 0.001
"""A busy network within a building; an idle one takes a tenth."""
_TCP_INIT = Source(
    "Linux 6.1, net/ipv4/tcp.c: tcp_init, the least that the kernel takes on the smallest machine",
    "https://github.com/torvalds/linux/blob/v6.1/net/ipv4/tcp.c",
)
_TCP_BUFFERS_BELOW = "a connection has less under way than the kernel allows on the smallest machine"
_TCP_BUFFERS_BOUNDS = {
    "tcp_rmem": Bounds(_TCP_INIT, least=131072, below=_TCP_BUFFERS_BELOW, unit="bytes as its maximum"),
    "tcp_wmem": Bounds(_TCP_INIT, least=65536, below=_TCP_BUFFERS_BELOW, unit="bytes as its maximum"),
}
_DEFAULT_BYTES = 4 << 20
"""The default of a node with enough memory."""


def _tcp_buffers(system: System) -> Iterator[Judgement]:
    """How much TCP can have under way."""
    link = max(
        (change.megabits for change in interfaces(system.snapshot) if change.is_ethernet and change.is_up), default=0
    )
    if link < _TCP_BUFFERS_FAST_MEGABITS:
        changes: list[Judgement] = [
            change for name in _TCP_BUFFERS_BOUNDS if (change := _tiny(system, name)) is not None
        ]
        yield from changes or [NotApplicable("no Ethernet link of 25 Gb/s or more is up")]
        return
    under_way = int(link * 1e6 / 8 * _ROUND_TRIP_S)
    # The kernel counts its overhead as well, so that about half of a buffer is data.
    wanted = 1 << (2 * under_way - 1).bit_length()
    for name in ("tcp_rmem", "tcp_wmem"):
        yield _buffer(
            system, name, wanted, f"{link / 1000:g} Gb/s × {_ROUND_TRIP_S * 1000:g} ms = {under_way >> 10} KiB"
        )


def _buffer_sizes(system: System, name: str) -> list[str]:
    """The least, the first and the largest size of the buffer; nothing where the snapshot has no three numbers."""
    words = (system.snapshot.text(f"proc/sys/net/ipv4/{name}") or "").split()
    return words if len(words) == 3 and all(map(is_whole, words)) else []


def _tiny(system: System, name: str) -> Judgement | None:
    """A change where the buffer is too small for any node."""
    words = _buffer_sizes(system, name)
    if not words or not (breach := _TCP_BUFFERS_BOUNDS[name].breach(int(words[2]))):
        return None
    return _tcp_buffers_change(system, name, words, _DEFAULT_BYTES, breach)


def _tcp_buffers_change(system: System, name: str, words: list[str], wanted: int, because: str) -> Change:
    assignment = Assignment(f"sysctl:net.ipv4.{name}", f"{words[0]} {words[1]} {wanted}")
    return Change(
        f"{name} of {system.host}",
        f"up to {int(words[2]) >> 10} KiB",
        f"up to {wanted >> 10} KiB",
        because,
        (assignment,),
        is_harmful=bool(_TCP_BUFFERS_BOUNDS[name].breach(int(words[2]))),
    )


def _buffer(system: System, name: str, wanted: int, because: str) -> Judgement:
    path = f"proc/sys/net/ipv4/{name}"
    words = _buffer_sizes(system, name)
    if not words:
        return missing(f"/{path}")
    most = int(words[2])
    if most >= wanted:
        return Fine(f"{name} of {system.host}", f"up to {most >> 10} KiB")
    return _tcp_buffers_change(system, name, words, wanted, because)


TCP_BUFFERS = Rule(
    name="tcp-buffers",
    title="Let TCP have twice the bandwidth-delay product under way",
    area="processor and network",
    reason="A connection transfers at most one window a round trip, and its window is at most about half of its "
    "buffer. On fast links with some queueing the default maximum of 4 to 6 MiB caps a single connection.",
    risk="Memory for each connection that needs it; deep buffers add queueing latency. The round trip is assumed, not "
    "measured: 1 ms. Guides for long-distance transfers name 64 MiB to 2 GiB, far more than a storage network needs. "
    "Programs that set SO_RCVBUF go by net.core.rmem_max instead.",
    sources=(
        Source("Linux, IP sysctl: tcp_rmem, tcp_wmem", "https://docs.kernel.org/networking/ip-sysctl.html"),
        Source("ESnet, Linux host tuning", "https://fasterdata.es.net/host-tuning/linux/"),
    ),
    judge=_tcp_buffers,
    parameters=("tcp_rmem", "tcp_wmem"),
    bounds=_TCP_BUFFERS_BOUNDS,
)


_NET = Source("Linux, Documentation for /proc/sys/net", "https://docs.kernel.org/admin-guide/sysctl/net.html")
_IP = Source("Linux, IP sysctl: tcp_window_scaling, tcp_sack", "https://docs.kernel.org/networking/ip-sysctl.html")
_WINDOW = "a socket whose program sets its buffer has less under way than a TCP window without scaling, 64 KiB"
_SOCKET_LIMITS_BOUNDS = {
    "rmem_max": Bounds(_NET, least=65536, below=_WINDOW, unit="bytes"),
    "wmem_max": Bounds(_NET, least=65536, below=_WINDOW, unit="bytes"),
    "netdev_max_backlog": Bounds(
        _NET,
        least=64,
        below="packets are dropped although the driver hands over as many in one go (dev_weight 64)",
        unit="packets",
    ),
    "tcp_window_scaling": Bounds(_IP, least=1, below="no connection has more than 64 KiB under way"),
    "tcp_sack": Bounds(_IP, least=1, below="after one lost packet a connection sends all that follow it again"),
}
_SOCKET_LIMITS_WANTED = {
    "rmem_max": 212992,
    "wmem_max": 212992,
    "netdev_max_backlog": 1000,
    "tcp_window_scaling": 1,
    "tcp_sack": 1,
}
"""The kernel's own values for sockets and the backlog (Linux 6.1)."""


def _socket_limits(system: System) -> Iterator[Judgement]:
    """Limits of the network stack that no node works well beyond."""
    within, lacking = [], []
    for name, bounds in _SOCKET_LIMITS_BOUNDS.items():
        where = "ipv4" if name.startswith("tcp_") else "core"
        now = system.snapshot.number(f"proc/sys/net/{where}/{name}")
        if now is None:
            lacking.append(f"/proc/sys/net/{where}/{name}")
        elif breach := bounds.breach(now):
            assignment = Assignment(f"sysctl:net.{where}.{name}", str(_SOCKET_LIMITS_WANTED[name]))
            subject = f"{name} of {system.host}"
            yield Change(subject, str(now), str(_SOCKET_LIMITS_WANTED[name]), breach, (assignment,), is_harmful=True)
        else:
            within.append(name)
    if lacking:
        yield missing(", ".join(lacking))
    if within:
        yield NotApplicable(f"{', '.join(within)}: within the bounds for any node; see tcp-buffers for more")


SOCKET_LIMITS = Rule(
    name="socket-limits",
    title="Keep limits of the network stack at least where the kernel begins",
    area="processor and network",
    reason="A buffer smaller than a window, or a backlog smaller than what a driver hands over, holds every client and "
    "server back, whatever the network can do.",
    risk="Memory for each socket of programs that ask for the maximum.",
    sources=(_NET, _IP),
    judge=_socket_limits,
    parameters=tuple(_SOCKET_LIMITS_BOUNDS),
    bounds=_SOCKET_LIMITS_BOUNDS,
)


RULES: tuple[Rule, ...] = (
    PCIE_LINK,
    NETWORK_LINK,
    PACKET_SIZE,
    TCP_BUFFERS,
    SOCKET_LIMITS,
)
