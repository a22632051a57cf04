"""Options of mounts: of real ext4 and tmpfs, and of made-up network file systems."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.testing.tuned_machine import loop_device, write_tree
from ioassay.tuning.settings import CannotSet, NotLive, Vanished, parse
from ioassay.tuning.settings.mount import changed_options, mounted_at, mounts, parsed_options

MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
nas:/export /mnt/nas nfs4 rw,relatime,vers=4.2,rsize=1048576,wsize=1048576,nconnect=4 0 0
10.0.0.1@o2ib:/scratch /lustre lustre rw,flock 0 0
/dev/sdb /mnt/with\\040space xfs rw,noatime 0 0"""

needs_root = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("losetup") is None, reason="only root mounts")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_tree(tmp_path, {"proc/self/mounts": MOUNTS})


@pytest.fixture
def ext4(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "mounted"
    point.mkdir()
    with loop_device(tmp_path) as device:
        subprocess.run(["mkfs.ext4", "-q", f"/dev/{device}"], check=True)
        subprocess.run(["mount", "-o", "nodev,relatime,commit=17", f"/dev/{device}", point], check=True)
        try:
            yield point
        finally:
            subprocess.run(["umount", point], check=True)


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "in-memory"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)


@pytest.mark.parametrize("sign", ["\f", "\r", "\v", "\u2028"])
def test_a_mount_point_with_a_sign_that_ends_lines_elsewhere_hides_no_mount(root: Path, sign: str) -> None:
    write_tree(root, {"proc/self/mounts": f"x /mnt/a{sign}b fuse rw 0 0\n{MOUNTS}"})
    assert [mount.point for mount in mounts(root)][:2] == [f"/mnt/a{sign}b", "/"]


def options(point: Path) -> dict[str, str]:
    mount = mounted_at(str(point), Path("/"))
    assert mount is not None
    return mount.options


@needs_root
def test_options_of_ext4_are_changed_and_put_back_while_it_is_mounted(ext4: Path) -> None:
    before = options(ext4)
    for name, value in (
        ("commit", "30"),
        ("commit", "absent"),
        ("inode_readahead_blks", "64"),
        ("max_batch_time", "100"),
        ("stripe", "8"),
        ("noatime", "yes"),
        ("lazytime", "on"),
        ("nobarrier", "yes"),
    ):
        (instance,) = parse(f"mount:{ext4}/{name}").instances()
        now = instance.read()
        wanted = instance.check(value, now)
        instance.write(wanted)
        assert instance.read() == wanted, (name, value)
        assert options(ext4)["nodev"] == "present"
        instance.write(now)
        assert options(ext4) == before, (name, value)


@needs_root
def test_an_option_that_ext4_does_not_know_is_refused_in_its_words(ext4: Path) -> None:
    (instance,) = parse(f"mount:{ext4}/data").instances()
    with pytest.raises(CannotSet, match="its default is unknown"):
        instance.check("writeback", instance.read())
    with pytest.raises(CannotSet, match="bad option"):
        instance.write("writeback")


@needs_root
def test_the_size_of_a_tmpfs_is_changed_and_put_back(tmpfs: Path) -> None:
    (instance,) = parse(f"mount:{tmpfs}/size").instances()
    before = instance.read()
    instance.write(instance.check("2048k", before))
    assert instance.read() == "2048k"
    instance.write(before)
    assert instance.read() == before


@needs_root
def test_a_mount_that_is_gone_has_vanished(tmpfs: Path) -> None:
    (instance,) = parse(f"mount:{tmpfs}/noatime").instances()
    subprocess.run(["umount", tmpfs], check=True)
    try:
        with pytest.raises(Vanished, match="nothing is mounted"):
            instance.read()
    finally:
        subprocess.run(["mount", "-t", "tmpfs", "none", tmpfs], check=True)


@pytest.mark.parametrize("option", ["rsize", "wsize", "nconnect", "vers", "hard"])
def test_options_negotiated_by_nfs_at_mount_are_not_changed_live(root: Path, option: str) -> None:
    (instance,) = parse(f"mount:/mnt/nas/{option}", root=root).instances()
    assert instance.not_live() == f"nfs4 takes {option} only when it is mounted"
    assert instance.check("65536", instance.read()) == "65536"
    with pytest.raises(NotLive):
        instance.write("65536")


def test_generic_options_of_the_kernel_are_changed_live_on_nfs(root: Path) -> None:
    assert parse("mount:/mnt/nas/noatime", root=root).instances()[0].not_live() == ""


def test_a_mount_with_a_space_in_its_name_is_found(root: Path) -> None:
    assert parse("mount:/mnt/with space/noatime", root=root).instances()[0].read() == "present"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mount:/mnt/nass/noatime", "nothing is mounted at /mnt/nass; did you mean `/mnt/nas`?"),
        ("mount:/lustre/dir/noatime", "nothing is mounted at /lustre/dir; did you mean `/lustre`?"),
        ("mount:/lustre/rw", "write mount:/lustre/ro=absent"),
        ("mount:/lustre/strictatime", "write mount:/lustre/relatime=absent"),
    ],
)
def test_a_mount_that_is_not_there_is_refused_with_the_nearest_one(root: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(name, root=root)
    assert message in refused.value.message


def test_file_systems_of_the_kernel_are_not_offered_for_a_mount_that_is_not_there(root: Path) -> None:
    kernel = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0"
    write_tree(root, {"proc/self/mounts": f"{kernel}\n{MOUNTS}"})
    with pytest.raises(UsageError) as refused:
        parse("mount:/elsewhere/noatime", root=root).instances()
    assert "/dev/shm" in refused.value.message
    assert "/proc" not in refused.value.message
    assert "cgroup" not in refused.value.message
    assert parse("mount:/proc/nosuid", root=root).instances()


@pytest.mark.parametrize(
    ("before", "option", "value", "after"),
    [
        ("rw,relatime", "noatime", "present", "rw,noatime"),
        ("rw,noatime", "noatime", "absent", "rw,relatime"),
        ("rw,commit=5", "commit", "30", "rw,commit=30"),
        ("rw,rsize=1048576", "wsize", "65536", "rw,rsize=1048576,wsize=65536"),
        ("rw", "ro", "present", "ro"),
        ("ro", "ro", "absent", "rw"),
        ("noacl", "acl", "present", "acl"),
        ("noatime", "nodiratime", "absent", "noatime"),
    ],
)
def test_a_list_of_options_is_changed_in_one_of_them(before: str, option: str, value: str, after: str) -> None:
    assert changed_options(parsed_options(before), option, value) == after
