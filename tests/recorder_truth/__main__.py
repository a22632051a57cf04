"""Runs all programs and prints docs/reference/recorder-coverage.md: `python -m tests.recorder_truth > …`."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .compare import Comparison
from .page import page
from .programs import PROGRAMS, Program
from .runs import run


def _compared(program: Program, scratch: Path) -> Comparison | None:
    """`None` where it is not installed. The first word of a complaint is the program's."""
    if missing := program.missing():
        sys.stderr.write(f"{program.name}: not run, it lacks {', '.join(missing)}\n")
        return None
    comparison = run(program, scratch / program.directory).comparison
    for problem in comparison.complaints():
        sys.stderr.write(f"{program.name}: {problem}\n")
    return comparison


def main() -> None:
    """Two at a time."""
    with tempfile.TemporaryDirectory(prefix="ioassay-truth-") as scratch, ThreadPoolExecutor(2) as runs:
        found = list(runs.map(lambda program: _compared(program, Path(scratch).resolve()), PROGRAMS))
    sys.stdout.write(page(zip(PROGRAMS, found, strict=True)))


main()
