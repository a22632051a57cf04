"""Targets that are too small, fail during the run, or contain foreign files."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

from ioassay.store.run_directory import load

from .support import LONG, Measurement, ioassay, states, study, until, workload

Mount = Callable[[str], Path]


def test_a_target_that_is_too_small_is_refused_before_anything_is_written(mount: Mount, tmp_path: Path) -> None:
    target = mount("size=16m")
    file = study(tmp_path, workload("fits"), workload("does-not", total="32MiB"), workload("nor-this", total="64MiB"))
    code, out, err = ioassay("run", file, "--target", target, "--out", tmp_path / "run")
    assert (code, out) == (3, "")
    assert "Case does-not.c002.r1 (and 1 more): " in err
    assert "16.0 MiB free, but a case needs 32.0 MiB" in err
    assert "free space on the target" in err
    assert list(target.iterdir()) == []
    assert not (tmp_path / "run").exists()


def test_a_target_without_inodes_is_refused(mount: Mount, tmp_path: Path) -> None:
    target = mount("size=16m,nr_inodes=3")
    code, _, err = ioassay("run", study(tmp_path, workload("nn")), "--target", target, "--out", tmp_path / "run")
    assert code == 3
    assert "inodes free" in err
    assert "Case" not in err, "no case fits: that is of the target"


def test_a_target_that_fills_up_ends_the_run_with_rank_operation_path_and_errno(mount: Mount, tmp_path: Path) -> None:
    target = mount("size=320m")
    file = study(tmp_path, workload("before"), LONG, workload("after"))
    measurement = Measurement(file, target, tmp_path / "run")
    measurement.until_moving()
    _fill(target / "somebody-elses")
    code, _, err = measurement.end()
    assert code == 1
    for part in ("rank ", "write: write ", f"{target}/ioassay-", "No space left on device (ENOSPC)"):
        assert part in err
    assert "free space or inodes on the target, or measure with less data" in err
    run = measurement.load()
    assert run.document.state == "failed"
    assert states(run.document) == {"before": "complete", "long": "failed", "after": "pending"}
    assert run.measurements.filter(complete=True).height == 2
    assert [path.name for path in target.iterdir()] == ["somebody-elses"]


def _fill(file: Path) -> None:
    """Takes what is left of the file system."""
    with file.open("wb", buffering=0) as filler:
        for piece_bytes in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while filler.write(bytes(piece_bytes)):
                    pass


def test_a_read_only_target_is_refused(mount: Mount, tmp_path: Path) -> None:
    target = mount("ro")
    code, _, err = ioassay("run", study(tmp_path, workload("nn")), "--target", target, "--out", tmp_path / "run")
    assert code == 3
    assert "EROFS" in err
    assert "read-only" in err


def test_a_target_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, wrong in (("absent", "does not exist"), ("file", "is not a directory")):
        code, _, err = ioassay(
            "run", study(tmp_path, workload("nn")), "--target", tmp_path / name, "--out", tmp_path / "run"
        )
        assert code == 2
        assert f"{tmp_path / name} {wrong}." in err


def test_a_target_that_vanishes_ends_the_run_after_its_case(target: Path, tmp_path: Path) -> None:
    pausing = workload("long", steps="[write, {pause: 2s}, read]")
    file = study(tmp_path, workload("before"), pausing, workload("after"))
    measurement = Measurement(file, target, tmp_path / "run")
    until(lambda: [event for event in measurement.events("long") if event["event"] == "phase"], "the first phase")
    target.rename(tmp_path / "moved")
    code, _, err = measurement.end()
    assert code == 1
    assert "ENOENT" in err
    run = measurement.load()
    assert states(run.document) == {"before": "complete", "long": "complete", "after": "failed"}
    assert run.measurements.filter(complete=True).height == 4
    assert list((tmp_path / "moved").iterdir()) == [], "what was held is removed where it lies now"

    (tmp_path / "moved").rename(target)
    assert ioassay("clean", measurement.out)[0] == 0


def test_a_complete_run_that_leaves_something_is_no_success(target: Path, tmp_path: Path) -> None:
    hook = f"cd {target}/ioassay-* && touch thesis.txt"
    steps = f"[write, {{cold-cache: {{hooks: [{{command: '{hook}'}}], methods: [fadvise]}}}}, read]"
    file = study(tmp_path, workload("only", steps=steps))
    code, _, err = ioassay("run", file, "--target", target, "--out", tmp_path / "run")
    [stranger] = target.glob("ioassay-*/thesis.txt")
    assert f"Left on the target: {stranger}" in err
    assert code == 1
    assert load(tmp_path / "run").document.state == "complete"
    stranger.unlink()
    assert ioassay("clean", tmp_path / "run")[0] == 0
    assert list(target.iterdir()) == []


def test_a_foreign_directory_in_place_of_the_workspace_is_refused_and_not_touched(target: Path, tmp_path: Path) -> None:
    measurement = Measurement(study(tmp_path, LONG), target, tmp_path / "run")
    measurement.until_moving()
    os.kill(measurement.pid, signal.SIGTERM)
    measurement.end()
    foreign = target / f"ioassay-{measurement.document.run}"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years of work")

    code, out, _ = ioassay("clean", measurement.out)
    assert code == 3
    assert "is not a workspace of ioassay" in out
    code, _, err = ioassay("run", "--resume", measurement.out)
    assert code != 0
    assert str(foreign) in err
    assert (foreign / "thesis.txt").read_text() == "years of work"
