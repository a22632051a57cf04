"""The results in the report of a run: criteria, rates, surveys, latencies, ceilings. Not: key results (`summary`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ioassay.analysis import axes, rates
from ioassay.analysis.ceilings import common
from ioassay.analysis.intervals import WANTED
from ioassay.reports import ceilings
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Figure,
    Marks,
    Paragraph,
    Section,
    Table,
    Text,
    changes,
    non_empty,
    numbers,
)
from ioassay.reports.run import checkpoints, faithfulness, kv_cache, surveys, training, verdicts
from ioassay.reports.run.content import Content
from ioassay.reports.run.workloads import WorkloadPart
from ioassay.store.document import FigureEntry
from ioassay.text import format
from ioassay.text.rate_units import UNITS
from ioassay.text.units import RateUnit, format_rate

if TYPE_CHECKING:
    from ioassay.reports.run.pictures import Pictures

_PERCENTILES = ("Operations", "Median", "90 %", "99 %", "99.9 %", "Slowest")


def results(content: Content, drawn: Pictures | None) -> list[Block]:
    """The blocks of the section, with figures where there are any."""
    blocks = [
        Section(
            "Faithfulness of the replay",
            faithfulness.blocks(content.document.study.replays, content.faithfulness, content.names),
        ),
        Section("Training", training.blocks(content, drawn.further_training if drawn else ())),
        Section("Key-value cache", kv_cache.blocks(content)),
        Section("Checkpoints", checkpoints.blocks(content, drawn.checkpoints if drawn else ())),
        Section("Acceptance", [verdicts.table(content.verdicts)]),
        *_rates(content, drawn),
        Section("Surveys", _surveys(content, drawn)),
        Section("Rates by endpoint", _endpoints(content)),
        Section("Latency", _latencies(content, drawn)),
        Section("The network's ceilings", _ceilings(content)),
    ]
    return non_empty(blocks)


def _rates(content: Content, drawn: Pictures | None) -> list[Section]:
    """The figures that the study asks for and the summary has not; without figures what they would show as a table."""
    if drawn is not None:
        return [Section("Rates", list(map(Figure, drawn.further_rates)))]
    return [_rates_of(content, entry) for entry in content.document.study.figures]


def _rates_of(content: Content, entry: FigureEntry) -> Section:
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
    columns = [Column(head, is_number=head not in ("Workload", "Swept")) for head in heads]
    nothing = Paragraph("Nothing valid was measured for this.")
    return Section(entry.title, [Table(columns, rows) if rows else nothing])


def _interval(point: dict[str, Any], unit: RateUnit) -> str:
    if point["low"] is None:
        return format.ABSENT
    return format.interval(
        format_rate(point["low"], unit), format_rate(point["high"], unit), is_range=point["confidence"] < WANTED
    )


def _of_ceiling(content: Content, point: dict[str, Any]) -> str:
    """The median of a sweep point as a share of its ceiling."""
    same = content.points.filter("valid", rates.is_at(point))
    ceiling = common(content.limits, rates.places(same))
    rate = same["rate_bytes_per_s"].median()
    return ceilings.share(rate, ceiling) if ceiling and isinstance(rate, float) else format.ABSENT


def _surveys(content: Content, drawn: Pictures | None) -> list[Block]:
    if not content.surveys:
        return []
    about = (
        "Files (objects) against ranks (threads), as obdfilter-survey prints them; the median of the valid "
        "repetitions. The saturation point, in bold: the fewest ranks, then the fewest objects, whose median is within "
        "5 % of the best median of the grid."
    )
    pictures = drawn.surveys if drawn else [[] for _ in content.surveys]
    blocks: list[Block] = [Paragraph(about, note=True)]
    for survey, picture in zip(content.surveys, pictures, strict=True):
        for grid in survey.grids:
            blocks += [surveys.table(survey, grid), Paragraph(grid.sentence)]
        blocks += map(Figure, picture)
    return blocks


def _latencies(content: Content, drawn: Pictures | None) -> list[Block]:
    parts: list[Block] = [_latencies_of(part, drawn) for part in content.workloads if part.latencies]
    if not parts and content.document.imported:
        return []
    counted = (
        "Latencies were counted in the tool's own bins, of which each percentile is the end: the true one lies within."
        if content.document.imported
        else "Each single operation is timed into a histogram with an error under 1 %."
    )
    about = f"{counted} A percentile without an operation beyond it is left out (–): it would only repeat the slowest."
    return [Paragraph(about, note=True), *(parts or [Paragraph("No valid phase has latencies.")])]


def _latencies_of(part: WorkloadPart, drawn: Pictures | None) -> Section:
    rows: list[list[Text]] = [
        [
            row["operation"],
            row["at"],
            str(row["operations"]),
            *row["percentiles"],
            Marks(row["marks"]),
        ]
        for row in part.latencies
    ]
    table = Table(
        [Column("Phase"), *numbers(part.point_head, *_PERCENTILES), Column("Doubts")],
        rows,
        f"{part.title}: latency percentiles",
        rules=changes(row["operation"] for row in part.latencies),
        density="dense",
    )
    picture = drawn.latencies.get(part.name) if drawn else None
    values = table if picture is None else Section("The values as a table", [table], fold="closed")
    return Section(part.title, [Figure(picture), values])


def _endpoints(content: Content) -> list[Block]:
    parts = [part for part in content.workloads if part.endpoints]
    if not parts:
        return []
    about = (
        "Ranks took turns on the endpoints. The rate of an endpoint is what its ranks moved until the last of them had "
        "ended, the median of the valid repetitions; endpoints whose ranks end at different times add up to more than "
        "the rate of all."
    )
    return [Paragraph(about, note=True), *map(_endpoints_of, parts)]


def _endpoints_of(part: WorkloadPart) -> Section:
    rows: list[list[Text]] = [
        [row["operation"], row["at"], row["endpoint"], row["ranks"], row["rate"], row["operations"]]
        for row in part.endpoints
    ]
    columns = [Column("Phase"), *numbers(part.point_head), Column("Endpoint"), *numbers("Ranks", "Rate", "Operations")]
    rules = changes(row["operation"] for row in part.endpoints)
    return Section(part.title, [Table(columns, rows, f"{part.title}: rates by endpoint", rules=rules, density="dense")])


def _ceilings(content: Content) -> list[Block]:
    net = content.document.ceilings
    if net is None:
        return []
    about = " ".join([*ceilings.method(net), *ceilings.meaning(content.document, net)])
    return [ceilings.table(net), Bullets(ceilings.remarks(net)), Paragraph(about, note=True)]
