"""The tables of a run as frames, for spreadsheets and other programs: unrounded, base units in the names of columns.

Not: numbers in words (`content`), tables of several runs (`ioassay.frames`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

import polars as pl

from ioassay.analysis import acceptance, given_rates, io500, latency, peak_sustained, rates
from ioassay.analysis.findings import RunFacts
from ioassay.analysis.findings import findings as findings_of
from ioassay.analysis.io500 import Score
from ioassay.analysis.peak_sustained import Level
from ioassay.analysis.watch import phases
from ioassay.analysis.watch.phases import activity
from ioassay.reports.run.workloads import measurements as measured
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, POINT
from ioassay.store.watched import COLUMNS
from ioassay.text.rate_units import RateColumn

_COLUMNS: tuple[RateColumn, ...] = get_args(RateColumn)


class Table(NamedTuple):
    """A table of a run: the function that makes it, and a sentence on its meaning."""

    of: Callable[[LoadedRun], pl.DataFrame]
    meaning: str


def measurements(run: LoadedRun) -> pl.DataFrame:
    """The columns of `schema.MEASUREMENTS`, the shares of the ranks' time, its cost, kinds of doubt joined by `;`."""
    kinds = run.doubts.group_by(*KEY, maintain_order=True).agg(pl.col("kind").str.join(";").alias("doubts"))
    return (
        measured(run)
        .join(kinds, on=list(KEY), how="left", maintain_order="left")
        .with_columns(pl.col("doubts").fill_null(""))
    )


def medians(run: LoadedRun) -> pl.DataFrame:
    """A row per point of a sweep: the columns of `schema.POINT`, its valid repetitions, and of their rates in bytes/s
    and in operations/s lowest, median, highest, ends of the median's interval, and the median at the stonewall.
    """
    points = rates.points(run.measurements)
    every = points.filter("valid").group_by(*POINT, maintain_order=True).agg(pl.len().alias("repetitions"))
    confidences = []
    for column in _COLUMNS:
        column_medians = rates.medians(points, column).drop("repetitions")
        column_medians = column_medians.rename(
            {name: f"{name}_{_unit(column)}" for name in column_medians.columns if name not in POINT}
        )
        every = every.join(column_medians, on=list(POINT), how="left", nulls_equal=True, maintain_order="left")
        confidences.append(f"confidence_{_unit(column)}")
    return every.with_columns(pl.coalesce(confidences).alias("confidence")).drop(confidences)


def peaks_and_sustained(run: LoadedRun) -> pl.DataFrame:
    """A row per series that the study asks for: label, workload, phase, job, operation, axis; the peak with its
    interval and the sustained rate, in bytes/s or operations/s; what each rests on (clients or ranks), joined by `;`.
    """
    rows = [
        {"label": row.label, "workload": row.workload, **series_key._asdict(), "axis": both.peak.axis}
        | _level("peak", both.peak, row.unit.column)
        | _level("sustained", both.sustained, row.unit.column)
        for row in peak_sustained.table(run.document, given_rates.throughput(run))
        for series_key, both in row.series.items()
        if both is not None
    ]
    numbers = [f"{name}_{_unit(column)}" for column in _COLUMNS for name in ("peak", "low", "high", "sustained")]
    columns: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(("label", "workload", "phase", "job", "operation", "axis"), pl.String),
        **dict.fromkeys((*numbers, "confidence"), pl.Float64),
        **dict.fromkeys(("peak_at", "sustained_at"), pl.String),
    }
    return pl.DataFrame(rows, schema=columns)


def _level(name: str, level: Level, column: RateColumn) -> dict[str, Any]:
    row: dict[str, Any] = {f"{name}_{_unit(column)}": level.rate, f"{name}_at": ";".join(map(str, level.points))}
    if level.interval is not None:
        low, high = level.interval.low, level.interval.high
        row |= {f"low_{_unit(column)}": low, f"high_{_unit(column)}": high, "confidence": level.interval.confidence}
    return row


def latency_percentiles(run: LoadedRun) -> pl.DataFrame:
    """A row per point of a sweep: the columns of `schema.POINT`, operations, and percentiles in nanoseconds over the
    valid repetitions; null where so few operations cannot tell one from the maximum.
    """
    return _resolved(latency.by_sweep_point(run.measurements, run.latencies, run.ranks))


def first_byte_percentiles(run: LoadedRun) -> pl.DataFrame:
    """As `latency_percentiles`, from the beginning of reads to their first byte."""
    return _resolved(latency.first_bytes_by_sweep_point(run.measurements, run.first_bytes))


def _resolved(points: pl.DataFrame) -> pl.DataFrame:
    return points.with_columns(
        pl.when(pl.col("operations") * (1000 - permille) >= (permille < 1000) * 1000).then(column).alias(column)
        for column, permille in latency.PERCENTILES.items()
    )


def findings(run: LoadedRun) -> pl.DataFrame:
    """A row per finding: severity, kind, sentence, remedy, and on how much it rests."""
    rows = [
        (finding.severity, finding.kind, finding.message.text, finding.message.remedy, len(finding.rests_on))
        for finding in findings_of(RunFacts(run))
    ]
    columns = {**dict.fromkeys(("severity", "kind", "sentence", "remedy"), pl.String), "rests_on": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def criteria(run: LoadedRun) -> pl.DataFrame:
    """A row per acceptance criterion of the study, limits and value in `unit`, with the verdict."""
    rows = [
        verdict.criterion.model_dump()
        | {"value": verdict.value, "judgement": verdict.judgement, "reason": verdict.missing}
        for verdict in acceptance.judge(run)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def scores(run: LoadedRun) -> pl.DataFrame:
    """A row per phase and mean of each score of the IO500, in its own units: case, list, name, score, unit (null of the
    total), duration_ns, valid.
    """
    rows = [row for score in io500.scores(run) for row in _score(score)]
    columns = {
        **dict.fromkeys(("case", "list", "name"), pl.String),
        **{"score": pl.Float64, "unit": pl.String, "duration_ns": pl.Int64, "valid": pl.Boolean},
    }
    return pl.DataFrame(rows, schema=columns, orient="row")


def _score(score: Score) -> Iterator[tuple[str, str, str, float, str | None, int | None, bool]]:
    for part in score.phases:
        unit = io500.UNITS[part.rule.group]
        yield score.case, score.list, part.rule.phase, part.score, unit, part.duration_ns, not part.reasons
    yield score.case, score.list, "bandwidth", score.bandwidth, io500.UNITS["bandwidth"], None, score.is_valid
    yield score.case, score.list, "metadata", score.metadata, io500.UNITS["metadata"], None, score.is_valid
    yield score.case, score.list, "total", score.total, None, None, score.is_valid


def watched_phases(run: LoadedRun) -> pl.DataFrame:
    """A row per phase of a run that was watched: case, phase, start and end (seconds since 1970), bytes that the
    clients wrote and read, that the disks which hold the data read and wrote in the same seconds, both in proportion,
    and bytes that these disks wrote after the phase, with the seconds that this took.
    """
    run_activity = activity(run)
    return pl.DataFrame(schema=phases.PHASES) if run_activity is None else run_activity.phases


def watched_hosts(run: LoadedRun) -> pl.DataFrame:
    """A row per phase and host that was watched: case, phase, host, role, duration_s, bytes of its disks and its
    network, shares of time in which processors were busy and tasks waited for memory.
    """
    run_activity = activity(run)
    return pl.DataFrame(schema=phases.HOSTS) if run_activity is None else run_activity.hosts


def watched(run: LoadedRun) -> pl.DataFrame:
    """Everything that agents reported: host, role, kind, name, second (since 1970), field, value; up to millions."""
    return pl.DataFrame(schema=COLUMNS) if run.watch is None else run.watch.rows()


def environment(run: LoadedRun) -> pl.DataFrame:
    """A row per fact of each node, as it was seen there: node, fact (`memory_bytes`, `mount.file_system`), value."""
    rows = [
        (str(node.get("host", index)), fact, value)
        for index, node in enumerate(run.document.environment)
        for fact, value in _facts(node)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("node", "fact", "value"), pl.String), orient="row")


def _facts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(name, value) of everything in a document, names joined by dots; what is not known is left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _facts(inner, f"{name}.{key}" if name else str(key))
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)


def settings(run: LoadedRun) -> pl.DataFrame:
    """A row per setting of the study: setting, value."""
    rows = list(_facts(run.document.study.settings))
    return pl.DataFrame(rows, schema=dict.fromkeys(("setting", "value"), pl.String), orient="row")


def _unit(column: RateColumn) -> str:
    return column.removeprefix("rate_")


TABLES: dict[str, Table] = {
    "measurements": Table(
        measurements, "Every measurement, with the shares of its time, its costs, its ceiling and its doubts."
    ),
    "medians": Table(medians, "For each point of each sweep, the median of the valid repetitions, with its interval."),
    "peak-and-sustained": Table(
        peaks_and_sustained, "Peak and sustained rate of each sweep, and at how many clients or ranks."
    ),
    "latency-percentiles": Table(
        latency_percentiles, "Percentiles of the time of one operation, valid repetitions together."
    ),
    "first-byte-percentiles": Table(
        first_byte_percentiles, "Percentiles of the time to the first byte of a read, valid repetitions together."
    ),
    "findings": Table(findings, "Findings about repetitions, sweeps, ranks and samples, as sentences."),
    "scores": Table(
        scores, "Scores of the IO500 and of its phases, computed by its rules; not an official submission."
    ),
    "criteria": Table(criteria, "The acceptance criteria of the study, and their verdicts."),
    "watched-phases": Table(
        watched_phases, "What clients moved in each phase, and what the servers' disks did in the same seconds."
    ),
    "watched-hosts": Table(watched_hosts, "What each host did in each phase: disks, network, processors, memory."),
    "watched": Table(watched, "Every counter of each host that was watched, second by second."),
    "doubts": Table(lambda run: run.doubts, "Each reason not to believe a measurement, with its evidence and remedy."),
    "settings": Table(settings, "Every setting of the study and its value."),
    "environment": Table(environment, "Environment of each node."),
    "sources": Table(lambda run: run.sources, "Source of each imported measurement: file and line."),
}
"""Every table of a run by its name."""
