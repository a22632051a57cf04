"""A comparison as Markdown, for a ticket or a wiki."""

from __future__ import annotations

from ioassay.reports.compare.content import Content, SeriesPart
from ioassay.reports.markdown_text import listed, table


def document(content: Content) -> str:
    """Everything but the figures."""
    parts = [[f"# {content.title}"], *sections(content, "##")]
    return "\n".join("\n".join(part) + "\n" for part in parts)


def sections(content: Content, heading: str) -> list[list[str]]:
    """Its sections, each as its lines; `heading` is that of each."""
    parts = [
        [f"{heading} What can be told", "", *listed(content.verdict)],
        *(_series(content, part, heading) for part in content.series),
        [f"{heading} What to know of all of it", "", *listed(content.notes)] if content.notes else [],
        _differences(content, heading),
    ]
    return [part for part in parts if part]


def _series(content: Content, part: SeriesPart, heading: str) -> list[str]:
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
    return [f"{heading} {part.title}", "", *table(heads, rows), *(["", *listed(remarks)] if remarks else [])]


def _differences(content: Content, heading: str) -> list[str]:
    if not content.differences:
        return []
    rows = [[row.what, *row.values] for row in content.differences]
    heads = ["", *(subject.name for subject in content.subjects)]
    return [f"{heading} What differs in configuration", "", *table(heads, rows)]
