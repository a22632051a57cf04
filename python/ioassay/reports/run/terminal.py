"""The end of `ioassay run` on the terminal: the peak and sustained table, the verdict, what to know of all numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioassay.reports import findings
from ioassay.reports.document import Block, Bullets, Column, Notes, Paragraph, Span, Table, Text, changes
from ioassay.reports.run import (
    caveats,
    checkpoints,
    faithfulness,
    given_rates,
    io500,
    kv_cache,
    levels,
    limits,
    opening,
    training,
    verdicts,
)
from ioassay.reports.run.content import Content
from ioassay.reports.run.levels import SeriesLine
from ioassay.reports.run.medians import MedianLine
from ioassay.reports.run.summary import NOTHING_VALID
from ioassay.text import format
from ioassay.text.units import format_count

MOST_FINDINGS = 3

MOST_MEDIANS = 20
"""Rates of another tool's results; the report has all of them."""

NO_BREAK = "\u00a0"
"""A space that keeps letters beside their number, also at the end of a cell."""


def blocks(content: Content) -> list[Block]:
    """The blocks at the end of a run."""
    return [
        *_end(content),
        *training.answers(content),
        *kv_cache.answers(content),
        *checkpoints.answers(content),
        *(_rates(content) if content.has_valid else [Paragraph(NOTHING_VALID)]),
        *(block for score in content.score_tables for block in (io500.table(score), Paragraph(score.sentence))),
        *faithfulness.blocks(content.document.study.replays, content.faithfulness, content.names),
        *(Paragraph(grid.sentence) for survey in content.surveys for grid in survey.grids),
        _acceptance(content),
        *_findings(content),
        *_doubts(content),
        Notes([f"{sentence} The report names them." for sentence in limits.wide(content)[:1]]),
    ]


def _end(content: Content) -> list[Block]:
    """How the run ended; empty if it is complete."""
    if content.document.state == "complete":
        return []
    errors = Bullets([f"{where}: {error}" for where, error in opening.errors(content)])
    return [Paragraph(Span(opening.state(content), "failed")), errors]


def _rates(content: Content) -> list[Block]:
    if content.medians:
        # Of the IO500 the table of the score has them all.
        return [] if content.score_tables else [*_medians(content.medians)]
    return [_table(_lines(content)), given_rates.table(content.given_rates)]


def _medians(lines: Sequence[MedianLine]) -> Iterator[Block]:
    """Results of another tool: a line for each kind of I/O, number of ranks and phase."""
    shown = lines[:MOST_MEDIANS]
    rates = with_letters([(line.median, line.letters) for line in shown])
    columns = [
        (Column("Workload", merges=True), [line.label for line in shown]),
        (Column("Phase"), [line.series for line in shown]),
        (_number("Ranks"), [line.ranks for line in shown]),
        (_number("Rate"), rates),
        _intervals([(line.interval, line.median) for line in shown]),
        (_number("Repetitions"), [str(line.repetitions) for line in shown]),
    ]
    yield _of_columns(columns, "Rates, the median of the valid repetitions")
    if more := len(lines) - len(shown):
        yield Paragraph(Span(f"{format_count(more, 'more rate')} in the report.", "faint"))


def _lines(content: Content) -> list[SeriesLine]:
    return [*levels.by_phase(content.summary), *content.by_series]


def _table(lines: Sequence[SeriesLine]) -> Table:
    """A line for each phase: numbers with the letters of their doubts, which are explained once below."""
    swept = levels.is_swept(lines)
    columns = [
        (Column("Workload", merges=True), [line.label for line in lines]),
        (Column("Phase"), [line.series for line in lines]),
        (_number("Peak" if swept else "Rate"), with_letters([(line.peak.text, line.peak.letters) for line in lines])),
        (Column("At"), [line.peak.rests_on for line in lines] if swept else []),
        _intervals([(line.peak.interval, line.peak.text) for line in lines]),
        (
            _number("Sustained"),
            with_letters([(line.sustained.text, line.sustained.letters) for line in lines]) if swept else [],
        ),
        (Column("Ceiling"), [line.peak.ceiling for line in lines]),
    ]
    return _of_columns(columns, "Peak and sustained rates, phase by phase" if swept else "Rates, phase by phase")


def _of_columns(columns: Sequence[tuple[Column, Sequence[str]]], title: str) -> Table:
    """A table of the columns with any content; rows are grouped by the first."""
    shown = [(column, cells) for column, cells in columns if any(cells)]
    return Table(
        [column for column, _ in shown],
        [[*cells] for cells in zip(*(cells for _, cells in shown), strict=True)],
        title=title,
        rules=changes(shown[0][1]) if shown else (),
    )


def _number(title: str) -> Column:
    return Column(title, is_number=True)


def with_letters(numbers: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """`844 MB/s ab`; numbers stand below one another, however many letters follow."""
    width = max((len(letters) for _, letters in numbers), default=0)
    return [
        f"{number}{NO_BREAK}{''.join(letters).ljust(width, NO_BREAK)}" if width else number
        for number, letters in numbers
    ]


def _intervals(numbers: Sequence[tuple[str, str]]) -> tuple[Column, list[str]]:
    """The column of intervals, each beside its number."""
    title, intervals = format.interval_column([_without_unit(interval, number) for interval, number in numbers])
    return _number(title), intervals


def _without_unit(interval: str, number: str) -> str:
    """The interval in the unit of the number: `198 to 1819`."""
    _, _, unit = number.partition(" ")
    return interval.replace(f" {unit}", "")


def _acceptance(content: Content) -> Block:
    """A line for each criterion; where nothing valid was measured, none has more to say than the first."""
    if not content.has_valid:
        return Paragraph(verdicts.sentence(content.accepted, content.verdicts))
    rows: list[list[Text]] = []
    for verdict in content.verdicts:
        why = f" ({verdict.missing})" if verdict.missing else ""
        judgement = Span(verdict.judgement, verdict.judgement)
        rows.append([judgement, f"{verdict.criterion}; measured {verdict.value}{why}"])
    return Table(
        [Column(), Column()], rows, has_head=False, title=verdicts.sentence(content.accepted, content.verdicts)
    )


def _findings(content: Content) -> list[Block]:
    """The most severe findings, in full; the report has all of them."""
    shown = content.findings[:MOST_FINDINGS]
    parts: list[Block] = [
        Paragraph(
            (
                *findings.warning(line.finding.severity),
                line.finding.message.text,
                caveats.in_brackets(line.caveats),
                *findings.remedy(line.finding.message),
            )
        )
        for line in shown
    ]
    more = len(content.findings) - len(shown)
    return [*parts, *([Paragraph(Span(f"{format_count(more, 'more finding')} in the report.", "faint"))] * (more > 0))]


def _doubts(content: Content) -> list[Block]:
    """Doubts about all numbers; doubts about single numbers stand beside these."""
    letters = {letter for line in _lines(content) for cell in (line.peak, line.sustained) for letter in cell.letters}
    letters |= {letter for line in content.medians for letter in line.letters}
    known = [*caveats.letter_explanations(content.doubts, letters), *caveats.general_remarks(content.doubts)]
    minor = len(content.doubts.weighing("minor"))
    more = format_count(minor, "more kind" if known else "minor kind")
    also = [Paragraph(Span(f"{more} of doubt in the report.", "faint"))] if minor else []
    return [Paragraph(limits.trust(content)), Bullets(known), *also]
