from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import polars as pl

from ioassay.analysis.compare import measured_run
from ioassay.analysis.trend.history import Group, Run, groups
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.testing.nightly_runs import night


def as_run(name: str, run: LoadedRun) -> Run:
    document = run.document
    started = datetime.fromisoformat(document.started)
    return Run(measured_run.subject(run, name), document.study.name, document.where, started)


def builder(*clients: int, transfer: int = 1 << 20) -> RunBuilder:
    return RunBuilder().clients(*clients).repetitions(3).workload("seq", transfer_bytes=transfer)


def writes(group: Group) -> list[list[str]]:
    """The names of the runs at each point of the writes."""
    return [
        [measured.run.name for measured in history.measured]
        for history in group.histories
        if history.curve.operation == "write"
    ]


def test_runs_are_sorted_by_start_and_not_by_name() -> None:
    (group,) = groups([as_run(name, night(day, builder(1))) for name, day in (("a", 2), ("b", 0), ("c", 1))])
    assert [run.name for run in group.runs] == ["b", "c", "a"]
    assert writes(group) == [["b", "c", "a"]]
    assert group.latest.name == "a"


def test_studies_and_targets_have_separate_groups() -> None:
    elsewhere, other = night(2, builder(1)), night(3, builder(1))
    elsewhere.document.target = "/mnt/archive"
    other.document.study.name = "other"
    runs = [
        as_run("a", night(0, builder(1))),
        as_run("b", elsewhere),
        as_run("c", other),
        as_run("d", night(1, builder(1))),
    ]
    by_target = groups(runs)
    assert [[run.name for run in group.runs] for group in by_target] == [["a", "d"], ["b"], ["c"]]
    by_target = groups(runs, any_target=True)
    assert [[run.name for run in group.runs] for group in by_target] == [["a", "d", "b"], ["c"]]


def test_a_run_under_other_conditions_is_left_out_with_its_differences() -> None:
    runs = [night(0, builder(1, 8, transfer=4096)), night(1, builder(1, 8)), night(2, builder(1, 8))]
    (group,) = groups([as_run(name, run) for name, run in zip("abc", runs, strict=True)])
    assert writes(group) == [["b", "c"], ["b", "c"]]
    assert len(group.histories) == 4
    for history in group.histories:
        (left_out,) = history.left_out
        assert left_out.run.name == "a"
        assert [(difference.what, difference.reference, difference.other) for difference in left_out.unlike] == [
            ("transfer_bytes", 1 << 20, 4096)
        ]


def test_runs_of_a_study_that_sizes_its_data_by_speed_are_compared_at_any_size() -> None:
    def runs(study: str) -> list[Run]:
        built = [night(0, builder(1)), night(1, builder(1)), night(2, builder(1, transfer=4096))]
        all_runs = []
        for times, name, run in zip((1, 2, 3), "abc", built, strict=True):
            run.document.study.name = study
            larger = run.measurements.with_columns(file_set_bytes=pl.col("file_set_bytes") * times)
            all_runs.append(as_run(name, replace(run, measurements=larger)))
        return all_runs

    (group,) = groups(runs("quick")[:2])
    assert writes(group) == [["a", "b"]]
    (group,) = groups(runs("nightly")[:2])
    assert writes(group) == [["b"]]
    (group,) = groups(runs("quick"))
    assert writes(group) == [["c"]], "another transfer size is another measurement"


def test_a_point_has_the_runs_that_measured_it() -> None:
    runs = [night(0, builder(1, 8)), night(1, builder(8)), night(2, builder(1, 8))]
    (group,) = groups([as_run(name, run) for name, run in zip("abc", runs, strict=True)])
    assert writes(group) == [["a", "c"], ["a", "b", "c"]]
    assert group.missing == ()


def test_points_of_the_previous_run_that_the_latest_lacks_are_missing() -> None:
    failed = builder(1, 8)
    for repetition in (1, 2, 3):
        failed.doubt(f"seq-c8-r{repetition}", "write", "failed", invalidates=True)
        for clients in (1, 8):
            failed.doubt(f"seq-c{clients}-r{repetition}", "read", "failed", invalidates=True)
    (group,) = groups([as_run("a", night(0, builder(1, 8))), as_run("b", night(1, failed))])
    missing = [(entry.curve.operation, entry.point.clients if entry.point else None) for entry in group.missing]
    assert missing == [("write", 8), ("read", None)]
