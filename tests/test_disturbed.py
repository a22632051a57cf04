"""Other use of the device and of the processors is reported, and the engine waits until caches are written back.

The disks are used by one test only, since other tests run at the same time: so these show as well that nothing is
reported on an idle disk. Idle processors are only in the engine's own tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ioassay.processes.engine import find_engine
from ioassay.store.loaded import LoadedRun

from .support import measure, study, workload

MIB = 1 << 20

Disk = Callable[[str], Path]

PACED = "{rate: 50MB/s}"
"""Less than any continuing process moves."""


def disturbances(run: LoadedRun, phase: str) -> dict[str, dict[str, Any]]:
    """The disturbances of the only measurement of a phase, by kind."""
    rows = run.doubts.filter(kind="disturbed", phase=phase)["evidence"].to_list()
    return {disturbance["what"]: disturbance for row in rows for disturbance in json.loads(row)["by"]}


def of_device(run: LoadedRun, phase: str) -> dict[str, dict[str, Any]]:
    return {
        what: disturbance
        for what, disturbance in disturbances(run, phase).items()
        if what not in ("processors", "steal", "quota")
    }


@contextmanager
def busy(*command: str | Path) -> Iterator[None]:
    """Runs a command repeatedly within the context."""
    enough = threading.Event()

    def again() -> None:
        while not enough.is_set():
            subprocess.run(command, stderr=subprocess.DEVNULL, check=True)

    with ThreadPoolExecutor() as pool:
        running = pool.submit(again)
        try:
            yield
        finally:
            enough.set()
            running.result()


def reading_and_writing(tmp_path: Path, disk: Path, name: str) -> LoadedRun:
    steps = f"[{{write: {PACED}}}, {{cold-cache: [fadvise]}}, {{read: {PACED}}}]"
    file = study(tmp_path / name, workload("seq", transfer="1MiB", total="64MiB", steps=steps))
    return measure(file, disk, tmp_path / name / "run")


def test_a_neighbour_on_the_disk_is_reported_with_its_bytes(disk: Disk, tmp_path: Path) -> None:
    directory = disk("400m")
    other = directory / "other"
    other.write_bytes(os.urandom(32 * MIB))
    with busy("dd", f"if={other}", "of=/dev/null", "bs=1M", "iflag=direct"):
        run = reading_and_writing(tmp_path, directory, "read")
    for phase in ("write", "read"):
        disturbance = of_device(run, phase)["others-read"]
        assert disturbance["of"] >= disturbance["amount"] >= 32 * MIB
    with busy("dd", "if=/dev/zero", f"of={other}", "bs=1M", "count=32", "oflag=direct", "conv=notrunc"):
        run = reading_and_writing(tmp_path, directory, "written")
    for phase in ("write", "read"):
        disturbance = of_device(run, phase)["others-wrote"]
        assert disturbance["of"] >= disturbance["amount"] >= 32 * MIB


def test_a_disk_without_neighbours_is_not_doubted(disk: Disk, tmp_path: Path) -> None:
    run = reading_and_writing(tmp_path, disk("400m"), "alone")
    assert of_device(run, "write") == of_device(run, "read") == {}


def test_small_synced_writes_are_not_mistaken_for_a_neighbour(disk: Disk, tmp_path: Path) -> None:
    steps = "[{write: {fsync: every 1 writes}}]"
    file = study(tmp_path, workload("seq", transfer="4KiB", total="4MiB", steps=steps))
    run = measure(file, disk("400m"), tmp_path / "run")
    assert of_device(run, "write") == {}


def test_a_direct_write_waits_for_earlier_write_back_and_reports_it(disk: Disk, tmp_path: Path) -> None:
    directory = disk("400m")

    def direct(name: str, more: str = "") -> LoadedRun:
        second = f"{{name: direct, storage: {{direct: yes}}{more}}}"
        steps = f"[{{write: {{name: first, fsync: never}}}}, {{write: {second}}}]"
        file = study(tmp_path / name, workload("seq", transfer="1MiB", total="128MiB", steps=steps))
        return measure(file, directory, tmp_path / name / "run")

    waited = direct("waited")
    assert of_device(waited, "direct") == {}
    settled = dict(waited.measurements.select("phase", "settled_ns").iter_rows())
    assert settled["first"] is None
    assert settled["direct"] > 0
    at_once = direct("at-once", ", settle: no")
    assert of_device(at_once, "direct")["write-back"]["amount"] >= 64 * MIB
    assert at_once.measurements["settled_ns"].to_list() == [None, None]


def ior(directory: Path, *around: str) -> str:
    """The messages of IOR's front end about a write of 4 GiB to memory, which takes over a second of processor time."""
    command = [find_engine(), "ior", "-w", "-t", "64k", "-b", "64m", "-s", "1", "-o", directory / "file", "-D", "2"]
    command += ["-O", "minTimeDuration=2"]
    result = subprocess.run([*around, *command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with a quota of a fifth of a processor."""
    if os.geteuid() != 0:
        pytest.skip("making a control group needs root")
    version_2, version_1 = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/cpu")
    name = f"ioassay-test-{os.getpid()}"
    try:
        if version_1.is_dir():
            place = version_1 / name
            place.mkdir()
            (place / "cpu.cfs_period_us").write_text("50000")
            (place / "cpu.cfs_quota_us").write_text("10000")
        else:
            place = version_2 / name
            place.mkdir()
            (place / "cpu.max").write_text("10000 50000")
    except OSError as error:
        pytest.skip(f"this machine gives out no processor time by control groups: {error}")
    yield place
    place.rmdir()


def test_an_exhausted_quota_of_processor_time_is_reported(mount: Callable[[str], Path], group: Path) -> None:
    enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
    assert "exhausted its CPU quota in" in ior(mount("size=100m"), "sh", "-c", enter, "sh")
    assert "quota" not in ior(mount("size=101m"))


@pytest.mark.machine
def test_processes_that_take_the_processors_of_ranks_are_reported(mount: Callable[[str], Path]) -> None:
    hog = "while True: pass"
    hogs = [subprocess.Popen([sys.executable, "-c", hog]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        messages = ior(mount("size=100m"))
    finally:
        for process in hogs:
            process.kill()
            process.wait()
    assert "waiting for processors that other processes used" in messages
