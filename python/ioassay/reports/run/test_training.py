"""Answers about training in the report of a run."""

from __future__ import annotations

import polars as pl
import pytest

from ioassay import reports
from ioassay.analysis.test_feeding import SWEPT, swept
from ioassay.analysis.test_training import MS
from ioassay.figures.training import wait_bins
from ioassay.reports.run import RunReport, pictures, training_pictures
from ioassay.reports.run.content import assemble
from ioassay.reports.run.training import answer
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import run_of_writes

FED = (
    "W: storage feeds 2 accelerators (95 % busy in the worst epoch), but not 4 accelerators (75 % busy, where 90 % are "
)


@pytest.mark.parametrize(
    ("computing_ms", "loader_processor_ms", "text"),
    [
        ((240, 228, 180, 100), 60, f"{FED}needed; storage is the limit)."),
        ((240, 228, 180, 100), 460, f"{FED}needed; the clients' processors are the limit)."),
        (
            (120, 60, 60, 60),
            60,
            "W: storage does not feed 1 accelerator (50 % busy, where 90 % are needed; storage is ",
        ),
        (
            (240, 240, 240, 228),
            60,
            "W: storage feeds 8 accelerators (95 % busy in the worst epoch), the most that were ",
        ),
    ],
)
def test_the_answer_names_the_most_that_are_fed_and_the_first_that_are_not(
    computing_ms: tuple[int, ...], loader_processor_ms: int, text: str
) -> None:
    computing_ns = {count: ms * MS for count, ms in zip((1, 2, 4, 8), computing_ms, strict=True)}
    run = swept(computing_ns, loader_busy_ns=470 * MS, loader_processor_ns=loader_processor_ms * MS)
    content = assemble(run)
    (feeding,) = content.feeding
    assert answer(feeding, content.names).startswith(text)


def test_the_answer_says_how_certain_it_is() -> None:
    study = SWEPT.replace("repetitions: 2", "repetitions: 4")
    certain = {1: 240 * MS, 2: 228 * MS, 4: 180 * MS, 8: 100 * MS}
    assert _answer(swept(certain, study)).endswith("With 95 % confidence, after 4 runs with 2 and 4 runs with 4.")
    at_the_goal = certain | {2: 216 * MS}
    assert "With 95 % confidence it feeds 1 to 3: repetitions scatter about 90 %" in _answer(swept(at_the_goal, study))
    for times, feeds in (
        ({1: 216, 2: 100, 4: 100, 8: 100}, "it feeds at most 1:"),
        ({1: 240, 2: 216, 4: 216, 8: 216}, "it feeds at least 1:"),
        (dict.fromkeys((1, 2, 4, 8), 216), "nothing can be said:"),
    ):
        computing = {count: ms * MS for count, ms in times.items()}
        assert f"With 95 % confidence {feeds} repetitions scatter" in _answer(swept(computing, study))


def test_the_answer_names_the_clients_where_accelerators_of_each_are_swept() -> None:
    study = SWEPT.replace("[1]", "[1, 2]").replace("[1, 2, 4, 8]", "[1, 2]")
    content = assemble(swept({1: 240 * MS, 2: 100 * MS}, study))
    heads = [answer(feeding, content.names).split(":")[0] for feeding in content.feeding]
    assert heads == ["W, 1 client", "W, 2 clients"]


def test_figures_show_each_definition_the_waits_and_the_epochs() -> None:
    study = SWEPT.replace("batch: 4", "batch: 4, utilisation: 80 %")
    run = swept({1: 240 * MS, 2: 228 * MS, 4: 180 * MS, 8: 100 * MS}, study)
    drawn = pictures.drawn(assemble(run))
    (utilisation,) = drawn.training.utilisation
    assert drawn.of_summary[0] is utilisation
    assert utilisation not in drawn.further_training
    assert drawn.further_training == drawn.training.others
    rows = utilisation.data.filter(accelerators=4, definition="ioassay")
    assert rows["utilisation_percent"].to_list() == pytest.approx([75, 75])
    assert rows["median_percent"].to_list() == pytest.approx([75, 75])
    assert sorted(set(utilisation.data["definition"])) == ["DLIO release", "DLIO repository", "ioassay"]
    assert "goal 80 %" in utilisation.svg
    assert "storage feeds 2 accelerators" in utilisation.description
    waits, epochs = drawn.training.others
    assert "4 accelerators" in waits.svg
    assert "Steps (%)" in waits.svg
    shares = waits.data.group_by("panel", "epoch").agg(pl.col("percent").sum())
    assert shares["percent"].to_list() == pytest.approx([100] * 4)
    assert epochs.data.select("panel", "epoch").rows() == [
        (f"{count} accelerator{'s' if count > 1 else ''}", "epoch-1") for count in (1, 2, 4, 8)
    ]
    assert all(picture.svg for picture in drawn.training)
    page = reports.build(RunReport(run), "html").decode()
    assert page.count("<figure") >= 3


def test_bins_of_waits_are_a_quarter_of_a_decade_and_add_up() -> None:
    buckets = {"panel": ["a"] * 3, "epoch": ["e"] * 3, "highest_ns": [0, 1000, 1700], "count": [1, 2, 1]}
    bins = wait_bins(pl.DataFrame(buckets)).filter(pl.col("percent") > 0)
    assert bins["wait_ns"].to_list() == pytest.approx([1, 1000])
    assert bins["percent"].to_list() == pytest.approx([25, 75])


def test_of_many_numbers_those_next_to_the_answer_are_drawn() -> None:
    counts = range(1, 13)
    study = SWEPT.replace("[1, 2, 4, 8]", "1 to 12").replace("samples: 40", "samples: 48")
    run = swept({count: (240 if count < 7 else 120) * MS for count in counts}, study)
    _, epochs = training_pictures.pictures(assemble(run)).others
    panels = epochs.data["panel"].unique(maintain_order=True).to_list()
    assert panels == [f"{count} accelerators" for count in range(3, 9)]


def test_a_run_that_trains_nothing_has_no_figures_of_training() -> None:
    assert [*training_pictures.pictures(assemble(run_of_writes(1e9, 2e9)))] == []


def _answer(run: LoadedRun) -> str:
    content = assemble(run)
    (feeding,) = content.feeding
    return answer(feeding, content.names)
