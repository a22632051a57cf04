"""Launchers that do not come to an end where a node is lost: real processes that print what launchers do, and hang."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from ioassay.execution import follow as module
from ioassay.execution.follow import follow
from ioassay.execution.interruption import Interruption
from ioassay.execution.process import EngineProcess
from ioassay.protocol.event import Event
from ioassay.results.events import EventTail

HANGS_S = 60
"""Longer than any wait that is tested here."""

NOT_REACHED = "ssh: connect to host client3 port 22: Connection refused"
SILENT = "ioassay-engine: no heartbeat from client1 for 5 s"


def _launcher(tmp_path: Path, *, writes: str = "", prints: str = "") -> tuple[EngineProcess, list[Event], float]:
    """One that writes events, prints a line and hangs; with the events, and how long it was waited for."""
    events = tmp_path / "events.jsonl"
    program = f"import sys, time; open({str(events)!r}, 'a').write({writes!r}); print({prints!r}, flush=True); "
    begin = time.monotonic()
    command = [sys.executable, "-c", f"{program}time.sleep({HANGS_S})"]
    with (
        Interruption() as interruption,
        EngineProcess(command, tmp_path / "stderr", through=True) as process,
    ):
        seen = follow(process, interruption, EventTail(events))
    return process, seen, time.monotonic() - begin


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOST_S", "LINGER_LOST_S", "LAST_WORD_S"):
        monkeypatch.setattr(module, name, 0.2)


def test_a_launcher_that_has_not_reached_a_node_is_ended_before_the_engines_begin(tmp_path: Path) -> None:
    process, seen, took_s = _launcher(tmp_path, prints=NOT_REACHED)
    assert (process.killed, seen) == (True, [])
    assert took_s < HANGS_S / 2
    assert process.printed.strip() == NOT_REACHED


def test_engines_that_miss_the_first_node_end_the_run_that_nobody_else_can_end(tmp_path: Path) -> None:
    process, seen, took_s = _launcher(tmp_path, writes='{"event":"removed","files":0,"left":[]}\n', prints=SILENT)
    assert (process.killed, len(seen)) == (True, 1)
    assert took_s < HANGS_S / 2


def test_what_an_earlier_attempt_has_printed_ends_no_later_one(tmp_path: Path) -> None:
    (tmp_path / "stderr").write_text(f"{NOT_REACHED}\n")
    command = [sys.executable, "-c", "import time; time.sleep(1)"]
    with (
        Interruption() as interruption,
        EngineProcess(command, tmp_path / "stderr", through=True) as process,
    ):
        follow(process, interruption, EventTail(tmp_path / "events.jsonl"))
    assert (process.killed, process.status, process.printed) == (False, 0, "")
