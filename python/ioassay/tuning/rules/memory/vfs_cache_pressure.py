"""How readily the kernel drops cached directory entries and inodes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, missing
from ioassay.tuning.rules.memory import server_role
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, LINUX_LARGE_IO, VM_SYSCTL
from ioassay.tuning.system import System

_WANTED = 50
_DEFAULT = 100
_BOUNDS = Bounds(
    VM_SYSCTL,
    least=1,
    below="the kernel never drops them, until memory runs out",
    most=999,
    above="it looks for ten times more of them than there are, and takes locks meanwhile",
)


def _judge(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number("proc/sys/vm/vfs_cache_pressure")
    assignment = Assignment("sysctl:vm.vfs_cache_pressure", str(_WANTED))
    if now is None:
        yield missing("/proc/sys/vm/vfs_cache_pressure")
    elif 0 < now < _DEFAULT:
        yield Fine(system.host, str(now))
    elif now == _DEFAULT and not server_role.serves(system):
        yield NotApplicable("the node serves no storage; the sources recommend less than the default for servers only")
    else:
        breach = _BOUNDS.breach(now)
        yield Change(system.host, str(now), str(_WANTED), breach, (assignment,), is_harmful=bool(breach))


RULE = Rule(
    name="vfs-cache-pressure",
    title="Keep directory entries and inodes of a server in memory longer than file data",
    area="memory",
    reason="A server that streams large files fills its memory with data that is used once; inodes and directory "
    "entries that are dropped for it are read from disk again at the next lookup.",
    risk="More memory stays with inodes. At 0 a node with many files runs out of memory.",
    sources=(LINUX_LARGE_IO, BEEGFS_STORAGE, VM_SYSCTL),
    judge=_judge,
    parameters=("vfs_cache_pressure",),
    bounds={"vfs_cache_pressure": _BOUNDS},
)
