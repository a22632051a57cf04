"""A comparison on the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ioassay.reports.compare.content import Content, SeriesPart


def summary(content: Content) -> RenderableType:
    """Everything but the figures."""
    parts: list[RenderableType] = []
    for part in content.series:
        parts += [_series(content, part), *(Text(text) for text in part.sentences)]
        parts += [*(Text(text, "yellow") for text in (*part.unlike, *part.doubts)), ""]
    if not content.series:
        parts += [Text(text) for text in content.verdict]
    parts += [Text(text, "yellow") for text in (*content.chance, *content.notes)]
    if content.differences:
        parts += ["", _differences(content)]
    return Group(*parts)


def _series(content: Content, part: SeriesPart) -> Table:
    table = Table(title=part.title, title_justify="left", title_style="bold", box=None)
    several = len(content.subjects) > 2
    other = "Rate" if several else content.subjects[1].name
    table.add_column("")
    for head in (*(["Of"] if several else []), content.reference.name, other, "Ratio", "Interval"):
        table.add_column(head, justify="left" if head == "Of" else "right", overflow="fold")
    for line in part.lines:
        ratio = Text(line.ratio, style="bold" if line.differs else "")
        of = [Text(line.other)] if several else []
        table.add_row(Text(line.at), *of, line.reference_rate, line.other_rate, ratio, line.interval)
    return table


def _differences(content: Content) -> Table:
    table = Table(title="What differs in configuration", title_justify="left", title_style="bold", box=None)
    table.add_column("")
    for subject in content.subjects:
        table.add_column(subject.name, overflow="fold")
    for row in content.differences:
        table.add_row(Text(row.what), *map(Text, row.values))
    return table
