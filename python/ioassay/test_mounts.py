"""What is mounted where."""

import json
from pathlib import Path

import pytest

from ioassay.mounts import Mount, covering, mount_of

AGREED = json.loads((Path(__file__).parents[2] / "crates/host/mounts.json").read_text())
"""Answers that `crates/host/src/mounts.rs` must give too."""


@pytest.mark.parametrize(("path", "point", "source", "file_system"), AGREED["found"])
def test_the_mount_of_a_path_is_the_one_that_the_engine_finds(
    path: str, point: str, source: str | None, file_system: str
) -> None:
    assert covering("\n".join(AGREED["mountinfo"]) + "\n", path) == Mount(point, source, file_system)


def test_the_kernel_has_a_list() -> None:
    proc = mount_of("/proc/self")
    assert proc is not None
    assert (proc.point, proc.file_system) == ("/proc", "proc")
