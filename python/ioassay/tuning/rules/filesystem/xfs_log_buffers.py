"""How large the buffers of XFS's log are."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.rules.filesystem.geometry import NO_XFS, XFS_MANUAL, of_type
from ioassay.tuning.system import System
from ioassay.tuning.system.filesystem import byte_count
from ioassay.tuning.system.mounts import Mount

_WANTED = 256 << 10
"""The largest that version 2 logs allow."""


def _judge(system: System) -> Iterator[Judgement]:
    return each(of_type(system, "xfs"), _mount, otherwise=NO_XFS)


def _mount(mount: Mount) -> Iterator[Judgement]:
    now = byte_count(mount.options.get("logbsize", ""))
    if "ro" in mount.options:
        yield NotApplicable(f"{mount.point} is read-only")
    elif now is None:
        yield NotReadable(f"{mount.point} logbsize", "the kernel does not list it")
    elif now >= _WANTED:
        yield Fine(mount.point, f"{now >> 10} KiB")
    else:
        command = f"add logbsize=256k to the options of {mount.point}, then unmount it and mount it again"
        yield Change(mount.point, f"{now >> 10} KiB", "256 KiB", command=command)


RULE = Rule(
    name="xfs-log-buffers",
    title="Give XFS log buffers of 256 KiB for many creates and removals",
    area="file system",
    reason="Changes of metadata gather in log buffers before they are written; with buffers of 32 KiB, the default "
    "without a log stripe, a busy log is written in many small pieces.",
    risk="At most 2 MiB of memory for the eight buffers of a file system. The size must be a multiple of the log's "
    "stripe unit. It changes only when the file system is unmounted and mounted again: a remount accepts the option "
    "and ignores it. fsync() of single files gains nothing.",
    sources=(
        XFS_MANUAL,
        Source("Linux, the XFS file system: logbsize", "https://docs.kernel.org/admin-guide/xfs.html"),
    ),
    judge=_judge,
    parameters=("logbsize", "logbufs"),
)
