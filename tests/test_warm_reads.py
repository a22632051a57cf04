"""Reads of data that may be cached are doubted, even if the file system below hides the cache from the
kernel's answer.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ioassay.store.loaded import LoadedRun

from .support import measure, run_or_skip, study, workload

# They look at the machine's page cache, which tests beside them would empty.
pytestmark = pytest.mark.machine

COLD = "write, {cold-cache: [fadvise]}, read"

Disk = Callable[[str], Path]

CACHES = {"cache-resident", "cache-unknown", "device-moved-less"}


@pytest.fixture
def overlay(tmp_path: Path, mount: Callable[[str], Path]) -> Iterator[Path]:
    """A directory as containers have one: an overlay on the disk. Skips the test where none can be mounted."""
    # Its own mount point, and root, are what the fixture needs of a tmpfs.
    point = mount("size=1m")
    layers = [tmp_path / name for name in ("lower", "upper", "work")]
    for layer in layers:
        layer.mkdir()
    options = ",".join(f"{layer.name}dir={layer}" for layer in layers)
    command = ["mount", "-t", "overlay", "-o", options, "ioassay-test", point]
    run_or_skip(command, "does not let root mount an overlay")
    yield point
    subprocess.run(["umount", point], check=True)


def run(target: Path, tmp_path: Path, steps: str) -> LoadedRun:
    """Runs these steps on a file of 16 MiB."""
    file = study(tmp_path, workload("seq", transfer="1MiB", total="16MiB", steps=f"[{steps}]"))
    return measure(file, target, tmp_path / "run")


def doubts(measured_run: LoadedRun, phase: str = "read") -> set[str]:
    """The kinds of doubt about a phase that speak of caches."""
    return CACHES & set(measured_run.doubts.filter(phase=phase)["kind"])


def test_a_warm_read_on_an_overlay_is_doubted(overlay: Path, tmp_path: Path) -> None:
    measured_run = run(overlay, tmp_path, "write, read")
    assert doubts(measured_run) == {"cache-resident"}
    assert measured_run.measurements.filter(phase="read")["resident_bytes_before"].to_list() == [16 << 20]


def test_a_cold_read_on_an_overlay_is_not_doubted(overlay: Path, tmp_path: Path) -> None:
    assert doubts(run(overlay, tmp_path, "write, {cold-cache: [fadvise, drop-caches]}, read")) == set()


def test_cache_residency_of_a_disk_image_is_unknown(disk: Disk, tmp_path: Path) -> None:
    measured_run = run(disk("400m"), tmp_path, COLD)
    assert doubts(measured_run) == {"cache-unknown"}
    assert "the device is backed by the file" in measured_run.doubts.filter(kind="cache-unknown")["message"][0]
    assert doubts(measured_run, "write") == set()


@pytest.mark.parametrize(
    "read",
    [
        "{read: {limit: {minimum: 200ms}}}",
        "{read: {order: random-with-replacement, limit: {minimum: 200ms}}}",
        "{read: {order: zipf 1.2, limit: {minimum: 200ms}}}",
    ],
)
def test_repeated_reads_of_the_same_bytes_are_doubted_with_the_bytes_of_the_device(
    read: str, disk: Disk, tmp_path: Path
) -> None:
    measured_run = run(disk("400m"), tmp_path, f"write, {{cold-cache: [fadvise]}}, {read}")
    assert "device-moved-less" in doubts(measured_run)
    evidence = json.loads(measured_run.doubts.filter(phase="read", kind="device-moved-less")["evidence"][0])
    assert evidence["bytes"] == measured_run.measurements.filter(phase="read")["bytes"][0]
    assert 0 < evidence["device_bytes"] <= 20 << 20
    assert evidence["device"].startswith("loop")


def test_overwrites_of_unsynced_data_are_doubted_unless_direct(disk: Disk, tmp_path: Path) -> None:
    again = "limit: {minimum: 200ms}"
    direct = f"{{write: {{name: direct, storage: {{direct: yes}}, {again}}}}}"
    measured_run = run(disk("400m"), tmp_path, f"{{write: {{{again}}}}}, {direct}")
    assert doubts(measured_run, "write") == {"device-moved-less"}
    assert doubts(measured_run, "direct") == set()
