"""File systems against what `df` shows of real ones, made on sparse files."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.capacity import brick_capacity
from ioassay.sizing.capacity.file_systems import KNOWN
from ioassay.sizing.catalogue import load
from ioassay.sizing.components import FileSystem
from ioassay.testing.sized_brick import CHOICE, catalogue

EXT4 = ["mke2fs", "-q", "-F", "-t", "ext4", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"]
LDISKFS = ["mke2fs", "-q", "-F", "-j", "-b", "4096", "-J", "size=1024", "-I", "512", "-G", "256"]
"""As mkfs.lustre calls it (libmount_utils_ldiskfs.c), but for what the device decides."""
LDISKFS_FEATURES = "uninit_bg,extents,dir_nlink,quota,project,huge_file,large_dir,flex_bg"
LDISKFS_LAZY = "nodiscard,lazy_itable_init=1,lazy_journal_init=1,packed_meta_blocks"


def usable(file_system: str, capacity: str) -> float:
    of = catalogue("layout: none, groups: 1", 1, capacity, f"file_system: {file_system}")
    return brick_capacity(of, CHOICE).usable.nominal


@contextmanager
def mounted(program: list[str], size: int) -> Iterator[os.statvfs_result]:
    """What statfs says of an empty file system on a sparse file of `size` bytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system on a loop device takes root")
    for tool in (program[0], "mount", "umount"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    # ext4 has no files of more than 16 TiB, and memory has room for what is written of one.
    parent = Path("/dev/shm" if size >= 16 * 1024**4 else tempfile.gettempdir())
    if shutil.disk_usage(parent).free < 3 * 1024**3:
        pytest.skip(f"{parent} has less than 3 GiB left for the metadata of a sparse file system")
    image, folder = parent / f"ioassay-test-{os.getpid()}.img", parent / f"ioassay-test-{os.getpid()}"
    try:
        with image.open("wb") as file:
            file.truncate(size)
        subprocess.run([*program, str(image)], check=True, capture_output=True, timeout=60)
        folder.mkdir()
        options = "loop,ro,norecovery" if program[0] == "mkfs.xfs" else "loop,ro,noload"
        mount = subprocess.run(
            ["mount", "-o", options, str(image), str(folder)], check=False, capture_output=True, timeout=30
        )
        if mount.returncode != 0:
            pytest.skip(f"this machine does not mount it: {mount.stderr.decode().strip()}")
        try:
            yield os.statvfs(folder)
        finally:
            subprocess.run(["umount", str(folder)], check=True, timeout=30)
    finally:
        image.unlink(missing_ok=True)
        if folder.exists():
            folder.rmdir()


@pytest.mark.parametrize("terabytes", [3, 8, 32])
def test_ext4_has_the_size_that_df_shows(terabytes: int) -> None:
    with mounted(EXT4, terabytes * 10**12) as shown:
        assert usable("ext4", f"{terabytes}TB") == pytest.approx(shown.f_blocks * shown.f_frsize, rel=2e-4)
        available = shown.f_bavail / shown.f_blocks
        assert available == pytest.approx(0.95, abs=0.001)  # 5 % are reserved for root, as the note says


@pytest.mark.parametrize(
    ("terabytes", "bytes_per_inode", "features"),
    [
        (3, 262144, LDISKFS_FEATURES),
        (15, 524288, LDISKFS_FEATURES),
        (32, 1048576, f"64bit,^resize_inode,{LDISKFS_FEATURES}"),
    ],
)
def test_ldiskfs_has_the_size_that_df_shows(terabytes: int, bytes_per_inode: int, features: str) -> None:
    program = [*LDISKFS, "-i", str(bytes_per_inode), "-O", features, "-E", LDISKFS_LAZY]
    with mounted(program, terabytes * 10**12) as shown:
        assert usable("ldiskfs-2.8", f"{terabytes}TB") == pytest.approx(shown.f_blocks * shown.f_frsize, rel=2e-4)


@pytest.mark.parametrize("gigabytes", [900, 12000])
def test_xfs_has_the_size_that_df_shows(gigabytes: int) -> None:
    with mounted(["mkfs.xfs", "-q", "-f", "-K"], gigabytes * 10**9) as shown:
        assert usable("xfs", f"{gigabytes}GB") == pytest.approx(shown.f_blocks * shown.f_frsize, rel=1e-5)


def test_clients_of_lustre_see_a_128th_less_than_its_targets_have() -> None:
    assert usable("ldiskfs", "32TB") == pytest.approx(usable("ldiskfs-2.8", "32TB") * 127 / 128)


def test_every_built_in_file_system_is_known_or_says_its_overhead() -> None:
    of = load()
    names = {entry.name for entry in of.all(FileSystem) if of.find(entry.name, FileSystem).overhead is None}
    assert names == set(KNOWN)


def test_an_overhead_that_a_catalogue_gives_is_taken_off() -> None:
    own_file_system = "file_systems:\n  own: {title: Own, overhead: {value: 2%, assumed: Test.}}"
    of = catalogue("layout: raid6, data: 8, groups: 1", 10, more="file_system: own", components=own_file_system)
    assert brick_capacity(of, CHOICE).usable.nominal == pytest.approx(0.98 * 32e12)


def test_an_unknown_overhead_is_refused() -> None:
    own_file_system = "file_systems:\n  own: {title: Own}"
    with pytest.raises(UsageError, match='What the file system "own" takes for itself is not known'):
        brick_capacity(
            catalogue("layout: none, groups: 1", 1, more="file_system: own", components=own_file_system), CHOICE
        )


def test_only_zfs_is_made_on_raidz() -> None:
    with pytest.raises(UsageError, match="xfs cannot be made on raidz2"):
        brick_capacity(catalogue("layout: raidz2, data: 8, groups: 1", 10, more="file_system: xfs"), CHOICE)


@pytest.mark.parametrize(
    ("redundancy", "drives", "capacity", "file_system", "shown"),
    [
        ("layout: erasure, data: 5, parity: 2, groups: 1, children: 96, spares: 12", 96, "6.8TB", "weka", 367),
        ("layout: erasure, data: 9, parity: 2, groups: 1, children: 144, spares: 12", 144, "6.8TB", "weka", 661),
        ("layout: erasure, data: 13, parity: 2, groups: 1, children: 192, spares: 12", 192, "6.8TB", "weka", 955),
        (
            "layout: erasure, data: 8, parity: 2, groups: 1, children: 144, spares: 6",
            144,
            "4TB",
            "gpfs-declustered",
            435,
        ),
    ],
)
def test_erasure_coded_clusters_show_what_their_vendors_print(
    redundancy: str, drives: int, capacity: str, file_system: str, shown: int
) -> None:
    """In TB: weka/oci-oke-deployment, stacks/oke-weka, and IBM/SpectrumScale_ECE_CAPACITY_ESTIMATOR, each README.md."""
    of = catalogue(redundancy, drives, capacity, f"file_system: {file_system}")
    assert round(brick_capacity(of, CHOICE).usable.nominal / 1e12) == shown


def test_ceph_with_three_copies_shows_what_its_df_showed() -> None:
    """`ceph df` in red-hat-storage/cephci, pull request 2727: 93 TiB of raw storage, MAX AVAIL 29 TiB."""
    of = catalogue("layout: mirror, parity: 2, groups: 1", 3, f"{31 * 2**40}B", "file_system: ceph")
    assert int(brick_capacity(of, CHOICE).usable.nominal / 2**40) == 29
