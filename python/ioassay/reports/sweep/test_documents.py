"""What a sweep's report says, of an artificial device with a known optimum."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.execution.interruption import Interruption
from ioassay.reports.sweep import SweepReport, wording
from ioassay.reports.sweep.plan import lines
from ioassay.store.sweep_directory import SweepDirectory
from ioassay.store.sweep_document import ConstraintEntry, ObjectiveEntry
from ioassay.testing.artificial_device import ArtificialDevice, sweep_document
from ioassay.tuning.sweep.answer import Answer, answer
from ioassay.tuning.sweep.loop import Loop

_TODAY = {"size": "128", "depth": "8"}
_VALUES = {"size": ["128", "512"], "depth": ["1", "8"]}


def _doubles(values: Mapping[str, str]) -> float:
    return 2e9 if values["size"] == "512" else 1e9


def _answer(path: Path, response: Callable[[Mapping[str, str]], float] = _doubles, **changed: object) -> Answer:
    device = ArtificialDevice(response, _TODAY, noise=0.01)
    with SweepDirectory.create(path, sweep_document(_VALUES, _TODAY, **changed)) as directory:
        Loop(directory, device, device, lambda line: None, Interruption()).run()
        return answer(directory.document)


@pytest.fixture(scope="module")
def doubled(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return _answer(tmp_path_factory.mktemp("sweeps") / "sweep")


def test_the_answer_comes_first_with_its_interval_and_what_to_type(doubled: Answer) -> None:
    text = reports.build(SweepReport(doubled), "md").decode()
    answered = text[text.index("Answer") : text.index("Before and after")]
    assert "today's write rate" in answered
    assert "fresh pairs" in answered
    assert "size 512" in answered
    assert "ioassay tune apply sys:size=512" in answered
    assert "depth=" not in answered


def test_every_trial_has_a_row_with_before_and_after(doubled: Answer) -> None:
    text = reports.build(SweepReport(doubled), "md").decode()
    assert text.count(" MB/s") >= 2 * len(doubled.trials)
    assert "worse" in text or "no difference" in text


def test_the_page_has_a_figure_of_all_trials_and_the_same_bytes_each_time(doubled: Answer) -> None:
    pages = [reports.build(SweepReport(doubled), "html") for _ in range(2)]
    assert pages[0] == pages[1]
    assert b"<svg" in pages[0]
    assert b"Every trial before and after" in pages[0]


def test_the_data_have_everything_unrounded(doubled: Answer) -> None:
    loads = json.loads(reports.build(SweepReport(doubled), "json"))
    assert loads["verdict"] == "better"
    assert loads["recommended"] == {"size": "512"}
    assert loads["confirmed"]["gain"]["estimate"] == pytest.approx(2, rel=0.1)
    assert len(loads["sweep"]["measurements"]) == len(doubled.document.measurements)
    table = reports.build(SweepReport(doubled), "csv").decode().splitlines()
    assert table[0].startswith("trial,value_size,value_depth,pairs,gain")
    assert len(table) == 1 + len(doubled.trials)


def _doubted(path: Path, kind: str, every: int = 1) -> Answer:
    """A sweep whose measurements carry a doubt."""
    device = ArtificialDevice(_doubles, _TODAY, noise=0.01)
    with SweepDirectory.create(path, sweep_document(_VALUES, _TODAY)) as directory:
        Loop(directory, device, device, lambda line: None, Interruption()).run()
        for number, measurement in enumerate(directory.document.measurements):
            if number % every == 0:
                measurement.doubts[kind] = "use direct I/O"
        return answer(directory.document)


def test_an_answer_whose_measurements_memory_gave_is_withheld_with_what_to_change(tmp_path: Path) -> None:
    sweep_report = SweepReport(_doubted(tmp_path / "sweep", "device-moved-less"))
    number = len(sweep_report.content.document.measurements)
    assert sweep_report.is_withheld
    for form in ("md", "html"):
        text = reports.build(sweep_report, form).decode()
        assert "No answer: the measurements carry doubts that void a comparison of settings" in text
        assert f"device-moved-less ({number} of {number})" in text
        assert "use direct I/O" in text
        assert "ioassay tune apply" not in text
    loads = json.loads(reports.build(sweep_report, "json"))
    assert (loads["verdict"], loads["recommended"]) == ("withheld", {})
    assert loads["withheld"] == {"doubts": {"device-moved-less": number}, "remedies": ["use direct I/O"]}


@pytest.mark.parametrize(
    ("setting", "advised", "left_out"),
    [
        ("block:sdb/read_ahead_kb", "more free space than memory", "--set direct=yes"),
        ("sysctl:vm.dirty_ratio", "more free space than memory", "--set direct=yes"),
        ("lctl:osc.*.max_rpcs_in_flight", "--set direct=yes", "more free space than memory"),
    ],
)
def test_direct_io_is_no_advice_where_a_setting_of_the_page_cache_is_varied(
    tmp_path: Path, setting: str, advised: str, left_out: str
) -> None:
    withheld = _doubted(tmp_path / "sweep", "device-moved-less")
    withheld.document.parameters[0].setting = setting
    advice = " ".join(wording.changes_for_answer(withheld))
    assert advised in advice
    assert left_out not in advice


def test_an_answer_whose_measurements_are_only_noisy_is_given(tmp_path: Path) -> None:
    sweep_report = SweepReport(_doubted(tmp_path / "sweep", "short-phase"))
    assert not sweep_report.is_withheld
    assert sweep_report.content.recommended == {"size": "512"}


def test_a_doubt_of_a_kind_that_is_not_known_withholds_the_answer(tmp_path: Path) -> None:
    assert SweepReport(_doubted(tmp_path / "sweep", "cosmic-rays")).is_withheld


def test_doubts_are_counted_over_the_measurements_with_their_remedies(tmp_path: Path) -> None:
    sweep = _answer(tmp_path / "sweep")
    sweep.document.measurements[0].doubts["short-phase"] = "move more data"
    text = reports.build(SweepReport(sweep), "md").decode()
    assert f"| short-phase | 1 of {len(sweep.document.measurements)} | move more data |" in text


def test_no_difference_is_reported_as_such(tmp_path: Path) -> None:
    text = reports.build(SweepReport(_answer(tmp_path / "sweep", lambda values: 1e9)), "md").decode()
    assert "No difference found" in text or "Keep today's settings" in text
    assert "ioassay tune apply" not in text


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"size": ["128", "512"]}, "The only other point did not improve the write rate."),
        ({"size": ["128", "256", "512"]}, "None of 2 points improved the write rate."),
    ],
)
def test_an_answer_without_a_gain_counts_what_was_tried(
    tmp_path: Path, values: Mapping[str, list[str]], sentence: str
) -> None:
    device = ArtificialDevice(lambda of: 1e9 if of["size"] == "128" else 5e8, {"size": "128"})
    with SweepDirectory.create(tmp_path / "sweep", sweep_document(values, {"size": "128"})) as directory:
        Loop(directory, device, device, lambda line: None, Interruption()).run()
        assert wording.verdict(answer(directory.document)) == f"{sentence} Keep today's settings."


def test_the_plan_says_what_is_to_become_better_and_over_which_values(doubled: Answer) -> None:
    first, *others = lines(doubled.document)
    assert first.endswith("for the best write rate")
    assert others[:2] == ["  sys:size: 128, 512; today 128", "  sys:depth: 1, 8; today 8"]
    few, many = (lines(doubled.document.model_copy(update={"most_pairs": most})) for most in (3, 10))
    assert "4 points, each with 3 pairs of measurements" in list(few)
    assert "4 points, each with 3 to 10 pairs of measurements" in list(many)


def test_a_constraint_is_in_the_plan_and_named_where_it_breaks(tmp_path: Path) -> None:
    limit = ConstraintEntry(phase="read", least_share=1.5)
    sweep = _answer(tmp_path / "sweep", constraints=[limit])
    assert "The read rate must stay at or above 150 % of today's." in list(lines(sweep.document))
    text = reports.build(SweepReport(sweep), "md").decode()
    assert "read falls to 100% of today's rate, below 150%" in text.replace(" %", "%")


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (ObjectiveEntry(phase="write"), "write rate"),
        (ObjectiveEntry(phase="read", workload="io", measure="p99"), "99th percentile of read of io latency"),
        (ObjectiveEntry(phase=None, measure="score"), "IO500 score"),
    ],
)
def test_an_objective_has_the_words_of_the_field(objective: ObjectiveEntry, words: str) -> None:
    assert wording.objective(objective) == words
