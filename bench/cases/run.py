"""What a case costs beside its I/O, in runs of 100, 1,000 and 10,000 cases.

    python bench/cases/run.py DIR [ROUNDS]

Each round begins every run below DIR, follows it from the command to its first result and through 50 more cases,
kills it (SIGKILL), and goes on with `--resume` to the first new result. Every second round goes through the runs in
reverse. Costs are compared within a round, where all runs met about the same machine. DIR lies best in memory
(/dev/shm).
Not: a test. Timing never decides a test.
"""

from __future__ import annotations

import csv
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ioassay import __version__

CASES = (100, 1000, 10_000)

FOLLOWED = 50
"""Cases after the first."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

STUDY = """\
name: small-cases
title: Many small cases
question: What does a case cost beside its I/O?
clients: [1, 2]
ranks_per_client: [1, 2, 3, 4, 5]
repetitions: {repetitions}
steps: [write, read]
workloads:
"""

WORKLOAD = "  w{number:04}: {{title: W {number}, layout: N-N, order: sequential, transfer: 4k, per_rank: {size}KiB}}\n"


def repetitions(cases: int) -> str:
    """A study of 10 points, each repeated."""
    return STUDY.format(repetitions=cases // 10) + WORKLOAD.format(number=1, size=16)


def points(cases: int) -> str:
    """A study of points that are all different: 10 of each workload."""
    workloads = (WORKLOAD.format(number=number, size=4 * number) for number in range(1, cases // 10 + 1))
    return STUDY.format(repetitions=1) + "".join(workloads)


SHAPES: dict[str, Callable[[int], str]] = {"repetitions": repetitions, "points": points}


@dataclass(frozen=True)
class Cost:
    """What a run has cost, from its command to its first result and then for each case. Engines are included."""

    shape: str
    cases: int
    round: int
    load_average: float
    """Of one minute, before the run: high where others used the machine."""
    first_s: float
    first_processor_s: float
    case_s: float
    case_processor_s: float
    case_written_bytes: float
    peak_memory_bytes: int
    """Of the control plane."""
    resume_s: float
    resume_processor_s: float


class Command:
    """An `ioassay` command at work, and what it has used so far, with the engines that it waited for."""

    def __init__(self, run: Path, *arguments: str) -> None:
        self._run = run
        self._began_s = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ioassay", "run", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._proc = Path("/proc", str(self._process.pid))

    def wait_for(self, results: int) -> float:
        """Waits until so many cases have results. Returns the seconds since the command."""
        while _results(self._run) < results:
            if self._process.poll() is not None:
                raise SystemExit(f"{self._run}: the run ended with {self._process.returncode}")
            time.sleep(0.01)
        return time.monotonic() - self._began_s

    @property
    def processor_s(self) -> float:
        """Seconds of processors."""
        times = (self._proc / "stat").read_text().rpartition(")")[2].split()[11:15]
        return sum(map(int, times)) / _TICKS_PER_S

    @property
    def written_bytes(self) -> int:
        """Bytes given to write calls."""
        return self._value("io", "wchar")

    @property
    def peak_memory_bytes(self) -> int:
        """Its largest resident set."""
        return 1024 * self._value("status", "VmHWM")

    def kill(self) -> None:
        """Ends it as a power failure would; its engine notices, and removes its files."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def _value(self, file: str, name: str) -> int:
        lines = (line.split() for line in (self._proc / file).read_text().splitlines())
        return next(int(line[1]) for line in lines if line[0] == f"{name}:")


def _results(run: Path) -> int:
    """Cases whose engine has written events; all but the last of them have ended."""
    logs = run / "logs"
    return sum((logs / case / "events.jsonl").exists() for case in os.listdir(logs)) if logs.exists() else 0


def cost(directory: Path, shape: str, cases: int, round_: int) -> Cost:
    """Begins a run, kills it and goes on with it."""
    study, target, run = directory / "study.yaml", directory / "target", directory / "run"
    target.mkdir(parents=True, exist_ok=True)
    study.write_text(SHAPES[shape](cases))
    load_average = os.getloadavg()[0]
    command = Command(run, str(study), "--target", str(target), "--out", str(run))
    # The first case has its results when the second one has begun.
    first_s = command.wait_for(2)
    first_processor_s, first_bytes = command.processor_s, command.written_bytes
    all_s = command.wait_for(2 + FOLLOWED)
    case_processor_s = (command.processor_s - first_processor_s) / FOLLOWED
    case_bytes = (command.written_bytes - first_bytes) / FOLLOWED
    memory_bytes = command.peak_memory_bytes
    command.kill()
    done = _results(run)
    command = Command(run, "--resume", str(run))
    # The case that was interrupted is done again.
    resume_s = command.wait_for(done + 1)
    resume_processor_s = command.processor_s
    command.kill()
    shutil.rmtree(run)
    return Cost(
        shape=shape,
        cases=cases,
        round=round_,
        load_average=load_average,
        first_s=first_s,
        first_processor_s=first_processor_s,
        case_s=(all_s - first_s) / FOLLOWED,
        case_processor_s=case_processor_s,
        case_written_bytes=case_bytes,
        peak_memory_bytes=memory_bytes,
        resume_s=resume_s,
        resume_processor_s=resume_processor_s,
    )


def table(costs: list[Cost]) -> str:
    """In Markdown: medians of the rounds; of a case's processor time also its ratio to that in a run of 100 cases."""
    lines = [
        "| shape | cases | first result | processors | a case | processors | to 100 cases | written | peak memory "
        "| first after --resume | processors |",
        "|" + " --- |" * 11,
    ]
    for shape in SHAPES:
        fewest = {cost.round: cost for cost in costs if (cost.shape, cost.cases) == (shape, CASES[0])}
        for cases in CASES:
            case_costs = [cost for cost in costs if (cost.shape, cost.cases) == (shape, cases)]
            ratio = statistics.median(
                cost.case_processor_s / fewest[cost.round].case_processor_s for cost in case_costs
            )

            def median(name: str, sample: list[Cost] = case_costs) -> float:
                return float(statistics.median(getattr(cost, name) for cost in sample))

            cells = (
                f"{median('first_s'):.1f} s",
                f"{median('first_processor_s'):.1f} s",
                f"{1000 * median('case_s'):.0f} ms",
                f"{1000 * median('case_processor_s'):.0f} ms",
                f"{ratio:.2f}",
                f"{median('case_written_bytes') / 1000:.0f} kB",
                f"{median('peak_memory_bytes') / 2**20:.0f} MiB",
                f"{median('resume_s'):.1f} s",
                f"{median('resume_processor_s'):.1f} s",
            )
            lines.append(f"| {shape} | {cases} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(directory: Path, rounds: int) -> None:
    """Prints a table in Markdown; DIR/raw.csv has every round."""
    costs = []
    runs = [(shape, cases) for shape in SHAPES for cases in CASES]
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "raw.csv").open("w", newline="") as file:
        raw = csv.DictWriter(file, [field.name for field in fields(Cost)])
        raw.writeheader()
        for round_ in range(1, rounds + 1):
            for shape, cases in runs if round_ % 2 else reversed(runs):
                costs.append(cost(directory, shape, cases, round_))
                raw.writerow(asdict(costs[-1]))
                file.flush()
    print(f"ioassay {__version__}, {platform.machine()}, {os.cpu_count()} processors, {rounds} rounds\n")
    print(table(costs))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
