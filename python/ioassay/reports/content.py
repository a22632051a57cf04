"""What a report says, before any format: every format and the terminal render this, so that they agree.

Numbers come from `ioassay.analysis`; here they only meet the words and the doubts that belong beside them.
Not: HTML, Markdown, figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from ioassay.analysis import (
    acceptance,
    ceilings,
    doubts,
    io500,
    latency,
    narrowness,
    peak_sustained,
    phase_times,
    rates,
    series,
)
from ioassay.analysis.acceptance import Verdict
from ioassay.analysis.ceilings import Limit
from ioassay.analysis.doubts import Doubts, Place
from ioassay.analysis.findings import Facts, Finding, findings
from ioassay.analysis.io500 import Score
from ioassay.analysis.narrowness import WidePoint
from ioassay.analysis.peak_sustained import Level
from ioassay.analysis.scalability import Sweep
from ioassay.analysis.typical import typical
from ioassay.reports import format, medians, nodes, surveys
from ioassay.reports import io500 as score_tables
from ioassay.reports.ceilings import of_the_ceiling
from ioassay.reports.findings import Sentences
from ioassay.reports.io500 import ScoreTable
from ioassay.reports.medians import MedianLine
from ioassay.reports.names import NOUNS, Names
from ioassay.reports.nodes import NodeGroup
from ioassay.reports.surveys import Survey
from ioassay.results.document import CaseEntry, Operation, RunDocument
from ioassay.results.loaded import LoadedRun
from ioassay.results.schema import KEY
from ioassay.units import format_rate


@dataclass(frozen=True)
class Cell:
    """A number with its unit, what it rests on, and the marks of the doubts about it."""

    text: str
    rests_on: str = ""
    marks: tuple[str, ...] = ()
    ceiling: str = ""
    """Its share of the lowest ceiling on its path, where that is the same for all that it rests on."""
    interval: str = ""
    """Of a median of enough repetitions: where the true one lies."""
    stonewall: str = ""
    """The rate at the stonewall, where one came."""

    @property
    def notes(self) -> list[str]:
        """What stands below the number, in small letters: what it rests on first."""
        return [text for text in (self.rests_on, self.interval, self.stonewall, self.ceiling) if text]


@dataclass(frozen=True)
class SummaryLine:
    """A row of the peak and sustained table: peak write, peak read, sustained write, sustained read."""

    label: str
    cells: tuple[Cell, Cell, Cell, Cell]


@dataclass(frozen=True)
class SeriesLine:
    """A row of the peak and sustained table of workloads that do more than one write and one read."""

    label: str
    series: str
    operation: str
    peak: Cell
    sustained: Cell


@dataclass(frozen=True)
class VerdictLine:
    """An acceptance criterion in words, and what became of it."""

    criterion: str
    because: str
    judgement: str
    value: str
    reason: str
    rests_on: str
    marks: tuple[str, ...]


@dataclass(frozen=True)
class FindingLine:
    """A finding in words, with the measurements that it rests on: (anchor of its row, its name)."""

    finding: Finding
    sentence: str
    rows: list[tuple[str, str]]
    marks: tuple[str, ...]


class Column(NamedTuple):
    """A column of a table of measurements: the key of its cells, and what stands above them."""

    key: str
    head: str
    group: str = ""
    """What stands above several columns beside one another."""


_MEASURED = (
    Column("rate", "last-finished", "Rate"),
    Column("ceiling", "of ceiling", "Rate"),
    Column("first_rate", "first-finished", "Rate"),
    Column("operations", "operations", "Rate"),
    Column("stonewall", "at the stonewall", "Rate"),
    Column("matched", "Matched"),
    Column("duration", "Time"),
    *(Column(part, part, "Share of the time") for part in phase_times.PARTS),
    Column("start_spread", "start", "Apart at"),
    Column("finish_spread", "end", "Apart at"),
    Column("resident", "In memory"),
)
"""The columns that a table of measurements can have; it has those with a value in any row."""

_COSTS = (
    Column("processor", "Processor"),
    Column("processor_each", "per amount"),
    Column("switches", "Switches"),
    Column("from_devices", "From devices"),
    Column("to_devices", "To devices"),
)


@dataclass(frozen=True)
class WorkloadPart:
    """What is told of one workload: its measurements and its latencies, as rows of the tables."""

    name: str
    title: str
    measurements: list[dict[str, Any]]
    """Those that are shown."""
    measured: int
    """How many there are."""
    latencies: list[dict[str, Any]]
    cases: list[CaseEntry]
    is_swept: bool
    """More than clients tells the cases apart."""
    columns: list[Column]
    """Of the table of its measurements."""
    costs: list[Column]
    """Of the table of what they cost the clients; none where nothing is known of it."""


@dataclass(frozen=True)
class Content:
    """Everything that a report says."""

    document: RunDocument
    points: pl.DataFrame
    verdicts: list[VerdictLine]
    accepted: acceptance.Judgement | None
    findings: list[FindingLine]
    sweeps: list[Sweep]
    summary: list[SummaryLine]
    by_series: list[SeriesLine]
    medians: list[MedianLine]
    surveys: list[Survey]
    scores: list[Score]
    score_tables: list[ScoreTable]
    levels: list[peak_sustained.Row]
    judged: list[Verdict]
    doubts: Doubts
    limits: Mapping[Place, Limit]
    workloads: list[WorkloadPart]
    missing: list[Place]
    wide: list[WidePoint]
    """Points that their stop rule gave up."""
    nodes: list[NodeGroup]
    names: Names


def assemble(run: LoadedRun) -> Content:
    """The content of a run's report."""
    points = rates.points(run.measurements)
    found = doubts.grouped(run.doubts, run.measurements)
    levels = peak_sustained.table(run.document, points)
    judged = acceptance.judge(run)
    names = Names(run.document)
    scores = io500.scores(run)
    facts = Facts(run)
    limits = ceilings.limits(run)
    told = findings(facts)
    rows = _anchors(run, told)
    return Content(
        document=run.document,
        points=points,
        verdicts=[_verdict(verdict, found, names) for verdict in judged],
        accepted=acceptance.accepted(judged),
        findings=_findings(run.document, told, rows, found, names),
        sweeps=facts.sweeps,
        summary=[_summary_line(row, points, found, limits) for row in levels if row.is_write_and_read],
        by_series=[
            line for row in levels if not row.is_write_and_read for line in _series_lines(row, points, found, limits)
        ],
        medians=medians.assemble(run.document, points, found, limits, names),
        surveys=surveys.assemble(run.document, points, found),
        scores=scores,
        score_tables=score_tables.assemble(scores, found, names),
        levels=levels,
        judged=judged,
        doubts=found,
        limits=limits,
        workloads=_workloads(run, found, names, rows),
        missing=_missing(run),
        wide=narrowness.still_wide(run.document, run.measurements),
        nodes=nodes.alike(run.document.environment),
        names=names,
    )


def measurements(run: LoadedRun) -> pl.DataFrame:
    """Every measurement with the shares of the ranks' time and its ceiling, in the order in which the cases ran."""
    order = {case.id: at for at, case in enumerate(run.document.cases)}
    return (
        run.measurements.join(phase_times.shares(run.ranks), on=list(KEY), how="left")
        .join(phase_times.costs(run.ranks), on=list(KEY), how="left")
        .join(ceilings.columns(run), on=list(KEY), how="left")
        .with_columns(pl.col("case").replace_strict(order, default=None, return_dtype=pl.Int64).alias("at"))
        .join(_planned(run.document), on=list(KEY), how="left")
        .sort("at", "started_unix_ns", "planned", "phase", "job", "operation", nulls_last=True)
        .drop("at", "planned")
    )


MOST_ROWS = 2000
"""A run with more measurements shows of each point of its sweeps the typical one, what is invalid, and what findings
rest on first: a page of all of them could not be opened.
"""


def _anchors(run: LoadedRun, told: Sequence[Finding]) -> dict[Place, str]:
    """The anchor of each measurement that is shown: its place in the table of all."""
    every = rates.places(run.measurements)
    shown = set(every)
    if len(every) > MOST_ROWS:
        shown = set(rates.places(typical(run.measurements)))
        shown |= set(rates.places(run.measurements.filter(~pl.col("valid")).head(MOST_ROWS)))
        shown |= {finding.rests_on[0] for finding in told}
    return {place: f"row-{at}" for at, place in enumerate(every, start=1) if place in shown}


def _findings(
    document: RunDocument, told: Sequence[Finding], rows: Mapping[Place, str], found: Doubts, names: Names
) -> list[FindingLine]:
    sentences = Sentences(document, names)
    return [
        FindingLine(
            finding=one,
            sentence=sentences.of(one.evidence, one.rests_on[0]),
            rows=[(rows[place], names.place(place)) for place in one.rests_on if place in rows],
            marks=found.marks(one.rests_on),
        )
        for one in told
    ]


def _planned(document: RunDocument) -> pl.DataFrame:
    """The place of each measurement in its case, for results that do not tell when a phase began."""
    places = [(*place, at) for case in document.cases for at, place in enumerate(case.measured)]
    return pl.DataFrame(places, schema=[*((name, pl.String) for name in KEY), ("planned", pl.Int64)], orient="row")


def commands(case: CaseEntry) -> list[tuple[str, str]]:
    """(phase and job, equivalent command line) of every job of a case."""
    return [
        (phase.name if job.name == phase.name else f"{phase.name}, {job.name}", job.command)
        for phase in case.phases
        for job in phase.jobs
    ]


def _missing(run: LoadedRun) -> list[Place]:
    measured = set(rates.places(run.measurements))
    return [place for case in run.document.cases for place in case.measured if place not in measured]


def _workloads(run: LoadedRun, found: Doubts, names: Names, rows: Mapping[Place, str]) -> list[WorkloadPart]:
    order = {case.id: (case.clients, case.ranks_per_client, case.groups or 0) for case in run.document.cases}
    every = (
        measurements(run)
        .with_columns(
            pl.col("case").replace_strict(_ranked(order), default=None, return_dtype=pl.Int64).alias("point_order")
        )
        .sort("point_order", "repetition", maintain_order=True)
    )
    sweep_points = latency.by_sweep_point(run.measurements, run.latencies)
    parts = []
    for name in run.document.workloads:
        own = every.filter(pl.col("workload") == name)
        table = [
            _measurement(row, found, names) | {"anchor": rows[_place(row)]}
            for row in own.iter_rows(named=True)
            if _place(row) in rows
        ]
        parts.append(
            WorkloadPart(
                name=name,
                title=names.workload(name),
                measurements=table,
                measured=own.height,
                latencies=_latencies(sweep_points.filter(pl.col("workload") == name), own, found, run.document),
                cases=sorted(
                    (case for case in run.document.cases if case.workload == name),
                    key=lambda case: (case.repetition, order[case.id]),
                ),
                is_swept=names.is_swept(name),
                columns=_with_values(_MEASURED, table),
                costs=_with_values(_COSTS, table),
            )
        )
    return parts


def _ranked(order: dict[str, tuple[int, int, int]]) -> dict[str, int]:
    """The place of each case among the points of a sweep, ascending."""
    places = {point: at for at, point in enumerate(sorted(set(order.values())))}
    return {case: places[point] for case, point in order.items()}


def _with_values(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    return [column for column in columns if any(row[column.key] != format.ABSENT for row in rows)]


def _measurement(row: dict[str, Any], found: Doubts, names: Names) -> dict[str, Any]:
    """A row of the table of all measurements, as text."""
    noun = NOUNS[row["operation"]]
    # An imported result may tell rates and neither amounts nor files.
    moves = bool(row["rate_bytes_per_s"])
    on_files = row["files"] != 0
    return {
        "case": row["case"],
        "clients": row["clients"],
        "point": names.point(row["case"]),
        "repetition": row["repetition"],
        "phase": names.measurement(row["phase"], row["job"], row["operation"]),
        "rate": format.rate(row["rate_bytes_per_s"]) if moves else format.ABSENT,
        "first_rate": format.rate(row["first_finished_rate_bytes_per_s"])
        if moves
        else format.count_rate(row["first_finished_rate_operations_per_s"]),
        "ceiling": format.share(row["ceiling_share"]),
        "operations": format.operations_rate(row["rate_operations_per_s"])
        if on_files
        else format.count_rate(row["rate_operations_per_s"], noun),
        "stonewall": _stonewall(row, moves),
        "matched": format.ABSENT if row["matched"] is None else str(row["matched"]),
        "duration": format.duration(row["duration_ns"]),
        **{part: format.share(row[f"{part}_share"]) for part in phase_times.PARTS},
        "processor": format.duration(row["processor_ns"]),
        "processor_each": format.per_amount(row["processor_ns_per_gib"], "GiB")
        if moves and on_files
        else format.per_amount(row["processor_ns_per_operation"], "op"),
        "switches": format.ABSENT if row["context_switches"] is None else str(row["context_switches"]),
        "from_devices": format.size(row["device_read_bytes"]),
        "to_devices": format.size(row["device_write_bytes"]),
        "start_spread": format.duration(row["start_spread_ns"]),
        "finish_spread": format.duration(row["finish_spread_ns"]),
        "resident": _resident(row),
        "valid": row["valid"],
        "marks": found.marks([_place(row)]),
    }


def _place(row: dict[str, Any]) -> Place:
    return row["case"], row["phase"], row["job"], row["operation"]


def _stonewall(row: dict[str, Any], moves: bool) -> str:
    """The rate until the stonewall, and how far apart the ranks were then."""
    if row["stonewall_ns"] is None:
        return format.ABSENT
    rate = (
        format.rate(row["stonewall_rate_bytes_per_s"])
        if moves
        else format.count_rate(row["stonewall_rate_operations_per_s"])
    )
    return f"{rate} ({row['stonewall_least_operations']}–{row['stonewall_most_operations']} per rank)"


def _resident(row: dict[str, Any]) -> str:
    resident = row["resident_bytes_before"]
    if resident is None or not row["file_set_bytes"]:
        return format.ABSENT
    # A stonewall may have let far less be written than was planned; then all that is there was read. And several nodes
    # may each hold what they all read.
    there = max(min(row["file_set_bytes"], row["bytes"]), resident)
    return format.share(resident / there) if there else format.ABSENT


def _latencies(
    points: pl.DataFrame, measured: pl.DataFrame, found: Doubts, document: RunDocument
) -> list[dict[str, Any]]:
    """Rows of the latency table: series in the order in which they run, then ascending clients, ranks and files."""
    names = Names(document)
    rows = []
    workload = measured["workload"].first()
    for one in series.of_workload(document, str(workload)) if workload is not None else []:
        own = points.filter(
            (pl.col("phase") == one.phase) & (pl.col("job") == one.job) & (pl.col("operation") == one.operation)
        )
        for point in own.sort("clients", "ranks", "files").iter_rows(named=True):
            same = measured.filter(pl.col("valid") & rates.at(point))
            rows.append(
                {
                    "operation": series.label(one),
                    "clients": point["clients"],
                    "point": names.point(same["case"][0]),
                    "operations": point["operations"],
                    "percentiles": [
                        format.duration(point[column] if latency.is_resolved(point["operations"], column) else None)
                        for column in latency.PERCENTILES
                    ],
                    "marks": found.marks(rates.places(same)),
                }
            )
    return rows


def _summary_line(
    row: peak_sustained.Row, points: pl.DataFrame, found: Doubts, limits: Mapping[Place, Limit]
) -> SummaryLine:
    def both(operation: str) -> tuple[Cell, Cell]:
        levels = row.of(operation)
        measured = rates.of(points, row.workload, operation)
        return (
            _level(levels.peak if levels else None, row, measured, found, limits),
            _level(levels.sustained if levels else None, row, measured, found, limits),
        )

    write, read = both("write"), both("read")
    return SummaryLine(label=row.label, cells=(write[0], read[0], write[1], read[1]))


def _series_lines(
    row: peak_sustained.Row, points: pl.DataFrame, found: Doubts, limits: Mapping[Place, Limit]
) -> list[SeriesLine]:
    lines = []
    for one, levels in row.series.items():
        measured = rates.of(points, row.workload, one.operation, one.phase, one.job)
        lines.append(
            SeriesLine(
                label=row.label,
                series=series.label(one),
                operation=one.operation,
                peak=_level(levels.peak if levels else None, row, measured, found, limits, operation=one.operation),
                sustained=_level(
                    levels.sustained if levels else None, row, measured, found, limits, operation=one.operation
                ),
            )
        )
    return lines


def _level(
    level: Level | None,
    row: peak_sustained.Row,
    measured: pl.DataFrame,
    found: Doubts,
    limits: Mapping[Place, Limit],
    *,
    operation: Operation | None = None,
) -> Cell:
    if level is None:
        return Cell(format.ABSENT, "nothing valid measured")
    at_level = pl.col("valid") & pl.col(level.axis).is_in(list(level.at))
    places = rates.places(measured.filter(at_level))
    ceiling = ceilings.common(limits, places) if row.unit.column == "rate_bytes_per_s" else None
    unit = row.unit.name if operation is None else format.counting(row.unit.name, NOUNS[operation])

    def text(rate: float) -> str:
        return f"{format_rate(rate, row.unit.name).split(' ')[0]} {unit}"

    known = level.interval
    return Cell(
        text=text(level.rate),
        rests_on=format.points(level.at, level.axis),
        marks=found.marks(places),
        ceiling=of_the_ceiling(level.rate, ceiling) if ceiling else "",
        interval=format.interval(text(known.low), text(known.high), known.confidence) if known else "",
        stonewall="" if level.stonewall is None else f"{text(level.stonewall)} at the stonewall",
    )


def _verdict(verdict: Verdict, found: Doubts, names: Names) -> VerdictLine:
    criterion = verdict.criterion
    subject = "" if criterion.of == "all" else f" of {names.workload(criterion.of)}"
    operation = "" if criterion.operation == "all" else f", {criterion.operation}"
    limits = []
    if criterion.at_most is not None:
        limits.append(f"at most {format.limit(criterion.at_most, criterion.unit)}")
    if criterion.at_least is not None:
        limits.append(f"at least {format.limit(criterion.at_least, criterion.unit)}")
    return VerdictLine(
        criterion=f"{criterion.measure.replace('_', ' ')}{subject}{operation}: {' and '.join(limits)}",
        because=criterion.because,
        judgement=verdict.judgement,
        value=format.ABSENT if verdict.value is None else format.in_unit(verdict.value, criterion.unit),
        reason=verdict.reason,
        rests_on=_rests_on(verdict, names),
        marks=found.marks(verdict.rests_on),
    )


def _rests_on(verdict: Verdict, names: Names) -> str:
    """The first few by name: a criterion about everything rests on everything."""
    shown = [names.place(place) for place in verdict.rests_on[:2]]
    more = len(verdict.rests_on) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)
