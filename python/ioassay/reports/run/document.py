"""The report of a run as a document: its summary, results, method and limits, with figures for a page, tables for text.

What it says stands in `wording`, `abstract`, `findings` and beside the tables, once for all formats. Not: the sections
of its summary (`summary`) and results (`results`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioassay.reports import findings
from ioassay.reports.compare import document as comparisons
from ioassay.reports.document import (
    Anchor,
    Block,
    Bullets,
    Column,
    Commands,
    Contents,
    Document,
    Figure,
    Fold,
    Marks,
    Paragraph,
    Preformatted,
    References,
    Section,
    Span,
    Style,
    Table,
    Text,
    changes,
    facts,
    introduced,
    shown,
)
from ioassay.reports.run import abstract, caveats, matrix, servers, summary, wording
from ioassay.reports.run.content import Content, FindingLine
from ioassay.reports.run.results import results
from ioassay.reports.run.workloads import WorkloadPart
from ioassay.text.prose import listed
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.reports.run.pictures import Pictures

MOST_OPEN = 3
"""Measurements with a doubt that a page shows unfolded."""

MOST_FINDINGS = 12
"""Findings that a short report shows unfolded, the weightiest first."""


def document(content: Content, drawn: Pictures | None = None, *, is_full: bool = False) -> Document:
    """The document, with the figures where `pictures.drawn` has made them.

    Unless it `is_full`, the appendix is only on the page, folded: paper and Markdown say where to have it.
    """
    study, run = content.document.study, content.document
    sections = [
        Section("Summary", summary.beginning(content, drawn), "summary"),
        Section("Results", results(content, drawn), "results"),
        Section(
            servers.TITLE,
            servers.blocks(
                content.activity,
                content.run.watch,
                content.doubts,
                content.names,
                drawn.servers if drawn else None,
            ),
            "servers",
        ),
        Section("Comparison", _comparison(content, drawn), "comparison"),
        Section("Findings", _findings(content, is_page=drawn is not None, is_full=is_full), "findings"),
        Section("Method", _method(content), "method"),
        Section("Configuration", _configuration(content), "configuration"),
        Section("Limits", _limits(content), "limits"),
        Section("Appendix", _appendix(content, drawn, is_full=is_full), "appendix"),
    ]
    return Document(
        study.title,
        [_opening(content), Section("", _missing(content), "missing"), Contents(sections), *sections],
        question=study.question,
        window=f"{study.title} – {run.run}",
        footer=f"Written by ioassay {run.ioassay_version} from the stored run {run.run}.",
        prints_folds=is_full,
    )


def _opening(content: Content) -> Table:
    run, lab = content.document, wording.lab(content)
    launcher = "" if run.imported else f", {run.launcher} ranks"
    nodes = f", {format_count(len(run.environment), 'node')}" if content.nodes else ""
    return facts(
        [
            ("Target", run.where),
            *([("Lab", lab)] if lab else []),
            ("Measured", wording.measured(content)),
            wording.asked(content),
            ("Run", f"{run.run}{launcher}{nodes}"),
            ("State", wording.state(content)),
        ]
    )


def _missing(content: Content) -> list[Block]:
    """What did not end well, before anything else is said."""
    return [
        Paragraph(wording.missing(content)),
        Bullets([f"{where}: {error}" for where, error in wording.errors(content)]),
        *introduced("These remain on the target:", [Span(path, "code") for path in content.document.leftovers]),
    ]


def _configuration(content: Content) -> list[Block]:
    run = content.document
    engine = f", engine {run.engine_version}" if run.engine_version else ""
    settings = [(name, wording.setting(value)) for name, value in run.study.settings.items()]
    nodes: list[Block] = [
        facts(
            group.rows,
            f"Node {group.hosts[0]}"
            if len(group.hosts) == 1
            else f"{len(group.hosts)} nodes alike: {', '.join(group.hosts)}",
        )
        for group in content.nodes
    ]
    return [
        *(nodes or [Paragraph(wording.no_nodes(run))]),
        facts(settings, "Settings"),
        Paragraph(f"ioassay {run.ioassay_version}{engine}.", note=True),
    ]


def _method(content: Content) -> list[Block]:
    run = content.document
    terms: list[Text] = [(Span(f"{term}:", "strong"), f" {meaning}") for term, meaning in wording.terms(content)]
    return [
        Bullets(run.study.method),
        matrix.table(run, content.names),
        Paragraph("Started with:"),
        Preformatted(shlex.join(run.command)),
        Section("What the numbers mean", [Bullets(terms)]),
    ]


def _comparison(content: Content, drawn: Pictures | None) -> list[Block]:
    if content.comparison is None:
        return []
    return comparisons.section(content.comparison, drawn.compared if drawn else ())


def _findings(content: Content, *, is_page: bool, is_full: bool) -> list[Block]:
    if not content.findings:
        return []
    about = "What repetitions, sweeps, ranks and samples show beyond the rates, with the measurements behind it."
    items = [_finding(number, line) for number, line in enumerate(content.findings, start=1)]
    most = len(items) if is_full else MOST_FINDINGS
    more = f"{format_count(len(items) - most, 'more finding')}"
    rest: list[Block] = [Section(more, [Bullets(items[most:])], fold="closed")]
    if not is_page:
        rest = [Paragraph((f"{more}: ", Span("ioassay report RUN --full", "code"), "."), note=True)]
    return [Paragraph(about, note=True), Bullets(items[:most]), *(rest if len(items) > most else ())]


def _finding(number: int, line: FindingLine) -> Text:
    are_measurements = all(one.anchor for one in line.references)
    references = References(
        line.references,
        f"{len(line.references)} {'measurements' if are_measurements else 'measurements and lines'}",
    )
    return (
        Anchor(abstract.anchor(number)),
        *findings.warning(line.finding.severity),
        line.finding.message.text,
        caveats.in_brackets(line.caveats),
        *findings.remedy(line.finding.message),
        " ",
        references,
    )


def _limits(content: Content) -> list[Block]:
    first, *points = wording.wide(content) or [""]
    groups = content.doubts.groups
    rows: list[list[Text]] = [
        [
            (Anchor(f"doubt-{group.mark}"), group.mark),
            (group.kind, ", ", Span("makes the number invalid", "failed")) if group.invalidates else group.kind,
            Span(f"{len(group.places)} of {content.doubts.measurements}", anchor=f"where-{group.mark}"),
            "; ".join(filter(None, group.remedies)),
        ]
        for group in groups
    ]
    about = (
        "Doubts are reasons not to believe a number, or to read it with care. Their letters stand beside the numbers "
        "that they concern in the tables of all measurements and latencies."
    )
    columns = [Column(), Column("Doubt"), Column("Measurements", is_number=True), Column("Remedy")]
    return [
        *map(Paragraph, [wording.trust(content), *wording.gaps(content)]),
        *introduced(first, points),
        *((Paragraph(about), Table(columns, rows, "Doubts")) if groups else ()),
    ]


def _appendix(content: Content, drawn: Pictures | None, *, is_full: bool) -> Sequence[Block]:
    run = content.document
    columns = [Column("File"), Column("SHA-256")]
    study = Preformatted(run.study.text.rstrip("\n") if run.is_study else "", "yaml")
    parts: list[Section] = [
        Section("All measurements", _measurements(content)),
        Section("Time lines", _timelines(content, drawn) if drawn else []),
        Section("All doubts", _doubts(content)),
        Section("Sources", [Table(columns, wording.sources(content), "Files that were imported")]),
        Section(wording.commands_title(content)[0], [] if run.front_end else _commands(content)),
        Section("The study, as it was read", [study]),
    ]
    if is_full:
        return parts
    names = listed([part.title[:1].lower() + part.title[1:] for part in parts if shown([part])])
    where = Paragraph((Span("ioassay report RUN --full", "code"), f" has {names}."), note=True)
    return [where, *(replace(part, fold="closed") for part in parts)] if drawn else [where]


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
    return [Paragraph(wording.shown(part), note=True), table, *([_costs(content, part)] if part.costs else [])]


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
    return [Column("Phase"), Column(part.at, is_number=True), *repetition, *columns.values()]


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


def _doubts(content: Content) -> list[Section]:
    sections = []
    for group in content.doubts.groups:
        title = f"{group.mark}\u2002{wording.doubt(group.kind)}: {format_count(len(group.places), 'measurement')}"
        items: list[Text] = [
            (f"{said} ", Span(f"({where})", "faint")) for where, said in wording.by_message(group.places, content.names)
        ]
        fold: Fold = "open" if len(group.places) <= MOST_OPEN else "closed"
        sections.append(Section(title, [Bullets(items)], f"where-{group.mark}", fold))
    return sections


def _commands(content: Content) -> list[Block]:
    parts = [
        Section(part.title, [Commands(wording.equivalent(content, part, first))], fold="closed")
        for part in content.workloads
        if (first := [case for case in part.cases if case.repetition == 1])
    ]
    return [Paragraph(wording.commands_title(content)[1], note=True), *parts] if shown(parts) else []
