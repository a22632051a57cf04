"""What a report says, before any format: every format and the terminal render this, so that they agree.

Numbers come from `ioassay.analysis`; here they only meet the words and the doubts that belong beside them.
Not: HTML, Markdown, figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from ioassay.analysis import acceptance, doubts, latency, peak_sustained, phase_times, rates
from ioassay.analysis.acceptance import Verdict
from ioassay.analysis.doubts import Doubts, Place
from ioassay.analysis.peak_sustained import Level
from ioassay.reports import format, nodes
from ioassay.reports.names import Names
from ioassay.reports.nodes import NodeGroup
from ioassay.results.document import CaseEntry, RunDocument
from ioassay.results.loaded import LoadedRun
from ioassay.units import format_rate


@dataclass(frozen=True)
class Cell:
    """A number with its unit, what it rests on, and the marks of the doubts about it."""

    text: str
    rests_on: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class SummaryLine:
    """A row of the peak and sustained table: peak write, peak read, sustained write, sustained read."""

    label: str
    cells: tuple[Cell, Cell, Cell, Cell]


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
class WorkloadPart:
    """What is told of one workload: its measurements and its latencies, as rows of the tables."""

    name: str
    title: str
    measurements: list[dict[str, Any]]
    latencies: list[dict[str, Any]]
    cases: list[CaseEntry]


@dataclass(frozen=True)
class Content:
    """Everything that a report says."""

    document: RunDocument
    points: pl.DataFrame
    verdicts: list[VerdictLine]
    accepted: acceptance.Judgement | None
    summary: list[SummaryLine]
    levels: list[peak_sustained.Row]
    judged: list[Verdict]
    doubts: Doubts
    workloads: list[WorkloadPart]
    missing: list[Place]
    nodes: list[NodeGroup]
    names: Names


def assemble(run: LoadedRun) -> Content:
    """The content of a run's report."""
    points = rates.points(run.measurements)
    found = doubts.grouped(run.doubts, run.measurements)
    levels = peak_sustained.table(run.document.study.summary, points)
    judged = acceptance.judge(run)
    names = Names(run.document)
    return Content(
        document=run.document,
        points=points,
        verdicts=[_verdict(verdict, found, names) for verdict in judged],
        accepted=acceptance.accepted(judged),
        summary=[_summary_line(row, points, found) for row in levels],
        levels=levels,
        judged=judged,
        doubts=found,
        workloads=_workloads(run, found, names),
        missing=_missing(run),
        nodes=nodes.alike(run.document.environment),
        names=names,
    )


def measurements(run: LoadedRun) -> pl.DataFrame:
    """Every measurement with the shares of the ranks' time, in the order in which the cases ran."""
    order = {case.id: at for at, case in enumerate(run.document.cases)}
    return (
        run.measurements.join(phase_times.shares(run.ranks), on=["case", "phase"], how="left")
        .with_columns(pl.col("case").replace_strict(order, default=None, return_dtype=pl.Int64).alias("order"))
        .sort("order", "started_unix_ns", "phase")
        .drop("order")
    )


def _missing(run: LoadedRun) -> list[Place]:
    measured = set(run.measurements.select("case", "phase").iter_rows())
    planned = [(case.id, phase.name) for case in run.document.cases for phase in case.phases]
    return [place for place in planned if place not in measured]


def _workloads(run: LoadedRun, found: Doubts, names: Names) -> list[WorkloadPart]:
    every = measurements(run).sort("clients", "repetition", maintain_order=True)
    sweep_points = latency.by_sweep_point(run.measurements, run.latencies)
    parts = []
    for name in dict.fromkeys(case.workload for case in run.document.cases):
        own = every.filter(pl.col("workload") == name)
        parts.append(
            WorkloadPart(
                name=name,
                title=names.workload(name),
                measurements=[_measurement(row, found) for row in own.iter_rows(named=True)],
                latencies=_latencies(sweep_points.filter(pl.col("workload") == name), own, found),
                cases=[case for case in run.document.cases if case.workload == name],
            )
        )
    return parts


def _measurement(row: dict[str, Any], found: Doubts) -> dict[str, Any]:
    """A row of the table of all measurements, as text."""
    return {
        "clients": row["clients"],
        "repetition": row["repetition"],
        "phase": row["phase"],
        "rate": format.rate(row["rate_bytes_per_s"]),
        "first_rate": format.rate(row["first_finished_rate_bytes_per_s"]),
        "operations": format.operations_rate(row["rate_operations_per_s"]),
        "duration": format.duration(row["duration_ns"]),
        "shares": [format.share(row[f"{part}_share"]) for part in phase_times.PARTS],
        "start_spread": format.duration(row["start_spread_ns"]),
        "finish_spread": format.duration(row["finish_spread_ns"]),
        "resident": _resident(row),
        "valid": row["valid"],
        "marks": found.marks([(row["case"], row["phase"])]),
    }


def _resident(row: dict[str, Any]) -> str:
    resident = row["resident_bytes_before"]
    if resident is None or not row["file_set_bytes"]:
        return format.ABSENT
    return format.share(resident / row["file_set_bytes"])


def _latencies(points: pl.DataFrame, measured: pl.DataFrame, found: Doubts) -> list[dict[str, Any]]:
    """Rows of the latency table: write before read, then ascending clients."""
    rows = []
    # "write" sorts after "read", but comes first in time.
    for point in points.sort(["operation", "clients"], descending=[True, False]).iter_rows(named=True):
        same = measured.filter(
            pl.col("valid") & (pl.col("operation") == point["operation"]) & (pl.col("clients") == point["clients"])
        )
        rows.append(
            {
                "operation": point["operation"],
                "clients": point["clients"],
                "operations": point["operations"],
                "percentiles": [
                    format.duration(point[column] if latency.is_resolved(point["operations"], column) else None)
                    for column in latency.PERCENTILES
                ],
                "marks": found.marks(same.select("case", "phase").iter_rows()),
            }
        )
    return rows


def _summary_line(row: peak_sustained.Row, points: pl.DataFrame, found: Doubts) -> SummaryLine:
    def cell(operation: str, level: Level | None) -> Cell:
        if level is None:
            return Cell(format.ABSENT, "nothing valid measured")
        at_level = pl.col("valid") & pl.col("clients").is_in(list(level.clients))
        measured = rates.of(points, row.workload, operation).filter(at_level)
        return Cell(
            text=format_rate(level.rate, row.unit.name),
            rests_on=format.clients(level.clients),
            marks=found.marks(measured.select("case", "phase").iter_rows()),
        )

    write, read = row.write, row.read
    return SummaryLine(
        label=row.label,
        cells=(
            cell("write", write.peak if write else None),
            cell("read", read.peak if read else None),
            cell("write", write.sustained if write else None),
            cell("read", read.sustained if read else None),
        ),
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
