from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis import axes, latency, rates, scalability
from ioassay.figures import latency as latency_figure
from ioassay.figures import rate_by_clients, rate_by_time, render, theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative
from ioassay.store.document import FigureEntry, Operation
from ioassay.store.measurement import KEY
from ioassay.testing.builder import RunBuilder
from ioassay.testing.nightly_runs import FIRST
from ioassay.text.rate_units import UNITS


def _rates(builder: RunBuilder, workloads: list[str]) -> Specification:
    run = builder.build()
    unit = UNITS["GB/s"]
    data = rate_by_clients.data(rates.points(run.measurements), _entry(*workloads), {w: w for w in workloads})
    return rate_by_clients.chart(data, "write", unit, {})


def _entry(*workloads: str, operation: Operation = "write") -> FigureEntry:
    return FigureEntry(title="", workloads=list(workloads), operation=operation, unit="GB/s")


def _texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_clients_axis_has_a_tick_at_every_swept_value_and_the_rate_its_unit() -> None:
    svg = render.svg(_rates(RunBuilder().workload("w").clients(1, 3, 48), ["w"]), "f")
    assert [text for text in _texts(svg) if text in ("1", "3", "48")] == ["1", "3", "48"]
    assert "Write rate (GB/s)" in _texts(svg)


def test_a_legend_distinguishes_several_workloads_and_one_needs_none() -> None:
    builder = RunBuilder().workload("small").workload("large")
    assert {"small", "large"} <= set(_texts(render.svg(_rates(builder, ["small", "large"]), "f")))
    assert "small" not in _texts(render.svg(_rates(builder, ["small"]), "f"))


def test_a_sweep_of_one_point_is_drawn() -> None:
    assert "8" in _texts(render.svg(_rates(RunBuilder().workload("w").clients(8), ["w"]), "f"))


def test_invalid_measurements_are_kept_apart_in_the_data() -> None:
    run = RunBuilder().workload("w").clients(1).doubt("w-c1-r1", "write", "failed", invalidates=True).build()
    data = rate_by_clients.data(rates.points(run.measurements), _entry("w"), {"w": "w"})
    assert data.select("valid", "median").row(0) == (False, None)


def test_percentiles_of_too_few_operations_are_not_drawn() -> None:
    run = RunBuilder().workload("w", transfer_bytes=16 << 20).clients(1).build()
    data = latency_figure.data(latency.by_sweep_point(run.measurements, run.latencies, run.ranks))
    assert data["operations"].max() == 64
    assert set(data["percentile"]) == {"median", "90 %", "slowest"}


def test_the_same_chart_is_the_same_svg_whatever_was_drawn_before() -> None:
    builder = RunBuilder().workload("w").clients(1, 2, 4)
    first = render.svg(_rates(builder, ["w"]), "f")
    render.svg(_rates(builder.workload("other"), ["other"]), "g")
    assert render.svg(_rates(builder, ["w"]), "f") == first


def test_all_ids_begin_with_the_prefix_and_every_reference_has_its_id() -> None:
    svg = render.svg(_rates(RunBuilder().workload("w"), ["w"]), "mine")
    ids = set(re.findall(r'\bid="([^"]+)"', svg))
    assert all(name.startswith("mine-") for name in ids)
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= ids


def test_coordinates_are_rounded_and_texts_are_not() -> None:
    svg = render.svg(_rates(RunBuilder().workload("rate 1.23456"), ["rate 1.23456"]), "f")
    coordinates = re.findall(r'\b(?:d|transform)="([^"]*)"', svg)
    assert not any(re.search(r"\.\d{3}", text) for text in coordinates)
    both = render.svg(_rates(RunBuilder().workload("a 1.23456").workload("b"), ["a 1.23456", "b"]), "f")
    assert "a 1.23456" in _texts(both)


def test_a_line_that_follows_the_scalability_law_has_it_dotted_from_its_first_to_its_last_point() -> None:
    run = RunBuilder().workload("w").clients(1, 2, 4, 8, 16).build()
    points, unit = rates.points(run.measurements), UNITS["GB/s"]
    data = rate_by_clients.data(points, _entry("w"), {"w": "w"})
    laws = rate_by_clients.laws(data, scalability.sweeps(run.document, points), unit)
    assert (laws["series"].unique().item(), laws["at"].min(), laws["at"].max()) == ("w", 1, 16)
    assert laws["law"].max() == pytest.approx(data["median"].max(), rel=0.1)
    drawn = render.svg(rate_by_clients.chart(data, "write", unit, {}, laws=laws), "f")
    assert drawn.count("stroke-dasharray") > render.svg(rate_by_clients.chart(data, "write", unit, {}), "f").count(
        "stroke-dasharray"
    )


def test_a_sweep_too_short_for_a_law_has_none() -> None:
    run = RunBuilder().workload("w").clients(1, 2, 4).build()
    points = rates.points(run.measurements)
    data = rate_by_clients.data(points, _entry("w"), {"w": "w"})
    assert rate_by_clients.laws(data, scalability.sweeps(run.document, points), UNITS["GB/s"]).is_empty()


def test_the_schema_of_a_figure_is_known() -> None:
    run = RunBuilder().workload("w").build()
    data = rate_by_clients.data(rates.points(run.measurements), _entry("w", operation="read"), {"w": "w"})
    assert data.columns == ["series", "clients", "ranks", "repetition", "valid", "rate", "median", *KEY]
    assert data.schema["rate"] == pl.Float64


def test_very_many_repetitions_are_drawn_at_equal_steps_with_the_extremes() -> None:
    many = [1e9 + index * 1e6 for index in range(200)]
    run = RunBuilder().workload("w").clients(1).repetitions(200).rates("w", "write", 1, *many).build()
    drawn = rate_by_clients.data(rates.points(run.measurements), _entry("w"), {"w": "w"})
    assert drawn.height == rate_by_clients.MOST_DOTS
    assert drawn["rate"].min() == pytest.approx(1.0)
    assert drawn["rate"].max() == pytest.approx(1.199)
    assert drawn["median"].unique().to_list() == [pytest.approx(1.0995)]


def _over_time(days: float, changes: int = 0) -> Specification:
    rows = [
        {"point": point, "started": FIRST + timedelta(days=index * days), "rate": rate, "low": rate * 0.9, "high": rate}
        for point, rate in (("1 client", 1.0), ("8 clients", 8.0))
        for index in range(4)
    ]
    moments = [FIRST + timedelta(days=(index + 0.5) * days) for index in range(changes)]
    return rate_by_time.chart(pl.DataFrame(rows), [*moments, *moments], "read", UNITS["GB/s"])


def test_rates_over_time_have_dates_or_of_one_day_hours_in_utc_and_a_legend_of_the_points() -> None:
    nights, hours = (_texts(render.svg(_over_time(days), "f")) for days in (3.0, 0.1))
    assert {"1 client", "8 clients", "Read rate (GB/s)", "2026-02-04"} <= set(nights)
    assert "02-02 06:00" in hours


def test_a_moment_at_which_several_points_changed_is_one_dashed_line() -> None:
    drawn = [render.svg(_over_time(3.0, changes), "f").count("stroke-dasharray") for changes in (0, 1, 2)]
    assert [count - drawn[0] for count in drawn] == [0, 1, 2]


def test_every_colour_is_one_of_the_theme_which_says_what_it_is_on_a_dark_screen() -> None:
    sources = [path for path in Path(theme.__file__).parent.rglob("*.py") if not path.name.startswith("test_")]
    used = {name for path in sources for name in re.findall(r"theme\.([A-Z_]+)\b", path.read_text())}
    colours = {value for name in used if isinstance(value := getattr(theme, name), str) and value.startswith("#")}
    assert colours
    between_ends = {theme.LIGHT_BLUE, theme.DARK_BLUE}  # what is drawn has a colour between them
    assert colours - between_ends <= theme.ON_DARK.keys()
    elsewhere = [path.name for path in sources if re.search(r'"#[0-9a-f]{6}"', path.read_text())]
    assert elsewhere == ["theme.py"]


def _flags(builder: RunBuilder, workloads: list[str], doubts: dict[tuple[str, axes.Value], str]) -> list[str]:
    """The words of each flag of the figure, as a reader who points at it gets them."""
    run = builder.build()
    data = rate_by_clients.data(rates.points(run.measurements), _entry(*workloads), {w: w for w in workloads})
    svg = render.svg(rate_by_clients.chart(data, "write", UNITS["GB/s"], doubts), "f")
    texts = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [text.get("aria-label", "") for text in texts if text.text == rate_by_clients.FLAG]


def test_a_point_that_doubts_change_has_a_flag_that_says_them() -> None:
    builder = RunBuilder().workload("w").clients(1, 2)
    assert _flags(builder, ["w"], {("w", 2): "took 0.1 s: too short"}) == ["took 0.1 s: too short"]


def test_flags_that_would_overlap_are_one_with_the_words_of_all_lines() -> None:
    builder = RunBuilder().workload("v").workload("w").clients(1)
    doubts: dict[tuple[str, axes.Value], str] = {("v", 1): "too short", ("w", 1): "one rank late"}
    builder.rates("v", "write", 1, 1.00e9).rates("w", "write", 1, 1.01e9)
    assert _flags(builder, ["v", "w"], doubts) == ["v: too short; w: one rank late"]
    builder.rates("w", "write", 1, 2.0e9)
    assert _flags(builder, ["v", "w"], doubts) == ["v: too short", "w: one rank late"]


def test_labels_at_the_left_fit_in_a_font_wider_than_the_one_they_are_measured_in() -> None:
    """Of DejaVu Sans these letters are 0.483 of their height wide on average, by its metrics."""
    label = "RAID full-stripe writes of the enclosures"
    data = pl.DataFrame({"place": [label, "drives"], "rate": [1, 2]})
    y = nominal("place", title=None, axis={"labelLimit": 300})
    drawn = render.svg(marks("bar", data, {"x": quantitative("rate"), "y": y}), "wide")
    left, width = (float(number) for number in re.findall(r'viewBox="(\S+) 0 (\S+) ', drawn)[0])
    plot = float(re.findall(r'<g fill="none"[^>]*transform="translate\(([\d.]+),', drawn)[0])
    (end,) = re.findall(rf'text-anchor="end" transform="translate\((-?[\d.]+),[^>]*>{label}<', drawn)
    assert left < 0
    assert plot + float(end) - 0.483 * 11 * len(label) >= left
    assert f'<rect x="{left:.0f}" width="{width:.0f}"' in drawn
