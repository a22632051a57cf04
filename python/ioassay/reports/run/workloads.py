"""Measurements, their costs, and latencies of each workload, as rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ioassay.analysis import axes, ceilings, endpoints, latency, phase_times, rates, series
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.names import NOUNS, Names
from ioassay.analysis.run_units import RunUnits
from ioassay.reports.document import Column
from ioassay.store.document import CaseEntry, RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, Measurement
from ioassay.store.point import Ascending, ascending
from ioassay.text import format
from ioassay.text.rate_units import UNITS
from ioassay.text.units import RateUnit


def _numbers(group: str, **heads: str) -> dict[str, Column]:
    """Columns of numbers by the key of their cells, with a head above all of them where `group` is one."""
    return {key: Column(head, is_number=True, group=group) for key, head in heads.items()}


_MEASURED: Mapping[str, Column] = {
    **_numbers(
        "Rate",
        rate="last-finished",
        ceiling="of ceiling",
        first_rate="first-finished",
        operations="operations",
        stonewall="at the stonewall",
    ),
    **_numbers("", matched="Matched", duration="Time"),
    **_numbers("Share of the time", **{part: part for part in phase_times.PARTS}),
    **_numbers("Apart at", start_spread="start", finish_spread="end"),
    **_numbers("", resident="In memory", settled="Settled for"),
}
"""The columns that a table of measurements can have; it has those with a value in any row."""


_COSTS: Mapping[str, Column] = _numbers(
    "",
    processor="Processor",
    processor_each="per amount",
    switches="Switches",
    from_devices="From devices",
    to_devices="To devices",
)


@dataclass(frozen=True)
class WorkloadPart:
    """The measurements and latencies of a workload, as rows of the tables."""

    name: str
    title: str
    measurements: list[dict[str, Any]]
    """The measurements that are shown."""
    measured: int
    """The number of all measurements."""
    latencies: list[dict[str, Any]]
    endpoints: list[dict[str, Any]]
    """Rates by endpoint, where ranks alternate between several."""
    cases: list[CaseEntry]
    is_swept: bool
    """The cases differ in more than the number of clients."""
    columns: Mapping[str, Column]
    """Columns of the table of measurements, by the key of their cells."""
    costs: Mapping[str, Column]
    """Columns of the table of the cost to the clients; none where it is unknown."""

    @property
    def point_head(self) -> str:
        """The head of the column of points, whose cells have the key `at`."""
        return "Point" if self.is_swept else "Clients"


def measurements(run: LoadedRun) -> pl.DataFrame:
    """Every measurement with the shares of the ranks' time and its ceiling, in the order in which the cases ran."""
    order = {case.id: index for index, case in enumerate(run.document.cases)}
    return (
        run.measurements.join(phase_times.shares(run.ranks), on=list(KEY), how="left")
        .join(phase_times.costs(run.ranks), on=list(KEY), how="left")
        .join(ceilings.columns(run), on=list(KEY), how="left")
        .with_columns(pl.col("case").replace_strict(order, default=None, return_dtype=pl.Int64).alias("at"))
        .join(_planned(run.document), on=list(KEY), how="left")
        .sort("at", "started_unix_ns", "planned", "phase", "job", "operation", nulls_last=True)
        .drop("at", "planned")
    )


def assemble(
    run: LoadedRun, doubts: Doubts, names: Names, rows: Mapping[Measurement, str], units: RunUnits
) -> list[WorkloadPart]:
    """The part of each workload; `rows` has the anchor of each measurement that is shown."""
    order = {case.id: ascending(case.point) for case in run.document.cases}
    every = (
        measurements(run)
        .with_columns(
            pl.col("case").replace_strict(_ranked(order), default=None, return_dtype=pl.Int64).alias("point_order")
        )
        .sort("point_order", "repetition", maintain_order=True)
    )
    sweep_points = latency.by_sweep_point(run.measurements, run.latencies, run.ranks)
    by_endpoint = endpoints.by_sweep_point(run.measurements, run.ranks)
    first_bytes = latency.first_bytes_by_sweep_point(run.measurements, run.first_bytes)
    parts = []
    for name in run.document.workloads:
        workload_rows = every.filter(pl.col("workload") == name)
        table = [
            _measurement(row, doubts, names, units) | {"anchor": rows[Measurement.of(row)]}
            for row in workload_rows.iter_rows(named=True)
            if Measurement.of(row) in rows
        ]
        parts.append(
            WorkloadPart(
                name=name,
                title=names.workload(name),
                measurements=table,
                measured=workload_rows.height,
                latencies=[
                    *_latencies(sweep_points, workload_rows, doubts, run.document, names),
                    *_latencies(first_bytes, workload_rows, doubts, run.document, names, until="first byte"),
                ],
                endpoints=_endpoints(by_endpoint, workload_rows, run.document, names, units),
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


def _planned(document: RunDocument) -> pl.DataFrame:
    """The place of each measurement in its case, for results without the times at which phases began."""
    places = [(*place, index) for case in document.cases for index, place in enumerate(case.measured)]
    return pl.DataFrame(places, schema=[*((name, pl.String) for name in KEY), ("planned", pl.Int64)], orient="row")


def _ranked(order: Mapping[str, Ascending]) -> dict[str, int]:
    """The place of each case among the points of a sweep, ascending."""
    places = {point: index for index, point in enumerate(sorted(set(order.values())))}
    return {case: places[point] for case, point in order.items()}


def _with_values(columns: Mapping[str, Column], rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    return {key: column for key, column in columns.items() if any(row[key] != format.ABSENT for row in rows)}


def _measurement(row: dict[str, Any], doubts: Doubts, names: Names, units: RunUnits) -> dict[str, Any]:
    """A row of the table of all measurements, as text."""
    noun = NOUNS[row["operation"]]
    # An imported result may tell rates and neither amounts nor files.
    moves = bool(row["rate_bytes_per_s"])
    on_files = row["files"] != 0
    bytes_unit = units.of("rate_bytes_per_s", row["operation"]).name
    operations_unit = units.of("rate_operations_per_s", row["operation"]).name
    return {
        "case": row["case"],
        "point": names.point(row["case"]),
        "at": _at(row["workload"], row["case"], row["clients"], names),
        "repetition": row["repetition"],
        "phase": names.measurement(row["phase"], row["job"], row["operation"]),
        "rate": format.rate_in(bytes_unit, row["rate_bytes_per_s"]) if moves else format.ABSENT,
        "first_rate": format.rate_in(bytes_unit, row["first_finished_rate_bytes_per_s"])
        if moves
        else format.rate_in(operations_unit, row["first_finished_rate_operations_per_s"]),
        "ceiling": format.share(row["ceiling_share"]),
        "operations": format.rate_in(operations_unit, row["rate_operations_per_s"], noun),
        "stonewall": _stonewall(row, bytes_unit if moves else operations_unit),
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
        "settled": format.duration(row["settled_ns"]),
        "valid": row["valid"],
        "marks": doubts.marks([Measurement.of(row)]),
    }


def _at(workload: str, case: str, clients: int, names: Names) -> str:
    return names.point(case) if names.is_swept(workload) else str(clients)


def _stonewall(row: dict[str, Any], unit: RateUnit) -> str:
    """The rate until the stonewall, and how far apart the ranks were then."""
    if row["stonewall_ns"] is None:
        return format.ABSENT
    rate = format.rate_in(unit, row[f"stonewall_{UNITS[unit].column}"])
    return f"{rate} ({row['stonewall_least_operations']}–{row['stonewall_most_operations']} per rank)"


def _resident(row: dict[str, Any]) -> str:
    resident = row["resident_bytes_before"]
    if resident is None or not row["file_set_bytes"]:
        return format.ABSENT
    # A stonewall may have let far less be written than was planned; then all that is there was read. And several nodes
    # may each hold what they all read.
    cacheable = max(min(row["file_set_bytes"], row["bytes"]), resident)
    return format.share(resident / cacheable) if cacheable else format.ABSENT


def _latencies(
    points: pl.DataFrame,
    measured: pl.DataFrame,
    doubts: Doubts,
    document: RunDocument,
    names: Names,
    *,
    until: str | None = None,
) -> list[dict[str, Any]]:
    """Rows of the latency table: series in the order in which they run, then ascending points.

    `until` says where the times of `points` end, if not with the operation.
    """
    rows = []
    workload = measured["workload"].first()
    for series_key in series.of_workload(document, str(workload)) if workload is not None else []:
        series_points = points.filter(
            (pl.col("workload") == workload)
            & (pl.col("phase") == series_key.phase)
            & (pl.col("job") == series_key.job)
            & (pl.col("operation") == series_key.operation)
        )
        for point in axes.in_order(series_points, "clients", "ranks", "files", "point").iter_rows(named=True):
            same = measured.filter(pl.col("valid") & rates.is_at(point))
            rows.append(
                {
                    "operation": series.label(series_key) + (f", {until}" if until else ""),
                    "at": _at(str(workload), same["case"][0], point["clients"], names),
                    "operations": point["operations"],
                    "percentiles": [
                        format.duration(point[column] if latency.is_resolved(point["operations"], column) else None)
                        for column in latency.PERCENTILES
                    ],
                    "marks": doubts.marks(rates.places(same)),
                }
            )
    return rows


def _endpoints(
    points: pl.DataFrame, measured: pl.DataFrame, document: RunDocument, names: Names, units: RunUnits
) -> list[dict[str, Any]]:
    """Rows of the table of rates by endpoint: series in the order in which they run, ascending points, endpoints."""
    rows = []
    workload = measured["workload"].first()
    for series_key in (
        series.of_workload(document, str(workload)) if workload is not None and not points.is_empty() else []
    ):
        series_points = points.filter(
            (pl.col("workload") == workload)
            & (pl.col("phase") == series_key.phase)
            & (pl.col("job") == series_key.job)
            & (pl.col("operation") == series_key.operation)
        )
        for row in axes.in_order(series_points, "clients", "ranks", "files", "point", "endpoint").iter_rows(named=True):
            same = measured.filter(pl.col("valid") & rates.is_at(row))
            bytes_unit = units.of("rate_bytes_per_s", series_key.operation).name
            operations_unit = units.of("rate_operations_per_s", series_key.operation).name
            rows.append(
                {
                    "operation": series.label(series_key),
                    "at": _at(str(workload), same["case"][0], row["clients"], names),
                    "endpoint": row["endpoint"],
                    "ranks": str(row["endpoint_ranks"]),
                    "rate": format.rate_in(bytes_unit, row["bytes_per_s"]) if row["bytes_per_s"] else format.ABSENT,
                    "operations": format.rate_in(operations_unit, row["operations_per_s"], NOUNS[series_key.operation]),
                }
            )
    return rows
