"""Servers and devices beside the clients, in a report: a figure of the whole run, a table of its phases, and of hosts.

Not: the numbers (`ioassay.analysis.watch`), findings about them (`findings`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.ceilings import DIRECTIONS
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.names import Names
from ioassay.analysis.watch.counted import ImportedCounters, counted
from ioassay.analysis.watch.phases import LEAST_S, PHASE, Activity
from ioassay.analysis.watch.seconds import counted as counted_devices
from ioassay.figures.picture import Picture
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
    numbers,
)
from ioassay.store.measurement import KEY, Measurement
from ioassay.store.watched import Watch
from ioassay.text import format
from ioassay.text.units import format_count

MOST_PHASES = 120
"""Of a run with more phases only those of each point's typical repetition are shown; the tables as files have all."""

TITLE = "Servers and devices"

_MOST_FILES = 8

_OPERATIONS = {
    verb: {operation for operation, direction in DIRECTIONS.items() if direction == towards}
    for verb, towards in (("write", "to-servers"), ("read", "to-clients"))
}
"""Operations that move bytes, by direction."""


def blocks(
    activity: Activity | None, watch: Watch | None, doubts: Doubts, names: Names, picture: Picture | None
) -> list[Block]:
    """The section; nothing of a run that was not watched."""
    if watch is None:
        return []
    remarks = Bullets(list(_remarks(watch)))
    if activity is None:
        return [Paragraph("No host reported anything."), remarks]
    counters = counted(activity)
    counter_blocks = [] if counters is None else _counters(counters, names)
    if activity.watch.table("agent").is_empty():
        return [Figure(picture), *counter_blocks, remarks]
    shown = _shown(activity)
    return [
        Paragraph(_about(activity) if shown.height else f"No phase took {LEAST_S:.0f} s."),
        Figure(picture),
        _phases(activity, shown, doubts, names),
        Section("Each host in each phase", [_hosts(activity, shown, names)], fold="closed"),
        Paragraph(_counted(activity.watch), note=True),
        *counter_blocks,
        remarks,
    ]


def _counters(counters: ImportedCounters, names: Names) -> list[Block]:
    """The tables of the file systems' own counters."""
    machines = "servers" if counters.role == "server" else "clients"
    files = [f"{host.name} ({file.path})" for host in counters.activity.watch.document.hosts for file in host.imported]
    more = [f"and {len(files) - _MOST_FILES} more"] if len(files) > _MOST_FILES else []
    about = (
        f"Imported counters of the file system's {machines}, read up to {counters.interval_s:,.3g} s apart: "
        f"{', '.join([*files[:_MOST_FILES], *more])}. "
        "They count all jobs, by the clocks of their hosts; between two readings they are spread evenly. An interval "
        "in which a phase begins or ends counts for it as a whole, with what others moved in it."
    )
    rows: list[list[Text]] = [
        [
            f"{_place(row, names)} ({direction}s)",
            format.rate(row[f"{direction}_bytes"] / row["duration_s"]),
            format.rate(row[f"counted_{direction}_bytes"] / row["duration_s"]),
            ratio(row[f"counted_{direction}_bytes"] / row[f"{direction}_bytes"]),
        ]
        for row in counters.phases.head(MOST_PHASES).iter_rows(named=True)
        for direction in _OPERATIONS
        if row[f"{direction}_bytes"]
    ]
    columns = [Column("Phase"), *numbers("Clients", "Counted", "Counted / clients")]
    title = f"Clients, and the counters of the file system's {machines} in the same seconds"
    few = Paragraph(
        "No phase is as long as two intervals between readings of the counters, and covered by them: only the timeline "
        "can be compared."
    )
    return [Paragraph(about), Table(columns, rows, title=title, density="dense") if rows else few]


def _about(activity: Activity) -> str:
    hosts = "servers'" if activity.storage_role == "server" else "client nodes'"
    return (
        f"What the clients moved, and what the {hosts} disks did in the same seconds. Above 1.00, the disks moved more "
        "than the clients: copies, parity, journals, or other users. Below, memory took or served the rest."
    )


def _counted(watch: Watch) -> str:
    """The counters that the numbers come from."""
    whole = [
        f"{host}: {', '.join([*disks, *links]) or 'no device of its own'}"
        for host, (disks, links) in counted_devices(watch).items()
    ]
    shares = any(host.shares_machine for host in watch.document.hosts)
    lab = " Processors and memory are those of the whole machine, which the hosts share." if shares else ""
    return (
        f"Counted: {'; '.join(whole)}. Devices on top of others (RAID, LVM, loop) and bonded interfaces are left out, "
        f"so that no byte counts twice.{lab} Counters are read once a second: a second in which a phase begins or ends "
        f"counts as a whole, and phases of less than {LEAST_S:.0f} s are left out."
    )


def _remarks(watch: Watch) -> Iterator[str]:
    yield from (f"{host.name} was not watched: {host.remark}" for host in watch.document.hosts if host.remark)
    damaged, unknown = watch.tables.damaged_lines, watch.tables.unknown_lines
    if damaged:
        yield f"{format_count(damaged, 'damaged line')} of the hosts' documents left out."
    if unknown:
        yield f"{format_count(unknown, 'document')} of another version of the agent left out."


def _shown(activity: Activity) -> pl.DataFrame:
    """The phases that a document has room for."""
    if activity.phases.height <= MOST_PHASES:
        return activity.phases
    return activity.phases.join(rates.typical(activity.run.measurements).select(PHASE), on=list(PHASE), how="semi")


def _phases(activity: Activity, shown: pl.DataFrame, doubts: Doubts, names: Names) -> Table:
    columns = [
        Column("Phase"),
        *numbers("Clients", "Disks", "Disks / clients", "Written after it"),
        Column("Doubts"),
    ]
    measured = defaultdict(list)
    for measurement in map(Measurement._make, activity.run.measurements.select(KEY).iter_rows()):
        measured[measurement.case, measurement.phase].append(measurement)
    rows: list[list[Text]] = []
    for row in shown.iter_rows(named=True):
        for direction, operations in _OPERATIONS.items():
            if row[f"{direction}_bytes"]:
                late = direction == "write" and row["late_write_bytes"]
                way_measurements = (
                    measurement
                    for measurement in measured[row["case"], row["phase"]]
                    if measurement.operation in operations
                )
                rows.append(
                    [
                        f"{_place(row, names)} ({direction}s)"
                        if row["write_bytes"] and row["read_bytes"]
                        else _place(row, names),
                        format.rate(row[f"{direction}_bytes"] / row["duration_s"]),
                        _rate(row, f"disk_{direction}_bytes"),
                        ratio(row[f"disk_{direction}_ratio"]),
                        f"{format.size(row['late_write_bytes'])} within {row['late_s']:.0f} s"
                        if late
                        else format.ABSENT,
                        Marks(doubts.marks(way_measurements)),
                    ]
                )
    machines = "servers" if activity.storage_role == "server" else "client nodes"
    return Table(columns, rows, title=f"Clients, and the disks of the {machines} in the same seconds", density="dense")


def _hosts(activity: Activity, shown: pl.DataFrame, names: Names) -> Table:
    columns = [
        Column("Phase", merges=True),
        Column("Host"),
        Column("Reads", is_number=True, group="Disks (MB/s)"),
        Column("Writes", is_number=True, group="Disks (MB/s)"),
        Column("In", is_number=True, group="Network (MB/s)"),
        Column("Out", is_number=True, group="Network (MB/s)"),
        Column("Processors busy", is_number=True),
        Column("Memory pressure", is_number=True),
    ]
    host_rows = shown.select(PHASE).join(activity.hosts, on=list(PHASE), maintain_order="left")
    rows: list[list[Text]] = [
        [
            _place(row, names),
            f"{row['host']} ({row['role']})",
            *(
                _megabytes(row, name)
                for name in ("disk_read_bytes", "disk_write_bytes", "received_bytes", "sent_bytes")
            ),
            format.share(row["processor_busy"]),
            format.share(row["memory_pressure"]),
        ]
        for row in host_rows.iter_rows(named=True)
    ]
    return Table(
        columns, rows, caption="Each host in each phase", rules=changes(row[0] for row in rows), density="wide"
    )


def _place(row: Mapping[str, Any], names: Names) -> str:
    return f"{names.case(row['case'])}, {row['phase']}"


def _megabytes(row: Mapping[str, Any], column: str) -> str:
    return format.ABSENT if row[column] is None else f"{row[column] / row['duration_s'] / 1e6:,.1f}"


def _rate(row: Mapping[str, Any], column: str) -> str:
    return format.rate(None if row[column] is None else row[column] / row["duration_s"])


def ratio(value: float | None) -> str:
    """`1.31`, `0.02`."""
    return format.ABSENT if value is None else f"{value:.2f}"
