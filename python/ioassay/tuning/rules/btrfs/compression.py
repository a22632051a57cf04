"""By what, and how hard, data is compressed."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.btrfs.sources import BTRFS_COMPRESSION, BTRFS_MANUAL, NO_BTRFS, judged
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import BtrfsFileSystem

_MOST_LEVEL = 3


def _judge(system: System) -> Iterator[Judgement]:
    return each(judged(system), _file_system, otherwise=NO_BTRFS)


def _file_system(one: BtrfsFileSystem) -> Iterator[Judgement]:
    options, point = one.mount.options, one.mount.point
    option = next((name for name in ("compress-force", "compress") if name in options), None)
    if option is None:
        yield Fine(point, "no compression for the whole file system")
        return
    kind, _, level = options[option].partition(":")
    now = f"{option}={options[option]}"
    is_hard = kind == "zstd" and level.isdecimal() and int(level) > _MOST_LEVEL
    if kind == "zlib":
        because = "zstd compresses as well and is faster"
    elif is_hard:
        because = f"levels above {_MOST_LEVEL} are no longer near real time"
    elif option == "compress-force":
        because = "data that cannot be compressed is compressed in vain, without the test that compress makes"
    else:
        yield Fine(point, now)
        return
    kept = options[option] if kind != "zlib" and not is_hard else "zstd:1"
    if option == "compress":
        yield Change(point, now, f"compress={kept}", because, (Assignment(f"mount:{point}/compress", kept),))
    else:
        command = f"mount -o remount,compress={kept} {point}, and the same in /etc/fstab"
        yield Change(point, now, f"compress={kept}", because, command=command)


RULE = Rule(
    name="btrfs-compression",
    title="Compress with zstd at a low level, or not at all",
    area="btrfs",
    reason="Compression trades processor time for I/O, 128 KiB at a time: zstd up to level 3 is near real time, zlib "
    "and higher levels limit writes; compress-force skips the test for data that cannot be compressed.",
    risk="It holds for new data; levels below 1 need Linux 6.15. Benchmarks that write zeros or repeated blocks "
    "measure the compressor. Keep high levels for data that is rarely written.",
    sources=(BTRFS_COMPRESSION, BTRFS_MANUAL),
    judge=_judge,
    parameters=("compress", "compress-force"),
)
