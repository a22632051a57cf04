"""`clean` and `--resume` neither execute commands of a run directory nor touch files of other users."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from ioassay.store.run_files import DOCUMENT
from ioassay.testing.importer_samples import FILES

from .support import LONG, Measurement, ioassay, is_gone, study, until

OTHER_USER = 12345
"""A user id without an account."""


@pytest.fixture
def left(target: Path, tmp_path: Path) -> Measurement:
    """A run whose processes were all killed, so that its workspace is still there."""
    measurement = Measurement(study(tmp_path, LONG), target, tmp_path / "run")
    measurement.until_moving()
    engine, processes = measurement.engine, measurement.processes
    os.kill(engine, signal.SIGSTOP)
    os.kill(measurement.pid, signal.SIGKILL)
    os.kill(engine, signal.SIGKILL)
    measurement.end()
    until(lambda: all(map(is_gone, processes)), "engine and ranks to end")
    return measurement


def _give_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    for entry in (path, *path.rglob("*")):
        os.chown(entry, OTHER_USER, OTHER_USER, follow_symlinks=False)


def _bytes_below(path: Path) -> dict[Path, bytes | None]:
    return {entry: entry.read_bytes() if entry.is_file() else None for entry in sorted(path.rglob("*"))}


def test_clean_does_not_execute_the_launcher_of_the_run(
    left: Measurement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed = tmp_path / "executed"
    for name in ("mpirun", "srun", "mpicc"):
        fake = tmp_path / "bin" / name
        fake.parent.mkdir(exist_ok=True)
        fake.write_text(f'#!/bin/sh\necho "$0 $*" >> {executed}\n')
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    left.load()
    document = json.loads((left.out / DOCUMENT).read_text())
    for launcher in ("mpirun", "srun"):
        changed = document | {"launcher": launcher, "launcher_options": ["sh", "-c", f"touch {executed}"]}
        (left.out / DOCUMENT).write_text(json.dumps(changed))
        code, out, err = ioassay("clean", left.out)
        assert code == 0, out + err
        assert not executed.exists(), executed.read_text()
    assert list(left.target.iterdir()) == []


def test_the_launcher_that_the_caller_names_is_used(left: Measurement) -> None:
    code, out, _ = ioassay("clean", left.out, "--hosts", "n1")
    assert (code, out) == (2, "")
    assert ioassay("clean", left.out, "--launcher", "local")[0] == 0
    assert list(left.target.iterdir()) == []


@pytest.mark.parametrize("part", [".", DOCUMENT, "logs/long.*/plan.json"])
def test_a_run_of_another_user_is_not_resumed(left: Measurement, part: str) -> None:
    left.load()
    for path in left.out.glob(part) if part != "." else [left.out]:
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(path, OTHER_USER, OTHER_USER)
    before = _bytes_below(left.out)
    code, _, err = ioassay("run", "--resume", left.out)
    assert code == 2
    assert f"belongs to user {OTHER_USER}" in err
    assert _bytes_below(left.out) == before


def test_cleaning_another_users_run_removes_only_the_callers_workspace(
    left: Measurement,
) -> None:
    left.load()
    _give_away(left.out)
    before = _bytes_below(left.out)
    code, out, err = ioassay("clean", left.out)
    assert code == 0, out + err
    assert list(left.target.iterdir()) == []
    assert _bytes_below(left.out) == before


def test_a_workspace_of_another_user_stays_whatever_its_list_says(left: Measurement) -> None:
    (workspace,) = left.target.iterdir()
    _give_away(workspace)
    before = _bytes_below(left.target)
    for owner in ("ours", "theirs"):
        code, out, _ = ioassay("clean", left.out)
        assert code == 3, owner
        assert f"belongs to user {OTHER_USER}" in out
        assert _bytes_below(left.target) == before
        _give_away(left.out)


def test_clean_of_a_copy_of_a_live_run_leaves_its_workspace_alone(target: Path, tmp_path: Path) -> None:
    live = Measurement(study(tmp_path, LONG), target, tmp_path / "run")
    live.until_moving()
    copy = tmp_path / "copy"
    shutil.copytree(live.out, copy)
    code, out, err = ioassay("clean", copy)
    assert code == 3, out + err
    assert "is in use by process" in out
    (workspace,) = target.iterdir()
    assert len(list(workspace.iterdir())) > 1, "its files are still there"
    assert live.process.poll() is None
    os.kill(live.pid, signal.SIGTERM)
    code, _, err = live.end()
    assert (code, "SIGTERM" in err) == (3, True)
    assert list(target.iterdir()) == []
    # Nothing is left to remove, and clean of the copy says so too.
    assert ioassay("clean", copy)[0] == 0


def test_a_damaged_table_keeps_neither_clean_nor_resume_from_their_work(left: Measurement) -> None:
    left.load()
    for damaged in left.out.glob("*.parquet"):
        damaged.write_bytes(b"not a table")
    code, out, err = ioassay("clean", left.out)
    assert (code, "Removed" in out) == (0, True), out + err
    assert list(left.target.iterdir()) == []
    left.shorten()
    code, _, err = ioassay("run", "--resume", left.out)
    assert code == 0, err
    assert "measurements.parquet is damaged" in err
    assert "The tables are rebuilt from the logs." in err
    assert left.load().measurements.height == 2


def test_clean_reports_nothing_left_on_a_removed_target(left: Measurement) -> None:
    shutil.rmtree(left.target)
    code, out, err = ioassay("clean", left.out)
    assert (code, err) == (0, "")
    assert out == f"Nothing to remove. The target {left.target} no longer exists, so nothing remains on it.\n"
    assert left.load().document.leftovers == []
    # On another file system it may still exist: the run noted the one that it measured.
    document = json.loads((left.out / DOCUMENT).read_text())
    document["environment"][0]["mount"]["source"] = "elsewhere:/export"
    (left.out / DOCUMENT).write_text(json.dumps(document))
    code, out, _ = ioassay("clean", left.out)
    assert code == 3
    assert "may not be mounted" in out


def test_an_imported_run_has_nothing_to_clean_or_to_resume(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert ioassay("import", "ior", FILES / "ior/2.10.3-plain.txt", "--out", run)[0] == 0
    before = _bytes_below(run)
    code, out, err = ioassay("clean", run)
    assert (code, out.count("\n"), err) == (0, 1, "")
    assert "The run was imported" in out
    code, out, err = ioassay("run", "--resume", run)
    assert (code, out) == (2, "")
    assert f"{run} was imported from results of ior: there are no cases to run." in err
    assert _bytes_below(run) == before
