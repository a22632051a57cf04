"""Runs a program once, recorded and traced at the same time, and compares."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from ioassay.engine import find_engine

from . import trace
from .compare import Comparison, compare
from .processes import images
from .programs import Program
from .system_calls import PROCESS_CALLS, SYSTEM_CALLS
from .tables import read_record

TIMEOUT_S = 120


@dataclass(frozen=True)
class Outcome:
    """What came of a program."""

    comparison: Comparison
    trace: Path
    """The directory with what strace wrote: a file for each thread."""
    record: Path


def run(program: Program, directory: Path) -> Outcome:
    """Runs a program in a new directory. Raises `AssertionError` where it fails by itself."""
    work, traced, record = directory / "work", directory / "trace", directory / "record"
    for new in (work, traced):
        new.mkdir(parents=True)
    program.prepare(work)
    calls = ",".join(sorted(f"?{name}" for name in {*SYSTEM_CALLS, *PROCESS_CALLS}))
    strace = f"strace -ff -f -k -y -ttt -T -s 0 -e trace={calls} -o {traced}/trace"
    # A process that restricts its own system calls, as strace then does, is not followed to what escapes.
    faster = [] if program.escapes else ["--seccomp-bpf"]
    done = subprocess.run(
        [find_engine(), "record", "--out", record, "--", *strace.split(), *faster, "--", *program.command],
        cwd=work,
        env=program.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, f"{program.name} failed: {done.stderr.decode(errors='replace')[-2000:]}"
    tables, escaped = read_record(record)
    return Outcome(compare(images(trace.read(traced)), tables, escaped), traced, record)
