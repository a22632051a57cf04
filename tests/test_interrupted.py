"""Interrupted runs end soon, keep finished phases, and leave an empty target or name the leftovers."""

from __future__ import annotations

import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from ioassay.store.run_directory import load

from .support import (
    LONG,
    Measurement,
    children,
    ioassay,
    is_gone,
    states,
    study,
    until,
    workload,
)


@pytest.fixture
def measurement(target: Path, tmp_path: Path) -> Measurement:
    """A run in the middle of its second case; a third one waits."""
    file = study(tmp_path, workload("before"), LONG, workload("after"))
    running = Measurement(file, target, tmp_path / "run")
    running.until_moving()
    return running


def _finish_what_is_left(measurement: Measurement) -> None:
    measurement.shorten()
    code, _, err = ioassay("run", "--resume", measurement.out)
    assert code == 0, err
    run = measurement.load()
    assert set(states(run.document).values()) == {"complete"}
    assert run.measurements.height == 6
    assert run.document.leftovers == []
    assert list(measurement.target.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGALRM", "SIGRTMIN+3"]
)
def test_a_signal_ends_the_run_in_order(measurement: Measurement, name: str) -> None:
    processes = measurement.processes
    base, _, more = name.partition("+")
    os.kill(measurement.pid, signal.Signals[base] + int(more or 0))
    code, out, err = measurement.end()
    assert code == 3
    assert out == ""
    assert f"{name}: stopping" in err
    assert f"ioassay run --resume {measurement.out}" in err
    assert all(map(is_gone, processes))
    assert list(measurement.target.iterdir()) == []

    run = measurement.load()
    assert run.document.state == "interrupted"
    assert states(run.document) == {"before": "complete", "long": "interrupted", "after": "pending"}
    assert run.document.leftovers == []
    assert run.measurements.filter(complete=True)["phase"].to_list() == ["write", "read"]
    if name == "SIGINT":  # what is left is the same after each of them
        _finish_what_is_left(measurement)


def test_a_second_signal_ends_it_at_once_and_names_what_remains(measurement: Measurement) -> None:
    ranks = measurement.ranks
    os.kill(measurement.engine, signal.SIGSTOP)  # an engine that cannot react
    os.kill(measurement.pid, signal.SIGINT)
    until(lambda: measurement.process.poll() is not None or _noticed(measurement.pid), "the first signal to be seen")
    os.kill(measurement.pid, signal.SIGINT)
    code, _, err = measurement.end()
    assert code == 3
    workspace = measurement.target / f"ioassay-{measurement.document.run}"
    assert f"Left on the target: {workspace}" in err
    assert "The second Ctrl-C killed the engine while it was stopping." in err
    assert "in time" not in err
    assert measurement.document.leftovers == [str(workspace)]
    until(lambda: all(map(is_gone, ranks)), "the ranks to end")

    code, out, _ = ioassay("clean", measurement.out)
    assert (code, f"Removed {workspace} with 2 files." in out) == (0, True)
    assert list(measurement.target.iterdir()) == []
    assert measurement.document.leftovers == []


def _noticed(pid: int) -> bool:
    """True once no signal waits for the process any more."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    pending = [line.split()[1] for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    return all(int(mask, 16) == 0 for mask in pending)


def test_a_hung_engine_is_killed_in_time_and_the_rest_is_named(measurement: Measurement) -> None:
    os.kill(measurement.engine, signal.SIGSTOP)
    os.kill(measurement.pid, signal.SIGTERM)
    code, _, err = measurement.end()
    assert code == 3
    assert "did not stop in time" in err
    assert "the target does not respond" in err
    assert measurement.document.leftovers == [str(measurement.target / f"ioassay-{measurement.document.run}")]
    _finish_what_is_left(measurement)


def test_a_killed_rank_ends_the_run(measurement: Measurement) -> None:
    os.kill(measurement.ranks[1], signal.SIGKILL)
    code, _, err = measurement.end()
    assert code == 1
    assert "rank 1" in err
    assert "SIGKILL" in err
    run = measurement.load()
    assert run.document.state == "failed"
    assert states(run.document) == {"before": "complete", "long": "failed", "after": "pending"}
    assert list(measurement.target.iterdir()) == []
    _finish_what_is_left(measurement)


def test_a_killed_engine_ends_the_run_and_its_files_are_removed(measurement: Measurement) -> None:
    ranks = measurement.ranks
    os.kill(measurement.engine, signal.SIGKILL)
    code, _, err = measurement.end()
    assert code == 1
    assert "exited without a `finished` event (killed by SIGKILL)" in err
    assert all(is_gone(rank) for rank in ranks)
    assert states(measurement.document) == {"before": "complete", "long": "failed", "after": "pending"}
    assert measurement.document.leftovers == []
    assert list(measurement.target.iterdir()) == []


def test_a_killed_guard_takes_engine_and_ranks_with_it_and_their_files_are_removed(measurement: Measurement) -> None:
    processes = measurement.processes
    os.kill(measurement.guard, signal.SIGKILL)
    code, _, err = measurement.end()
    assert code != 0, err
    assert all(map(is_gone, processes))
    assert measurement.document.leftovers == []
    assert list(measurement.target.iterdir()) == []


def test_a_killed_control_plane_takes_engine_and_ranks_with_it(measurement: Measurement) -> None:
    everyone = measurement.processes
    os.kill(measurement.pid, signal.SIGKILL)
    measurement.end()
    until(lambda: all(map(is_gone, everyone)), "engine and ranks to end")
    assert measurement.document.state == "running", "nobody was left to say otherwise"

    run = measurement.load()
    assert run.document.state == "interrupted"
    assert states(run.document) == {"before": "complete", "long": "interrupted", "after": "pending"}
    assert run.measurements.filter(complete=True).height == 2
    assert list(measurement.target.iterdir()) == []
    _finish_what_is_left(measurement)


def test_clean_removes_by_its_list_what_killed_processes_left(measurement: Measurement) -> None:
    engine, processes = measurement.engine, measurement.processes
    os.kill(engine, signal.SIGSTOP)  # so that it cannot clean up when its parent dies
    os.kill(measurement.pid, signal.SIGKILL)
    os.kill(engine, signal.SIGKILL)
    measurement.end()
    until(lambda: all(map(is_gone, processes)), "engine and ranks to end")
    (workspace,) = measurement.target.iterdir()
    (workspace / "notes.txt").write_text("somebody put this here")

    assert measurement.load().document.leftovers == [str(workspace)]
    code, out, _ = ioassay("clean", measurement.out)
    assert code == 3
    assert str(workspace / "notes.txt") in out
    assert [file.name for file in workspace.iterdir() if not file.name.startswith(".")] == ["notes.txt"]

    (workspace / "notes.txt").unlink()
    assert ioassay("clean", measurement.out)[0] == 0
    assert list(measurement.target.iterdir()) == []
    code, out, _ = ioassay("clean", measurement.out)
    assert (code, "Nothing to remove" in out) == (0, True)


def test_a_run_in_progress_is_left_alone(measurement: Measurement) -> None:
    for command in (["clean"], ["run", "--resume"]):
        code, _, err = ioassay(*command, measurement.out)
        assert code == 2
        assert f"is in use by process {measurement.pid}" in err
    assert measurement.load().document.state == "running"
    os.kill(measurement.pid, signal.SIGTERM)
    assert measurement.end()[0] == 3


@pytest.mark.parametrize("how", ["Ctrl-C", "hang-up"])
def test_a_terminal_that_interrupts_or_vanishes_ends_the_run_in_order(target: Path, tmp_path: Path, how: str) -> None:
    file, run = study(tmp_path, LONG), tmp_path / "run"
    pid, terminal = pty.fork()
    if pid == 0:
        for number in (signal.SIGINT, signal.SIGHUP):  # as in `Command`
            signal.signal(number, signal.SIG_DFL)
        arguments = ["-m", "ioassay", "run", str(file), "--target", str(target), "--out", str(run)]
        os.execv(sys.executable, [sys.executable, *arguments])
    output = b""
    while b"IOPS" not in output and b"MB/s" not in output:
        output += os.read(terminal, 4096)
    if how == "Ctrl-C":
        os.write(terminal, b"\x03")
        while chunk := _read(terminal):
            output += chunk
        assert b"SIGINT" in output
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert load(run).document.state == "interrupted"
    assert load(run).document.leftovers == []
    assert list(target.iterdir()) == []


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side has closed it
        return b""


def test_ctrl_c_during_the_report_reports_a_complete_run(target: Path, tmp_path: Path) -> None:
    run = Measurement(study(tmp_path, workload("short")), target, tmp_path / "run")
    until(lambda: any(map(_draws, children(run.pid))), "the report to be drawn")
    os.kill(run.pid, signal.SIGINT)
    code, out, err = run.end()
    assert (code, out) == (3, "")
    assert err.endswith(
        "ioassay: interrupted\n"
        f"The run is complete: {run.out}\n"
        f"Write its report with: ioassay report {run.out}\n"
    )  # fmt: skip
    assert not (run.out / "report.html").exists()
    assert ioassay("report", run.out)[0] == 0


def _draws(pid: int) -> bool:
    try:
        return b"drawing_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
