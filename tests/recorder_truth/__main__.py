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
    """The comparison of a program; `None` if it is not installed. A complaint begins with the program's name."""
    if missing := program.missing():
        sys.stderr.write(f"{program.name}: not run, it lacks {', '.join(missing)}\n")
        return None
    comparison = run(program, scratch / program.directory).comparison
    for problem in comparison.complaints():
        sys.stderr.write(f"{program.name}: {problem}\n")
    return comparison


def main() -> None:
    """Compares all programs, two at a time, and prints the page."""
    with tempfile.TemporaryDirectory(prefix="ioassay-truth-") as scratch, ThreadPoolExecutor(2) as runs:
        comparisons = list(runs.map(lambda program: _compared(program, Path(scratch).resolve()), PROGRAMS))
    sys.stdout.write(page(zip(PROGRAMS, comparisons, strict=True)))


main()
