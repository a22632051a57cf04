"""The figures of a trend: each series over time, its points together. Not: drawing (`figures.rate_by_time`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import polars as pl

from ioassay.analysis import intervals
from ioassay.analysis.trend.change_detection import Course
from ioassay.figures import rate_by_time
from ioassay.figures.picture import Picture, draw
from ioassay.reports.trend.content import Content, SeriesPart
from ioassay.reports.trend.wording import Row
from ioassay.text.rate_units import Unit
from ioassay.text.slugs import slug, unique


def pictures(content: Content) -> list[list[Picture | None]]:
    """For each study and target a figure for each series, in their order; `None` where there is but one run."""
    taken: set[str] = set()
    return [
        [_picture(series, unique(slug(f"trend-{series.title}", "trend"), taken)) for series in part.series]
        for part in content.groups
    ]


def _picture(series: SeriesPart, identifier: str) -> Picture | None:
    curve = series.courses[0].history.curve
    unit = series.unit
    pairs = zip(series.courses, series.rows, strict=True)
    data = pl.DataFrame(
        [row for course, named in pairs for row in _rows(course, named, unit)], infer_schema_length=None
    )
    if data["started"].n_unique() < 2:
        return None
    changes = [moment for course in series.courses for moment in _changes(course)]
    caption = ["One dot per run: the median of its repetitions with its interval."]
    if changes:
        caption.append("Dashed lines mark level shifts, between the runs before and after.")
    return draw(
        rate_by_time.chart(data, changes, curve.operation, unit),
        identifier,
        title=series.title,
        data=data.rename({name: f"{name}_{unit.name}" for name in ("rate", "low", "high")}),
        caption=" ".join(caption),
        description=f"{series.title}: rate in {unit.name} of each run over time; the table has the verdict.",
    )


def _rows(course: Course, named: Row, unit: Unit) -> Iterator[dict[str, object]]:
    for measured in course.history.measured:
        interval = intervals.of_median(measured.point.rates)
        yield {
            "point": named.point,
            "run": measured.run.name,
            "started": measured.run.started,
            "rate": measured.point.median / unit.divisor,
            "low": interval and interval.low / unit.divisor,
            "high": interval and interval.high / unit.divisor,
        }


def _changes(course: Course) -> Iterator[datetime]:
    """The middle between the runs before and after each."""
    runs = [measured.run.started for measured in course.history.measured]
    for change in course.changes:
        before, after = runs[change.index - 1], runs[change.index]
        yield before + (after - before) / 2
