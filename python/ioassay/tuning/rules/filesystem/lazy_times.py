"""Whether times stay in memory for a while."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source, each
from ioassay.tuning.rules.filesystem.geometry import NO_EXT4, of_type
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    if system.snapshot.target is None:
        why = "only random writes to allocated files gain; name the target of such a workload to judge its file system"
        return iter([NotApplicable(why)])
    return each(of_type(system, "ext4"), _mount, otherwise=NO_EXT4)


def _mount(mount: Mount) -> Iterator[Judgement]:
    if "ro" in mount.options:
        yield NotApplicable(f"{mount.point} is read-only")
    elif "lazytime" in mount.options:
        yield Fine(mount.point, "lazytime")
    else:
        because = "for random writes to files that are already allocated; little else gains"
        yield Change(
            mount.point, "nolazytime", "lazytime", because, (Assignment(f"mount:{mount.point}/lazytime", "on"),)
        )


RULE = Rule(
    name="ext4-lazy-times",
    title="Keep times of ext4 in memory for random writes to allocated files",
    area="file system",
    reason="Each write changes the file's modification time, so a random write of one block also dirties an inode "
    "block; with lazytime the times wait until the inode is written anyway, at the latest after a day.",
    risk="After a crash, times of up to a day are lost, which confuses incremental backups; fsync() still writes "
    "them. Sequential writes that allocate gain nothing.",
    sources=(Source("mount(8)", "https://man7.org/linux/man-pages/man8/mount.8.html"),),
    judge=_judge,
    weight="small",
    weight_reason="only random writes to allocated files gain",
    parameters=("lazytime",),
)
