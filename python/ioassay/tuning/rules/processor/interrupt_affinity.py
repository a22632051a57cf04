"""Which processors handle interrupts of adapters."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.system import System
from ioassay.tuning.system.network import PciDevice, interfaces, ports, storage_adapters
from ioassay.tuning.system.processors import interrupt_processors, interrupts_named, isolated, list_text, nodes

_FAST_MEGABITS = 10_000
_SEVERAL = 4
"""An adapter with fewer interrupts has few queues anyway."""


def _judge(system: System) -> Iterator[Judgement]:
    links = [(one.name, one.pci) for one in interfaces(system.snapshot) if one.is_up and one.megabits >= _FAST_MEGABITS]
    links += [
        (port.device, port.pci) for port in ports(system.snapshot) if port.is_active and port.megabits >= _FAST_MEGABITS
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
    if len(targets) < _SEVERAL:
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


RULE = Rule(
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
    judge=_judge,
    parameters=("smp_affinity_list",),
)
