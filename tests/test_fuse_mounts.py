"""FUSE mounts that report implausible sizes, or drop the cached pages of a file when it is opened."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from .support import ioassay, measure, run_or_skip, study, until, workload

# Residency of the machine's page cache, which tests beside them would empty.
pytestmark = pytest.mark.machine

MIB = 1 << 20


@contextmanager
def rclone(directory: Path) -> Iterator[Path]:
    """A mount that has 10^9 inodes, none of them free, and drops a file's cached pages when it is opened."""
    for name in ("behind", "mount"):
        (directory / name).mkdir()
    mount = directory / "mount"
    command = ["rclone", "mount", directory / "behind", mount, "--vfs-cache-mode", "writes"]
    command += ["--cache-dir", directory / "cache", "--config", directory / "rclone.conf"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: mount.is_mount() or process.poll() is not None, "rclone has mounted")
            if process.poll() is not None:
                pytest.skip("rclone cannot mount here")
            yield mount
        finally:
            subprocess.run(["fusermount3", "-u", mount], check=False)
            process.wait()


@contextmanager
def fuse_overlayfs(directory: Path) -> Iterator[Path]:
    """A mount that keeps a file's cached pages when it is opened."""
    for name in ("lower", "upper", "work", "mount"):
        (directory / name).mkdir()
    mount = directory / "mount"
    layers = ",".join(f"{layer}dir={directory / layer}" for layer in ("lower", "upper", "work"))
    run_or_skip(["fuse-overlayfs", "-o", layers, mount], "lets nobody mount fuse-overlayfs")
    try:
        yield mount
    finally:
        subprocess.run(["fusermount3", "-u", mount], check=True)


def missing(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed (make programs)")


@missing("rclone")
def test_uncounted_inodes_are_not_checked_and_the_run_has_a_note(tmp_path: Path) -> None:
    with rclone(tmp_path) as mount:
        file = study(tmp_path, workload("seq", transfer="1MiB", total="4MiB", steps="[write]"))
        status, printed, _ = ioassay("run", file, "--target", mount, "--dry-run")
        note = "none of its 1000000000 inodes is free, as FUSE file systems do that count none: inodes were not checked"
        assert (status, note in " ".join(printed.split())) == (0, True), printed
        run = measure(file, mount, tmp_path / "run")
    assert run.measurements["bytes"].to_list() == [4 * MIB]
    [mounted] = [node["mount"] for node in run.document.environment]
    assert mounted is not None
    assert mounted["notes"] == [f"the file system says that {note}"]


@pytest.mark.parametrize(
    ("mounted", "resident_bytes"),
    [
        pytest.param(rclone, None, marks=missing("rclone")),
        pytest.param(fuse_overlayfs, 4 * MIB, marks=missing("fuse-overlayfs")),
    ],
)
def test_residency_is_unknown_if_opening_a_file_drops_its_pages(
    mounted: Callable[[Path], AbstractContextManager[Path]], resident_bytes: int | None, tmp_path: Path
) -> None:
    with mounted(tmp_path) as mount:
        file = study(tmp_path, workload("seq", transfer="1MiB", total="4MiB", steps="[write, read]"))
        run = measure(file, mount, tmp_path / "run")
    assert run.measurements.filter(phase="read")["resident_bytes_before"].to_list() == [resident_bytes]
    message = run.doubts.filter(phase="read", kind="cache-unknown")["message"][0]
    assert ("opening a file drops its cached pages" in message) == (resident_bytes is None)
