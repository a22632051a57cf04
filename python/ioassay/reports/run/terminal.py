"""The end of `ioassay run` on the terminal: the peak and sustained table, the verdict, the doubts with remedies."""

from __future__ import annotations

from rich.console import Group

from ioassay.reports.document import Block, Bullets, Column, Marks, Notes, Paragraph, Span, Table, Text
from ioassay.reports.document.terminal import rendered
from ioassay.reports.run import wording
from ioassay.reports.run.content import Content, assemble
from ioassay.reports.run.io500 import INVALID, ScoreTable
from ioassay.results.loaded import LoadedRun
from ioassay.units import format_count

MOST_FINDINGS = 3


def summary(run: LoadedRun) -> Group:
    """What to print when a run has ended, well or not."""
    content = assemble(run)
    return rendered(
        [
            *_end(content),
            *_peak_sustained(content),
            *_by_series(content),
            *(block for table in content.score_tables for block in _score(table)),
            *(Paragraph(grid.sentence) for survey in content.surveys for grid in survey.grids),
            *_acceptance(content),
            *_findings(content),
            *_doubts(content),
            Notes([f"{sentence} The report names them." for sentence in wording.wide(content)[:1]]),
        ]
    )


def _titled(title: str, table: Table) -> list[Block]:
    return [Paragraph(Span(title, "strong")), table] if table.rows else []


def _end(content: Content) -> list[Block]:
    """How the run ended, unless all went well."""
    if content.document.state == "complete":
        return []
    errors = Bullets([f"{where}: {error}" for where, error in wording.errors(content)])
    return [Paragraph(Span(wording.state(content), "failed")), errors]


def _peak_sustained(content: Content) -> list[Block]:
    heads = ("Peak write", "Peak read", "Sustained write", "Sustained read")
    columns = [Column(), *(Column(head, is_number=True) for head in heads)]
    rows = [[line.label, *(cell.shown for cell in line.cells)] for line in content.summary]
    return _titled("Peak and sustained performance", Table(columns, rows))


def _by_series(content: Content) -> list[Block]:
    columns = [Column(), Column(), Column("Peak", is_number=True), Column("Sustained", is_number=True)]
    rows: list[list[Text]] = []
    before = None
    for line in content.by_series:
        label = line.label if line.label != before else ""
        rows.append([label, line.series, line.peak.shown, line.sustained.shown])
        before = line.label
    return _titled("Peak and sustained rates", Table(columns, rows))


def _score(score: ScoreTable) -> list[Block]:
    columns = [Column(), Column("Score", is_number=True), Column("Time", is_number=True), Column()]
    rows: list[list[Text]] = [
        [
            line.what,
            (line.score, Marks(line.marks)),
            line.time,
            (
                Span(line.verdict, "failed") if line.verdict == INVALID else line.verdict,
                ": " if line.because else "",
                line.because,
            ),
        ]
        for line in score.lines
    ]
    return [*_titled(score.title, Table(columns, rows)), Paragraph(score.sentence)]


def _acceptance(content: Content) -> list[Block]:
    rows: list[list[Text]] = []
    for verdict in content.verdicts:
        why = f" ({verdict.reason})" if verdict.judgement == "not judged" else ""
        judgement = Span(verdict.judgement, verdict.judgement)
        rows.append([judgement, f"{verdict.criterion}; measured {verdict.value}{why}"])
    return _titled(wording.acceptance(content), Table([Column(), Column()], rows, has_head=False))


def _findings(content: Content) -> list[Block]:
    """The weightiest, in full; the report has all of them."""
    shown = content.findings[:MOST_FINDINGS]
    parts: list[Block] = [
        Paragraph((*([Span("Warning. ", "warning")] if line.finding.severity == "warning" else []), line.message.text))
        for line in shown
    ]
    more = len(content.findings) - len(shown)
    return [*parts, *([Paragraph(Span(f"{format_count(more, 'more finding')} in the report.", "faint"))] * (more > 0))]


def _doubts(content: Content) -> list[Block]:
    rows: list[list[Text]] = [
        [
            Span(group.mark, "warning"),
            format_count(len(group.places), "measurement"),
            f"{group.kind}{' (invalid)' * group.invalidates}: {'; '.join(filter(None, group.remedies))}",
        ]
        for group in content.doubts.groups
    ]
    table = Table([Column(), Column(is_number=True), Column()], rows, has_head=False)
    return [Paragraph(wording.trust(content)), *([table] if rows else [])]
