"""Pages that the kernel took and could not write: a file system on a disk that is smaller than it said."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from ioassay.processes.engine import find_engine

FILES = ["-n", "1000", "-w", "32768", "-F", "-C"]
"""31 MiB in files."""


def mdtest(directory: Path) -> tuple[int, str]:
    command = [find_engine(), "mdtest", "-d", directory / "files", *FILES, "-Y"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_pages_that_are_lost_after_they_were_written_fail_the_phase_that_syncs_them(
    disk: Callable[[str], Path],
) -> None:
    code, said = mdtest(disk("24m"))
    assert code == 1
    assert "syncfs" in said
    assert "(EIO)" in said or "(ENOSPC)" in said


def test_pages_that_are_kept_are_neither_an_error_nor_doubted(disk: Callable[[str], Path]) -> None:
    code, said = mdtest(disk("200m"))
    assert code == 0
    assert "without fsync" not in said
