"""Whether a client sends every write at once."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts


def _judge(system: System) -> Iterator[Judgement]:
    return each(nfs_mounts(system.mounts, system.target_mount), _mount, otherwise=NO_MOUNTS)


def _mount(mount: NfsMount) -> Iterator[Judgement]:
    if mount.has("noac"):
        yield NotApplicable(f"{mount.point} is mounted with noac, which implies sync; see nfs-attribute-cache")
    elif mount.has("sync"):
        yield Change(mount.point, "sync", "async", "", (Assignment(f"mount:{mount.point}/sync", "off"),))
    else:
        yield Fine(mount.point, "async")


RULE = Rule(
    name="nfs-synchronous-writes",
    title="Let NFS clients gather writes",
    area="NFS",
    reason="With the mount option sync every write() waits for the server to store it; without, the client gathers "
    "writes into large WRITEs and commits them at fsync() and close().",
    risk="What an application has written and not yet synced is lost when the client crashes, as on a local file "
    "system. Applications that need more open files with O_SYNC.",
    sources=(NFS_MANUAL,),
    judge=_judge,
    parameters=("sync", "async"),
    weight="large",
    weight_reason="every write waits for the server's disk",
)
