"""What is mounted where."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ioassay.mounts import Mount, Room, Statfs, covering, mount_of

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


@pytest.mark.parametrize("case", AGREED["rooms"], ids=lambda case: case["of"])
def test_what_statfs_says_is_judged_as_by_the_engine(case: dict[str, Any]) -> None:
    assert asdict(Room.of(Statfs(**case["said"]))) == case["room"]


def test_numbers_of_statfs_are_unsigned() -> None:
    negative = os.statvfs_result((4096, 1 << 24, -1, -1, -1, -1, -1, -1, 0, 255))
    statfs = Statfs.of(negative, Mount("/", None, "fuse.s3fs"))
    assert (statfs.fuse, statfs.blocks, statfs.inodes_available) == (True, 2**64 - 1, 2**64 - 1)
