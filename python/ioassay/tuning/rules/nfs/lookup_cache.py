"""Whether a client keeps directory entries."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts


def _judge(system: System) -> Iterator[Judgement]:
    return each(nfs_mounts(system.mounts, system.target_mount), _mount, otherwise=NO_MOUNTS)


def _mount(mount: NfsMount) -> Iterator[Judgement]:
    now = mount.mount.options.get("lookupcache", "all")
    if now == "none":
        assignment = Assignment(f"mount:{mount.point}/lookupcache", "pos")
        because = "pos still detects at once what other clients create"
        command = mount_again(mount, "lookupcache=pos")
        yield Change(mount.point, "lookupcache=none", "lookupcache=pos", because, (assignment,), command)
    else:
        yield Fine(mount.point, f"lookupcache={now}")


RULE = Rule(
    name="nfs-lookup-cache",
    title="Let NFS clients cache directory entries",
    area="NFS",
    reason="With lookupcache=none each component of each path is looked up on the server at every access.",
    risk="A client can use a name that another client has removed, until the directory's cached attributes expire. "
    "Keep none where nodes watch directories for each other's files.",
    sources=(NFS_MANUAL,),
    judge=_judge,
    parameters=("lookupcache",),
)
