"""Rules about processors and NUMA nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.system import System
from ioassay.tuning.system.network import PciDevice, interfaces, ports, storage_adapters
from ioassay.tuning.system.processors import (
    counted,
    frequency_settings,
    interrupt_processors,
    interrupts_named,
    isolated,
    list_text,
    nodes,
)

CPUFREQ = Source("Linux, CPU performance scaling", "https://docs.kernel.org/admin-guide/pm/cpufreq.html")
INTEL_PSTATE = Source("Linux, intel_pstate", "https://docs.kernel.org/admin-guide/pm/intel_pstate.html")


def _governor(system: System) -> Iterator[Judgement]:
    """How processors choose their clock."""
    governors = frequency_settings(system.snapshot, "scaling_governor")
    if not governors:
        yield NotApplicable(
            "the kernel does not scale the processors' clock; a virtual machine, or set in the firmware"
        )
        return
    slow = [governor for governor in governors.values() if governor != "performance"]
    if not slow:
        yield Fine(system.host, counted(governors.values()))
        return
    drivers = set(frequency_settings(system.snapshot, "scaling_driver").values())
    offered = frequency_settings(system.snapshot, "scaling_available_governors")
    because = f"driver {', '.join(sorted(drivers))}" if drivers else ""
    if any(driver in ("intel_pstate", "amd-pstate-epp") for driver in drivers) and "powersave" in slow:
        because += ", whose powersave is not the slowest clock but follows the load"
    if offered and not any("performance" in names.split() for names in offered.values()):
        yield NotApplicable(f"the kernel offers no governor performance, only {next(iter(offered.values()))}")
        return
    assignment = Assignment("sys:devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance")
    yield Change(system.host, counted(slow), "performance", because, (assignment,))


CPU_GOVERNOR = Rule(
    name="cpu-governor",
    title="Use the governor performance while measuring and on servers",
    area="processor and network",
    reason="A process that waits for I/O leaves its processor idle, so governors that follow the load lower the "
    "clock, and each completion is handled slowly; latency and its spread suffer most.",
    risk="More power and heat; on dense nodes less turbo for the busy cores. tuned, power-profiles-daemon and the "
    "firmware can set it back. Deep idle states are a setting of their own.",
    sources=(CPUFREQ, INTEL_PSTATE),
    judge=_governor,
    parameters=("scaling_governor",),
)


_ENERGY_PREFERENCE_ATTRIBUTE = "energy_performance_preference"
_ENERGY_PREFERENCE_FASTEST = {"performance", "0"}


def _energy_preference(system: System) -> Iterator[Judgement]:
    """The preference of processors where the hardware chooses the clock."""
    preferences = frequency_settings(system.snapshot, _ENERGY_PREFERENCE_ATTRIBUTE)
    governors = frequency_settings(system.snapshot, "scaling_governor")
    if not preferences:
        yield NotApplicable("the processors have no energy preference, or their driver does not offer it")
    elif all(governors.get(cpu) == "performance" for cpu in preferences):
        yield NotApplicable("the governor performance fixes the preference; see cpu-governor")
    elif set(preferences.values()) <= _ENERGY_PREFERENCE_FASTEST:
        yield Fine(system.host, counted(preferences.values()))
    else:
        low = [value for value in preferences.values() if value not in _ENERGY_PREFERENCE_FASTEST]
        assignment = Assignment(f"sys:devices/system/cpu/cpu*/cpufreq/{_ENERGY_PREFERENCE_ATTRIBUTE}", "performance")
        yield Change(system.host, counted(low), "performance", "", (assignment,))


CPU_ENERGY_PREFERENCE = Rule(
    name="cpu-energy-preference",
    title="Prefer performance where processors choose their clock themselves",
    area="processor and network",
    reason="With intel_pstate and amd_pstate in active mode the processor chooses its clock and goes by this "
    "preference: balance_performance and above answer short bursts, such as completions of I/O, late.",
    risk="More power and heat. Setting the governor to performance has the same effect and takes precedence.",
    sources=(INTEL_PSTATE, Source("Linux, amd-pstate", "https://docs.kernel.org/admin-guide/pm/amd-pstate.html")),
    judge=_energy_preference,
    parameters=(_ENERGY_PREFERENCE_ATTRIBUTE,),
)


_NUMA_PLACEMENT_FAST_MEGABITS = 10_000


def _numa_placement(system: System) -> Iterator[Judgement]:
    """The NUMA nodes of adapters and flash."""
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
        yield from _numa_placement_of_group(kind, places, known)


def _adapters(system: System) -> Mapping[str, int | None]:
    """The fast links that are up, by the PCI device that they share, each under its first name."""
    by_path: dict[str, tuple[str, int | None]] = {}
    for port in ports(system.snapshot):
        if port.is_active and (pci := port.pci) is not None:
            by_path.setdefault(pci.path, (port.device, pci.numa_node))
    for interface in interfaces(system.snapshot):
        if (
            interface.is_up
            and interface.megabits >= _NUMA_PLACEMENT_FAST_MEGABITS
            and (pci := interface.pci) is not None
        ):
            by_path.setdefault(pci.path, (interface.name, pci.numa_node))
    return dict(by_path.values())


def _flash(system: System) -> Mapping[str, int | None]:
    return {device.name: device.numa_node for device in system.concerned() if device.kind == "nvme"}


def _numa_placement_of_group(
    kind: str, places: Mapping[str, int | None], known: Mapping[int, frozenset[int]]
) -> Iterator[Judgement]:
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


NUMA_PLACEMENT = Rule(
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
    judge=_numa_placement,
    parameters=("numa_node",),
)


_INTERRUPT_AFFINITY_FAST_MEGABITS = 10_000
_INTERRUPT_AFFINITY_SEVERAL = 4
"""An adapter with fewer interrupts has few queues anyway."""


def _interrupt_affinity(system: System) -> Iterator[Judgement]:
    """The processors that handle interrupts of adapters."""
    links = [
        (link.name, link.pci)
        for link in interfaces(system.snapshot)
        if link.is_up and link.megabits >= _INTERRUPT_AFFINITY_FAST_MEGABITS
    ]
    links += [
        (port.device, port.pci)
        for port in ports(system.snapshot)
        if port.is_active and port.megabits >= _INTERRUPT_AFFINITY_FAST_MEGABITS
    ]
    # An adapter of RDMA over Ethernet has an interface, too.
    by_path = {pci.path: (name, pci) for name, pci in reversed(links) if pci is not None}
    return each(
        [*reversed(by_path.values()), *storage_adapters(system)],
        lambda named: _adapter(system, *named),
        otherwise="no link of 10 Gb/s or more is up, and no disk hangs on an adapter with interrupts",
    )


def _adapter(system: System, name: str, pci: PciDevice) -> Iterator[Judgement]:
    numbers = interrupts_named(system.snapshot, name, pci.address) or pci.interrupts
    targets = [cpus for number in numbers if (cpus := interrupt_processors(system.snapshot, number))]
    if not targets:
        yield NotReadable(f"interrupts of {name}", "/proc/interrupts of the snapshot does not name them")
        return
    if len(targets) < _INTERRUPT_AFFINITY_SEVERAL:
        yield NotApplicable(f"{name} has {len(targets)} interrupts, too few to spread")
        return
    node = pci.numa_node
    local = nodes(system.snapshot).get(node, frozenset()) if node is not None else frozenset()
    used, apart = frozenset().union(*targets), isolated(system.snapshot)
    text = f"{len(targets)} interrupts on processors {list_text(used)}"
    wanted = list_text((local - apart) or used)
    irqs = " ".join(map(str, numbers))
    command = (
        f"systemctl start irqbalance, or: for irq in {irqs}; do echo {wanted} > /proc/irq/$irq/smp_affinity_list; done"
    )
    if len(used) == 1:
        because = "one processor handles all queues"
        yield Change(name, text, "one processor for each queue", because, command=command)
    elif used & apart:
        because = f"processors {list_text(used & apart)} are isolated for applications"
        yield Change(name, text, "interrupts on other processors", because, command=command)
    elif local and not used & local:
        because = f"the adapter hangs on NUMA node {node}"
        yield Change(name, text, f"processors {list_text(local)}", because, command=command)
    else:
        yield Fine(name, text)


INTERRUPT_AFFINITY = Rule(
    name="interrupt-affinity",
    title="Spread interrupts of fast adapters over processors of their NUMA node",
    area="processor and network",
    reason="Each queue of an adapter has an interrupt, and the processor that it goes to receives that queue's "
    "packets; when all go to one, that processor limits throughput.",
    risk="irqbalance moves interrupts while it runs, which makes rates vary: stop it when you pin by hand. NVMe "
    "queues and other managed interrupts are placed by the kernel and cannot be moved. Interrupts disturb the ranks "
    "on their processors.",
    sources=(
        Source("Linux, SMP IRQ affinity", "https://docs.kernel.org/core-api/irq/irq-affinity.html"),
        Source("Linux, Scaling in the networking stack", "https://docs.kernel.org/networking/scaling.html"),
    ),
    judge=_interrupt_affinity,
    parameters=("smp_affinity_list",),
)


def _isolated_processors(system: System) -> Iterator[Judgement]:
    """Whether processors are kept from the scheduler."""
    apart = isolated(system.snapshot)
    if not apart:
        yield NotApplicable("no processor is isolated")
        return
    left = system.processors - len(apart)
    because = f"ranks without binding share the {left} that are left" if left > 0 else ""
    command = f"taskset -c {list_text(apart)} COMMAND, or take isolcpus out of the kernel's command line"
    yield Change(
        system.host,
        f"processors {list_text(apart)} isolated",
        "ranks bound to them, or none isolated",
        because,
        command=command,
    )


ISOLATED_PROCESSORS = Rule(
    name="isolated-processors",
    title="Bind ranks where processors are isolated",
    area="processor and network",
    reason="The scheduler places nothing on isolated processors, so a run without binding uses only the others; ranks "
    "that are bound to several isolated processors all run on the first, because no load balancing moves them.",
    risk="Bind each rank to one processor. Kernel threads of file systems and networks stay on the others, which then "
    "limit.",
    sources=(
        Source(
            "Linux, the kernel's command-line parameters: isolcpus",
            "https://docs.kernel.org/admin-guide/kernel-parameters.html",
        ),
    ),
    judge=_isolated_processors,
    parameters=("isolcpus",),
)


RULES: tuple[Rule, ...] = (
    CPU_GOVERNOR,
    CPU_ENERGY_PREFERENCE,
    NUMA_PLACEMENT,
    INTERRUPT_AFFINITY,
    ISOLATED_PROCESSORS,
)
