"""What xfsprogs 6.1, e2fsprogs 1.47 and Linux 6.18 printed for file systems that were made for this test."""

from __future__ import annotations

import pytest

from ioassay.testing.snapshots import snapshot
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import System
from ioassay.tuning.system.filesystem import (
    Stripe,
    XfsInfo,
    byte_count,
    ext_superblock,
    parse_xfs_info,
    xfs_info,
    xfs_stripe,
)
from ioassay.tuning.system.mounts import Mount

# mkfs.xfs -d su=128k,sw=8 on 2 GiB
STRIPED = """\
meta-data=/dev/loop0             isize=512    agcount=8, agsize=65504 blks
         =                       sectsz=512   attr=2, projid32bit=1
         =                       crc=1        finobt=1, sparse=1, rmapbt=0
         =                       reflink=1    bigtime=1 inobtcount=1 nrext64=0
data     =                       bsize=4096   blocks=524032, imaxpct=25
         =                       sunit=32     swidth=256 blks
naming   =version 2              bsize=4096   ascii-ci=0, ftype=1
log      =internal log           bsize=4096   blocks=16384, version=2
         =                       sectsz=512   sunit=32 blks, lazy-count=1
realtime =none                   extsz=4096   blocks=0, rtextents=0
"""
# The same without a stripe.
PLAIN = (
    STRIPED.replace("agcount=8, agsize=65504", "agcount=4, agsize=131072")
    .replace("blocks=524032", "blocks=524288")
    .replace("sunit=32     swidth=256 blks", "sunit=0      swidth=0 blks")
    .replace("sunit=32 blks", "sunit=0 blks")
)
# mount; mount -o noatime,logbsize=256k,allocsize=1m,noalign; mount of the plain one
MOUNTED = (
    "42 27 7:0 / /mx rw,relatime - xfs /dev/loop0 rw,inode64,logbufs=8,logbsize=128k,sunit=256,swidth=2048,noquota",
    "42 27 7:0 / /mx rw,noatime - xfs /dev/loop0 rw,noalign,inode64,allocsize=1024k,logbufs=8,logbsize=256k,noquota",
    "42 27 7:0 / /mx rw,relatime - xfs /dev/loop0 rw,inode64,logbufs=8,logbsize=32k,noquota",
)
# mkfs.ext4 -E stride=32,stripe-width=256 on 1 GiB
SUPERBLOCK = """\
Filesystem volume name:   <none>
Last mounted on:          <not available>
Filesystem UUID:          a4c90b64-1a5b-4c25-ac50-b4a3e97ed4cf
Filesystem features:      has_journal ext_attr resize_inode dir_index filetype needs_recovery extent 64bit flex_bg
Default mount options:    user_xattr acl
Block count:              262144
Reserved block count:     13107
First block:              0
Block size:               4096
RAID stride:              32
RAID stripe width:        256
Filesystem created:       Fri Nov 27 03:12:46 2026
Lifetime writes:          533 kB
Journal features:         journal_64bit journal_checksum_v3
Total journal size:       32M
Total journal blocks:     8192

"""


def _mounted(line: str, printed: str = STRIPED) -> tuple[Snapshot, Mount]:
    captured = snapshot({"proc/self/mountinfo": line}, printed={"xfs_info /mx": printed})
    return captured, System(captured).mounts[0]


def test_xfs_with_a_stripe() -> None:
    assert parse_xfs_info(STRIPED) == XfsInfo(
        block_bytes=4096,
        blocks=524032,
        group_count=8,
        group_blocks=65504,
        stripe=Stripe(128 << 10, 1 << 20),
        log_bytes=64 << 20,
        log_unit_bytes=128 << 10,
        is_log_internal=True,
    )


def test_xfs_without_a_stripe() -> None:
    parsed = parse_xfs_info(PLAIN)
    assert parsed is not None
    assert (parsed.stripe, parsed.log_unit_bytes, parsed.group_bytes) == (Stripe(0, 0), 0, 512 << 20)


def test_an_external_log() -> None:
    parsed = parse_xfs_info(STRIPED.replace("log      =internal log ", "log      =/dev/sdz1    "))
    assert parsed is not None
    assert not parsed.is_log_internal


@pytest.mark.parametrize("text", ["", "xfs_info: /mx is not a mounted XFS filesystem\n", "data = bsize=x\n"])
def test_text_that_is_no_xfs_info(text: str) -> None:
    assert parse_xfs_info(text) is None


@pytest.mark.parametrize(("line", "bytes_"), [(MOUNTED[0], 128 << 10), (MOUNTED[1], 128 << 10), (MOUNTED[2], 0)])
def test_mounts_count_sectors_and_xfs_info_blocks(line: str, bytes_: int) -> None:
    captured, mount = _mounted(line)
    assert xfs_stripe(captured, mount) == Stripe(bytes_, 8 * bytes_)


def test_xfs_info_is_found_by_the_mount_or_its_device() -> None:
    captured, mount = _mounted(MOUNTED[0])
    assert xfs_info(captured, mount) == parse_xfs_info(STRIPED)
    by_device = snapshot({}, printed={"xfs_info /dev/loop0": PLAIN})
    assert xfs_info(by_device, mount) == parse_xfs_info(PLAIN)
    assert xfs_info(snapshot({}), mount) is None


def test_ext4() -> None:
    line = "43 27 7:1 / /me rw,relatime - ext4 /dev/loop1 rw,lazytime,stripe=256"
    captured = snapshot({"proc/self/mountinfo": line}, printed={"dumpe2fs -h /dev/loop1": SUPERBLOCK})
    superblock = ext_superblock(captured, System(captured).mounts[0])
    assert superblock is not None
    assert superblock.stripe == Stripe(128 << 10, 1 << 20)
    assert (superblock.size_bytes, superblock.journal_bytes, superblock.has_journal) == (1 << 30, 32 << 20, True)
    assert superblock.default_options == {"user_xattr", "acl"}


@pytest.mark.parametrize(
    ("text", "size"), [("256k", 256 << 10), ("1024M", 1 << 30), ("8", 8), ("16G", 16 << 30), ("", None), ("25%", None)]
)
def test_sizes(text: str, size: int | None) -> None:
    assert byte_count(text) == size
