"""How much one READ and one WRITE carry."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text import units
from ioassay.tuning.rule import (
    Assignment,
    Bounds,
    Change,
    Fine,
    Judgement,
    NotApplicable,
    NotReadable,
    Rule,
    Source,
    each,
)
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts

_WANTED = 1 << 20
"""The most that Linux's client sends in one call."""
_SERVER = Source(
    "Linux 6.1, fs/nfsd/nfssvc.c: nfsd_get_default_max_blksize, which offers 8 KiB on a machine of 32 MiB",
    "https://github.com/torvalds/linux/blob/v6.1/fs/nfsd/nfssvc.c",
)
_LEAST = Bounds(
    _SERVER,
    least=8192,
    below="every page or two of a file is a call of its own, and even the smallest server offers more",
    unit="bytes",
)


def _judge(system: System) -> Iterator[Judgement]:
    return each(nfs_mounts(system.mounts, system.target_mount), _mount, otherwise=NO_MOUNTS)


def _mount(mount: NfsMount) -> Iterator[Judgement]:
    if mount.transport == "udp":
        yield NotApplicable(f"{mount.point} uses UDP, where a large transfer is lost with any of its fragments")
        return
    for option in ("rsize", "wsize"):
        subject, now = f"{mount.point} {option}", mount.number(option)
        if now is None:
            yield NotReadable(subject, "the kernel does not list it")
        elif now >= _WANTED:
            yield Fine(subject, f"{now >> 10} KiB")
        else:
            assignment = Assignment(f"mount:{mount.point}/{option}", str(_WANTED))
            breach = _LEAST.breach(now)
            because = breach or "the mount asked for less, or the server accepts no more"
            command = mount_again(mount, f"{option}={_WANTED}")
            yield Change(
                subject,
                units.format_bytes(now),
                f"{_WANTED >> 10} KiB",
                because,
                (assignment,),
                command,
                is_harmful=bool(breach),
            )


RULE = Rule(
    name="nfs-transfer-size",
    title="Let one NFS READ or WRITE carry 1 MiB",
    area="NFS",
    reason="Each call costs a round trip and work on both sides, so small transfers limit sequential throughput; a "
    "server on parity RAID gets whole stripes only from large WRITEs.",
    risk="The server has the last word: it cuts the value to what it supports, and a Linux server to its "
    "max_block_size. Random I/O in small records gains nothing. The value changes only when the file system is "
    "unmounted and mounted again.",
    sources=(NFS_MANUAL, _SERVER),
    judge=_judge,
    parameters=("rsize", "wsize"),
    bounds={"rsize": _LEAST, "wsize": _LEAST},
    weight="large",
    weight_reason="a transfer of 1 MiB is as many calls as it holds of these sizes, each with a round trip",
)
