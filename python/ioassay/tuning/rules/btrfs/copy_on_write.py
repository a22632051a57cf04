"""Whether data is overwritten in place, and has checksums."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.btrfs.sources import BTRFS_KERNELS, BTRFS_MANUAL, NO_BTRFS, judged
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import WITH_COPIES, BtrfsFileSystem
from ioassay.tuning.system.nfs import kernel_version

_DIRECT_IS_BUFFERED_SINCE = (6, 15)


def _judge(system: System) -> Iterator[Judgement]:
    kernel = kernel_version(system.snapshot)
    return each(judged(system), lambda one: _file_system(one, kernel), otherwise=NO_BTRFS)


def _file_system(one: BtrfsFileSystem, kernel: tuple[int, int]) -> Iterator[Judgement]:
    options, point = one.mount.options, one.mount.point
    now = next((option for option in ("nodatacow", "nodatasum") if option in options), None)
    copies = [profile for profile in one.profiles("data") if profile in WITH_COPIES]
    if now is None:
        is_buffered = kernel >= _DIRECT_IS_BUFFERED_SINCE
        also = f"; Linux {kernel[0]}.{kernel[1]} copies O_DIRECT writes through the page cache" if is_buffered else ""
        yield Fine(point, f"copy-on-write with checksums{also}")
    elif copies:
        because = f"without checksums nothing says which copy of {copies[0]} is right, so that none is repaired"
        command = f"take {now} out of the options of {point}, then mount it again; files keep what they were made with"
        yield Change(point, now, "datacow with datasum", because, command=command)
    else:
        yield Fine(point, f"{now}: data has no checksums, and a crash can leave partial writes")


RULE = Rule(
    name="btrfs-copy-on-write",
    title="Keep checksums where btrfs has copies of data",
    area="btrfs",
    reason="Files that are overwritten at random fragment with copy-on-write, which nodatacow avoids; but it turns "
    "off checksums and compression, so that damaged copies are neither found nor repaired.",
    risk="Databases and images of virtual machines get slower with copy-on-write: turn it off for their directories "
    "alone (chattr +C), and keep copies elsewhere. Since Linux 6.15 direct writes to files with checksums are copied "
    "through the page cache before they are written, which slows them.",
    sources=(BTRFS_MANUAL, BTRFS_KERNELS),
    judge=_judge,
    parameters=("nodatacow", "nodatasum"),
)
