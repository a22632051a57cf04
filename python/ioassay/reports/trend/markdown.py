"""A trend as Markdown, for a ticket or a wiki."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.reports.markdown_text import listed, table
from ioassay.reports.trend import wording
from ioassay.reports.trend.content import Content, GroupPart


def document(content: Content) -> str:
    """Everything but the figures."""
    sections = [["# Trend", ""], *(section for part in content.groups for section in _group(part))]
    sections.append(listed(content.left_out))
    return "\n".join("\n".join(section) + "\n" for section in sections if section)


def _group(part: GroupPart) -> Iterator[list[str]]:
    yield [f"## {part.title}", "", f"{part.span}."]
    for moment in part.moments:
        yield [f"{moment.between}:", "", *listed((*moment.sentences, wording.also(moment.also)))]
    yield listed((*part.trends, *part.missing))
    for series in part.series:
        rows = [[*row[:-1], f"**{row.verdict}**" if row.verdict == "declined" else row.verdict] for row in series.rows]
        yield [f"### {series.title}", "", *table(["", *wording.HEADS], rows)]
        yield listed(series.notes)
    yield [wording.COLUMNS_NOTE]
