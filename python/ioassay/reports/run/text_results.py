"""The results of a report as text: tables of peaks, medians, scores, rates, latencies and ceilings."""

from __future__ import annotations

from typing import Any

import polars as pl

from ioassay.analysis import axes, rates
from ioassay.analysis.ceilings import common
from ioassay.analysis.rate_units import UNITS
from ioassay.reports import ceilings, format
from ioassay.reports.document import Block, Bullets, Column, Marks, Paragraph, Section, Span, Table, Text
from ioassay.reports.run import wording
from ioassay.reports.run.content import Content
from ioassay.reports.run.io500 import NOTE, ScoreTable
from ioassay.reports.run.surveys import Grid, Survey
from ioassay.reports.run.workloads import WorkloadPart
from ioassay.results.document import FigureEntry
from ioassay.units import RateUnit, format_count, format_rate


def results(content: Content) -> list[Block]:
    """The blocks of the section; none where nothing valid was measured."""
    return [
        *map(_score, content.score_tables),
        *_medians(content),
        *_levels(content),
        *_acceptance(content),
        *(_rates(content, entry) for entry in content.document.study.figures),
        *map(_survey, content.surveys),
        *(_latencies(part) for part in content.workloads if part.latencies),
        *_ceilings(content),
    ]


def _table(heads: list[str] | tuple[str, ...], rows: list[list[Text]]) -> list[Table]:
    return [Table([*map(Column, heads)], rows)] if rows else []


def _medians(content: Content) -> list[Table]:
    return _table(
        ("Workload", "Phase", "Ranks", "Median rate", "Range", "Repetitions"),
        [
            [
                line.label,
                line.series,
                line.ranks,
                (line.median, Marks(line.marks), *(Span(note, "below") for note in line.notes)),
                line.range,
                str(line.repetitions),
            ]
            for line in content.medians
        ],
    )


def _levels(content: Content) -> list[Table]:
    heads = ("Workload", "Peak write", "Peak read", "Sustained write", "Sustained read")
    return [
        *_table(heads, [[line.label, *(cell.shown for cell in line.cells)] for line in content.summary]),
        *_table(
            ("Workload", "Phase", "Peak", "Sustained"),
            [[line.label, line.series, line.peak.shown, line.sustained.shown] for line in content.by_series],
        ),
    ]


def _score(score: ScoreTable) -> Section:
    rows: list[list[Text]] = [
        [
            line.what,
            (line.score, Marks(line.marks)),
            line.time,
            ": ".join(filter(None, (line.verdict, line.because))),
        ]
        for line in score.lines
    ]
    return Section(score.title, [Paragraph(NOTE), *_table(("Phase", "Score", "Time", "Validity"), rows)])


def _acceptance(content: Content) -> list[Section]:
    rows: list[list[Text]] = [
        [
            f"{verdict.criterion} ({verdict.because})",
            (verdict.value, Marks(verdict.marks)),
            (Span(verdict.judgement, "strong"), f": {verdict.reason}"),
            verdict.rests_on,
        ]
        for verdict in content.verdicts
    ]
    table = _table(("Criterion", "Measured", "Verdict", "Rests on"), rows)
    return [Section("Acceptance", [Paragraph(wording.acceptance(content)), *table])] if rows else []


def _ceilings(content: Content) -> list[Section]:
    net = content.document.ceilings
    if net is None:
        return []
    remarks = [*ceilings.remarks(net), *ceilings.method(net), *ceilings.meaning(content.document, net)]
    table = _table(ceilings.HEADS, [[line.path, *line.cells] for line in ceilings.lines(net)])
    return [Section("The network's ceilings", [*table, Bullets(remarks)])]


def _rates(content: Content, entry: FigureEntry) -> Section:
    unit = UNITS[entry.unit]
    swept = axes.swept(content.points.filter(pl.col("workload").is_in(entry.workloads)))
    rows: list[list[Text]] = [
        [
            f"{content.names.workload(name)}, {content.names.measurement(row['phase'], row['job'], row['operation'])}",
            str(row["clients"]),
            str(row["ranks"]),
            str(row["files"] or format.ABSENT),
            *([content.names.values(axes.values(row["point"], swept))] if swept else []),
            format_rate(row["median"], unit.name),
            f"{format_rate(row['lowest'], unit.name)} to {format_rate(row['highest'], unit.name)}",
            _interval(row, unit.name),
            str(row["repetitions"]),
            *([_of_ceiling(content, row)] if content.limits else []),
        ]
        for name in entry.workloads
        for row in rates.medians(rates.of(content.points, name, entry.operation, entry.phase), unit.column).iter_rows(
            named=True
        )
    ]
    heads = ["Workload", "Clients", "Ranks", "Files", *["Swept"] * bool(swept)]
    heads += ["Median", "Range", "Interval of the median", "Valid repetitions"]
    heads += ["Of the lowest ceiling"] * bool(content.limits)
    return Section(entry.title, _table(heads, rows) or [Paragraph("Nothing valid was measured for this.")])


def _interval(point: dict[str, Any], unit: RateUnit) -> str:
    if point["low"] is None:
        return format.ABSENT
    return format.interval(format_rate(point["low"], unit), format_rate(point["high"], unit), point["confidence"])


def _of_ceiling(content: Content, point: dict[str, Any]) -> str:
    """The median of a sweep point as a share of its ceiling."""
    same = content.points.filter("valid", rates.at(point))
    ceiling = common(content.limits, rates.places(same))
    rate = same["rate_bytes_per_s"].median()
    return ceilings.share(rate, ceiling) if ceiling and isinstance(rate, float) else format.ABSENT


def _survey(survey: Survey) -> Section:
    return Section(survey.title, [block for grid in survey.grids for block in _grid(survey, grid)])


def _grid(survey: Survey, grid: Grid) -> list[Block]:
    rows: list[list[Text]] = [
        [str(files), *(Span(cell.text, "strong") if cell.saturated else cell.text for cell in cells)]
        for files, cells in grid.rows
    ]
    heads = [f"{grid.title}, {survey.unit.name}: objects", *(format_count(ranks, "rank") for ranks in grid.ranks)]
    return [*_table(heads, rows), Paragraph(grid.sentence)]


def _latencies(part: WorkloadPart) -> Section:
    rows: list[list[Text]] = [
        [row["operation"], at(part, row), str(row["operations"]), *row["percentiles"], Marks(row["marks"])]
        for row in part.latencies
    ]
    heads = ("Phase", "Clients", "Operations", "Median", "90 %", "99 %", "99.9 %", "Slowest", "Doubts")
    return Section(f"{part.title}: latency", _table(heads, rows))


def at(part: WorkloadPart, row: dict[str, Any]) -> str:
    """The point of the sweep of a row."""
    return str(row["point"] if part.is_swept else row["clients"])
