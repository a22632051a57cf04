"""How much memory the cache of ZFS may take."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, NotReadable, Rule, missing
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_MODULE, ZFS_MODULE_2_1
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import arc_statistic, is_used, version

_LEAST = 64 << 20
_GIB = 1 << 30
_SMALL_SHARE = 1 / 32
"""Of memory: the least that the cache keeps by default."""
_PATH = "sys/module/zfs/parameters/zfs_arc_max"


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
        return
    given, memory = system.snapshot.number(_PATH), system.memory_bytes
    in_force = arc_statistic(system.snapshot, "c_max")
    if given is None or not memory:
        yield missing(f"/{_PATH}")
        return
    if not given:
        yield from _default(system, in_force, memory)
        return
    wanted = memory // 2
    text, half = format_bytes(given), format_bytes(wanted)
    assignment = Assignment("module:zfs/zfs_arc_max", str(wanted))
    if given < _LEAST:
        because = f"ZFS ignores a limit below {format_bytes(_LEAST)}"
        yield Change(system.host, text, half, because, (assignment,))
    elif given > memory - _GIB and memory > 2 * _GIB:
        because = f"the node has {format_bytes(memory)}: less than 1 GiB is left for all else"
        yield Change(system.host, text, half, because, (assignment,))
    elif given < memory * _SMALL_SHARE:
        because = f"the node has {format_bytes(memory)}, and metadata that does not fit is read from disk each time"
        yield Change(system.host, text, half, because, (assignment,))
    else:
        yield Fine(system.host, f"{text} of {format_bytes(memory)}")


def _default(system: System, in_force: int | None, memory: int) -> Iterator[Judgement]:
    release = version(system.snapshot)
    if in_force is not None:
        yield Fine(system.host, f"the default, {format_bytes(in_force)} of {format_bytes(memory)}")
    elif release is None:
        yield NotReadable("the default of zfs_arc_max", "it depends on the release of OpenZFS, which is not known")
    else:
        share = "half of the memory" if release < (2, 3) else "all memory but 1 GiB"
        yield Fine(system.host, f"the default, {share}")


RULE = Rule(
    name="zfs-arc-limit",
    title="Leave the ARC enough memory for metadata, and the node enough beside it",
    area="ZFS",
    reason="The ARC is the only cache of ZFS. By default it may take half of the memory before OpenZFS 2.3 on Linux, "
    "since then all but 1 GiB (at least 5/8); a limit below 64 MiB is ignored.",
    risk="A larger cache takes memory from applications until the kernel asks for it back, which takes time: keep a "
    "limit where compute jobs or virtual machines run beside ZFS. Lowering it does not shrink the cache at once, and "
    "0 cannot be set while ZFS runs. Read benchmarks have to exceed the ARC, or drop it.",
    sources=(ZFS_MODULE, ZFS_MODULE_2_1),
    judge=_judge,
    parameters=("zfs_arc_max",),
)
