from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.execution import engine_process as module
from ioassay.execution.engine_process import EngineProcess, follow
from ioassay.execution.interruption import Interruption
from ioassay.protocol.event import Event
from ioassay.store.events import EventTail

POLITE = "import signal, time, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); print('ready', flush=True); "
IGNORING = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); "


def _start(tmp_path: Path, program: str) -> EngineProcess:
    process = EngineProcess([sys.executable, "-c", program + "time.sleep(60)"], tmp_path / "out")
    while not (tmp_path / "out").read_text():
        assert not process.wait(0.01)
    return process


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time to stop on a busy machine, on which a program once took longer than the 5 s of a run."""
    monkeypatch.setattr(module, "STOP_S", 60.0)


def _end(process: EngineProcess) -> int | None:
    while not process.wait(0.05):
        pass
    return process.status


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="/nowhere/mpirun cannot be started: No such file"):
        EngineProcess(["/nowhere/mpirun", "engine"], tmp_path / "out")


@pytest.mark.usefixtures("patient")
def test_a_process_gets_time_to_stop(tmp_path: Path) -> None:
    process = _start(tmp_path, POLITE)
    process.stop(signal.SIGTERM)
    assert (_end(process), process.killed) == (3, False)


def test_a_process_that_does_not_stop_in_time_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioassay.execution.engine_process.STOP_S", 0.1)
    process = _start(tmp_path, IGNORING)
    process.stop(signal.SIGTERM)
    assert (_end(process), process.killed, process.stopped_twice) == (-signal.SIGKILL, True, False)


def test_a_process_that_is_stopped_twice_is_killed_at_once(tmp_path: Path) -> None:
    process = _start(tmp_path, IGNORING)
    process.stop(signal.SIGTERM)
    process.stop(signal.SIGTERM)
    assert (_end(process), process.killed, process.stopped_twice) == (-signal.SIGKILL, True, True)


@pytest.mark.usefixtures("patient")
def test_an_exception_does_not_leave_the_process_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), _start(tmp_path, POLITE) as process:
        raise ZeroDivisionError
    assert process.status == 3


@pytest.mark.usefixtures("patient")
def test_follow_returns_every_event_and_passes_a_signal_on(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    first, last = ({"event": "files-removed", "step": step, "files": 0, "duration_ns": 0} for step in (1, 2))
    program = f"import signal, sys, time; f = open({str(file)!r}, 'a'); " + (
        f"signal.signal(signal.SIGHUP, lambda *_: (print({json.dumps(last)!r}, file=f, flush=True), sys.exit(3))); "
        f"print({json.dumps(first)!r}, file=f, flush=True); time.sleep(60)"
    )
    live = []
    with Interruption() as interruption, EngineProcess([sys.executable, "-c", program], tmp_path / "out") as process:

        def on_event(event: Event) -> None:
            live.append(event)
            if event == first:
                signal.raise_signal(signal.SIGHUP)

        returned = follow(process, interruption, EventTail(file), on_event)
    assert returned == live == [first, last]
    assert interruption.first == signal.SIGHUP
    assert process.status == 3


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGHUP)
            assert interruption.first is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


# Launchers that do not end after a node is lost: real processes that print what launchers print, and hang.

HANGS_S = 60
"""Longer than any wait that is tested here."""

NOT_REACHED = "ssh: connect to host client3 port 22: Connection refused"
SILENT = "ioassay-engine: no heartbeat from client1 for 5 s"


def _launcher(tmp_path: Path, *, writes: str = "", prints: str = "") -> tuple[EngineProcess, list[Event], float]:
    """A launcher that writes events, prints a line and hangs; with its events, and how long `follow` took."""
    events = tmp_path / "events.jsonl"
    program = f"import sys, time; open({str(events)!r}, 'a').write({writes!r}); print({prints!r}, flush=True); "
    begin = time.monotonic()
    command = [sys.executable, "-c", f"{program}time.sleep({HANGS_S})"]
    with (
        Interruption() as interruption,
        EngineProcess(command, tmp_path / "stderr", through=True) as process,
    ):
        reported = follow(process, interruption, EventTail(events))
    return process, reported, time.monotonic() - begin


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOST_S", "LINGER_LOST_S", "LAST_WORD_S"):
        monkeypatch.setattr(module, name, 0.2)


@pytest.mark.usefixtures("short")
def test_a_launcher_that_did_not_reach_a_node_is_ended_before_the_engines_begin(tmp_path: Path) -> None:
    process, reported, took_s = _launcher(tmp_path, prints=NOT_REACHED)
    assert (process.killed, reported) == (True, [])
    assert took_s < HANGS_S / 2
    assert process.printed.strip() == NOT_REACHED


@pytest.mark.usefixtures("short")
def test_engines_that_lost_the_first_node_end_the_run(tmp_path: Path) -> None:
    process, reported, took_s = _launcher(tmp_path, writes='{"event":"removed","files":0,"left":[]}\n', prints=SILENT)
    assert (process.killed, len(reported)) == (True, 1)
    assert took_s < HANGS_S / 2


@pytest.mark.usefixtures("short")
def test_output_of_an_earlier_attempt_does_not_end_a_later_one(tmp_path: Path) -> None:
    (tmp_path / "stderr").write_text(f"{NOT_REACHED}\n")
    command = [sys.executable, "-c", "import time; time.sleep(1)"]
    with (
        Interruption() as interruption,
        EngineProcess(command, tmp_path / "stderr", through=True) as process,
    ):
        follow(process, interruption, EventTail(tmp_path / "events.jsonl"))
    assert (process.killed, process.status, process.printed) == (False, 0, "")
