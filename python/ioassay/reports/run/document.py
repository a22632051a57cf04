"""The report of a run as a document: its summary, results, method and limits, with figures for a page, tables for text.

Not: the blocks of the sections, each in the file of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.reports import findings
from ioassay.reports.compare import document as comparisons
from ioassay.reports.document import (
    Anchor,
    Block,
    Bullets,
    Contents,
    Document,
    Paragraph,
    References,
    Section,
    Span,
    Text,
)
from ioassay.reports.run import appendix, caveats, limits, method, opening, servers, summary
from ioassay.reports.run.content import Content, FindingLine
from ioassay.reports.run.results import results
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.reports.run.pictures import Pictures


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
        Section("Method", method.method(content), "method"),
        Section("Configuration", method.configuration(content), "configuration"),
        Section("Limits", limits.limits(content), "limits"),
        Section("Appendix", appendix.appendix(content, drawn, is_full=is_full), "appendix"),
    ]
    return Document(
        study.title,
        [
            opening.facts_of_run(content),
            Section("", opening.incomplete(content), "missing"),
            Contents(sections),
            *sections,
        ],
        question=study.question,
        window=f"{study.title} – {run.run}",
        footer=f"Written by ioassay {run.ioassay_version} from the stored run {run.run}.",
        prints_folds=is_full,
    )


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
    are_measurements = all(reference.anchor for reference in line.references)
    references = References(
        line.references,
        f"{len(line.references)} {'measurements' if are_measurements else 'measurements and lines'}",
    )
    return (
        Anchor(summary.anchor(number)),
        *findings.warning(line.finding.severity),
        line.finding.message.text,
        caveats.in_brackets(line.caveats),
        *findings.remedy(line.finding.message),
        " ",
        references,
    )
