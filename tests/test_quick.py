"""`ioassay quick DIR`: an answer within the time, sizes of its own, nothing left behind."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from ioassay.results.run_directory import load

from .support import Command, ioassay, until


def test_it_answers_and_keeps_a_run_of_the_study_quick(target: Path, tmp_path: Path) -> None:
    code, out, err = ioassay("quick", target, "--time", "10s", "--out", tmp_path / "run", "--json")
    assert code in (0, 1), err  # whether a busy machine is fast enough is not for a test to say
    answer = json.loads(out)
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
    assert len(run.measurements) >= 6
    assert answer["report"] == str(tmp_path / "run" / "report.html")
    assert "<html" in (tmp_path / "run" / "report.html").read_text()
    assert list(target.iterdir()) == []


def test_ctrl_c_while_it_finds_its_sizes_leaves_nothing(target: Path, tmp_path: Path) -> None:
    command = Command(["quick", target, "--out", tmp_path / "run"])
    until(lambda: any(target.iterdir()), "the probe begins")
    command.process.send_signal(signal.SIGINT)
    assert command.end()[0] == 3
    assert list(target.iterdir()) == []
    assert not (tmp_path / "run").exists()


def test_what_is_no_directory_is_refused_with_what_to_run_instead(tmp_path: Path) -> None:
    code, _, err = ioassay("quick", "s3://bucket")
    assert code == 2
    assert "ioassay run objects --target s3://bucket" in err
    code, _, err = ioassay("quick", tmp_path / "absent")
    assert (code, "No such file or directory" in err) == (2, True)
    code, _, err = ioassay("quick", tmp_path, "--time", "2s")
    assert (code, "at least 10s" in err) == (2, True)
