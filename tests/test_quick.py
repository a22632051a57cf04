"""`ioassay quick DIR`: an answer within the time, sizes of its own, nothing left behind."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest

from ioassay.calibration.budget import Budget
from ioassay.cli.quick import quick
from ioassay.errors import UsageError
from ioassay.store.run_directory import load

from .support import Command, until


def test_it_prints_an_answer_and_keeps_a_run_of_the_study_quick(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs `quick` in this process without a time budget; the test of the tutorial runs it with the usual one."""
    began_s = time.monotonic() - 60
    monkeypatch.setattr(Budget, "of_this_process", lambda limit_s: Budget(began_s, began_s, limit_s))
    monkeypatch.setattr(sys, "argv", ["ioassay", "quick", str(target)])
    code = quick(directory=str(target), out=tmp_path / "run", as_json=True)
    answer = json.loads(capsys.readouterr().out)
    assert code in (0, 1), answer  # whether a busy machine is fast enough is not for a test to say
    assert {rate["repetitions"] for rate in answer["rates"]} == {1}
    assert answer["target"]["place"] == str(target)
    assert [(rate["workload"], rate["operation"]) for rate in answer["rates"]] == [
        ("sequential", "write"),
        ("sequential", "read"),
        ("random", "write"),
        ("random", "read"),
        ("metadata", "create"),
    ]
    run = load(tmp_path / "run")
    assert run.document.study.name == "quick"
    assert run.document.study.settings == answer["settings"]
    assert answer["report"] == str(tmp_path / "run" / "report.html")
    assert "<html" in (tmp_path / "run" / "report.html").read_text()
    assert list(target.iterdir()) == []


def test_ctrl_c_during_calibration_leaves_nothing(target: Path, tmp_path: Path) -> None:
    command = Command(["quick", target, "--out", tmp_path / "run"])
    until(lambda: any(target.iterdir()), "the probe begins")
    command.process.send_signal(signal.SIGINT)
    assert command.end()[0] == 3
    assert list(target.iterdir()) == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("directory", "time", "message"),
    [
        ("s3://bucket", "30s", "ioassay run objects --target s3://bucket"),
        ("lab:nfs", "30s", "ioassay run quick --target lab:nfs"),
        ("absent", "30s", "absent does not exist."),
        ("pyproject.toml", "30s", "pyproject.toml is not a directory."),
        (".", "2s", "at least 10s"),
    ],
)
def test_unusable_arguments_are_refused_with_a_remedy(directory: str, time: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        quick(directory=directory, time=time)
    assert message in f"{error.value.message} {error.value.remedy}"
