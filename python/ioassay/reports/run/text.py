"""The report of a run as text, a document without figures: the rates that a page draws are tables."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ioassay.reports.compare import document as comparisons
from ioassay.reports.compare.content import Content as Comparison
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Document,
    Marks,
    Paragraph,
    Preformatted,
    Section,
    Span,
    Table,
    Text,
)
from ioassay.reports.run import abstract, matrix, wording
from ioassay.reports.run.abstract import key_results
from ioassay.reports.run.content import Content, commands
from ioassay.reports.run.text_results import at, results
from ioassay.reports.run.workloads import Column as MeasuredColumn
from ioassay.reports.run.workloads import WorkloadPart


def document(content: Content, comparison: Comparison | None = None) -> Document:
    """The document of a run, with a section for its comparison with others where there is one."""
    sections = [
        Section("Abstract", _abstract(content, comparison)),
        Section("Configuration", _configuration(content)),
        Section("Method", _method(content)),
        Section("Results", results(content) or [Paragraph("Nothing valid was measured.")]),
        *([Section("Comparison", comparisons.text(comparison))] if comparison else []),
        *([Section("Findings", [_findings(content)])] if content.findings else []),
        Section("Limits", _limits(content)),
        Section("Appendix", _appendix(content)),
    ]
    study = content.document.study
    return Document(study.title, [_opening(content), *sections], study.question)


def _opening(content: Content) -> Bullets:
    run = content.document
    lab, missing = wording.lab(content), wording.missing(content)
    return Bullets(
        [
            ("Target: ", Span(run.where, "code")),
            *([f"Lab: {lab}"] if lab else []),
            f"Measured: {wording.measured(content)}",
            ": ".join(wording.asked(content)),
            f"Run: {run.run}",
            f"State: {wording.state(content)}",
            *(f"{where}: {error}" for where, error in wording.errors(content)),
            *(("Remains on the target: ", Span(path, "code")) for path in run.leftovers),
            *([missing] if missing else []),
        ]
    )


def _abstract(content: Content, comparison: Comparison | None) -> list[Block]:
    accepted = wording.acceptance(content)
    headlines: list[Text] = [
        (*_warning(line.severity), line.text, Marks(line.marks), f" ({abstract.where(line)})")
        for line in abstract.headlines(content)
    ]
    parts: list[Block] = [Paragraph(text) for text in (abstract.about(content), accepted) if text]
    parts.append(Bullets([(result.text, Marks(result.marks)) for result in key_results(content)]))
    if headlines:
        parts += [Paragraph("What the numbers show beyond that:"), Bullets(headlines)]
    if comparison is not None:
        parts += [Paragraph(f"{comparison.title}:"), Bullets(comparison.verdict)]
    return [*parts, Paragraph(wording.trust(content))]


def _warning(severity: str) -> list[Span | str]:
    return [Span("Warning.", "warning"), " "] if severity == "warning" else []


def _findings(content: Content) -> Bullets:
    return Bullets(
        [
            (
                *_warning(line.finding.severity),
                line.message.text,
                Marks(line.marks),
                f" Rests on: {wording.rests_on(line)}.",
            )
            for line in content.findings
        ]
    )


def _facts(rows: Sequence[Sequence[str]]) -> Table:
    return Table([Column(), Column()], rows, has_head=False)


def _configuration(content: Content) -> list[Block]:
    run = content.document
    engine = f", engine {run.engine_version}" if run.engine_version else ""
    settings = [[name, wording.setting(value)] for name, value in run.study.settings.items()]
    parts: list[Block] = [] if content.nodes else [Paragraph(wording.no_nodes(run))]
    for group in content.nodes:
        parts += [Paragraph(f"Nodes: {', '.join(group.hosts)}"), _facts([list(row) for row in group.rows])]
    if settings:
        parts += [Paragraph("Settings"), _facts(settings)]
    return [*parts, Paragraph(f"ioassay {run.ioassay_version}{engine}.")]


def _method(content: Content) -> list[Block]:
    run = content.document
    rows = [[row.workload, *row.cells] for row in matrix.rows(run, content.names)]
    return [
        Bullets(run.study.method),
        Table([*map(Column, matrix.HEADS)], rows),
        Paragraph("Started with:"),
        Preformatted(shlex.join(run.command)),
        Bullets([(Span(term, "strong"), f": {meaning}") for term, meaning in wording.terms(content)]),
    ]


def _limits(content: Content) -> list[Block]:
    wide = wording.wide(content)
    rows = [
        [
            group.mark,
            group.kind + (", makes the number invalid" if group.invalidates else ""),
            f"{len(group.places)} of {content.doubts.measurements}",
            "; ".join(filter(None, group.remedies)),
        ]
        for group in content.doubts.groups
    ]
    return [
        *map(Paragraph, [wording.trust(content), *wording.gaps(content), *wide[:1]]),
        Bullets(wide[1:]),
        Table([*map(Column, ("", "Doubt", "Measurements", "Remedy"))], rows),
    ]


def _appendix(content: Content) -> list[Block]:
    sources = [list(row) for row in wording.sources(content)]
    study = content.document.study.text.rstrip("\n")
    return [
        *(_measurements(content, part) for part in content.workloads if part.measurements),
        *(
            Section(
                f"Doubt {group.mark}: {group.kind}",
                [Bullets([f"{text} ({where})" for where, text in wording.by_message(group.places, content.names)])],
            )
            for group in content.doubts.groups
        ),
        *([Section("Sources", [Table([Column("File"), Column("SHA-256")], sources)])] if sources else []),
        *([] if content.document.front_end else [_commands(content)]),
        *([Section("The study, as it was read", [Preformatted(study, "yaml")])] if content.document.is_study else []),
    ]


def _measurements(content: Content, part: WorkloadPart) -> Section:
    rows: list[list[Text]] = [
        [
            row["phase"] + ("" if row["valid"] else " (invalid)"),
            *_cells(content, part, row, part.columns),
            Marks(row["marks"]),
        ]
        for row in part.measurements
    ]
    note = [Paragraph(text)] if (text := wording.shown(part)) else []
    table = Table([*_columns(content, part.columns), Column("Doubts")], rows)
    return Section(f"{part.title}: every measurement", [*note, table, *_costs(content, part)])


def _costs(content: Content, part: WorkloadPart) -> list[Section]:
    if not part.costs:
        return []
    rows = [[row["phase"], *_cells(content, part, row, part.costs)] for row in part.measurements]
    return [Section(f"{part.title}: what it cost the clients", [Table(_columns(content, part.costs), rows)])]


def _cells(content: Content, part: WorkloadPart, row: dict[str, Any], columns: Sequence[MeasuredColumn]) -> list[str]:
    repetition = [str(row["repetition"])] if content.names.repeated else []
    return [at(part, row), *repetition, *(row[column.key] for column in columns)]


def _columns(content: Content, columns: Sequence[MeasuredColumn]) -> list[Column]:
    heads = [f"{column.group}, {column.head}" if column.group else column.head for column in columns]
    return [*map(Column, ["Phase", "Clients", *(["Repetition"] if content.names.repeated else []), *heads])]


def _commands(content: Content) -> Section:
    title, note = wording.commands_title(content)
    lines = [
        f"# {part.title}, {content.names.point(case.id)}, {where}\n{command}"
        for part in content.workloads
        for case in part.cases
        if case.repetition == 1
        for where, command in commands(case)
    ]
    return Section(title, [Paragraph(note), Preformatted("\n".join(lines))])
