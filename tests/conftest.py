"""Fixtures: directories and file systems to measure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.processes.engine import find_engine

from .support import OPEN_MPI_AS_ROOT, run_or_skip

# What labs need that no package has, as `make labs` builds it.
os.environ.setdefault("IOASSAY_LAB_CACHE", str(Path(__file__).parents[1] / "target/lab"))

_SLOWEST_FIRST = (
    "test_recorder_truth",
    "test_tune_io500",
    "test_hung_mount",
    "test_dashboards",
    "test_watch_sinks",
    "test_replay",
    "test_trend",
    "test_examples",
    "test_tune_sweep",
    "test_profile",
    "test_attack",
    "test_tune_check",
    "test_systems",
    "test_white_papers",
    "test_storage_apis",
    "test_doctor",
)
"""Slow files, which start first: workers get whole files (`--dist loadfile`), and a late slow one would run alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the slowest files."""
    places = {name: place for place, name in enumerate(_SLOWEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(autouse=True, scope="session")
def engine() -> Path:
    """The engine under test."""
    try:
        return find_engine()
    except CannotRun as error:
        pytest.exit(f"{error.message} {error.remedy}", returncode=3)


@pytest.fixture(autouse=True, scope="session")
def open_mpi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Open MPI works as root, and in a directory of this process of pytest: Open MPI 4 can fail to start while one that
    shares its directory ends."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in OPEN_MPI_AS_ROOT.items():
            patch.setenv(name, value)
        patch.setenv("OMPI_MCA_orte_tmpdir_base", str(tmp_path_factory.mktemp("mpi")))
        yield


@pytest.fixture(scope="session")
def deliver() -> Path:
    """A program with the sinks of the agent that reads documents from standard input."""
    root = Path(__file__).parents[1]
    built = ["cargo", "build", "--quiet", "--locked", "--workspace", "--example", "deliver"]
    subprocess.run(built, cwd=root, check=True)
    return root / "target/debug/examples/deliver"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """An empty directory to measure."""
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a tmpfs with these options and returns its mount point; skips the test if mounting is not allowed."""
    mounted: list[Path] = []

    def do(options: str) -> Path:
        point = tmp_path / f"mount-{len(mounted)}"
        point.mkdir()
        if os.geteuid() != 0:
            pytest.skip("mounting a tmpfs needs root")
        run_or_skip(["mount", "-t", "tmpfs", "-o", options, "ioassay-test", point], "does not let root mount a tmpfs")
        mounted.append(point)
        return point

    yield do
    for point in mounted:
        subprocess.run(["umount", "-l", str(point)], check=False)


@pytest.fixture
def disk(tmp_path: Path, mount: Callable[[str], Path]) -> Iterator[Callable[[str], Path]]:
    """Makes a disk with ext4 of 400 MiB, which only the test uses, and returns where it is mounted.

    Its argument is the memory for the disk, as tmpfs has its `size`. Where there is no loop device the test is skipped.
    """
    mounted: list[Path] = []

    def do(room: str) -> Path:
        image, point = mount(f"size={room}") / "disk", tmp_path / f"disk-{len(mounted)}"
        point.mkdir()
        image.touch()
        commands = (
            ["truncate", "-s", "400m", image],
            # Else the kernel goes on making it while it is mounted.
            ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image],
            ["mount", "-o", "loop", image, point],
        )
        for command in commands:
            run_or_skip(command, "has no ext4 in a loop device")
        mounted.append(point)
        return point

    yield do
    for point in mounted:
        subprocess.run(["umount", point], check=True)
