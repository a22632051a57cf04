"""Every storage API and kind of target through the command: what is written can be read, and is gone at the end."""

from __future__ import annotations

import json
import shutil
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


@pytest.fixture
def plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of plug-ins of the test's own."""
    if shutil.which("cc") is None:
        pytest.skip("this machine has no C compiler")
    monkeypatch.setenv("IOASSAY_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("plug_ins")
def test_a_plug_in_that_the_command_built_is_listed_and_measures(target: Path, tmp_path: Path) -> None:
    code, refused, err = ioassay("run", _skeleton_study(tmp_path), "--target", target, "--out", tmp_path / "run")
    assert (code, refused) == (2, "")
    assert "ioassay api build skeleton-plugin" in err
    code, out, err = ioassay("api", "build", "skeleton-plugin")
    assert code == 0, err
    listed = {api["name"]: api for api in json.loads(ioassay("api", "list", "--json")[1])["apis"]}
    assert listed["skeleton-plugin"]["path"] == out.strip()
    assert [option["name"] for option in listed["skeleton-plugin"]["options"]] == ["noatime", "most"]
    _run(_skeleton_study(tmp_path), target, tmp_path / "run")
    assert list(target.iterdir()) == []


def _skeleton_study(tmp_path: Path) -> Path:
    return _with_storage(study(tmp_path, VERIFYING), "{api: skeleton-plugin, options: {most: 1000}}")


@pytest.mark.usefixtures("plug_ins")
def test_a_compilation_error_is_shown_with_the_compilers_output(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text("int broken(\n")
    code, out, err = ioassay("api", "build", tmp_path / "mine.c")
    assert (code, out) == (3, "")
    assert "mine.c:1" in err
    assert ioassay("api", "build", "nonsense")[0] == 2
    (tmp_path / "mine.c").write_text("int whole;\n")
    code, _, err = ioassay("api", "build", tmp_path / "mine.c", "--output", tmp_path / "libraries")
    assert "has no function ioassay_storage_api" in err
    assert list((tmp_path / "libraries").iterdir()) == []


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
