"""Runs a program, recorded and traced at the same time, and compares."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ioassay.processes.engine import find_engine

from . import trace
from .compare import Comparison, compare
from .processes import Count, Counts, Image, images
from .programs import Program
from .system_calls import PROCESS_CALLS, SYSTEM_CALLS
from .tables import Recorded, read_record

TIMEOUT_S = 120


@dataclass(frozen=True)
class Outcome:
    """The result of a program."""

    comparison: Comparison
    trace: Path
    """The directory with what strace wrote: a file for each thread."""
    record: Path


def run(program: Program, directory: Path) -> Outcome:
    """Runs a program in a new directory. Raises `AssertionError` where it fails by itself."""
    return _run_by_ptrace(program, directory) if program.by_ptrace else _run_preloaded(program, directory)


def _run_preloaded(program: Program, directory: Path) -> Outcome:
    record = directory / "record"
    work = _prepared(program, directory)
    # A process that restricts its own system calls, as strace then does, is not followed to what escapes.
    strace = _strace(directory, "-k", *([] if program.escapes else ["--seccomp-bpf"]))
    _run(program, work, _record(record), strace)
    tables, escaped = read_record(record)
    traced = images(trace.read(directory / "trace"), str(work))
    comparison = compare(traced, tables, escaped)
    comparison.excuse(program.own_system_calls)
    return Outcome(comparison, directory / "trace", record)


def _run_by_ptrace(program: Program, directory: Path) -> Outcome:
    """A process has only one tracer, so there are two runs, whose totals are compared by names that both have."""
    record = directory / "record"
    work = _prepared(program, directory)
    _run(program, work, _strace(directory, "--seccomp-bpf"))
    shutil.rmtree(directory / "work")
    _run(program, _prepared(program, directory), _record(record, "--via", "ptrace"))
    tables, escaped = read_record(record)
    traced = images(trace.read(directory / "trace"), str(work), by_system_call=True)
    traced_total = Image(0, 0.0, program.name, counts=_sum(image.counts for image in traced))
    traced_total.unnamed = sum(image.unnamed for image in traced)
    not_counted = sum(table.not_counted for table in tables)
    recorded = Recorded(0, 1.0, program.name, _sum(table.counts for table in tables), {}, not_counted)
    return Outcome(compare([traced_total], [recorded], escaped), directory / "trace", record)


def _prepared(program: Program, directory: Path) -> Path:
    work = directory / "work"
    work.mkdir(parents=True)
    (directory / "trace").mkdir(exist_ok=True)
    program.prepare(work)
    return work


def _strace(directory: Path, *options: str) -> list[str]:
    calls = ",".join(sorted(f"?{name}" for name in {*SYSTEM_CALLS, *PROCESS_CALLS}))
    output = str(directory / "trace/trace")
    every = ["strace", "-ff", "-y", "-ttt", "-T", "-s", "0"]
    return [*every, *options, "-e", f"trace={calls}", "-o", output, "--"]


def _record(record: Path, *options: str) -> list[str]:
    return [str(find_engine()), "record", *options, "--out", str(record), "--"]


def _run(program: Program, work: Path, *before: Sequence[str]) -> None:
    result = subprocess.run(
        [*chain(*before), *program.command],
        cwd=work,
        env=program.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 0, f"{program.name} failed: {result.stderr.decode(errors='replace')[-2000:]}"


_MADE_UP = (
    (re.compile(r"-\w{6}(?=/|$|\.txt$)"), "-XXXXXX"),
    (re.compile(r"#\d+(?= \(deleted\)$)"), "#"),
    (re.compile(r"^/proc/\d+/"), "/proc/N/"),
)
"""Parts of generated names that differ between two runs."""


def _sum(counts: Iterable[Counts]) -> Counts:
    total: Counts = defaultdict(Count)
    for (file, operation), count in chain.from_iterable(file_counts.items() for file_counts in counts):
        total[_alike(file), operation].add(count)
    return total


def _alike(file: str) -> str:
    for pattern, instead in _MADE_UP:
        file = pattern.sub(instead, file)
    return file
