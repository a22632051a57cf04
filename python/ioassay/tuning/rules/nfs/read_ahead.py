"""How far a client reads ahead."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, Source, each, missing
from ioassay.tuning.rules.nfs.sources import NO_MOUNTS
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts

_READS_AHEAD = 15
"""What Linux used before 5.4, in units of rsize."""
_DEFAULT_RSIZE = 1 << 20


def _judge(system: System) -> Iterator[Judgement]:
    return each(
        nfs_mounts(system.mounts, system.target_mount),
        lambda mount: _mount(mount, system.snapshot),
        otherwise=NO_MOUNTS,
    )


def _mount(mount: NfsMount, snapshot: Snapshot) -> Iterator[Judgement]:
    name = f"class/bdi/{mount.mount.device}/read_ahead_kb"
    now = snapshot.number(f"sys/{name}")
    read_kb = (mount.number("rsize") or _DEFAULT_RSIZE) >> 10
    if now is None:
        yield missing(f"/sys/{name}")
    elif now >= read_kb:
        yield Fine(mount.point, f"{now} KiB")
    else:
        wanted = _READS_AHEAD * read_kb
        because = f"that is less than one READ of {read_kb} KiB"
        assignment = Assignment(f"sys:{name}", str(wanted))
        yield Change(mount.point, f"{now} KiB", f"{wanted} KiB", because, (assignment,))


RULE = Rule(
    name="nfs-read-ahead",
    title="Read ahead several READs on NFS",
    area="NFS",
    reason="Until Linux 5.4 the client read 15 READs ahead; since then it reads 128 KiB ahead, whatever rsize is. "
    "Sequential readers then wait for the network at every step; reports name a quarter of the former rate.",
    risk="Random readers fetch data that they do not use. Sources disagree: Microsoft measured 15 MiB as best, others "
    "1 MiB on a link of 10 Gb/s; sweep it. The value is lost when the file system is unmounted: keep it with a udev "
    "rule or nfsrahead.",
    sources=(
        Source(
            "NFS read performance after an upgrade to 5.4, linux-nfs",
            "http://mail.spinics.net/lists/linux-nfs/msg83232.html",
        ),
        Source(
            "Microsoft, Linux NFS read-ahead best practices for Azure NetApp Files",
            "https://learn.microsoft.com/en-us/azure/azure-netapp-files/performance-linux-nfs-read-ahead",
        ),
        Source(
            "D. Honnef, NFS sequential read performance",
            "https://honnef.co/notes/20230128011632-nfs_sequential_read_performance",
        ),
        Source("nfsrahead(5)", "https://man7.org/linux/man-pages/man5/nfsrahead.5.html"),
    ),
    judge=_judge,
    parameters=("read_ahead_kb",),
)
