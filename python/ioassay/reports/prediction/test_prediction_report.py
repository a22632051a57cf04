from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.analysis.compare import measured_run, published_system
from ioassay.reports.compare import ComparisonReport, configuration
from ioassay.reports.compare.content import Content, Side, assemble
from ioassay.reports.prediction import PredictionReport, as_system, wording
from ioassay.sizing.prediction.model import Prediction
from ioassay.systems.library import read
from ioassay.systems.model import System
from ioassay.testing.builder import RunBuilder
from ioassay.testing.predicted_study import STUDY, predicted
from ioassay.yaml_models.source import parse_source

TRANSFERS = STUDY.replace("clients: [1, 8]", "clients: [1]").replace(
    "transfer: 1MiB, total: 8GiB}\n  random", "sweep: {transfer: [1MiB, 4MiB]}, total: 8GiB}\n  random"
)


@pytest.fixture
def prediction(tmp_path: Path) -> Prediction:
    return predicted(tmp_path)


def saved(prediction: Prediction) -> System:
    return read(parse_source(as_system.text(prediction), "prediction.yaml", "system"), {})


def compared_with(prediction: Prediction, *rates: tuple[float, ...]) -> Content:
    """The prediction against a run of 1 and 8 clients with these rates of its sequential writes."""
    system = saved(prediction)
    builder = RunBuilder().clients(1, 8).repetitions(3).workload("sequential", "Sequential")
    for clients, repeated in zip((1, 8), rates, strict=True):
        builder.rates("sequential", "write", clients, *repeated)
    run = builder.build()
    return assemble(
        [
            Side(published_system.subject(system), configuration.system_facts(system, {})),
            Side(measured_run.subject(run, "mine"), configuration.run_facts(run.document)),
        ]
    )


def test_a_saved_prediction_is_read_again_with_its_range(prediction: Prediction) -> None:
    system = saved(prediction)
    assert (system.name, system.predicts) == ("two-sweep", "sweep")
    values = [point.value for point in prediction.points if point.value is not None]
    assert len(system.figures) == len(values)
    for figure, value in zip(system.figures, values, strict=True):
        assert figure.band is not None
        assert figure.amount.base == pytest.approx(value.nominal)
        assert figure.band[1].base == pytest.approx(float(value.interval.high))


def test_the_predicted_curve_is_compared_with_the_run_of_the_same_study(prediction: Prediction) -> None:
    part = compared_with(prediction, (1.5e9,) * 3, (5e9,) * 3).series[0]
    assert part.title == "Sequential (write)"
    assert [line.place for line in part.lines] == ["1 client", "8 clients"]
    assert part.sentences == ("Sequential (write): measured within the predicted range at all 2 points.",)


def test_a_measurement_outside_of_the_range_is_reported(prediction: Prediction) -> None:
    content = compared_with(prediction, (1.5e9,) * 3, (1e9, 1e9, 1.1e9))
    (finding,) = content.series[0].sentences
    assert finding == (
        "Sequential (write): measured 1.00 GB/s at 8 clients, predicted 3.37 to 8.00 GB/s; 70 % below the range."
    )
    assert content.notes[0] == "two-sweep is a prediction, not a measurement; in brackets its range."
    rows = json.loads(reports.build(ComparisonReport(content), "json"))["ratios"]
    assert [row["predicted"] for row in rows if row["operation"] == "write"] == ["within", "below"]


def test_an_interval_that_reaches_into_the_range_is_reported(prediction: Prediction) -> None:
    (finding,) = compared_with(prediction, (1.5e9,) * 3, (1e9, 2e9, 4e9)).series[0].sentences
    assert finding.endswith("below the range, which its range reaches.")


def test_a_comparison_calls_it_predicted_and_shades_its_range(prediction: Prediction) -> None:
    page = reports.build(ComparisonReport(compared_with(prediction, (1.5e9,) * 3, (5e9,) * 3)), "html").decode()
    assert "two-sweep (predicted)" in page
    assert "Shaded: the range of the prediction." in page
    assert "published" not in page


def test_a_sweep_over_transfers_is_one_predicted_curve(tmp_path: Path) -> None:
    system = saved(predicted(tmp_path, TRANSFERS))
    curves = [curve for curve in published_system.subject(system).curves if curve.name[0] == "Sequential"]
    assert [len(curve.rates["rate_bytes_per_s"].points) for curve in curves] == [2, 2]
    assert [point.conditions.transfer_bytes for point in curves[0].rates["rate_bytes_per_s"].points] == [
        1 << 20,
        4 << 20,
    ]


def test_the_report_says_what_is_predicted_what_is_not_and_how(prediction: Prediction) -> None:
    text = reports.build(PredictionReport(prediction, [("Compare", "ioassay compare x RUN")]), "md").decode()
    assert "Study sweep on two, Two bricks: 6 of 12 points predicted. Nothing was measured." in text
    assert "| One file, write | all points | N-1: nothing in the catalogue tells what locks" in text
    assert "requests in flight of a rank = 8." in text
    assert "Quantitative System Performance, 1984, chapter 5." in text
    assert "2 bricks × 4 GB/s = 8 GB/s" in text


def test_the_table_has_a_row_for_each_point_also_without_a_prediction(prediction: Prediction) -> None:
    rows = list(csv.DictReader(io.StringIO(reports.build(PredictionReport(prediction), "csv").decode())))
    assert len(rows) == 12
    assert all((row["expected"] == "") == (row["why_not"] != "") for row in rows)
    points = json.loads(reports.build(PredictionReport(prediction), "json"))["points"]
    assert [float(row["low"]) for row in rows if row["low"]] == [
        point["low"] for point in points if point["low"] is not None
    ]


def test_a_page_has_a_figure_for_each_predicted_series(prediction: Prediction) -> None:
    page = reports.build(PredictionReport(prediction), "html").decode()
    assert page.count("The line is what is expected; shaded is the range.") == 3


def test_points_that_follow_one_another_are_named_by_the_first_and_the_last() -> None:
    every = ["1 client", "2 clients", "4 clients", "8 clients"]
    assert wording.places(every[1:], every) == "2 clients to 8 clients"
    assert wording.places(["1 client", "4 clients", "8 clients"], every) == "1 client; 4 clients; 8 clients"
