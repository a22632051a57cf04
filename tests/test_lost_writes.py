"""Pages that the kernel accepted but cannot write: a file system on a disk that is smaller than its stated size."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from ioassay.processes.engine import find_engine

FILES = ["-n", "1000", "-w", "32768", "-F", "-C"]
"""31 MiB in files."""


def mdtest(directory: Path) -> tuple[int, str]:
    command = [find_engine(), "mdtest", "-d", directory / "files", *FILES, "-Y"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


def test_pages_that_are_lost_after_a_write_fail_the_phase_that_syncs_them(
    disk: Callable[[str], Path],
) -> None:
    code, errors = mdtest(disk("24m"))
    assert code == 1
    assert "syncfs" in errors
    assert "(EIO)" in errors or "(ENOSPC)" in errors


def test_pages_that_are_kept_are_neither_an_error_nor_doubted(disk: Callable[[str], Path]) -> None:
    code, errors = mdtest(disk("200m"))
    assert code == 0
    assert "without fsync" not in errors
