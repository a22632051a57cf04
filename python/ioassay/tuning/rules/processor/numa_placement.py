"""Which NUMA node adapters and flash hang on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source
from ioassay.tuning.system import System
from ioassay.tuning.system.network import interfaces, ports, storage_adapters
from ioassay.tuning.system.processors import list_text, nodes

_FAST_MEGABITS = 10_000


def _judge(system: System) -> Iterator[Judgement]:
    known = nodes(system.snapshot)
    if len(known) < 2:
        yield NotApplicable("this node has one NUMA node")
        return
    adapters, flash = _adapters(system), _flash(system)
    of_disks = {name: pci.numa_node for name, pci in storage_adapters(system)}
    if not adapters and not flash and not of_disks:
        yield NotApplicable("no fast adapter, no adapter of disks and no NVMe device says which NUMA node it hangs on")
        return
    for kind, places in (("adapters", adapters), ("adapters of disks", of_disks), ("NVMe devices", flash)):
        yield from _group(kind, places, known)


def _adapters(system: System) -> Mapping[str, int | None]:
    """The fast links that are up, by the PCI device that they share, each under its first name."""
    found: dict[str, tuple[str, int | None]] = {}
    for port in ports(system.snapshot):
        if port.is_active and (pci := port.pci) is not None:
            found.setdefault(pci.path, (port.device, pci.numa_node))
    for one in interfaces(system.snapshot):
        if one.is_up and one.megabits >= _FAST_MEGABITS and (pci := one.pci) is not None:
            found.setdefault(pci.path, (one.name, pci.numa_node))
    return dict(found.values())


def _flash(system: System) -> Mapping[str, int | None]:
    return {device.name: device.numa_node for device in system.concerned() if device.kind == "nvme"}


def _group(kind: str, places: Mapping[str, int | None], known: Mapping[int, frozenset[int]]) -> Iterator[Judgement]:
    unknown = [name for name, node in places.items() if node is None]
    if unknown:
        yield NotReadable(f"NUMA node of {', '.join(unknown)}", "the firmware does not say it")
    used = sorted({node for node in places.values() if node is not None})
    if not used:
        return
    names = ", ".join(f"{name} on node {node}" for name, node in places.items() if node is not None)
    if set(used) == set(known):
        yield Fine(kind, f"every NUMA node has one: {names}")
        return
    processors = frozenset().union(*(known.get(node, frozenset()) for node in used))
    text = ",".join(str(node) for node in used)
    yield Change(
        kind,
        names,
        f"ranks that use them on processors {list_text(processors)}",
        f"the node has {len(known)} NUMA nodes",
        command=f"numactl --cpunodebind={text} --preferred={used[0]} COMMAND, or the launcher's binding options",
    )


RULE = Rule(
    name="numa-placement",
    title="Run ranks on the NUMA node of the adapter or flash that they use",
    area="processor and network",
    reason="Data of a device on another NUMA node crosses the link between processors, which adds latency and which "
    "all traffic shares; few ranks that the scheduler moves about also make runs differ.",
    risk="Bound to one NUMA node, ranks share its cores and memory bandwidth: with many ranks, fill the near node "
    "first and then the others. Ask for it where a single rank or the smallest latency counts.",
    sources=(
        Source("Linux, sysfs-bus-pci: numa_node", "https://docs.kernel.org/admin-guide/abi-testing.html"),
        Source("numactl(8)", "https://man7.org/linux/man-pages/man8/numactl.8.html"),
        Source("ESnet, Host tuning: NUMA", "https://fasterdata.es.net/host-tuning/linux/"),
    ),
    judge=_judge,
    parameters=("numa_node",),
)
