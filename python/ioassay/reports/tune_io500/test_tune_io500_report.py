"""The report of a tuning of the IO500: what it says of made-up systems, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.errors import CannotRun
from ioassay.execution.interruption import Interruption
from ioassay.reports.tune_io500 import TuneIo500Report
from ioassay.reports.tune_io500.pictures import pictures
from ioassay.reports.tune_io500.wording import plan
from ioassay.store.tune_io500_directory import TuneIo500Directory
from ioassay.store.tune_io500_document import TuneIo500Document
from ioassay.testing.artificial_io500 import GB, ArtificialSystem, flat, peaked, tune_document
from ioassay.tuning.io500.answer import Answer, answer
from ioassay.tuning.io500.facts import SourcedNumber
from ioassay.tuning.io500.procedure import Procedure
from ioassay.tuning.io500.striping import striping


def _tuned(path: Path, system: ArtificialSystem, document: TuneIo500Document) -> Answer:
    with TuneIo500Directory.create(path, document) as directory:
        try:
            Procedure(directory, system, lambda line: None, Interruption()).run()
        except CannotRun:
            assert directory.document.state == "failed"
        return answer(directory.document)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Best with 4 ranks; 8 are slower."""
    system = ArtificialSystem(peaked(20 * GB, 4), flat(50_000))
    return _tuned(tmp_path_factory.mktemp("tuned") / "t", system, tune_document(40 * GB))


def _text(of: Answer) -> str:
    return reports.build(TuneIo500Report(of), "md").decode()


def test_the_answer_says_what_to_run(tuned: Answer) -> None:
    text = _text(tuned)
    assert "Best: 1 node with 4 ranks per node, score " in text
    assert "ioassay run io500 --target /mnt/store --set clients=1 --set ranks=4" in text
    assert "ioassay-engine io500 --ranks 4 config.ini" in text
    assert "datadir = /mnt/store" in text
    assert "Confirm them with the full benchmark." in text


def test_every_step_has_its_section_with_what_it_came_to(tuned: Answer) -> None:
    text = _text(tuned)
    for passage in (
        "## 1. System and theory",
        "| Ceiling | 40.0 GB/s (--theory) |",
        "Not applicable: the target is xfs",
        "1 of 1 available, as many as storage targets",
        "Ended at 4 ranks per node: 8 are slower.",
        "| ior-hard-write |",
    ):
        assert passage in text, passage
    rows = [line for line in text.splitlines() if "→" in line]
    assert [row.split("|")[-2].strip() for row in rows] == ["gain", "gain", "slower"]


def test_the_data_have_everything_that_was_measured(tuned: Answer) -> None:
    loads = json.loads(reports.build(TuneIo500Report(tuned), "json"))
    assert loads["recommended"] == {"nodes": 1, "ranks_per_node": 4}
    assert (loads["decided"], loads["ramp"]["end"], loads["ramp"]["ranks_per_node"]) == (True, "loss", 4)
    assert {rank_count["ranks_per_node"]: rank_count["standing"] for rank_count in loads["balance"]} == {
        2: "worse",
        4: "leads",
        8: "worse",
    }
    rows = list(csv.DictReader(io.StringIO(reports.build(TuneIo500Report(tuned), "csv").decode())))
    assert len(rows) == len(loads["tuning"]["measurements"])
    assert {"ranks", "write_bytes_per_s", "score", "phase_find"} <= set(rows[0])


def test_the_page_has_both_figures(tuned: Answer) -> None:
    page = reports.build(TuneIo500Report(tuned), "html").decode()
    assert page.count("<figure") >= 2
    drawn = pictures(tuned)
    assert drawn.easy is not None
    assert drawn.scores is not None
    assert set(drawn.scores.data["quantity"]) == {"Score", "Bandwidth (GiB/s)", "Metadata (kIOPS)"}
    assert drawn.scores.data.filter(quantity="Score").height == 3


def test_the_same_document_gives_the_same_bytes(tuned: Answer) -> None:
    again = answer(TuneIo500Document.model_validate_json(tuned.document.model_dump_json()))
    for form in reports.FORMATS:
        if form != "pdf":
            assert reports.build(TuneIo500Report(tuned), form) == reports.build(TuneIo500Report(again), form)


def test_nothing_that_was_measured_has_a_report_too() -> None:
    empty = answer(tune_document())
    text = _text(empty)
    assert "No rank count has a valid score, so there is nothing to recommend." in text
    assert "Not finished." in text
    drawn = pictures(empty)
    assert (drawn.easy, drawn.scores) == (None, None)
    assert json.loads(reports.build(TuneIo500Report(empty), "json"))["recommended"] is None


def test_an_interrupted_procedure_says_what_is_best_so_far(tmp_path: Path) -> None:
    system = ArtificialSystem(flat(GB), flat(1000), interrupts_after=13)
    text = _text(_tuned(tmp_path / "t", system, tune_document(most_ranks=4)))
    assert "Best so far: " in text
    assert "not all comparisons are done" in text
    assert "It ended early: interrupted by " in text


def test_rank_counts_alike_are_named(tmp_path: Path) -> None:
    text = _text(_tuned(tmp_path / "t", ArtificialSystem(flat(GB), flat(1000)), tune_document(most_ranks=2)))
    assert "It does not differ significantly from " in text


def test_a_ceiling_that_rates_exceed_is_doubted(tmp_path: Path) -> None:
    text = _text(_tuned(tmp_path / "t", ArtificialSystem(flat(2 * GB), flat(1000)), tune_document(GB, most_ranks=2)))
    assert "ior-easy is above the ceiling: the ceiling is too low, or a cache was measured." in text


def test_a_procedure_that_could_measure_nothing_says_why(tmp_path: Path) -> None:
    system = ArtificialSystem(flat(GB), flat(1000), why_invalid=lambda stage, ranks: "No space left on device")
    text = _text(_tuned(tmp_path / "t", system, tune_document(most_ranks=2)))
    assert "No space left on device" in text
    assert "3 of " not in text or "are not valid and were left out" in text


def test_the_striping_of_lustre_is_shown_with_both_layouts() -> None:
    entry = striping("/mnt/store", SourcedNumber(40, "lfs df"), 47008 * 10_000_000, None)
    text = _text(answer(tune_document(striping=entry)))
    assert "Over all 40 storage targets (lfs df) in stripes of 4 MiB" in text
    assert "lfs setstripe -c 40 -S 4096k /mnt/store" in text
    assert "-E 1M -c 1 -E -1 -c 40" in text
    assert "This procedure did not change the striping of the target." in text


def test_the_plan_has_the_first_three_steps() -> None:
    lines = list(plan(tune_document(40 * GB)))
    assert "  Ceiling: 40.0 GB/s (--theory)" in lines
    assert any(line.startswith("Step 3, nodes: 1 of 1") for line in lines)
    assert "Steps 4 and 5: 1, 2, 4, 8, 16, 32 and 64 ranks per node" in lines[-1]


def test_doubts_of_the_runs_are_listed_and_what_they_void_is_withheld(tmp_path: Path) -> None:
    of = _tuned(tmp_path / "t", ArtificialSystem(peaked(20 * GB, 4), flat(50_000)), tune_document(40 * GB))
    for measurement in of.document.measurements:
        measurement.doubts["short-phase"] = "move more data"
        measurement.doubted_phases["short-phase"] = ["find"]
    number = len(of.document.measurements)
    assert f"| short-phase | {number} of {number} | find | move more data |" in _text(of)
    assert "ioassay run io500" in _text(of)
    for measurement in of.document.measurements:
        measurement.doubts["device-moved-less"] = "use larger files"
    assert TuneIo500Report(of).is_withheld
    assert "No recommendation: the scores of the best rank count carry doubts that void a comparison" in _text(of)
    assert "ioassay run io500" not in _text(of)
    loads = json.loads(reports.build(TuneIo500Report(of), "json"))
    assert (loads["recommended"], loads["commands"]) == (None, None)
    assert "device-moved-less" in loads["withheld"]["doubts"]
