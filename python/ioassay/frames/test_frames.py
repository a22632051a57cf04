"""Stored runs in Python."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ioassay
from ioassay.errors import UsageError
from ioassay.frames import RUN
from ioassay.store.schema import MEASUREMENTS, TABLES
from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name, rate in (("before", 1e9), ("after", 2e9)):
        builder = RunBuilder().workload("w").clients(1, 2).repetitions(3)
        store(builder.rates("w", "write", 2, rate, rate * 1.01, rate * 0.99).build(), tmp_path / name)
    (tmp_path / "notes").mkdir()
    return tmp_path


def test_runs_become_one_frame_with_the_run_of_each_row(runs: Path) -> None:
    loaded = ioassay.load(runs / "*")
    assert [Path(path).name for path in loaded.by_path] == ["after", "before"]
    assert loaded.measurements.columns == [RUN, *MEASUREMENTS]
    assert loaded.measurements.height == 2 * 2 * 2 * 3
    for name in TABLES:
        assert getattr(loaded, name).lazy().collect_schema().names()[0] == RUN


def test_medians_of_runs_stand_side_by_side(runs: Path) -> None:
    medians = ioassay.load(runs / "before", runs / "after").medians().filter(phase="write", clients=2)
    assert medians["median"].to_list() == pytest.approx([1e9, 2e9])
    assert medians["low"].to_list() == pytest.approx([0.99e9, 1.98e9])


def test_samples_stay_on_disk_until_they_are_collected(runs: Path) -> None:
    totals = ioassay.load(runs / "*").samples.group_by(RUN).agg(pl.col("bytes").sum()).collect()
    assert totals.height == 2
    written_and_read = ioassay.load(runs / "before").measurements["bytes"].sum()
    assert totals["bytes"].to_list() == pytest.approx([written_and_read] * 2)


def test_findings_come_with_their_sentences(runs: Path) -> None:
    frame = ioassay.load(runs / "before").findings()
    assert frame.columns == [RUN, "severity", "kind", "sentence", "remedy", "rests_on"]
    assert frame["sentence"].str.len_chars().min() or frame.is_empty()


def test_a_folder_stands_for_all_runs_below_it(runs: Path) -> None:
    assert ioassay.load(runs).by_path.keys() == ioassay.load(runs / "*").by_path.keys()


def test_a_pattern_without_any_run_is_refused(runs: Path) -> None:
    with pytest.raises(UsageError, match="No run directory matches"):
        ioassay.load(runs / "notes")


def test_an_overview_says_what_was_loaded(runs: Path) -> None:
    loaded = ioassay.load(runs / "*")
    assert repr(loaded) == f"2 runs: {runs}/after, {runs}/before"
    assert (
        loaded.overview.select("study", "state", "cases", "measurements", "valid").rows()
        == [("example", "complete", 6, 12, 12)] * 2
    )


def test_peaks_and_percentiles_of_runs_stand_side_by_side(runs: Path) -> None:
    loaded = ioassay.load(runs / "before", runs / "after")
    peaks = loaded.peaks_and_sustained().filter(operation="write")
    assert [Path(path).name for path in peaks[RUN]] == ["before", "after"]
    assert peaks["peak_bytes_per_s"].to_list() == pytest.approx([1e9, 2e9])
    percentiles = loaded.latency_percentiles()
    assert percentiles.height == 2 * 2 * 2
    assert percentiles.filter(pl.col("p50_ns") > pl.col("max_ns")).is_empty()


def test_other_runs_are_divided_by_the_first(runs: Path) -> None:
    ratios = ioassay.load(runs / "before", runs / "after").ratios().filter(operation="write", reference_clients=2)
    point = ratios.filter(pl.col("at") == "point").row(0, named=True)
    assert (point["reference"], point["other"], point["differs"]) == ("before", "after", True)
    assert point["ratio"] == pytest.approx(2.0)
    assert 1.9 < point["low"] < 2.0 < point["high"] < 2.1
    with pytest.raises(UsageError, match="only one run to compare"):
        ioassay.load(runs / "before").ratios()
