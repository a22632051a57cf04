"""`ioassay run --dry-run`: it checks and shows the cases of a run, and writes and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .support import ioassay, study, workload

STEPS = "[{write: {limit: {stonewall: 5s}}}, {pause: 1s}, {cold-cache: [fadvise]}, {read: {limit: {stonewall: 2s}}}]"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return study(tmp_path, workload("nn", steps=STEPS))


def test_a_dry_run_shows_cases_amounts_time_steps_and_commands_and_writes_nothing(
    target: Path, tmp_path: Path, mine: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    code, out, err = ioassay("run", mine, "--target", target, "--out", tmp_path / "run", "--dry-run")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert f"Target: {target}" in text
    assert "1 case" in text
    assert "Time: 1.00 s to 8.00 s, plus the time to prepare files, fsync and empty caches." in text
    assert "empty the caches on every node by asking the kernel to forget the files' pages" in text
    assert "ior -a POSIX" in text
    assert f"--stop-with-parent {tmp_path}/run/logs/" in text
    assert "nothing was written" in text
    assert sorted(tmp_path.rglob("*")) == before
    assert all(len(line) <= 80 or line.startswith("  ") for line in out.splitlines()), out


def test_its_json_has_every_case_in_base_units(target: Path, tmp_path: Path, mine: Path) -> None:
    code, out, _ = ioassay("run", mine, "--target", target, "--out", tmp_path / "run", "--dry-run", "--json")
    document = json.loads(out)
    (case,) = document["cases"]
    assert (code, document["run_directory"], document["target"]) == (0, str(tmp_path / "run"), str(target))
    assert (document["least_s"], document["most_s"]) == (case["least_s"], case["most_s"]) == (1, 8)
    assert case["engine_command"][1] == "run"
    assert len(case["steps"]) == 4
    assert document["written_bytes"] == case["written_bytes"] > 0


def test_only_the_study_is_checked_without_a_target(tmp_path: Path, mine: Path) -> None:
    code, out, err = ioassay("run", mine, "--dry-run")
    assert (code, err) == (0, "")
    assert "The study is valid." in out
    assert "/TARGET/" in out
    bad = study(tmp_path, workload("nn", steps="[read]"))
    code, out, err = ioassay("run", bad, "--dry-run")
    assert (code, out) == (2, "")
    assert ".yaml:" in err, "the line of the study"


def test_a_dry_run_refuses_what_a_run_refuses(target: Path, tmp_path: Path, mine: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/file").touch()
    code, _, err = ioassay("run", mine, "--target", target, "--out", tmp_path / "taken", "--dry-run")
    assert code == 2
    assert "taken" in err
    code, _, err = ioassay("run", mine, "--target", tmp_path / "absent", "--dry-run")
    assert code != 0
    code, _, err = ioassay("run", "--resume", tmp_path / "taken", "--dry-run")
    assert (code, "--resume keeps" in err) == (2, True)
