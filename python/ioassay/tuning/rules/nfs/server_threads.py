"""How many threads an NFS server has."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.nfs.sources import NO_SERVER
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsServer

_DEFAULT = 8
_LEAST = 64
_PER_PROCESSOR = 4
_MANY_WAITS = 0.05
"""Of packets, so that the odd burst is no finding."""


def _judge(system: System) -> Iterator[Judgement]:
    server = NfsServer(system.snapshot)
    now = server.threads
    if not now:
        yield NotApplicable(NO_SERVER)
        return
    wanted = max(_LEAST, _PER_PROCESSOR * system.processors)
    waits = server.waits
    found = f"{waits:.0%} of packets found no idle thread" if waits is not None else ""
    if now <= _DEFAULT or (waits is not None and waits > _MANY_WAITS and now < wanted):
        command = f"nfsconf --set nfsd threads {wanted} && rpc.nfsd {wanted}"
        yield Change(system.host, f"{now} threads", f"{wanted} threads", found, command=command)
    else:
        yield Fine(system.host, f"{now} threads" + (f", {found}" if found else ""))


RULE = Rule(
    name="nfs-server-threads",
    title="Give an NFS server more than 8 threads",
    area="NFS",
    reason="Each thread serves one call and waits for the disks meanwhile; with the default of 8 threads the server "
    "has 8 I/Os under way at most, and the calls of many clients queue.",
    risk="Too many threads make disks seek between streams and cost memory. The number is a rule of thumb, four "
    "threads a processor: watch sockets-enqueued in /proc/fs/nfsd/pool_stats. The thread histogram of "
    "/proc/net/rpc/nfsd has been zero since Linux 2.6.29.",
    sources=(
        Source("rpc.nfsd(8)", "https://man7.org/linux/man-pages/man8/rpc.nfsd.8.html"),
        Source("Linux, kernel NFS server statistics", "https://docs.kernel.org/filesystems/nfs/knfsd-stats.html"),
        Source(
            "Linux NFS-HOWTO, 5.6: number of instances of nfsd", "https://tldp.org/HOWTO/NFS-HOWTO/performance.html"
        ),
        Source(
            "Tuning the NFSD server daemon for performance",
            "https://thelinuxcluster.com/2010/10/06/tuning-nfsd-server-daemon-for-performance/",
        ),
    ),
    judge=_judge,
    parameters=("threads", "RPCNFSDCOUNT"),
)
