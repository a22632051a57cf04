"""How readily the kernel drops cached directory entries and inodes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.sources import LINUX_LARGE_IO
from ioassay.tuning.system import System

_WANTED = 50
_DEFAULT = 100


def _judge(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number("proc/sys/vm/vfs_cache_pressure")
    if now is None:
        yield NotApplicable("this kernel has no vm.vfs_cache_pressure")
    elif now == 0:
        because = "at 0 the kernel never drops them, until memory runs out"
        yield Change(
            system.host, "0", str(_WANTED), because, (Assignment("sysctl:vm.vfs_cache_pressure", str(_WANTED)),)
        )
    elif now < _DEFAULT:
        yield Fine(system.host, str(now))
    else:
        yield Change(
            system.host, str(now), str(_WANTED), assignments=(Assignment("sysctl:vm.vfs_cache_pressure", str(_WANTED)),)
        )


RULE = Rule(
    name="vfs-cache-pressure",
    title="Keep directory entries and inodes in memory longer than file data",
    area="memory",
    reason="A server that streams large files fills memory with data that is used once; dropping inodes and directory "
    "entries for it costs disk reads at every lookup.",
    risk="More memory stays with inodes; far below 50 a node with many files can run out of memory.",
    sources=(
        LINUX_LARGE_IO,
        Source(
            "Linux, sysctl/vm: vfs_cache_pressure",
            "https://docs.kernel.org/admin-guide/sysctl/vm.html#vfs-cache-pressure",
        ),
    ),
    judge=_judge,
    parameters=("vfs_cache_pressure",),
)
