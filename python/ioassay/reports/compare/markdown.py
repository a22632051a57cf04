"""A comparison as Markdown, for a ticket or a wiki."""

from __future__ import annotations

from ioassay.reports.compare.content import Content, SeriesPart
from ioassay.reports.compare.terminal import notes
from ioassay.reports.markdown import table


def document(content: Content) -> str:
    """Everything but the figures."""
    sections = [
        [f"# {content.title}"],
        ["## What can be told", "", *_listed([text for part in content.series for text in part.sentences])],
        *(_series(content, part) for part in content.series),
        ["## What to know of all of it", "", *_listed(notes(content))],
        _differences(content),
    ]
    return "\n".join("\n".join(section) + "\n" for section in sections if section)


def _listed(sentences: list[str]) -> list[str]:
    return [f"- {text}" for text in sentences] or ["Nothing."]


def _series(content: Content, part: SeriesPart) -> list[str]:
    heads = ["At", "Of", content.reference.name, "Rate", "Ratio", "Interval"]
    rows = [
        [
            line.at,
            line.other,
            line.reference_rate,
            line.other_rate,
            f"**{line.ratio}**" if line.differs else line.ratio,
            line.interval,
        ]
        for line in part.lines
    ]
    remarks = [*part.unlike, *part.doubts]
    return [f"## {part.title}", "", *table(heads, rows), *(["", *_listed(remarks)] if remarks else [])]


def _differences(content: Content) -> list[str]:
    if not content.differences:
        return []
    rows = [[row.what, *row.values] for row in content.differences]
    heads = ["", *(subject.name for subject in content.subjects)]
    return ["## What differs in configuration", "", *table(heads, rows)]
