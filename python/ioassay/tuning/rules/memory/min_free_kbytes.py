"""How much memory the kernel keeps free."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay import units
from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.memory import server_role
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, VM_SYSCTL
from ioassay.tuning.system import System

_WANTED_KB = 262144
_SMALL_MEMORY_BYTES = 16 << 30
"""The wanted amount is more than 1.5 % of a smaller memory."""


def _judge(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number("proc/sys/vm/min_free_kbytes")
    if now is None:
        yield NotApplicable("this kernel has no vm.min_free_kbytes")
    elif not server_role.serves(system):
        yield NotApplicable("the node serves no storage")
    elif system.memory_bytes < _SMALL_MEMORY_BYTES:
        yield NotApplicable(
            f"{units.format_about_bytes(system.memory_bytes)} of memory is too little to keep more free"
        )
    elif now >= _WANTED_KB:
        yield Fine(system.host, f"{now} KiB")
    else:
        assignment = Assignment("sysctl:vm.min_free_kbytes", str(_WANTED_KB))
        yield Change(system.host, f"{now} KiB", f"{_WANTED_KB} KiB", assignments=(assignment,))


RULE = Rule(
    name="min-free-kbytes",
    title="Keep memory free for bursts of network and disk requests",
    area="memory",
    reason="Network and storage drivers allocate memory where they cannot wait. On a server whose page cache fills "
    "memory, the default reserve is used up within milliseconds.",
    risk="Caches get 256 MiB less. Far larger values make the node run out of memory.",
    sources=(BEEGFS_STORAGE, VM_SYSCTL),
    judge=_judge,
    parameters=("min_free_kbytes",),
)
