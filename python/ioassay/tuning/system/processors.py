"""Processors, the NUMA nodes that they belong to, and where interrupts go.

Sources: Documentation/admin-guide/pm/cpufreq.rst, ABI/stable/sysfs-devices-node and core-api/irq/irq-affinity.rst of
Linux.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system.numbers import is_whole

_CPUS = "sys/devices/system/cpu"
_NODES = "sys/devices/system/node"


def parse_list(text: str) -> frozenset[int]:
    """The numbers of a list of the kernel: `0-3,8`. What is no such list is left out."""
    numbers: set[int] = set()
    for part in text.split(","):
        if match := re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip()):
            numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(numbers)


def list_text(numbers: frozenset[int]) -> str:
    """The same the other way round: `0-3,8`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def nodes(snapshot: Snapshot) -> Mapping[int, frozenset[int]]:
    """The processors of each NUMA node that has some. Raises `Unreadable`."""
    settings = {
        int(name[4:]): parse_list(snapshot.text(f"{_NODES}/{name}/cpulist") or "")
        for name in snapshot.names(_NODES)
        if re.fullmatch(r"node\d+", name)
    }
    return {node: settings[node] for node in sorted(settings) if settings[node]}


def isolated(snapshot: Snapshot) -> frozenset[int]:
    """The processors that the scheduler leaves alone (`isolcpus`). Raises `Unreadable`."""
    return parse_list(snapshot.text(f"{_CPUS}/isolated") or "")


def frequency_settings(snapshot: Snapshot, attribute: str) -> Mapping[int, str]:
    """An attribute of cpufreq of each processor that has it: `scaling_governor`. Raises `Unreadable`."""
    names: dict[int, str] = {}
    for name in snapshot.names(_CPUS):
        if re.fullmatch(r"cpu\d+", name):
            text = snapshot.text(f"{_CPUS}/{name}/cpufreq/{attribute}")
            if text is not None:
                names[int(name[3:])] = text
    return dict(sorted(names.items()))


def interrupts_named(snapshot: Snapshot, *names: str) -> list[int]:
    """The interrupts that /proc/interrupts names after one of these: `ens1f0-TxRx-3`, `mlx5_comp0@pci:0000:81:00.0`."""
    word = re.compile(rf"(?<![\w.])(?:{'|'.join(re.escape(name) for name in names)})(?![\w.])")
    lines = (line.partition(":") for line in (snapshot.text("proc/interrupts") or "").splitlines())
    return [int(number) for number, _, rest in lines if is_whole(number.strip()) and word.search(rest)]


def interrupt_processors(snapshot: Snapshot, number: int) -> frozenset[int]:
    """The processors that an interrupt goes to: those in effect, else those allowed. Raises `Unreadable`."""
    directory = f"proc/irq/{number}"
    effective = parse_list(snapshot.text(f"{directory}/effective_affinity_list") or "")
    return effective or parse_list(snapshot.text(f"{directory}/smp_affinity_list") or "")


def counted(values: Iterable[str]) -> str:
    """How often each value occurs among processors: `powersave on 16 processors`."""
    numbers = Counter(values).items()
    return ", ".join(f"{value} on {number} processor{'s' if number != 1 else ''}" for value, number in numbers)
