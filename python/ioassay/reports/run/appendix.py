"""The appendix: every measurement, its cost and its time line, sources and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ioassay.reports.document import (
    Anchor,
    Block,
    Bullets,
    Column,
    Commands,
    Figure,
    Marks,
    Paragraph,
    Preformatted,
    Section,
    Span,
    Style,
    Table,
    Text,
    changes,
    non_empty,
)
from ioassay.reports.run import limits
from ioassay.reports.run.content import Content
from ioassay.reports.run.workloads import WorkloadPart
from ioassay.store.document import CaseEntry
from ioassay.text.prose import listed
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.reports.run.pictures import Pictures


MOST_SOURCES = 100
"""Files of an import that a report lists; `run.json` has all of them."""


def appendix(content: Content, drawn: Pictures | None, *, is_full: bool) -> Sequence[Block]:
    """The section Appendix: folded on a page, left out of paper and Markdown unless the report is full."""
    run = content.document
    columns = [Column("File"), Column("SHA-256")]
    study = Preformatted(run.study.text.rstrip("\n") if run.is_study else "", "yaml")
    parts: list[Section] = [
        Section("All measurements", _measurements(content)),
        Section("Time lines", _timelines(content, drawn) if drawn else []),
        Section("All doubts", limits.every_doubt(content)),
        Section("Sources", [Table(columns, sources(content), "Files that were imported")]),
        Section(commands_title(content)[0], [] if run.front_end else _commands(content)),
        Section("The study, as it was read", [study]),
    ]
    if is_full:
        return parts
    names = listed([part.title[:1].lower() + part.title[1:] for part in parts if non_empty([part])])
    where = Paragraph((Span("ioassay report RUN --full", "code"), f" has {names}."), note=True)
    return [where, *(structs.replace(part, fold="closed") for part in parts)] if drawn else [where]


def _measurements(content: Content) -> list[Block]:
    blocks = [block for part in content.workloads if part.measurements for block in _measurements_of(content, part)]
    missing = len(content.missing)
    were = f"{format_count(missing, 'measurement')} that {'was' if missing == 1 else 'were'} not made"
    places = Bullets([content.names.place(place) for place in content.missing])
    return [*(blocks or [Paragraph("Nothing was measured.")]), Section(were, [places], fold="closed")]


def _measurements_of(content: Content, part: WorkloadPart) -> list[Block]:
    rows: list[list[Text]] = []
    for row in part.measurements:
        style: Style | None = None if row["valid"] else "faint"
        phase = row["phase"] if row["valid"] else f"{row['phase']} (invalid)"
        cells = (Span(cell, style) for cell in _cells(content, row, part.columns))
        rows.append([(Anchor(row["anchor"]), Span(phase, style)), *cells, Marks(row["marks"])])
    columns = [*_columns(content, part, part.columns), Column("Doubts")]
    title = f"{part.title}: every measurement"
    table = Table(columns, rows, title=title, rules=_points(part), density="wide")
    return [Paragraph(how_many(part), note=True), table, *([_costs(content, part)] if part.costs else [])]


def _costs(content: Content, part: WorkloadPart) -> Section:
    rows = [[row["phase"], *_cells(content, row, part.costs)] for row in part.measurements]
    about = (
        "Of all ranks together, from the barrier to each rank's end: time in user mode and in the kernel, context "
        "switches because a rank waited or because another process was to run, bytes that the kernel moved from and to "
        "block devices for them, where it tells. Both halves of a mix carry the cost of the whole."
    )
    title = f"{part.title}: what it cost the clients"
    table = Table(_columns(content, part, part.costs), rows, title, rules=_points(part), density="dense")
    return Section(title, [Paragraph(about, note=True), table], fold="closed")


def _points(part: WorkloadPart) -> set[int]:
    return changes(row["point"] for row in part.measurements)


def _columns(content: Content, part: WorkloadPart, columns: Mapping[str, Column]) -> list[Column]:
    repetition = [Column("Rep.", is_number=True)] if content.names.repeated else []
    return [Column("Phase"), Column(part.point_head, is_number=True), *repetition, *columns.values()]


def _cells(content: Content, row: dict[str, Any], columns: Mapping[str, Column]) -> list[str]:
    repetition = [str(row["repetition"])] if content.names.repeated else []
    return [row["at"], *repetition, *(row[key] for key in columns)]


def _timelines(content: Content, drawn: Pictures) -> list[Block]:
    parts: list[Block] = [
        Section(f"{part.title}: {format_count(len(pictures), 'figure')}", list(map(Figure, pictures)), fold="closed")
        for part in content.workloads
        if (pictures := drawn.further_timelines(part.name))
    ]
    if not parts and content.document.imported:
        return []
    about = (
        "The rate in every sample, from the moment at which the ranks start together to the end of the last one. Time "
        "without a byte at the end of a write is its fsync."
    )
    return [Paragraph(about, note=True), *(parts or [Paragraph("No phase has samples.")])]


def _commands(content: Content) -> list[Block]:
    parts = [
        Section(part.title, [Commands(equivalent(content, part, first))], fold="closed")
        for part in content.workloads
        if (first := [case for case in part.cases if case.repetition == 1])
    ]
    return [Paragraph(commands_title(content)[1], note=True), *parts] if non_empty(parts) else []


def sources(content: Content) -> list[tuple[str, str]]:
    """(file, its SHA-256, or why it was refused) of the files that were imported, the refused ones first."""
    entry = content.document.imported
    if entry is None:
        return []
    rows = [
        (refused.path if refused.line is None else f"{refused.path}:{refused.line}", f"refused: {refused.reason}")
        for refused in entry.refused
    ]
    rows += [(file.path, file.sha256) for file in entry.files]
    more = len(rows) - MOST_SOURCES
    return rows[:MOST_SOURCES] + ([(f"and {format_count(more, 'more file')}", "see run.json")] if more > 0 else [])


def commands_title(content: Content) -> tuple[str, str]:
    """The title of the commands and a sentence about their use."""
    if content.document.imported is not None:
        return "Command lines", "The tool's command lines, from its output."
    return "Equivalent commands", "IOR and mdtest commands that repeat a phase."


def equivalent(content: Content, part: WorkloadPart, cases: Sequence[CaseEntry]) -> list[tuple[str, str]]:
    """(where, equivalent command line) of every job of these cases of a workload that has one."""
    return [
        (", ".join([part.title, content.names.point(case.id), *dict.fromkeys((phase.name, job.name))]), job.command)
        for case in cases
        for phase in case.phases
        for job in phase.jobs
        if job.command
    ]


def how_many(part: WorkloadPart) -> str:
    """The number of a workload's measurements that a table shows; empty where it shows all."""
    if len(part.measurements) == part.measured:
        return ""
    return (
        f"{len(part.measurements)} of {part.measured} measurements are shown: of each point of the sweep the "
        "repetition nearest the median, what is invalid, and what a finding rests on. `ioassay report --format csv` "
        "has all."
    )
