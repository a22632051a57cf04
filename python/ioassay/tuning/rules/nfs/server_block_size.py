"""The largest transfer that an NFS server accepts."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_SERVER
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsServer

_WANTED = 1 << 20


def _judge(system: System) -> Iterator[Judgement]:
    server = NfsServer(system.snapshot)
    if not server.is_running:
        yield NotApplicable(NO_SERVER)
        return
    now = server.block_bytes
    if now is None:
        yield missing("/proc/fs/nfsd/max_block_size")
    elif now >= _WANTED:
        yield Fine(system.host, f"{now >> 10} KiB")
    else:
        command = (
            f"systemctl stop nfs-server; mount -t nfsd nfsd /proc/fs/nfsd; echo {_WANTED} > "
            "/proc/fs/nfsd/max_block_size; systemctl start nfs-server"
        )
        yield Change(system.host, f"{now >> 10} KiB", f"{_WANTED >> 10} KiB", command=command)


RULE = Rule(
    name="nfs-server-block-size",
    title="Let an NFS server accept transfers of 1 MiB",
    area="NFS",
    reason="Clients cannot negotiate a larger rsize and wsize than this. The server derives it from its memory when "
    "it starts, so a server with little memory stays below 1 MiB.",
    risk="It can only be changed while no thread runs, so clients wait meanwhile. Each thread reserves memory of this "
    "size. Clients have to mount again.",
    sources=(
        NFS_MANUAL,
        Source(
            "Linux, fs/nfsd/nfsctl.c: write_maxblksize",
            "https://github.com/torvalds/linux/blob/master/fs/nfsd/nfsctl.c",
        ),
    ),
    judge=_judge,
    parameters=("max_block_size",),
)
