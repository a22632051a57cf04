"""What a front end of the engine leaves becomes a run like any other: its events by the real engine, its report."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from ioassay.engine import find_engine, run_arguments
from ioassay.results import schema
from ioassay.results.events import read_events
from ioassay.results.run_directory import load
from ioassay.testing.front_ends import MIB, ior_plan, leave

from .support import DEADLINE_S, ioassay, until


def start(folder: Path) -> subprocess.Popen[bytes]:
    """The engine at work on the case in `folder`, as a front end has it done."""
    arguments = run_arguments(folder / "events.jsonl", folder / "progress.jsonl", folder / "plan.json")
    return subprocess.Popen([find_engine(), *arguments])


def left(directory: Path, *plans: dict[str, Any]) -> None:
    """Leaves the run of an `ior` with these repetitions, all measured."""
    for folder in leave(directory, {"test-0": plans}):
        assert start(folder).wait(DEADLINE_S) == 0


def test_a_front_ends_run_is_reported_with_medians_and_doubts(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    left(run, *(ior_plan(f"test-0.r{at}", target / "file", seed=at) for at in (1, 2, 3)))
    code, _, err = ioassay("report", run)
    assert code == 0, err
    loaded = load(run)
    assert (loaded.document.state, loaded.document.leftovers) == ("complete", [])
    assert loaded.measurements["bytes"].to_list() == [4 * MIB] * 6
    assert loaded.measurements["complete"].all()
    assert {file.name for file in run.glob("*.parquet")} == {f"{name}.parquet" for name in schema.TABLES}
    page = (run / "report.html").read_text()
    for said in (f"IOR on {target}", "the median of the valid repetitions", "Cache resident", "IOR itself did not run"):
        assert said in page
    assert "Peak" not in page

    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    assert ioassay("report", run)[0] == 0
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before


def test_every_format_tells_the_same_medians(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    left(run, ior_plan("test-0.r1", target / "file"))
    _, markdown, _ = ioassay("report", run, "--format", "md")
    assert "| test-0 | write | 2 |" in markdown
    _, document, _ = ioassay("report", run, "--format", "json")
    assert json.loads(document)["run"]["front_end"] == "ior"


def test_a_killed_front_end_leaves_an_interrupted_run_that_names_what_may_be_there(
    target: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    plan = ior_plan("test-0.r1", target / "file")
    plan["steps"].insert(1, {"step": "pause", "duration_ns": 60 * 10**9})
    (folder,) = leave(run, {"test-0": [plan]}, exit_code=None)
    engine = start(folder)
    events = folder / "events.jsonl"
    until(lambda: any(event["event"] == "phase" for event in read_events(events)), "the write to end")
    engine.send_signal(signal.SIGKILL)
    engine.wait(DEADLINE_S)

    code, _, err = ioassay("report", run)
    assert code == 0, err
    loaded = load(run)
    assert loaded.document.state == "interrupted"
    assert loaded.measurements["phase"].to_list() == ["write"]

    code, out, _ = ioassay("clean", run)
    assert code == 3
    assert f"{target}/file.00000000" in out
    assert "where its command line named them" in out
    assert (target / "file.00000000").exists()


def test_there_is_nothing_to_clean_or_to_resume_of_a_command_line(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    left(run, ior_plan("test-0.r1", target / "file"))
    code, out, _ = ioassay("clean", run)
    assert (code, out.startswith("Nothing to remove.")) == (0, True)
    code, _, err = ioassay("run", "--resume", run)
    assert code == 2
    assert "Give the command line again" in err
