from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.execution.follow import follow
from ioassay.execution.interruption import Interruption
from ioassay.execution.process import EngineProcess
from ioassay.protocol.event import Event
from ioassay.results.events import EventTail

POLITE = "import signal, time, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); print('ready', flush=True); "
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); "


def _start(tmp_path: Path, program: str) -> EngineProcess:
    process = EngineProcess([sys.executable, "-c", program + "time.sleep(60)"], tmp_path / "out")
    while not (tmp_path / "out").read_text():
        assert not process.wait(0.01)
    return process


def _end(process: EngineProcess) -> int | None:
    while not process.wait(0.05):
        pass
    return process.status


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="/nowhere/mpirun does not start: No such file"):
        EngineProcess(["/nowhere/mpirun", "engine"], tmp_path / "out")


def test_a_process_gets_time_to_stop(tmp_path: Path) -> None:
    process = _start(tmp_path, POLITE)
    process.stop(signal.SIGTERM)
    assert (_end(process), process.killed) == (3, False)


def test_a_process_that_does_not_stop_in_time_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ioassay.execution.process.STOP_S", 0.1)
    process = _start(tmp_path, DEAF)
    process.stop(signal.SIGTERM)
    assert (_end(process), process.killed) == (-signal.SIGKILL, True)


def test_a_process_that_is_asked_twice_is_killed_at_once(tmp_path: Path) -> None:
    process = _start(tmp_path, DEAF)
    process.stop(signal.SIGTERM)
    process.stop(signal.SIGTERM)
    assert (_end(process), process.killed) == (-signal.SIGKILL, True)


def test_an_exception_does_not_leave_the_process_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), _start(tmp_path, POLITE) as process:
        raise ZeroDivisionError
    assert process.status == 3


def test_following_hands_out_every_event_and_passes_a_signal_on(tmp_path: Path) -> None:
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

        seen = follow(process, interruption, EventTail(file), on_event)
    assert seen == live == [first, last]
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


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
