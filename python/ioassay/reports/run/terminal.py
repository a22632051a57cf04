"""The end of `ioassay run` on the terminal: the peak and sustained table, the verdict, what to know of all numbers."""

from __future__ import annotations

from rich.console import Group

from ioassay.reports.document import Block, Bullets, Column, Notes, Paragraph, Span, Table, Text
from ioassay.reports.document.terminal import rendered
from ioassay.reports.run import abstract, caveats, faithfulness, given_rates, io500, levels, wording
from ioassay.reports.run.content import Content
from ioassay.units import format_count

MOST_FINDINGS = 3


def summary(content: Content) -> Group:
    """What to print when a run has ended, well or not."""
    return rendered(
        [
            *_end(content),
            *(_rates(content) if content.has_valid else [Paragraph(abstract.NOTHING_VALID)]),
            *(block for score in content.score_tables for block in (io500.table(score), Paragraph(score.sentence))),
            *faithfulness.blocks(content.document.study.replays, content.faithfulness, content.names),
            *(Paragraph(grid.sentence) for survey in content.surveys for grid in survey.grids),
            _acceptance(content),
            *_findings(content),
            *_doubts(content),
            Notes([f"{sentence} The report names them." for sentence in wording.wide(content)[:1]]),
        ]
    )


def _end(content: Content) -> list[Block]:
    """How the run ended, unless all went well."""
    if content.document.state == "complete":
        return []
    errors = Bullets([f"{where}: {error}" for where, error in wording.errors(content)])
    return [Paragraph(Span(wording.state(content), "failed")), errors]


def _rates(content: Content) -> list[Block]:
    return [
        levels.series_table([*levels.by_phase(content.summary), *content.by_series]),
        given_rates.table(content.given_rates),
    ]


def _acceptance(content: Content) -> Block:
    """A line for each criterion; where nothing valid was measured, none has more to say than the first."""
    if not content.has_valid:
        return Paragraph(wording.acceptance(content))
    rows: list[list[Text]] = []
    for verdict in content.verdicts:
        why = f" ({verdict.missing})" if verdict.missing else ""
        judgement = Span(verdict.judgement, verdict.judgement)
        rows.append([judgement, f"{verdict.criterion}; measured {verdict.value}{why}"])
    return Table([Column(), Column()], rows, has_head=False, title=wording.acceptance(content))


def _findings(content: Content) -> list[Block]:
    """The weightiest, in full; the report has all of them."""
    shown = content.findings[:MOST_FINDINGS]
    parts: list[Block] = [
        Paragraph((*abstract.warning(line.finding.severity), line.message.text, caveats.in_brackets(line.caveats)))
        for line in shown
    ]
    more = len(content.findings) - len(shown)
    return [*parts, *([Paragraph(Span(f"{format_count(more, 'more finding')} in the report.", "faint"))] * (more > 0))]


def _doubts(content: Content) -> list[Block]:
    """What to know of all numbers; what concerns single ones stands beside them."""
    known, minor = caveats.to_know(content.doubts), len(content.doubts.weighing("minor"))
    more = format_count(minor, "more kind" if known else "minor kind")
    also = [Paragraph(Span(f"{more} of doubt in the report.", "faint"))] if minor else []
    return [Paragraph(wording.trust(content)), Bullets(known), *also]
