"""End to end: the real command, the real engine, real files and signals.

Nothing is faked here. A test waits for what it needs to see, never for time to pass; deadlines are bounds
against hanging.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ioassay.lab.library import LABS, read
from ioassay.lab.model import Lab
from ioassay.lab.requirements import Requirement, missing
from ioassay.lab.running import running
from ioassay.protocol.event import Event
from ioassay.store.document import RunDocument
from ioassay.store.events import ProgressTail, read_events
from ioassay.store.loaded import LoadedRun
from ioassay.store.run_directory import load, read_document

from . import forked

DEADLINE_S = 120

OPEN_MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""The environment in which Open MPI starts processes as root."""

HEAD = """\
name: {name}
title: A study for tests
question: Does it work?
clients: [2]
sample_interval: 100ms
steps:
  - write
  - cold-cache: [drop-caches, fadvise]
  - read
workloads:
"""

WORKLOAD = """\
  {name}:
    title: {name}
    layout: {layout}
    order: {order}
    transfer: {transfer}
    total: {total}
"""


def workload(
    name: str,
    layout: str = "N-N",
    order: str = "sequential",
    transfer: str = "64KiB",
    total: str = "1MiB",
    **more: str,
) -> str:
    """A workload of a study; by default a very short one."""
    text = WORKLOAD.format(name=name, layout=layout, order=order, transfer=transfer, total=total)
    return text + "".join(f"    {key}: {value}\n" for key, value in more.items())


def study(path: Path, *workloads: str, name: str = "tiny") -> Path:
    """Writes a study of these workloads."""
    path.mkdir(parents=True, exist_ok=True)
    file = path / f"{name}.yaml"
    file.write_text(HEAD.format(name=name) + "".join(workloads))
    return file


# Transfers of a few bytes take long to move little: the phase is still running when the test acts.
LONG_TRANSFER_BYTES = 4
LONG = workload("long", transfer=f"{LONG_TRANSFER_BYTES}", total="256MiB")


def until(condition: Callable[[], object], what: str) -> None:
    """Waits until `condition` holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"timed out waiting for {what}"
        time.sleep(0.005)


def children(pid: int) -> list[int]:
    """The child processes of `pid`; none once it has ended."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def runs_a_case(pid: int) -> bool:
    """True for an engine that runs a case, and for its guard."""
    try:
        return b"\0run\0--events\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_gone(pid: int) -> bool:
    """True if `pid` has ended, collected by its parent or not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


class Command:
    """An `ioassay` command at work."""

    def __init__(self, arguments: Sequence[str | Path], directory: Path | None = None) -> None:
        self.process = subprocess.Popen(
            # Tests in the background ignore SIGINT, and children would inherit that.
            ["env", "--default-signal=INT,HUP,QUIT", sys.executable, "-m", "ioassay", *map(str, arguments)],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def end(self) -> tuple[int, str, str]:
        """Waits for its end: exit code, standard output, standard error."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, err


class Measurement(Command):
    """An `ioassay run` at work, with its run directory and its processes."""

    def __init__(self, study: Path, target: Path, out: Path, *more: str) -> None:
        super().__init__(["run", study, "--target", target, "--out", out, *more])
        self.out = out
        self.target = target

    def events(self, name: str) -> list[Event]:
        """The engine's events so far for the first case of a workload."""
        return [event for file in self.out.glob(f"logs/{name}.*/events.jsonl") for event in read_events(file)]

    def is_moving(self, name: str) -> bool:
        """True while a phase of the workload moves data."""
        return any(
            line["bytes"] > 0
            for file in self.out.glob(f"logs/{name}.*/progress.jsonl")
            for line in ProgressTail(file).new()
        )

    def until_moving(self, name: str = "long") -> None:
        """Waits until a phase of the workload moves data."""

        def moving_or_over() -> bool:
            assert self.process.poll() is None, self.process.communicate()
            return self.is_moving(name)

        until(moving_or_over, f"{name} to move data")

    def shorten(self) -> None:
        """Shortens the long case before the run resumes."""
        plans = self.out / "logs/plans.jsonl"
        long = f'"transfer_bytes": {LONG_TRANSFER_BYTES},'
        assert long in plans.read_text()
        plans.write_text(plans.read_text().replace(long, '"transfer_bytes": 65536,'))

    @property
    def guard(self) -> int:
        """The guard: the process between this command and the engine."""
        # Beside it may be a process that looks at a directory which does not answer.
        (guard,) = filter(runs_a_case, children(self.pid))
        return guard

    @property
    def engine(self) -> int:
        """The process of the engine."""
        (engine,) = children(self.guard)
        return engine

    @property
    def ranks(self) -> list[int]:
        """The processes of the ranks."""
        return children(self.engine)

    @property
    def processes(self) -> list[int]:
        """All that the command has started: guard, engine and ranks."""
        return [self.guard, self.engine, *self.ranks]

    @property
    def document(self) -> RunDocument:
        """The current `run.json`."""
        return read_document(self.out)

    def load(self) -> LoadedRun:
        """The stored run."""
        return load(self.out)


def ioassay(*arguments: str | Path, directory: Path | None = None) -> tuple[int, str, str]:
    """Runs an `ioassay` command in `directory` to its end: exit code, standard output, standard error."""
    return forked.run([*map(str, arguments)], directory, DEADLINE_S)


def report_json(run: Path) -> dict[str, Any]:
    """The report of a run as other programs read it."""
    code, text, err = ioassay("report", run, "--format", "json")
    assert code == 0, err
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def measure(file: Path, target: str | Path, out: Path, *more: str) -> LoadedRun:
    """Runs a study to its end and asserts success and a report."""
    code, _, err = ioassay("run", file, "--target", target, "--out", out, *more)
    assert code == 0, err
    run = load(out)
    assert run.document.state == "complete"
    assert run.measurements["valid"].all()
    assert (out / "report.html").stat().st_size > 0
    return run


def skip_without(lab: Lab, *needed: Requirement) -> None:
    """Skips the test if this lab cannot be started, or if other requirements of the test are missing."""
    if lacking := missing([*lab.requirements(), *needed]):
        pytest.skip(f"the lab {lab.name} needs {', '.join(map(str, lacking))}")
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")


@contextmanager
def up(lab: str, name: str, *options: str, needed: Sequence[Requirement] = ()) -> Iterator[str]:
    """A lab that is up under this name within the context. `needed` are further requirements of the test."""
    skip_without(read(LABS.find(lab)), *needed)
    code, _, err = ioassay("lab", "up", lab, "--name", name, *options)
    assert code == 0, err
    try:
        yield name
    finally:
        if name in running():
            assert ioassay("lab", "down", name, "--force")[0] == 0


def run_or_skip(command: Sequence[str | Path], lacking: str) -> None:
    """Runs a command that may fail on this machine; the test is then skipped with what the machine is `lacking`."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"this machine {lacking}: {error}")
    if result.returncode != 0:
        pytest.skip(f"this machine {lacking}: {result.stderr.strip()}")


def states(document: RunDocument) -> dict[str, str]:
    """The state of each workload's only case."""
    return {case.workload: case.state for case in document.cases}
