"""When freed blocks are discarded."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.btrfs.sources import BTRFS_MANUAL, NO_BTRFS, judged
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import BtrfsFileSystem


def _judge(system: System) -> Iterator[Judgement]:
    return each(judged(system), _file_system, otherwise=NO_BTRFS)


def _file_system(one: BtrfsFileSystem) -> Iterator[Judgement]:
    now, point = one.mount.options.get("discard"), one.mount.point
    if now in ("", "sync"):
        because = "each commit waits for the discards of what was freed"
        command = f"mount -o remount,discard=async {point}, and the same in /etc/fstab"
        yield Change(point, "discard", "discard=async", because, command=command)
    else:
        yield Fine(point, f"discard={now}" if now else "no discard")


RULE = Rule(
    name="btrfs-discard",
    title="Discard freed blocks later, in large pieces",
    area="btrfs",
    reason="Without queued TRIM a synchronous discard can slow a device severely; discard=async, the default since "
    "Linux 6.2 where devices support it, gathers what was freed first.",
    risk="None known; nodiscard with a periodic fstrim is the alternative.",
    sources=(BTRFS_MANUAL,),
    judge=_judge,
    parameters=("discard",),
)
