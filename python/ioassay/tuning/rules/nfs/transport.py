"""What carries the calls."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts


def _judge(system: System) -> Iterator[Judgement]:
    return each(nfs_mounts(system.mounts, system.target_mount), _mount, otherwise=NO_MOUNTS)


def _mount(mount: NfsMount) -> Iterator[Judgement]:
    if mount.transport == "udp":
        assignment = Assignment(f"mount:{mount.point}/proto", "tcp")
        yield Change(mount.point, "UDP", "TCP", "", (assignment,), mount_again(mount, "proto=tcp"))
    else:
        yield Fine(mount.point, mount.transport.upper())


RULE = Rule(
    name="nfs-transport",
    title="Use NFS over TCP or RDMA, never over UDP",
    area="NFS",
    reason="Over UDP a call is split into IP fragments, and losing one loses the call. On fast links the 16-bit "
    "number of fragments wraps within their timeout, so that fragments of different calls can be joined: silent "
    "corruption.",
    risk="None for servers of this century; a firewall may have to open port 2049 for TCP.",
    sources=(NFS_MANUAL,),
    judge=_judge,
    parameters=("proto",),
    weight="large",
    weight_reason="data can be corrupted silently",
)
