"""Every storage API and kind of target through the command: what is written can be read, and is gone at the end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .support import ioassay, measure, study, workload

VERIFYING = workload("nn", steps="[write, {read: {verify: reads}}]")


def _with_storage(file: Path, storage: str) -> Path:
    file.write_text(f"storage: {storage}\n{file.read_text()}")
    return file


def _run(file: Path, target: str | Path, out: Path, *more: str) -> None:
    assert measure(file, target, out, *more).measurements["bytes"].to_list() == [1 << 20, 1 << 20]


@pytest.mark.parametrize(
    "storage",
    [
        "{api: posix, vectors: 4}",
        "{api: posix, direct: yes}",
        "{api: uring, depth: 8}",
        "{api: uring, depth: 4, direct: yes, uring: {registered_buffers: yes, registered_files: yes, batch: 2}}",
        "mmap",
    ],
)
def test_a_study_runs_with_the_storage_api(storage: str, target: Path, tmp_path: Path) -> None:
    _run(_with_storage(study(tmp_path, VERIFYING), storage), target, tmp_path / "run")
    assert list(target.iterdir()) == []


def test_a_target_behind_a_url_is_written_read_and_left_as_it_was(target: Path, tmp_path: Path) -> None:
    (target / "thesis.txt").write_text("years of work")
    file = _with_storage(study(tmp_path, VERIFYING), "object")
    _run(file, f"fs://{target}", tmp_path / "run")
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A block device with nothing of value on it."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    attached = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
    if attached.returncode != 0:
        pytest.skip(f"this machine does not let us attach a loop device: {attached.stderr.strip()}")
    yield Path(attached.stdout.strip())
    subprocess.run(["losetup", "--detach", attached.stdout.strip()], check=True)


def test_a_block_device_is_measured_only_if_it_is_named_twice(device: Path, tmp_path: Path) -> None:
    file = study(tmp_path, VERIFYING)
    code, _, err = ioassay("run", file, "--target", device, "--out", tmp_path / "refused")
    assert code == 2
    assert f"--destroy-data {device}" in err
    assert device.read_bytes() == bytes(16 << 20)
    _run(file, device, tmp_path / "run", "--destroy-data", str(device))
    written = (16 << 20) - device.read_bytes().count(0)
    assert 0.99 < written / (1 << 20) <= 1, "random bytes, of which one in 256 is zero"
