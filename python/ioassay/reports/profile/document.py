"""The report of a profile as a document, and what the terminal shows of it. Not: sentences (`wording`, finders)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from ioassay.analysis import latency
from ioassay.analysis.profile.totals import IO_NS
from ioassay.profiles.model import REGION_SEPARATOR
from ioassay.reports import findings
from ioassay.reports.document import (
    Anchor,
    Block,
    Bullets,
    Column,
    Contents,
    Document,
    Figure,
    Notes,
    Paragraph,
    Piece,
    References,
    Section,
    Span,
    Table,
    Text,
    facts,
    numbers,
)
from ioassay.reports.profile import limits, wording, workflow
from ioassay.reports.profile.content import Content, FindingLine
from ioassay.text import format
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture

MOST_PHASES = 20
MOST_PROCESSES = 15
MOST_REGIONS = 40
MOST_CALLERS = 40
MOST_SIZES = 10
MOST_FILES = 10
"""Shown on the terminal."""
MOST_MAPS = 25
MOST_ERRORS = 15

_MOST_CHARACTERS = 40
"""Longest command in a table."""

_INDENT = "\N{NO-BREAK SPACE}" * 2
"""Indentation of a nested region."""

MOST_FINDINGS = 5
"""Shown on the terminal."""

Pictures = Mapping[str, "Picture"]
"""By what they show: `rates`, `operations`, `heat`, `latencies`, `sizes`, `workflow`."""


def document(content: Content, drawn: Pictures | None = None) -> Document:
    """The document, with the figures where `pictures` has made them."""
    pictures = drawn or {}
    sections = [
        Section("Findings", _findings(content), "findings"),
        Section("Completeness", _completeness(content), "completeness"),
        Section("Calls in flight", _in_flight(content), "in-flight"),
        Section("Over time", _over_time(content, pictures), "over-time"),
        Section("Regions", _regions(content), "regions"),
        Section("Callers", _callers(content, MOST_CALLERS), "callers"),
        Section("Workflow", workflow.section(content.workflow, pictures.get("workflow")), "workflow"),
        Section("Processes", _processes(content, pictures), "processes"),
        Section("Files", _files(content), "files"),
        Section("Operations", _operations(content, pictures), "operations"),
        Section("Measured limits", limits.section(content.limits) if content.limits else [], "limits"),
        Section("Rules", _rules(content), "rules"),
    ]
    title = wording.title(content)
    return Document(
        f"I/O profile: {title}",
        [facts(wording.opening(content)), Contents(sections), *sections],
        question="What does this application do to storage, and what holds it back?",
        window=f"{title}: I/O profile",
        footer=f"Written by ioassay {__version__}.",
        prints_folds=False,  # the names of hundreds of files
    )


def terminal(content: Content) -> list[Block]:
    """The blocks for the terminal: the essentials."""
    shown = content.findings[:MOST_FINDINGS]
    more = len(content.findings) - len(shown)
    return [
        facts(wording.opening(content)),
        Section("", [Paragraph(_finding(line)) for line in shown] or [Paragraph(wording.nothing_found(content))]),
        *([Paragraph(Span(f"{format.count(more, 'more finding')} in the report.", "faint"))] if more else ()),
        Section("Calls in flight:", _in_flight(content)),
        Section("Regions:", _regions(content)),
        Section("Callers:", _callers(content, MOST_FINDINGS)),
        Section("Workflow:", workflow.lines(content.workflow)),
        _operations_table(content),
        _files_table(content.files.head(MOST_FILES), anchors=False),
        Notes(wording.files_shown(min(MOST_FILES, content.files.height), content.every_file.height)),
        Section("Measured limits:", _measured(content)),
        Notes([*wording.trust(content), *wording.unknown(content)]),
    ]


def _measured(content: Content) -> list[Block]:
    if content.limits is None:
        return []
    return [Bullets(list(limits.measured(content.limits))), Notes(list(limits.remarks(content.limits)))]


def _finding(line: FindingLine) -> tuple[Piece, ...]:
    finding = line.finding
    saves = f" {line.savings}" if line.savings else ""
    callers = f" {wording.called_from(line.callers)}" if line.callers else ""
    return (
        *findings.warning(finding.severity),
        finding.message.text,
        callers,
        *findings.remedy(finding.message),
        saves,
    )


def _findings(content: Content) -> list[Block]:
    if not content.findings:
        return [Paragraph(wording.nothing_found(content))]
    items: list[Text] = []
    for line in content.findings:
        rests_on = (" ", References(line.references, wording.rests_on(line.finding))) if line.references else ()
        items.append((*_finding(line), *rests_on))
    about = (
        "Warnings first, then what saves most time. What findings save does not add up where they rest on the same "
        "files or moments. Rules and their limits stand at the end."
    )
    return [Paragraph(about, note=True), Bullets(items)]


def _completeness(content: Content) -> list[Block]:
    unknown = content.profile.unknown
    about = [Paragraph("What such a source does not record, and what is therefore unknown:")] if unknown else []
    unseen = [*wording.trust(content), *wording.differences(content)]
    return [Bullets(unseen), *about, Bullets(list(unknown))]


def _in_flight(content: Content) -> list[Block]:
    frame = content.profile.in_flight.head(MOST_PROCESSES)
    pids = dict(content.profile.processes.select("process", "pid").iter_rows())
    rows: list[list[Text]] = [
        [
            f"{pids[row['process']]} ({row['state']})",
            str(row["thread"]),
            row["operation"],
            Span(row["path"] or "unknown", "code"),
            wording.moment(row["since_unix_ns"]),
        ]
        for row in frame.iter_rows(named=True)
    ]
    more = content.profile.in_flight.height - frame.height
    columns = [Column("Process"), Column("Thread"), Column("Operation"), Column("File"), Column("Since (UTC)")]
    return [
        Table(columns, rows, "Calls that had begun and not ended"),
        Notes(_unshown(more, "more call")),
    ]


def _over_time(content: Content, pictures: Pictures) -> list[Block]:
    shown = content.phases[:MOST_PHASES]
    is_mapped = any(phase.mapped_bytes for phase in content.phases)
    rows = [wording.phase(number, phase, is_mapped=is_mapped) for number, phase in enumerate(shown, start=1)]
    columns = [
        Column("Phase"),
        *numbers("Begins", "Lasts"),
        Column("Mostly"),
        *numbers("Read", "Written", "Rate", "Metadata calls"),
        *(numbers("Through maps, at most") if is_mapped else ()),
    ]
    more = len(content.phases) - len(shown)
    unshown = _unshown(more, "more phase")
    return [
        Figure(pictures.get("rates")),
        Figure(pictures.get("operations")),
        Table(columns, rows, "Phases of I/O"),
        Notes([*wording.periods(content), *unshown, wording.TIME_NOTE]),
        *_maps(content),
    ]


def _regions(content: Content) -> list[Block]:
    columns = [
        Column("Region"),
        *numbers("Entered", "Stayed", "Longest", "Time in I/O", "Read", "Written", "Metadata calls"),
    ]
    rows: list[list[Text]] = [
        [
            f"{_INDENT * region.depth}{region.region.rpartition(REGION_SEPARATOR)[2].strip() or '(unnamed)'}",
            format.count(region.entries),
            format.duration(region.stayed_ns),
            format.duration(region.longest_ns),
            format.duration(region.io_ns),
            format.size(region.read_bytes),
            format.size(region.written_bytes),
            format.count(region.metadata_calls),
        ]
        for region in content.regions[:MOST_REGIONS]
    ]
    more = len(content.regions) - len(rows)
    about = ["A region includes those within it; times are added over threads."] if rows else []
    unshown = _unshown(more, "more region")
    return [Table(columns, rows, "Regions that the application named", density="dense"), Notes([*about, *unshown])]


def _callers(content: Content, most: int) -> list[Block]:
    rows: list[list[Text]] = [
        [
            Span(wording.place(call_site.place), "code"),
            Span(wording.callers(call_site.outer), "code"),
            ", ".join(call_site.through),
            format.count(call_site.calls),
            format.size(call_site.bytes),
            format.duration(call_site.duration_ns),
            format.count(call_site.files),
            format.count(call_site.samples),
        ]
        for call_site in content.call_sites[:most]
    ]
    columns = [
        Column("Function"),
        Column("Called by"),
        Column("Through"),
        *numbers("Calls", "Bytes", "Time in calls", "Files", "Samples"),
    ]
    more = len(content.call_sites) - len(rows)
    notes = [*_unshown(more, "more caller"), wording.CALLERS_NOTE] if rows else []
    return [Table(columns, rows, "Functions of the application that make calls", density="dense"), Notes(notes)]


def _unshown(more: int, *noun: str) -> list[str]:
    """The number of rows left out, if any."""
    return [f"{format.count(more, *noun)}."] if more else []


def _maps(content: Content) -> list[Block]:
    bounds = content.maps.bounds
    paths = dict(content.profile.files.select("file", "path").iter_rows())
    pids = dict(content.profile.processes.select("process", "pid").iter_rows())
    rows: list[list[Text]] = [
        [Span(paths[row["file"]], "code"), str(pids[row["process"]]), *wording.mapped(row)]
        for row in bounds.head(MOST_MAPS).iter_rows(named=True)
    ]
    columns = [
        Column("File"),
        Column("Process"),
        *numbers("From", "To", "Maps", "Covered", "In memory before", "After", "Read", "Written"),
        Column("Found by (least; most)"),
    ]
    more = bounds.height - len(rows)
    notes = [*_unshown(more, "more row"), wording.MAPS_NOTE] if rows else []
    caption = "Mapped files: when, and what went through maps"
    return [Table(columns, rows, caption, density="wide"), Notes(notes)]


def _processes(content: Content, pictures: Pictures) -> list[Block]:
    frame = content.profile.processes.with_columns(IO_NS)
    frame = frame.sort("io_ns", "process", descending=[True, False], nulls_last=True)
    rows: list[list[Text]] = []
    for row in frame.head(MOST_PROCESSES).iter_rows(named=True):
        run_ns = row["end_unix_ns"] - row["begin_unix_ns"]
        rows.append(
            [
                format.ABSENT if row["pid"] is None else str(row["pid"]),
                format.ABSENT if row["rank"] is None else str(row["rank"]),
                row["node"] or format.ABSENT,
                Span(wording.short(row["command"], _MOST_CHARACTERS), "code"),
                format.size(row["read_bytes"]),
                format.size(row["written_bytes"]),
                format.duration(row["io_ns"]),
                format.share(row["io_ns"] / run_ns) if run_ns and row["io_ns"] is not None else format.ABSENT,
            ]
        )
    columns = [
        Column("Process"),
        *numbers("Rank"),
        Column("Node"),
        Column("Command"),
        *numbers("Read", "Written", "Time in I/O", "Of run time"),
    ]
    more = frame.height - len(rows)
    return [
        Figure(pictures.get("heat")),
        Table(columns, rows, "Processes with most time in I/O", density="dense"),
        Notes(_unshown(more, "more process", "more processes")),
        _imbalance(content),
    ]


def _imbalance(content: Content) -> Table:
    columns = [Column("Peers"), Column("Of each"), *numbers("Least", "Median", "Most"), Column("Which")]
    names = {"read_bytes": "read", "written_bytes": "written", "io_ns": "time in I/O"}
    rows: list[list[Text]] = []
    for imbalance in content.imbalances[:MOST_PROCESSES]:
        show = format.duration if imbalance.measure == "io_ns" else format.size
        peers = (
            format.count(imbalance.count, "rank")
            if imbalance.peers == "rank"
            else f"{format.count(imbalance.count, 'worker')}, {wording.short(imbalance.peers, _MOST_CHARACTERS)}"
        )
        rows.append(
            [
                peers,
                names[imbalance.measure],
                show(imbalance.least),
                show(imbalance.median),
                show(imbalance.most),
                imbalance.most_name,
            ]
        )
    return Table(columns, rows, "Processes that do the same work")


def _files(content: Content) -> list[Block]:
    columns = [Column("Directory"), *numbers("Files", "Calls", "Read", "Written", "Time")]
    rows: list[list[Text]] = [
        [
            Span(row["directory"], "code"),
            format.count(row["files"]),
            format.count(row["calls"]),
            format.size(row["read_bytes"]),
            format.size(row["written_bytes"]),
            format.duration(row["spent_ns"]),
        ]
        for row in content.directories.iter_rows(named=True)
    ]
    return [
        _files_table(content.files, anchors=True),
        _shared_table(content),
        Table(columns, rows, "Directories with most time in I/O"),
    ]


def _files_table(files: pl.DataFrame, *, anchors: bool) -> Table:
    is_mapped = files["read_most_bytes"].drop_nulls().len() > 0
    through_maps = numbers("Read by maps", "Written by maps") if is_mapped else ()
    columns = [
        Column("File"),
        *numbers("Processes", "Calls", "Failed", "Read", "Written"),
        *through_maps,
        *numbers("Time"),
    ]
    rows: list[list[Text]] = []
    for row in files.iter_rows(named=True):
        path = Span(row["path"] if row["node"] is None else f"{row['node']}:{row['path']}", "code")
        later = f" (and {format.count(row['replaced'], 'later file')} of this name)" if row["replaced"] else ""
        rows.append(
            [
                (*((Anchor(f"file-{row['file']}"),) if anchors else ()), path, later),
                format.count(row["processes"]),
                format.count(row["calls"]),
                format.count(row["failed"]),
                format.size(row["read_bytes"]),
                format.size(row["written_bytes"]),
                *(wording.file_maps(row) if is_mapped else ()),
                format.duration(row["spent_ns"]),
            ]
        )
    return Table(columns, rows, "Files with the largest share of the time in I/O or of the bytes", density="dense")


def _shared_table(content: Content) -> Table:
    columns = [Column("File"), *numbers("Processes", "Read", "Written", "Least", "Most", "Fastest", "Slowest")]
    rows: list[list[Text]] = [
        [
            Span(row["path"], "code"),
            format.count(row["processes"]),
            format.size(row["read_bytes"]),
            format.size(row["written_bytes"]),
            format.size(row["least_process_bytes"]),
            format.size(row["most_process_bytes"]),
            format.duration(row["fastest_process_ns"]),
            format.duration(row["slowest_process_ns"]),
        ]
        for row in content.shared.iter_rows(named=True)
    ]
    caption = "Files that several processes read or write: bytes and time of each process"
    return Table(columns, rows, caption, density="dense")


def _operations(content: Content, pictures: Pictures) -> list[Block]:
    return [
        _operations_table(content),
        Figure(pictures.get("latencies")),
        Figure(pictures.get("sizes")),
        _sizes_table(content),
        _errors_table(content),
    ]


def _operations_table(content: Content) -> Table:
    columns = [
        Column("Operation"),
        *numbers("Calls", "Failed", "Bytes", "Time"),
        *numbers("Mean", leaves=3),
        *numbers("Median", leaves=2),
        *numbers("99 %", leaves=1),
        *numbers("Slowest"),
    ]
    rows: list[list[Text]] = []
    for row in content.operations.iter_rows(named=True):
        resolved = {
            name: row[name] if latency.is_resolved(row["calls"], name) else None for name in latency.PERCENTILES
        }
        spent = row["duration_ns"]
        rows.append(
            [
                row["operation"],
                format.count(row["calls"]),
                format.count(row["failed"]),
                format.size(row["bytes"]) if row["bytes"] else format.ABSENT,
                format.duration(spent),
                format.duration(spent / row["calls"]) if spent is not None and row["calls"] else format.ABSENT,
                format.duration(resolved["p50_ns"]),
                format.duration(resolved["p99_ns"]),
                format.duration(row["slowest_ns"]),
            ]
        )
    return Table(columns, rows, f"Operations; elsewhere is on {wording.ELSEWHERE}", density="dense")


def _sizes_table(content: Content) -> Table:
    sizes = (
        content.profile.common_sizes.filter(pl.col("bytes") > 0)
        .group_by("operation", "bytes")
        .agg(pl.col("calls").sum())
    )
    top = sizes.sort("calls", "bytes", "operation", descending=True).head(MOST_SIZES)
    rows: list[list[Text]] = [
        [row["operation"] or "read or write", format.size(row["bytes"]), format.count(row["calls"])]
        for row in top.iter_rows(named=True)
    ]
    return Table([Column("Operation"), *numbers("Size", "Calls")], rows, "Sizes that came up most")


def _errors_table(content: Content) -> Table:
    top = content.profile.errors.sort("calls", "operation", "errno", descending=True).head(MOST_ERRORS)
    rows: list[list[Text]] = [
        [row["operation"], wording.errno_name(row["errno"]), format.count(row["calls"])]
        for row in top.iter_rows(named=True)
    ]
    return Table([Column("Operation"), Column("Error"), *numbers("Calls")], rows, "Calls that failed")


def _rules(content: Content) -> list[Block]:
    used = dict.fromkeys(wording.threshold(threshold) for line in content.findings for threshold in line.thresholds)
    if not used:
        return []
    about = "Limits that the findings exceed, and where each comes from."
    return [Paragraph(about, note=True), Bullets(list(used))]
