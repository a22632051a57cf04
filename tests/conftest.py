"""Where tests measure: directories and file systems of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ioassay.engine import find_engine
from ioassay.errors import CannotRun

# What labs need that no package has, as `make labs` builds it.
os.environ.setdefault("IOASSAY_LAB_CACHE", str(Path(__file__).parents[1] / "target/lab"))


@pytest.fixture(autouse=True, scope="session")
def engine() -> Path:
    """The engine under test."""
    try:
        return find_engine()
    except CannotRun as error:
        pytest.exit(f"{error.message} {error.remedy}", returncode=3)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """An empty directory to measure."""
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a tmpfs with these options and returns where; skips the test where that is not allowed."""
    mounted: list[Path] = []

    def do(options: str) -> Path:
        point = tmp_path / f"mount-{len(mounted)}"
        point.mkdir()
        if os.geteuid() != 0:
            pytest.skip("mounting a tmpfs needs root")
        command = ["mount", "-t", "tmpfs", "-o", options, "ioassay-test", str(point)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"this machine does not let root mount a tmpfs: {done.stderr.strip()}")
        mounted.append(point)
        return point

    yield do
    for point in mounted:
        subprocess.run(["umount", "-l", str(point)], check=False)
