"""Where XFS may place inodes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.filesystem.geometry import NO_XFS, XFS_MANUAL, of_type
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    return each(of_type(system, "xfs"), _mount, otherwise=NO_XFS)


def _mount(mount: Mount) -> Iterator[Judgement]:
    if "inode32" in mount.options:
        yield Change(mount.point, "inode32", "inode64", "", (Assignment(f"mount:{mount.point}/inode64", "on"),))
    else:
        yield Fine(mount.point, "inode64")


RULE = Rule(
    name="xfs-inode-numbers",
    title="Let XFS place inodes anywhere",
    area="file system",
    reason="With inode32 all inodes lie in the first part of the file system, far from their data, and creating files "
    "competes for the few groups there.",
    risk="Programs of 32 bits that do not handle large inode numbers fail on new files. Inodes that exist stay where "
    "they are. inode64 has been the default since Linux 3.7.",
    sources=(XFS_MANUAL,),
    judge=_judge,
    parameters=("inode32", "inode64"),
)
