"""A document as Markdown, for a ticket or a wiki: everything but the figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ioassay.reports.document import (
    MOST_REFERENCES,
    Anchor,
    Block,
    Bullets,
    Commands,
    Contents,
    Document,
    Figure,
    Marks,
    Notes,
    Paragraph,
    Piece,
    Preformatted,
    References,
    Section,
    Span,
    Table,
    Text,
    non_empty,
    pieces,
)

_STYLES = {
    "strong": "**{}**",
    "failed": "**{}**",
    "warning": "**{}**",
    "below": ", {}",
    "caveat": "; {}",
}


def rendered(document: Document) -> str:
    """The text, blocks apart from one another by an empty line."""
    opening = [f"# {document.title}", *([document.question] if document.question else [])]
    return "\n\n".join([*opening, *blocks(document.blocks)]) + "\n"


def blocks(several: Iterable[Block], level: int = 2) -> Iterator[str]:
    """The text of each block; `level` is that of the titles of sections."""
    for block in non_empty(several):
        match block:
            case Section(title, within):
                yield from [f"{'#' * level} {title}"] if title else []
                yield from blocks(within, level + 1)
            case Paragraph(text):
                yield inline(text)
            case Bullets(items) | Notes(items):
                yield "\n".join(f"- {inline(item)}" for item in items)
            case Table(columns, rows):
                yield from [f"{'#' * level} {block.title}"] if block.title else []
                yield table([column.whole_head for column in columns], [list(map(inline, row)) for row in rows])
            case Commands(items):
                yield from blocks([Preformatted("\n".join(f"# {what}\n{command}" for what, command in items))])
            case Preformatted(text, language):
                yield f"```{language}\n{text}\n```"
            case Figure(_, text) if text:
                yield f"```\n{text}\n```"
            case Figure() | Contents():
                pass


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ").strip() for cell in cells) + " |"

    return "\n".join([line(head), "|" + " --- |" * len(head), *map(line, rows)])


def inline(text: Text) -> str:
    """A text with its styles and the letters of doubts."""
    return "".join(map(_piece, pieces(text)))


def _code(text: str) -> str:
    """A span of code, between more backticks than are in it one after another."""
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(map(len, re.findall("`+", text))))
    return f"{fence} {text} {fence}"


def _piece(piece: Piece) -> str:
    match piece:
        case Marks(letters):
            return f" [{' '.join(letters)}]" if letters else ""
        case Span(text, "code"):
            return _code(text)
        case Span(text, style):
            return _STYLES.get(style, "{}").format(text) if style else text
        case Anchor():
            return ""
        case References(items):
            named = [item.text for item in items[:MOST_REFERENCES]]
            more = len(items) - len(named)
            return f"Rests on: {'; '.join([*named, f'and {more} more'] if more else named)}."
    return piece
