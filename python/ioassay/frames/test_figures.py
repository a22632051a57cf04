"""Figures of several stored runs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import ioassay
from ioassay.errors import UsageError
from ioassay.figures.picture import Picture
from ioassay.frames import Runs
from ioassay.importers import IMPORTERS
from ioassay.importers.stored import run as imported
from ioassay.store.run_writer import store as store_tables
from ioassay.testing.builder import RunBuilder
from ioassay.testing.importer_samples import FILES
from ioassay.testing.stored import store


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Before and after a change that doubles the writes."""
    place = tmp_path_factory.mktemp("runs")
    for name, rate in (("a-before", 1e9), ("b-After", 2e9)):
        builder = RunBuilder().workload("seq", "Sequential").workload("rnd", "Random").clients(1, 2).repetitions(3)
        store(builder.rates("seq", "write", 2, rate, rate * 1.01, rate * 0.99).build(), place / name)
    return ioassay.load(place / "*")


def _words(picture: Picture) -> set[str]:
    return {element.text or "" for element in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")}


def test_a_rate_has_a_line_for_each_run_and_workload(runs: Runs) -> None:
    every = runs.figures.rate("write")
    assert set(every.data["series"]) == {
        "a-before: Sequential",
        "a-before: Random",
        "b-After: Sequential",
        "b-After: Random",
    }
    picture = runs.figures.rate("write", workload="seq")
    assert {"a-before", "b-After", "Write rate (MB/s)", "Clients"} <= _words(picture)
    medians = picture.data.filter(clients=2).unique("series", maintain_order=True)
    assert medians["median_MB/s"].to_list() == pytest.approx([1000, 2000])
    assert picture.data.height == 2 * 2 * 3
    assert (picture.id, picture.title) == ("rate-write-seq-all-clients", "seq: write rate")


def test_unit_and_axis_may_be_chosen(runs: Runs) -> None:
    chosen = runs.figures.rate("read", workload="rnd", unit="kIOPS", axis="ranks")
    assert {"Read rate (kIOPS)", "Ranks"} <= _words(chosen)
    assert "rate_kIOPS" in chosen.data.columns


def test_latencies_have_a_panel_for_each_run(runs: Runs) -> None:
    picture = runs.figures.latencies("read", workload="seq")
    assert {"A-before, read", "B-After, read"} <= _words(picture)
    assert set(picture.data["clients"]) == {1, 2}


def test_a_time_line_has_a_panel_for_each_run_and_its_rates_as_data(runs: Runs) -> None:
    picture = runs.figures.timeline("seq-c2-r1", "write")
    assert {"a-before", "b-After", "Time (s)"} <= _words(picture)
    assert {"run", "start_s", "total_bytes_per_s", "rank_0_bytes_per_s"} <= set(picture.data.columns)
    single = Runs(dict(list(runs.by_path.items())[:1])).figures.timeline("seq-c2-r1", "write")
    assert "write" in _words(single)


def test_the_figures_of_studies_are_those_of_the_reports(runs: Runs) -> None:
    pictures = runs.figures.of_studies()
    assert [picture.title for picture in pictures][:2] == ["a-before: Sequential: write", "a-before: Sequential: read"]
    assert len(pictures) == 2 * 4


@pytest.mark.parametrize(
    ("ask", "message", "known"),
    [
        (
            lambda figures: figures.rate("wirte"),
            'operation "wirte" was not measured in any run',
            "Use one of write, read.",
        ),
        (lambda figures: figures.rate("write", workload="sek"), 'workload "sek"', "Use one of seq, rnd."),
        (lambda figures: figures.rate("write", phase="warm"), 'phase "warm"', "Use one of write."),
        (lambda figures: figures.rate("write", unit="Gb/s"), 'unit "Gb/s" is not known', "Use one of GB/s, MB/s,"),
        (lambda figures: figures.latencies("stat"), 'operation "stat"', "Use one of write, read."),
        (lambda figures: figures.timeline("seq-c9-r1", "write"), 'case "seq-c9-r1"', "Use one of seq-c1-r1,"),
        (lambda figures: figures.timeline("seq-c1-r1", "warm"), 'phase "warm"', "Use one of write, read."),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(ask: object, message: str, known: str, runs: Runs) -> None:
    assert callable(ask)
    with pytest.raises(UsageError, match=message) as error:
        ask(runs.figures)
    assert error.value.remedy.startswith(known)


def test_runs_without_a_place_on_the_axis_are_named_below_the_figure(tmp_path: Path) -> None:
    io500 = IMPORTERS["io500"]
    for gathered in io500.gather([FILES / "io500"]):
        store_tables(tmp_path / gathered.name, *imported(gathered, ["ioassay"]))
    picture = ioassay.load(tmp_path / "*").figures.rate("write")
    assert set(picture.data["run"]) == {"program-2025", "script-2019"}
    assert "because their rate in GB/s at a number of ranks is unknown: product-2017, ior-easy-write" in picture.caption


def test_results_of_other_tools_are_drawn_as_far_as_they_are_known(tmp_path: Path) -> None:
    ior = IMPORTERS["ior"]
    for gathered in ior.gather([FILES / "ior"]):
        store_tables(tmp_path / "ior", *imported(gathered, ["ioassay"]))
    figures = ioassay.load(tmp_path / "ior").figures
    assert (figures.rate("write", unit="MB/s").data["rate_MB/s"] > 0).all()
    with pytest.raises(UsageError, match="No write has latencies"):
        figures.latencies("write")
