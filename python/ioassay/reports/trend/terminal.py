"""A trend on the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ioassay.reports.check.terminal import counted
from ioassay.reports.terminal import STYLES
from ioassay.reports.trend import wording
from ioassay.reports.trend.content import Content, GroupPart, SeriesPart


def summary(content: Content) -> RenderableType:
    """Everything but the figures."""
    parts: list[RenderableType] = []
    for part in content.groups:
        parts += [Text(part.title, "bold underline"), Text(part.span), "", *_group(part)]
    parts += [Text(text, "yellow") for text in content.left_out]
    return Group(*parts, *counted(content.lines))


def _group(part: GroupPart) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for series in part.series:
        parts += [_series(series), *(Text(text, "yellow") for text in series.notes), ""]
    for moment in part.moments:
        parts += [Text(f"{moment.between}:", "bold"), *(Text(f"  {text}") for text in moment.sentences)]
        parts += [Text(f"  {wording.also(moment.also)}"), ""]
    told = [*map(Text, part.trends), *(Text(text, "bold red") for text in part.missing)]
    return [*parts, *told, ""] if told else parts


def _series(series: SeriesPart) -> Table:
    table = Table(title=series.title, title_justify="left", title_style="bold", box=None)
    table.add_column("")
    for head in wording.HEADS:
        table.add_column(head, justify="right" if head else "left", overflow="fold")
    for course, row in zip(series.courses, series.rows, strict=True):
        table.add_row(*map(Text, row[:-1]), Text(row.verdict, STYLES[course.judgement]))
    return table
