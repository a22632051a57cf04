"""Training in a comparison: results of DLIO beside runs of ours, by one definition of each measure."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.analysis.compare.measured_run import subject
from ioassay.analysis.compare.subject import Subject
from ioassay.analysis.test_feeding import SWEPT, swept
from ioassay.analysis.test_training import MS
from ioassay.analysis.training import training
from ioassay.importers.dlio import gather
from ioassay.importers.stored import storable
from ioassay.importers.test_importers_dlio import GENERATED, NEWER, RELEASE, summary
from ioassay.reports.compare import ComparisonReport, configuration
from ioassay.reports.compare import training as of_training
from ioassay.reports.compare.content import Side, assemble
from ioassay.store.loaded import LoadedRun


def imported(folder: Path) -> LoadedRun:
    (gathered,) = gather([folder])
    _, run = storable(gathered, ["ioassay", "import", "dlio", str(folder)])
    assert run is not None
    tables = dict(run.tables)
    return LoadedRun(document=run.document, samples=tables.pop("samples").lazy(), watch=None, **tables)


def subjects(*runs: LoadedRun) -> list[Subject]:
    return [subject(run, name) for run, name in zip(runs, "abc", strict=False)]


OURS = swept({1: 240 * MS, 2: 228 * MS, 4: 180 * MS, 8: 100 * MS}, SWEPT.replace("repetitions: 2", "repetitions: 4"))


@pytest.mark.parametrize(
    ("folder", "definition", "absent"),
    [(RELEASE, "DLIO release", "DLIO repository"), (NEWER, "DLIO repository", "DLIO release")],
)
def test_an_import_has_what_dlio_printed_by_its_definition_and_ours_from_the_times_of_steps(
    folder: Path, definition: str, absent: str
) -> None:
    run = imported(folder)
    printed = [percent / 100 for percent in summary(folder)["metric"]["train_au_percentage"]]
    rows = {(row["measure"], row["definition"]): row for row in of_training.data(subjects(OURS, run))}
    assert ("utilisation", absent) not in rows
    of_dlio = rows["utilisation", definition]
    assert of_dlio["other_median"] == pytest.approx(sorted(printed)[1])
    assert (of_dlio["accelerators"], of_dlio["other_epochs"], of_dlio["reference_epochs"]) == (2, 3, 4)
    assert rows["utilisation", "ioassay"]["reference_median"] == pytest.approx(0.95)
    # The wait for the first batch counts by ours, and nothing after the last step does.
    utilisations = [case.epochs[0].utilisation for case in training(run)]
    assert utilisations[0] < printed[0]
    assert utilisations[2] > printed[2]
    assert [case.epochs[0].read_bytes_per_s for case in training(run)] == [None] * 3
    assert rows["samples", "all steps"]["unit"] == "samples/s"
    assert all(row["low"] <= row["ratio"] <= row["high"] for row in rows.values())


def test_utilisation_of_one_rank_is_that_of_its_steps() -> None:
    run = imported(GENERATED)
    (first, *_) = training(run)
    (rank,) = run.training.filter(case=first.case).to_dicts()
    assert first.epochs[0].utilisation == pytest.approx(rank["compute_ns"] / rank["last_step_ns"])
    assert rank["steps"] == 12
    assert rank["asked_compute_ns"] == 50 * MS
    assert 0 < rank["first_batch_ns"] < rank["first_step_ns"] < rank["last_step_ns"]


def test_without_the_files_of_ranks_training_is_not_compared(tmp_path: Path) -> None:
    folder = shutil.copytree(NEWER, tmp_path / "out")
    for rank in (0, 1):
        (folder / f"{rank}_output.json").unlink()
    run = imported(folder)
    assert run.training.is_empty()
    assert of_training.data(subjects(OURS, run)) == []


def test_two_runs_of_ours_are_compared_by_all_definitions() -> None:
    slower = swept(
        {1: 240 * MS, 2: 120 * MS, 4: 180 * MS, 8: 100 * MS}, SWEPT.replace("repetitions: 2", "repetitions: 4")
    )
    of_two = [row for row in of_training.data(subjects(OURS, slower)) if row["accelerators"] == 2]
    definitions = [row["definition"] for row in of_two if row["measure"] == "utilisation"]
    assert definitions == ["ioassay", "DLIO repository", "DLIO release"]
    assert of_two[0]["ratio"] == pytest.approx(120 / 228)
    assert of_two[0]["differs"]
    (sentence, *_) = [text for text in of_training.sentences(subjects(OURS, slower)) if "2 accelerators" in text]
    assert sentence.startswith("W, 2 accelerators: b keeps them 50 % busy, a 95 % (utilisation, ioassay; ")


@pytest.mark.parametrize("form", ["html", "md", "csv", "json"])
def test_a_comparison_with_dlio_has_a_table_and_says_what_differs(form: reports.Format) -> None:
    sides = [
        Side(subject(run, name), configuration.run_facts(run.document))
        for run, name in ((OURS, "a"), (imported(NEWER), "b"))
    ]
    content = assemble(sides)
    text = reports.build(ComparisonReport(content), form).decode()
    if form != "csv":
        assert "DLIO repository" in text
    if form == "md":
        assert "b keeps them" in text
        assert "No matching measurements" not in text
        assert "batches of 2 against 4 samples and 50.0 ms against 10.0 ms of computation for each" in text
