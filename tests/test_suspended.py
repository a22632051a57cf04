"""Ctrl-Z suspends a run with its ranks, and a stop of its processes does so unasked; the phase under way is invalid."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from ioassay.store.events import ProgressTail
from ioassay.store.loaded import LoadedRun
from ioassay.store.run_directory import load

from .support import OPEN_MPI_AS_ROOT, study, until, workload


class Shell:
    """A shell with job control: it runs a command in its foreground, and continues it once it has been stopped."""

    def __init__(self, *command: str | Path) -> None:
        line = shlex.join(map(str, command))
        # Not as they are typed: the terminal echoes nothing that the test waits for.
        script = f"stty -echo; {line}; echo STOP''PED; read; fg > /dev/null; echo EX''IT $?"
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # as in `Command`
                signal.signal(number, signal.SIG_DFL)
            os.execvpe("bash", ["bash", "--norc", "-m", "-c", script], os.environ | {"TERM": "xterm"})
        self._seen = ""

    def types(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def until(self, text: str) -> None:
        while text not in self._seen:
            self._seen += os.read(self._terminal, 4096).decode(errors="replace")

    @property
    def shows_cursor(self) -> bool:
        """Whether the cursor, which a live view hides, was shown again."""
        last_hidden, last_shown = (self._seen.rfind(f"\x1b[?25{letter}") for letter in "lh")
        return -1 < last_hidden < last_shown

    def end(self) -> None:
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


def _moved_bytes(run: Path) -> list[int]:
    """The bytes of the phase in each progress report of the engine."""
    return [line["bytes"] for file in run.glob("logs/paced.*/progress.jsonl") for line in ProgressTail(file).new()]


def _suspended(command: list[str | Path], run: Path, target: Path) -> LoadedRun:
    """A run that is suspended with Ctrl-Z in its phase, and continued with `fg` once the ranks are idle."""
    shell = Shell(*command)
    until(lambda: any(_moved_bytes(run)), "the phase to move data")
    shell.types("\x1a")
    shell.until("STOPPED")
    assert shell.shows_cursor
    reports = len(_moved_bytes(run))
    # The engine still reports; at 1 kIOPS two reports would never be the same.
    until(lambda: len(moved := _moved_bytes(run)) > reports + 5 and len({*moved[-4:]}) == 1, "the ranks to do nothing")
    shell.types("\n")
    shell.until("EXIT 1")
    assert shell.shows_cursor
    shell.end()
    assert list(target.iterdir()) == []
    return load(run)


def _paced(launcher: str, target: Path, tmp_path: Path, *options: str) -> list[str | Path]:
    """A run of two seconds of small writes, and of another phase after them. Skips where the launcher is missing."""
    if launcher == "mpirun" and shutil.which("mpicc") is None:
        pytest.skip("there is no mpicc")
    paced = workload("paced", transfer="4KiB", total="8MiB", steps="[{write: {rate: 1kIOPS}}]")
    file = study(tmp_path, paced, workload("after", steps="[write]"))
    command: list[str | Path] = [sys.executable, "-m", "ioassay", "run", file, "--target", target]
    return [*command, "--launcher", launcher, "--out", tmp_path / "run", *options]


def _stopped(
    command: list[str | Path], run: Path, seconds: float, chosen: Callable[[list[psutil.Process]], list[psutil.Process]]
) -> tuple[LoadedRun, dict[str, Any], dict[str, Any]]:
    """The run, some processes of which are stopped in its first phase, the doubt of that, and its evidence."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | OPEN_MPI_AS_ROOT) as running:
        until(lambda: any(_moved_bytes(run)), "the phase to move data")
        processes = chosen(psutil.Process(running.pid).children(recursive=True))
        for process in processes:
            process.suspend()
        time.sleep(seconds)
        for process in processes:
            process.resume()
        assert running.wait() == 1
    loaded = load(run)
    (doubt,) = loaded.doubts.filter(kind="suspended").iter_rows(named=True)
    return loaded, doubt, json.loads(doubt["evidence"])


@pytest.mark.parametrize("launcher", ["local", "mpirun"])
def test_ctrl_z_suspends_the_ranks_and_invalidates_their_phase(launcher: str, target: Path, tmp_path: Path) -> None:
    run = _suspended(_paced(launcher, target, tmp_path), tmp_path / "run", target)
    (doubt,) = run.doubts.filter(kind="suspended").iter_rows(named=True)
    assert doubt["phase"] == "write"
    assert doubt["invalidates"]
    evidence = json.loads(doubt["evidence"])
    assert evidence["times"] == 1
    in_samples = run.samples.filter(case=doubt["case"]).group_by("rank").agg(pl.col("suspended_ns").sum()).collect()
    assert in_samples["suspended_ns"].max() == pytest.approx(evidence["suspended_ns"], rel=1e-6)
    assert dict(run.measurements.select("workload", "valid").iter_rows()) == {"paced": False, "after": True}


@pytest.mark.parametrize("launcher", ["local", "mpirun"])
def test_no_limit_counts_a_pause_of_everything(launcher: str, target: Path, tmp_path: Path) -> None:
    """It is longer than the time limit of a step, and than a node may be silent."""
    command = _paced(launcher, target, tmp_path, "--time-limit", "5s")
    run, _, evidence = _stopped(command, tmp_path / "run", 6, lambda started: started)
    assert run.doubts.filter(kind="failed").is_empty()
    assert evidence["suspended_ns"] >= 5.9e9
    assert dict(run.measurements.select("workload", "valid").iter_rows()) == {"paced": False, "after": True}


@pytest.mark.parametrize("stopped", ["all", "one rank"])
def test_ranks_that_are_stopped_from_outside_invalidate_their_phase(stopped: str, target: Path, tmp_path: Path) -> None:
    """SIGSTOP; a frozen control group or a paused machine stops every process of the engine, as does `all`."""

    def chosen(started: list[psutil.Process]) -> list[psutil.Process]:
        engine = [process for process in started if process.name() == "ioassay-engine"]
        assert len(engine) > 2, "ranks and who looks after them"
        return engine if stopped == "all" else engine[-1:]

    run, doubt, evidence = _stopped(_paced("local", target, tmp_path), tmp_path / "run", 1, chosen)
    assert (doubt["phase"], doubt["invalidates"], evidence["times"]) == ("write", True, 1)
    assert evidence["suspended_ns"] >= 0.9e9
    assert "SIGSTOP" in doubt["remedy"]
    assert dict(run.measurements.select("workload", "valid").iter_rows()) == {"paced": False, "after": True}
