"""Whether a client keeps attributes for a while."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts

_TIMES = ("acregmin", "acregmax", "acdirmin", "acdirmax")


def _judge(system: System) -> Iterator[Judgement]:
    return each(nfs_mounts(system.mounts, system.target_mount), _mount, otherwise=NO_MOUNTS)


def _mount(mount: NfsMount) -> Iterator[Judgement]:
    times = [mount.number(name) for name in _TIMES]
    if mount.has("noac"):
        because = "noac also makes every write synchronous"
        assignment = Assignment(f"mount:{mount.point}/noac", "off")
        yield Change(mount.point, "noac", "ac", because, (assignment,), mount_again(mount, "ac instead of noac"))
    elif times.count(0) == len(times):
        assignments = tuple(
            Assignment(f"mount:{mount.point}/{name}", value)
            for name, value in zip(_TIMES, ("3", "60", "30", "60"), strict=True)
        )
        command = mount_again(mount, "no actimeo, for the defaults")
        yield Change(mount.point, "actimeo=0", "3 to 60 s (the defaults)", "", assignments, command)
    else:
        listed = ", ".join(f"{name}={time}" for name, time in zip(_TIMES, times, strict=True) if time is not None)
        yield Fine(mount.point, listed or "attributes cached, 3 to 60 s (the defaults)")


RULE = Rule(
    name="nfs-attribute-cache",
    title="Let NFS clients cache attributes",
    area="NFS",
    reason="Without cached attributes nearly every call on a file asks the server first, which multiplies the cost of "
    "metadata-heavy work.",
    risk="A client sees changes of other clients up to a minute late. Keep noac where programs on several nodes "
    "coordinate through files without locks; file locks are the better way. Do not raise the times for the same "
    "reason, unless only one client writes.",
    sources=(NFS_MANUAL,),
    judge=_judge,
    parameters=("noac", "actimeo", *_TIMES),
)
