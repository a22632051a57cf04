"""How much memory the kernel keeps free."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.rules.memory import server_role
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, VM_SYSCTL
from ioassay.tuning.system import System

_WANTED_KB = 262144
_SMALL_MEMORY_BYTES = 16 << 30
"""The wanted amount is more than 1.5 % of a smaller memory."""
_LEAST_OF_DEFAULT = 4
_MOST_PERCENT = 10
_FORMULA = Source(
    "Linux 6.1, mm/page_alloc.c: calculate_min_free_kbytes, and mm/khugepaged.c: set_recommended_min_free_kbytes, "
    "which takes at most 5 % of memory",
    "https://github.com/torvalds/linux/blob/v6.1/mm/page_alloc.c",
)
_BOUNDS = Bounds(
    VM_SYSCTL,
    least=1024,
    below="the node is prone to deadlock under load, because drivers find no memory where they cannot wait",
    unit="KiB",
)


def _judge(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number("proc/sys/vm/min_free_kbytes")
    if now is None:
        yield missing("/proc/sys/vm/min_free_kbytes")
    elif breach := _breach(system, now):
        wanted = _wanted_kb(system)
        assignment = Assignment("sysctl:vm.min_free_kbytes", str(wanted))
        yield Change(system.host, f"{now} KiB", f"{wanted} KiB", breach, (assignment,), is_harmful=True)
    elif not server_role.serves(system):
        yield NotApplicable(f"the node serves no storage; {now} KiB are within the bounds for any node")
    elif system.memory_bytes < _SMALL_MEMORY_BYTES:
        yield NotApplicable(
            f"{units.format_about_bytes(system.memory_bytes)} of memory is too little to keep more free"
        )
    elif now >= _WANTED_KB:
        yield Fine(system.host, f"{now} KiB")
    else:
        assignment = Assignment("sysctl:vm.min_free_kbytes", str(_WANTED_KB))
        yield Change(system.host, f"{now} KiB", f"{_WANTED_KB} KiB", assignments=(assignment,))


def _breach(system: System, now: int) -> str:
    """What is wrong on any node: less than a quarter of what the kernel takes by itself, or far more."""
    if reason := _BOUNDS.breach(now):
        return reason
    usual = _default_kb(system)
    if now * _LEAST_OF_DEFAULT < usual:
        return f"{_BOUNDS.below}; of this memory the kernel by itself keeps {usual} KiB"
    share = 100 * (now << 10) / system.memory_bytes if system.memory_bytes else 0
    if share > _MOST_PERCENT:
        return f"{share:.0f} % of memory is kept from programs and caches; the kernel by itself keeps {usual} KiB"
    return ""


def _default_kb(system: System) -> int:
    """What the kernel takes by itself."""
    return min(max(math.isqrt((system.memory_bytes >> 10) * 16), 128), _WANTED_KB)


def _wanted_kb(system: System) -> int:
    is_large_server = server_role.serves(system) and system.memory_bytes >= _SMALL_MEMORY_BYTES
    return _WANTED_KB if is_large_server else max(_default_kb(system), 1024)


RULE = Rule(
    name="min-free-kbytes",
    title="Keep memory free for bursts of network and disk requests",
    area="memory",
    reason="Network and storage drivers allocate memory where they cannot wait. On a server whose page cache fills "
    "memory, the default reserve is used up within milliseconds.",
    risk="Caches get 256 MiB less. Far larger values make the node run out of memory.",
    sources=(BEEGFS_STORAGE, VM_SYSCTL, _FORMULA),
    judge=_judge,
    parameters=("min_free_kbytes",),
    bounds={"min_free_kbytes": _BOUNDS},
)
