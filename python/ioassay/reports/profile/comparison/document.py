"""The comparison of two profiles as a document, and what the terminal shows of it. Not: sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ioassay.analysis.profile.file_changes import FileAmounts
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Contents,
    Document,
    Figure,
    Notes,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    numbers,
)
from ioassay.reports.profile.comparison import wording
from ioassay.reports.profile.comparison.content import Content, Side
from ioassay.reports.profile.wording import opening
from ioassay.text import format
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture

MOST_FILES = 25
"""The most rows of each table."""

MOST_BRIEF = 10
"""Files that the terminal shows, and findings."""

Pictures = Mapping[str, "Picture"]
"""By what they show: `over-time`, `sizes`."""


def document(content: Content, drawn: Pictures | None = None) -> Document:
    """The document, with the figures where `pictures` has made them."""
    pictures = drawn or {}
    sections = [
        Section("Different conditions", [Bullets(list(wording.conditions(content)))], "conditions"),
        Section("What changed", _changes(content), "changes"),
        Section("Findings", _findings(content), "findings"),
        Section("Reads, writes and metadata", _classes(content), "classes"),
        Section("Over time", _over_time(content, pictures), "over-time"),
        Section("Sizes", [Figure(pictures.get("sizes")), _distances(content), Notes([wording.DISTANCES])], "sizes"),
        Section("Processes", _processes(content), "processes"),
        Section("Files", _files(content), "files"),
        Section("Operations", [_operations(content), Notes([wording.SCOPE])], "operations"),
        Section("Unknown", _unknown(content), "unknown"),
    ]
    title = wording.title(content)
    return Document(
        f"I/O profiles: {title}",
        [_sides(content), Contents(sections), *sections],
        question=f"What does {content.other.name} do to storage otherwise than {content.reference.name}?",
        window=f"{title}: I/O profiles",
        footer=f"Written by ioassay {__version__}.",
    )


def terminal(content: Content) -> list[Block]:
    """The blocks for the terminal: the essentials, different conditions first."""
    findings = [finding for finding in content.findings if finding.change in ("new", "gone")]
    shown = findings[:MOST_BRIEF]
    both = sum(finding.change == "in both" for finding in content.findings)
    return [
        Notes(list(wording.conditions(content))),
        Section("", [Paragraph(text) for text in wording.changes(content)]),
        _brief(content),
        Section("Findings:", [Bullets([wording.finding_headline(finding) for finding in shown])]),
        Notes([*wording.more(len(findings) - len(shown), "finding"), *([f"{both:,} in both."] if both else [])]),
        _changed_files(content, MOST_BRIEF, is_brief=True),
        Notes([*_only_counts(content), wording.SINGLE]),
    ]


def _sides(content: Content) -> Table:
    before, after = (dict(opening(side.content)) for side in content.sides)
    rows = [[what, before.get(what, format.ABSENT), after.get(what, format.ABSENT)] for what in before | after]
    return Table([Column(), *(Column(side.name) for side in content.sides)], rows)


def _changes(content: Content) -> list[Block]:
    return [Bullets(list(wording.changes(content))), Notes([wording.SINGLE])]


def _findings(content: Content) -> list[Block]:
    blocks: list[Block] = []
    for change, title in wording.CHANGES.items():
        items = [wording.finding(content, finding) for finding in content.findings if finding.change == change]
        blocks.append(Section(title, [Bullets(items)]))
    return blocks if content.findings else [Paragraph(wording.nothing_found(content))]


def _table(content: Content, rows: Sequence[Sequence[Text]], caption: str, *, first: str) -> Table:
    heads = (*(side.name for side in content.sides), "Ratio")
    return Table([Column(first), *numbers(*heads)], rows, caption)


def _brief(content: Content) -> Table:
    parts = [("All", wording.overall(content)), *wording.classes(content, is_brief=True)]
    rows = [[name, *row] for name, part_rows in parts for row in part_rows]
    heads = (*(side.name for side in content.sides), "Ratio")
    return Table([Column(merges=True), Column(), *numbers(*heads)], rows)


def _classes(content: Content) -> list[Block]:
    tables = [_table(content, rows, name, first=name) for name, rows in wording.classes(content)]
    return [_table(content, wording.overall(content), "The whole", first="All"), *tables, Notes([wording.SCOPE])]


def _over_time(content: Content, pictures: Pictures) -> list[Block]:
    return [
        Figure(pictures.get("over-time")),
        _table(content, wording.phases(content), "Phases of I/O", first=""),
    ]


def _distances(content: Content) -> Table:
    columns = [Column(), *numbers("Sizes", "Time line")]
    return Table(columns, wording.distances(content), "Distances: 0 identical, 1 disjoint")


def _processes(content: Content) -> list[Block]:
    rows = [wording.imbalance(content, measure) for measure in content.measures]
    caption = "Imbalance of processes that do the same work: the least, as a share below the most"
    return [_table(content, rows, caption, first="Of each")]


def _files(content: Content) -> list[Block]:
    reference, other = content.sides
    same = sum(change.is_same for change in content.files.changed)
    return [
        Section(
            "Changed", [_changed_files(content, MOST_FILES), Notes([f"{same:,} of both unchanged."] if same else [])]
        ),
        Section(f"Only of {reference.name}", [_only(reference, content.files.only_reference)]),
        Section(f"Only of {other.name}", [_only(other, content.files.only_other)]),
    ]


def _changed_files(content: Content, most: int, *, is_brief: bool = False) -> Table:
    names = [side.name for side in content.sides]
    columns = [
        Column("File"),
        *(
            Column(name, is_number=True, group=group, full_head=f"{group}, {name}")
            for group in (("Time",) if is_brief else ("Read", "Written", "Time"))
            for name in names
        ),
        *numbers("Change"),
    ]
    rows: list[list[Text]] = []
    changed = [change for change in content.files.changed if not change.is_same]
    for change in changed[:most]:
        moved: Text = ("", Span(f"from {change.reference.path}", "below")) if change.is_moved else ""
        path = Span(change.other.path, "code")
        rows.append([(path, *moved) if isinstance(moved, tuple) else path, *wording.file(change, is_brief=is_brief)])
    total = len(changed)
    caption = f"Files of both with the largest change of time{f' ({most} of {total:,})' if total > most else ''}"
    return Table(columns, rows, caption, density="dense")


def _only(side: Side, files: Sequence[FileAmounts]) -> Table:
    rows: list[list[Text]] = [
        [
            Span(file.path, "code"),
            f"{file.calls:,}",
            format.size(file.read_bytes),
            format.size(file.written_bytes),
            format.duration(file.spent_ns),
        ]
        for file in files[:MOST_FILES]
    ]
    caption = f"Files only of {side.name}{f' ({MOST_FILES} of {len(files):,})' if len(files) > MOST_FILES else ''}"
    return Table([Column("File"), *numbers("Calls", "Read", "Written", "Time")], rows, caption, density="dense")


def _only_counts(content: Content) -> list[str]:
    sides = (content.reference, content.files.only_reference), (content.other, content.files.only_other)
    return [f"{format.count(len(files), 'file')} only of {side.name}." for side, files in sides if files]


def _operations(content: Content) -> Table:
    before, after = (side.name for side in content.sides)
    columns = [Column("Operation")]
    for group in ("Calls", "Bytes", "Time", "Median", "99 %"):
        columns += [
            Column(head, is_number=True, group=group, full_head=f"{group}, {head.lower() if head == 'Ratio' else head}")
            for head in (before, after, "Ratio")
        ]
    rows = [wording.operation(operation) for operation in content.comparison.operations]
    return Table(columns, rows, "Operations", density="wide")


def _unknown(content: Content) -> list[Block]:
    return [
        Section(side.name, [Paragraph("This source does not record:"), Bullets(list(side.profile.unknown))])
        for side in content.sides
        if side.profile.unknown
    ]
