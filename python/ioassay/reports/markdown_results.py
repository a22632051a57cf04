"""The results of a report as Markdown: tables of peaks, medians, scores, rates, latencies and ceilings."""

from __future__ import annotations

from typing import Any

import polars as pl

from ioassay.analysis import axes, rates
from ioassay.analysis.ceilings import common
from ioassay.analysis.rate_units import UNITS
from ioassay.reports import ceilings, format, wording
from ioassay.reports.content import Content
from ioassay.reports.io500 import NOTE, ScoreTable
from ioassay.reports.levels import Cell
from ioassay.reports.markdown_text import listed, marked, table
from ioassay.reports.surveys import Survey
from ioassay.reports.workloads import WorkloadPart
from ioassay.results.document import FigureEntry
from ioassay.units import RateUnit, format_count, format_rate


def results(content: Content) -> list[list[str]]:
    """The parts of the section, each as its lines."""
    parts = [
        ["## Results"],
        *(_score(table) for table in content.score_tables),
        _medians(content),
        _levels(content),
        _acceptance(content),
        *(_rates(content, entry) for entry in content.document.study.figures),
        *(_survey(survey) for survey in content.surveys),
        *(_latencies(part) for part in content.workloads),
        _ceilings(content),
    ]
    return parts if any(parts[1:]) else [["## Results", "", "Nothing valid was measured."]]


def _medians(content: Content) -> list[str]:
    rows = [
        [
            line.label,
            line.series,
            line.ranks,
            ", ".join((marked(line.median, line.marks), *line.notes)),
            line.range,
            str(line.repetitions),
        ]
        for line in content.medians
    ]
    return table(["Workload", "Phase", "Ranks", "Median rate", "Range", "Repetitions"], rows) if rows else []


def _levels(content: Content) -> list[str]:
    rows = [[line.label, *map(_cell, line.cells)] for line in content.summary]
    heads = ["Workload", "Peak write", "Peak read", "Sustained write", "Sustained read"]
    by_series = [[line.label, line.series, *map(_cell, (line.peak, line.sustained))] for line in content.by_series]
    return [
        *(table(heads, rows) if rows else []),
        *([""] if rows and by_series else []),
        *(table(["Workload", "Phase", "Peak", "Sustained"], by_series) if by_series else []),
    ]


def _cell(cell: Cell) -> str:
    return ", ".join((marked(cell.text, cell.marks), *cell.notes))


def _score(score: ScoreTable) -> list[str]:
    rows = [
        [line.what, marked(line.score, line.marks), line.time, ": ".join(filter(None, (line.verdict, line.because)))]
        for line in score.lines
    ]
    return [f"### {score.title}", "", NOTE, "", *table(["Phase", "Score", "Time", "Validity"], rows)]


def _acceptance(content: Content) -> list[str]:
    if not content.verdicts:
        return []
    rows = [
        [
            f"{verdict.criterion} ({verdict.because})",
            marked(verdict.value, verdict.marks),
            f"**{verdict.judgement}**: {verdict.reason}",
            verdict.rests_on,
        ]
        for verdict in content.verdicts
    ]
    heads = ["Criterion", "Measured", "Verdict", "Rests on"]
    return ["### Acceptance", "", wording.acceptance(content), "", *table(heads, rows)]


def _ceilings(content: Content) -> list[str]:
    net = content.document.ceilings
    if net is None:
        return []
    rows = [[line.path, *line.cells] for line in ceilings.lines(net)]
    lines = ["### The network's ceilings", "", *table(ceilings.HEADS, rows), ""]
    return lines + listed((*ceilings.remarks(net), *ceilings.method(net), *ceilings.meaning(content.document, net)))


def _rates(content: Content, entry: FigureEntry) -> list[str]:
    unit = UNITS[entry.unit]
    swept = axes.swept(content.points.filter(pl.col("workload").is_in(entry.workloads)))
    rows = [
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
    body = table([*heads, *["Of the lowest ceiling"] * bool(content.limits)], rows)
    return [f"### {entry.title}", "", *(body if rows else ["Nothing valid was measured for this."])]


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


def _survey(survey: Survey) -> list[str]:
    lines = [f"### {survey.title}", ""]
    for grid in survey.grids:
        rows = [
            [str(files), *(f"**{cell.text}**" if cell.saturated else cell.text for cell in cells)]
            for files, cells in grid.rows
        ]
        heads = [f"{grid.title}, {survey.unit.name}: objects", *(format_count(ranks, "rank") for ranks in grid.ranks)]
        lines += [*table(heads, rows), "", grid.sentence, ""]
    return lines[:-1]


def _latencies(part: WorkloadPart) -> list[str]:
    if not part.latencies:
        return []
    rows = [
        [row["operation"], at(part, row), str(row["operations"]), *row["percentiles"], marked("", row["marks"]).strip()]
        for row in part.latencies
    ]
    heads = ["Phase", "Clients", "Operations", "Median", "90 %", "99 %", "99.9 %", "Slowest", "Doubts"]
    return [f"### {part.title}: latency", "", *table(heads, rows)]


def at(part: WorkloadPart, row: dict[str, Any]) -> str:
    """The point of the sweep of a row."""
    return str(row["point"] if part.is_swept else row["clients"])
