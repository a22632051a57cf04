"""The run directory of a front end of the engine is a run like any other, with a report."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import psutil

from ioassay.processes.engine import find_engine
from ioassay.store import schema
from ioassay.store.events import read_events
from ioassay.store.run_directory import load

from .support import DEADLINE_S, ioassay, until

MIB = 1 << 20


def ior(run: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    """IOR's command line at work, with two ranks and a run directory."""
    command = [find_engine(), "ior", "--ranks", "2", "--run", run, *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measured(run: Path, *arguments: str | Path) -> None:
    """The same to its end."""
    assert ior(run, *arguments).wait(DEADLINE_S) == 0


def test_a_front_ends_run_is_reported_with_medians_and_doubts(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    measured(run, "-F", "-i", "3", "-t", "256k", "-b", "1m", "-s", "2", "-o", target / "file")
    code, _, err = ioassay("report", run)
    assert code == 0, err
    loaded = load(run)
    assert (loaded.document.state, loaded.document.leftovers) == ("complete", [])
    assert loaded.measurements["bytes"].to_list() == [4 * MIB] * 6
    assert loaded.measurements["complete"].all()
    assert {file.name for file in run.glob("*.parquet")} == {f"{name}.parquet" for name in schema.TABLES}
    page = (run / "report.html").read_text()
    for phrase in (
        f"IOR on {target}",
        "the median of the valid repetitions",
        "Cache resident",
        "IOR itself did not run",
    ):
        assert phrase in page
    assert "Peak" not in page

    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    assert ioassay("report", run)[0] == 0
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before


def test_every_format_has_the_same_medians(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    measured(run, "-t", "256k", "-b", "1m", "-o", target / "file")
    _, markdown, _ = ioassay("report", run, "--format", "md")
    assert "| test0 | write | 2 |" in markdown
    _, document, _ = ioassay("report", run, "--format", "json")
    assert json.loads(document)["run"]["origin"] == {"kind": "front-end", "tool": "ior"}


def test_a_command_in_progress_is_refused_and_a_killed_one_is_an_interrupted_run(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    engine = ior(run, "-w", "-F", "-t", "8", "-b", "1g", "-o", target / "file")
    until(lambda: any(read_events(file) for file in run.glob("logs/*/events.jsonl")), "the case to begin")
    code, _, err = ioassay("report", run)
    assert code == 2
    (worker,) = psutil.Process(engine.pid).children()  # the engine itself guards it
    assert f"in use by process {worker.pid}" in err
    worker.kill()
    engine.wait(DEADLINE_S)

    code, _, err = ioassay("report", run)
    assert code == 0, err
    document = load(run).document
    assert (document.state, [case.state for case in document.cases]) == ("interrupted", ["interrupted"])
    assert document.leftovers == [f"{target}/file.00000000", f"{target}/file.00000001"]

    code, out, _ = ioassay("clean", run)
    assert code == 3
    assert "that its command line named" in out
    assert (target / "file.00000000").exists()


def test_a_command_whose_guard_is_killed_removes_its_files_and_is_an_interrupted_run(
    target: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    engine = ior(run, "-w", "-F", "-t", "8", "-b", "1g", "-o", target / "file")
    until((target / "file.00000000").exists, "the case to begin")
    (worker,) = psutil.Process(engine.pid).children()
    engine.send_signal(signal.SIGKILL)
    engine.wait(DEADLINE_S)
    psutil.wait_procs([worker], DEADLINE_S)
    assert list(target.iterdir()) == []

    code, _, err = ioassay("report", run)
    assert code == 0, err
    document = load(run).document
    assert (document.state, document.leftovers) == ("interrupted", [])


def test_a_front_ends_run_has_nothing_to_clean_or_to_resume(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    measured(run, "-t", "256k", "-b", "1m", "-o", target / "file")
    code, out, _ = ioassay("clean", run)
    assert (code, out.startswith("Nothing to remove.")) == (0, True)
    code, _, err = ioassay("run", "--resume", run)
    assert code == 2
    assert "Run the command line again" in err
