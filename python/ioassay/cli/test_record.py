"""The exit code of a command that is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.cli.record import record
from ioassay.monitoring import recorded_alerts
from ioassay.processes import engine


def test_a_second_interruption_while_alerts_are_waited_for_keeps_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attend(*_: object) -> int:
        (tmp_path / "record" / "watch").mkdir(parents=True)
        return 130

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "attend", attend)
    monkeypatch.setattr(recorded_alerts, "wait_for_agent", interrupted)
    assert record(command=["sleep", "60"], out=tmp_path / "record", watch=True) == 130
