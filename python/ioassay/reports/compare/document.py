"""A comparison as a document, and what the terminal shows of it. Not: sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ioassay.reports.compare import given_rates, training, wording
from ioassay.reports.compare.content import Content, DoubtRow, Line, SeriesPart
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Document,
    Figure,
    Notes,
    Paragraph,
    Piece,
    Section,
    Span,
    Style,
    Table,
    Text,
    changes,
    numbers,
)
from ioassay.store.doubt_kinds import effect, kind_words
from ioassay.text import format
from ioassay.text.prose import listed
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture


def document(content: Content, drawn: Sequence[Picture | None] = ()) -> Document:
    """The document, with the figures where `pictures` has made them."""
    are_several = len(content.subjects) > 2
    others = listed([wording.subject_name(subject) for subject in content.subjects[1:]])
    reference = wording.subject_name(content.reference)
    return Document(
        content.title,
        [Section("", _answer(content), "verdict"), *_sections(content, drawn)],
        question=f"{'Are' if are_several else 'Is'} {others} faster or slower than {reference}?",
        footer=f"Written by ioassay {__version__}.",
    )


def section(content: Content, drawn: Sequence[Picture | None]) -> list[Block]:
    """The comparison section in the report of a run."""
    return [Paragraph(f"{content.title}:"), *_answer(content), *_sections(content, drawn)]


def _answer(content: Content) -> list[Block]:
    return list(map(Paragraph, content.answer))


def _sections(content: Content, drawn: Sequence[Picture | None]) -> list[Section]:
    """By how much; the likely causes; what weighs against the answer; everything else."""
    are_runs = all(subject.kind == "run" for subject in content.subjects)
    return [
        training.section(content.subjects),
        Section("How much faster or slower", [_answers(content), Notes(content.about_ratios)]),
        Section(
            "What changed" if are_runs else "What differs",
            [Bullets(content.conditions), *_changes(content, are_runs=are_runs)],
        ),
        Section("Doubts", _doubts(content)),
        Section("Each point", _sweeps(content, drawn)),
        _given(content),
        Section("Not compared", [Bullets(content.not_compared)]),
    ]


def _answers(content: Content) -> Table:
    """A row for most series. Notes stand below their numbers in small print, which leaves room on a phone."""
    columns = [
        Column("Phase"),
        Column("Verdict"),
        *numbers("Ratio", wording.subject_name(content.reference), _other(content)),
    ]
    are_several = len(content.subjects) > 2
    rows: list[list[Text]] = [
        [_phase(part, line, are_several=are_several), _verdict(line), _ratio(line), *_rates(line)]
        for part in content.series
        for line in part.answers
    ]
    reference = wording.subject_name(content.reference)
    caption = (
        f"Ratio: the other rate over that of {reference}, with its confidence interval; in bold if that excludes 1"
    )
    return Table(
        columns,
        rows,
        caption,
        density="narrow",
        rules=changes(part.title for part in content.series for _ in part.answers),
    )


def _phase(part: SeriesPart, line: Line, *, are_several: bool) -> Text:
    """A series; below it the other subject and the point, where several are possible."""
    where = [line.other if are_several else "", line.place if part.is_swept else ""]
    below = ", ".join(filter(None, where))
    unlike = "; ".join(line.unlike)
    return (part.title, *([Span(below, "below")] if below else []), *([Span(unlike, "caveat")] if unlike else []))


def _verdict(line: Line) -> Text:
    styles: Mapping[str, Style] = {wording.FASTER: "passed", wording.SLOWER: "failed"}
    return Span(line.verdict, styles.get(line.verdict))


def _ratio(line: Line) -> Text:
    return _noted(
        Span(line.ratio, "strong" if line.differs else None), "" if line.interval == format.ABSENT else line.interval
    )


def _rates(line: Line) -> list[Text]:
    return [_noted(line.reference_rate, line.reference_note), _noted(line.other_rate, line.other_note)]


def _noted(number: Piece, note: str) -> Text:
    return (number, Span(note, "below")) if note else number


def _other(content: Content) -> str:
    """The head above the rates of the other subjects: the name if there is only one."""
    return "Rate" if len(content.subjects) > 2 else wording.subject_name(content.subjects[1])


def _changes(content: Content, *, are_runs: bool) -> list[Block]:
    if content.differences:
        return [_difference_table(content)]
    return [Paragraph("The stored configurations do not differ.")] if are_runs else []


def _doubts(content: Content) -> list[Block]:
    columns = [Column(), *(Column(wording.subject_name(subject)) for subject in content.subjects)]
    caption = "What is doubted, and where; what may change a conclusion first"
    return [Table(columns, [_doubt(row) for row in content.doubts], caption, density="narrow")]


def _doubt(row: DoubtRow) -> list[Text]:
    style: Style | None = "faint" if effect(row.kind) == "detail" else None
    return [Span(text, style) for text in (kind_words(row.kind), *row.places)]


def _sweeps(content: Content, drawn: Sequence[Picture | None]) -> list[Section]:
    """Each series that has more ratios than its answers."""
    return [
        Section(part.title, [Figure(picture), _ratios(content, part)])
        for part, picture in zip(content.series, drawn or [None] * len(content.series), strict=True)
        if picture is not None or len(part.lines) > len(part.answers)
    ]


def _ratios(content: Content, part: SeriesPart) -> Table:
    are_several = len(content.subjects) > 2
    columns = [Column("At"), *([Column("Of")] if are_several else [])]
    columns += numbers(wording.subject_name(content.reference), _other(content), "Ratio")
    rows: list[list[Text]] = [
        [line.place, *([line.other] if are_several else []), *_rates(line), _ratio(line)] for line in part.lines
    ]
    return Table(columns, rows, "Ratios; in bold where the interval excludes 1")


def terminal(content: Content) -> list[Block]:
    """The blocks for the terminal: each series as a table, with its verdict below."""
    series = [
        Section(part.title, [_brief(content, part), *map(Paragraph, part.sentences), _remarks(part)])
        for part in content.series
    ]
    silence = map(Paragraph, training.sentences(content.subjects) if series else content.verdict)
    differences = Section("Configuration differences", [_difference_table(content)])
    return [
        training.section(content.subjects),
        *series,
        *silence,
        _given(content),
        Notes([*content.chance, *content.notes]),
        differences,
    ]


def _given(content: Content) -> Section:
    shown: list[Block] = [given_rates.table(content.given), Notes([given_rates.NOTE])] if content.given else []
    return Section("At a given rate", shown)


def _remarks(part: SeriesPart) -> Notes:
    return Notes([*part.unlike, *part.doubts])


def _brief(content: Content, part: SeriesPart) -> Table:
    """The table of a series; with a single other subject its name is in the head."""
    several = len(content.subjects) > 2
    title, intervals = format.interval_column([line.interval for line in part.lines])
    heads = (wording.subject_name(content.reference), _other(content), "Ratio", title)
    return Table(
        [Column(), *([Column("Of")] if several else []), *numbers(*heads)],
        [
            [line.place, *([line.other] if several else []), *_numbers(line), interval]
            for line, interval in zip(part.lines, intervals, strict=True)
        ],
    )


def _numbers(line: Line) -> list[str | Span]:
    ratio = Span(line.ratio, "strong") if line.differs else line.ratio
    sides = (line.reference_rate, line.reference_note), (line.other_rate, line.other_note)
    return [*(", ".join(filter(None, side)) for side in sides), ratio]


def _difference_table(content: Content) -> Table:
    columns = [Column(), *(Column(wording.subject_name(subject)) for subject in content.subjects)]
    rows = [[row.what, *row.values] for row in content.differences]
    caption = "Facts that differ; all others are equal or known for one side only. Of methods and lists: what differs"
    return Table(columns, rows, caption, density="narrow")
