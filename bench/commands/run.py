"""What commands cost before they measure anything: processor time of two installations, in alternating pairs.

    python bench/commands/run.py BEFORE AFTER SCRATCH [PAIRS]

BEFORE and AFTER are programs `ioassay` of two installations, SCRATCH a directory on a memory file system that is made
and left there. Printed are the least processor seconds of each and the median of the ratios of the pairs. Python may
keep its bytecode, as where ioassay is installed; each program must start its own processes with its own modules. Not: a
test. Timing never decides a test.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

STUDY = """\
name: tiny
title: A tiny study
question: What does a command cost?
clients: [1]
ranks_per_client: [1]
steps: [write, read]
workloads:
  whole: {title: A file of its own, layout: N-N, order: sequential, transfer: 1MiB, total: 64MiB}
"""

LOG = Path(__file__).parents[2] / "python/ioassay/profiles/darshan/testdata/mpi.darshan"
"""Of a program with four processes, 3 kB."""

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installation has its modules compiled: where they may not be kept, each command compiles them again."""

PAIRS = 9

COMMANDS: dict[str, list[str]] = {
    "--help": ["run", "--help"],
    "studies": ["studies"],
    "list": ["list", "runs"],
    "run --dry-run": ["run", "study.yaml", "--target", "target", "--dry-run"],
    "run": ["run", "study.yaml", "--target", "target"],
    "check": ["check", "runs/a", "--baseline", "runs/b"],
    "compare": ["compare", "runs/a", "runs/b"],
    "report": ["report", "runs/a", "-o", "report.html"],
    "profile": ["profile", str(LOG)],
}
"""What is run in a directory that holds the study and two of its runs."""


def processor_s(command: Sequence[str | Path], directory: Path) -> float:
    """Seconds of processors that a command takes, with the processes that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):  # 1: a check that fails
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(program: Path, directory: Path) -> None:
    """A directory with a study, and two runs of it, each made by the installation that reads them."""
    (directory / "target").mkdir(parents=True)
    (directory / "study.yaml").write_text(STUDY)
    for name in ("a", "b"):
        processor_s([program, "run", "study.yaml", "--target", "target", "--out", f"runs/{name}"], directory)


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each command."""
    programs = {"before": Path(arguments[0]).absolute(), "after": Path(arguments[1]).absolute()}
    pairs = int(arguments[3]) if len(arguments) > 3 else PAIRS
    for name, program in programs.items():
        prepare(program, Path(arguments[2]) / name)
    print(f"{'command':15} {'before s':>9} {'after s':>9} {'ratio':>6}")
    for command, words in COMMANDS.items():
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for pair in range(pairs + 1):
            for name, program in programs.items():
                seconds = processor_s([program, *words], Path(arguments[2]) / name)
                if pair:  # the first fills caches
                    taken[name].append(seconds)
        ratio = statistics.median(b / a for a, b in zip(taken["before"], taken["after"], strict=True))
        print(f"{command:15} {min(taken['before']):9.3f} {min(taken['after']):9.3f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
