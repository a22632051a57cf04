"""A wrong command line is refused with a correction, before anything is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

from .support import Command, ioassay, study, workload


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Usage: ioassay"),
        (["rum"], "rum"),
        (["run"], "STUDY is missing."),
        (["run", "quick"], "--target is missing."),
        (["run", "quik", "--target", "."], "quik"),
        (["run", "quick", "--target", ".", "--set", "tootal=1GiB"], "tootal"),
        (["run", "quick", "--target", ".", "--set", "total=1.5x"], "1.5x"),
        (["run", "quick", "--target", ".", "--set", "total"], "total"),
        (["run", "quick", "--target", ".", "--launcher", "mpirum"], "mpirum"),
        (["run", "quick", "--target", ".", "--scale", "huge"], "huge"),
        (["run", "quick", "--target", ".", "--out", "\udcff"], r"\xff is not UTF-8"),
        (["run", "quick", "--target", ".", "--destroy-data", "."], "is not a block device"),
        (["run", "quick", "--target", "s3://b", "--destroy-data", "s3://b"], "the target is a URL"),
        (["run", "--resume", "absent"], "absent is not a run directory"),
        (["run", "quick", "--resume", "absent"], "ioassay run --resume absent"),
        (["run", "--resume", "absent", "--launcher", "srun"], "ioassay run --resume absent"),
        (["run", "--resume", "absent", "--time-limit", "1min"], "ioassay run --resume absent"),
        (["clean", "absent"], "absent is not a run directory"),
        (["report", "absent"], "absent is not a run directory"),
        (["profile", "absent"], "There is no absent."),
        (["profile", "."], "it has neither record.json nor tables"),
        (["profile", ".", "--format", "html"], "--format html is written to a file."),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    code, out, err = ioassay(*arguments, directory=tmp_path)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_key_is_named_with_its_file_and_line(target: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("nn", transfr="1MiB"))
    code, _, err = ioassay("run", file, "--target", target)
    assert code == 2
    assert "tiny.yaml:" in err
    assert "transfr" in err
    assert "transfer" in err


def test_a_run_directory_in_use_for_something_else_is_refused(target: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    code, _, err = ioassay("run", "quick", "--target", target, "--out", tmp_path / "mine")
    assert code == 2
    assert "is not empty" in err
    assert list(target.iterdir()) == []


def test_a_missing_engine_is_reported(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOASSAY_ENGINE", "/nowhere/ioassay-engine")
    code, _, err = ioassay("run", "quick", "--target", target)
    assert code == 3
    assert "IOASSAY_ENGINE=/nowhere/ioassay-engine is not an executable file" in err


def test_version_and_help_answer() -> None:
    assert ioassay("--version")[1].startswith("ioassay 0.")
    code, out, _ = ioassay("--help")
    assert code == 0
    for command in ("run", "studies", "report", "clean"):
        assert command in out


def test_a_target_whose_name_cannot_be_printed_is_refused(tmp_path: Path) -> None:
    target = tmp_path / os.fsdecode(b"caf\xe9")
    target.mkdir()
    code, _, err = ioassay("run", "quick", "--target", target, "--out", tmp_path / "run")
    assert code == 2
    assert r"caf\xe9" in err
    assert not (tmp_path / "run").exists()


def test_ctrl_c_ends_any_command_with_3_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(RunBuilder().workload("w").build(), tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\nkill -INT $PPID\nexec sleep 1000\n")
    browser.chmod(0o755)
    monkeypatch.setenv("IOASSAY_BROWSER", str(browser))
    code, out, err = Command(["report", tmp_path / "run", "--format", "pdf"]).end()
    assert (code, out) == (3, "")
    assert "Traceback" not in err
    assert sorted(tmp_path.rglob("*")) == sorted([*before, browser])
