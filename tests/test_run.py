"""A study run from beginning to end, resumed, and reported."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from ioassay.store import schema
from ioassay.store.measurement import KEY
from ioassay.store.run_directory import load

from .support import ioassay, study, workload

KEYS = list(KEY)


def test_a_run_measures_every_phase_and_leaves_the_target_as_it_was(target: Path, tmp_path: Path) -> None:
    (target / "thesis.txt").write_text("years of work")
    (target / "ioassay-of-somebody-else").mkdir()
    file = study(tmp_path, workload("nn"), workload("n1", layout="N-1"), workload("random", order="random"))
    code, out, err = ioassay("run", file, "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    assert str(tmp_path / "run" / "report.html") in out
    assert "[6/6]" in err

    run = load(tmp_path / "run")
    assert run.document.state == "complete"
    assert run.document.engine_version
    assert run.document.environment[0]["mount"]["file_system"]
    assert run.measurements.select("case", "phase", "bytes").rows() == [
        (case.id, phase, 1 << 20) for case in run.document.cases for phase in ("write", "read")
    ]
    assert sorted(path.name for path in target.iterdir()) == ["ioassay-of-somebody-else", "thesis.txt"]
    assert (target / "thesis.txt").read_text() == "years of work"


def test_all_tables_agree_with_one_another(target: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("nn", repetitions="2"), workload("n1", layout="N-1", segments="2"))
    ioassay("run", file, "--target", target, "--out", tmp_path / "run")
    run = load(tmp_path / "run")
    for name, columns in schema.TABLES.items():
        assert getattr(run, name).lazy().collect_schema() == columns
    totals = run.measurements.select(*KEYS, "bytes", "operations", "ranks", "duration_ns").sort(KEYS)
    assert totals.height == 6
    for table in (run.ranks, run.samples.collect()):
        summed = table.group_by(KEYS).agg(pl.sum("bytes", "operations"), pl.n_unique("rank").alias("ranks"))
        assert summed.sort(KEYS).equals(totals.drop("duration_ns"))
    counted = run.latencies.group_by(KEYS).agg(pl.sum("count").alias("operations").cast(pl.Int64)).sort(KEYS)
    assert counted.equals(totals.select(*KEYS, "operations"))
    last = run.ranks.group_by(KEYS).agg(pl.max("end_ns").alias("duration_ns")).sort(KEYS)
    assert last.equals(totals.select(*KEYS, "duration_ns"))


def test_json_is_the_only_thing_on_standard_output(target: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("nn"))
    code, out, err = ioassay("run", file, "--target", target, "--out", tmp_path / "run", "--json")
    assert code == 0, err
    assert json.loads(out)
    assert "[2/2]" in err


def test_the_default_run_directory_is_named_for_time_and_study(target: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("nn"))
    code, _, err = ioassay("run", file, "--target", target, directory=tmp_path)
    assert code == 0, err
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.endswith("-tiny")
    assert load(run).document.run.startswith(run.name)


def test_reporting_a_stored_run_again_gives_the_same_bytes(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ioassay("run", study(tmp_path, workload("nn")), "--target", target, "--out", run)
    for form in ("html", "md", "json"):
        files = [tmp_path / f"{number}.{form}" for number in (1, 2)]
        for file in files:
            code, _, err = ioassay("report", run, "--format", form, "-o", file)
            assert code == 0, err
        first, second = (file.read_bytes() for file in files)
        assert first == second
        assert first


def test_a_complete_run_has_nothing_to_resume_and_is_not_measured_again(target: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    never_met = "acceptance: [{measure: rate, of: nn, operation: write, at_least: 1000TB/s, because: it must fail}]\n"
    code, _, _ = ioassay("run", study(tmp_path, workload("nn"), never_met), "--target", target, "--out", run)
    assert code == 1
    before = _files(run)
    code, out, err = ioassay("run", "--resume", run, "--json")
    assert (code, json.loads(out)["run"]["state"]) == (1, "complete")
    assert err == f"The run is already complete: {run}\nWrite its report with: ioassay report {run}\n"
    assert _files(run) == before


def _files(run: Path) -> dict[Path, tuple[bytes, int]]:
    """All that is stored, and when it was written; but for the lock, which names the last process that looked."""
    files = (file for file in run.rglob("*") if file.is_file() and file.name != "lock")
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def test_a_stonewall_a_mix_and_jobs_side_by_side_are_kept_apart(target: Path, tmp_path: Path) -> None:
    steps = "[write, {mixed: 70%}]"
    walled = workload("walled", transfer="4", total="256MiB", steps="[{write: {limit: {stonewall: 100ms}}}, read]")
    both = workload("mix", steps=steps)
    beside = """\
  beside:
    title: beside
    files:
      a: {ranks: 1/2, layout: N-N, order: sequential, transfer: 64KiB, total: 1MiB}
      b: {ranks: 1/2, layout: N-N, order: sequential, transfer: 64KiB, total: 1MiB}
    steps: [{write: {files: b}}, {together: {writer: {write: {files: a}}, reader: {read: {files: b}}}}]
"""
    code, _, err = ioassay("run", study(tmp_path, walled, both, beside), "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    run = load(tmp_path / "run")
    kinds = run.measurements.select("workload", "phase", "job", "operation").rows()
    assert [row for row in kinds if row[0] == "mix"][1:] == [
        ("mix", "mixed", "mixed", "read"),
        ("mix", "mixed", "mixed", "write"),
    ]
    assert [row[2:] for row in kinds if row[1] == "together"] == [("writer", "write"), ("reader", "read")]
    wall = run.measurements.filter(workload="walled", phase="write").row(0, named=True)
    assert wall["stonewall_ns"] >= 100_000_000
    assert 0 < wall["stonewall_bytes"] <= wall["bytes"] < 256 << 20
    assert run.ranks.filter(case=wall["case"], phase="write")["stonewall_bytes"].sum() == wall["stonewall_bytes"]
    assert list(target.iterdir()) == []
