"""A document: a title, and sections of sentences, tables and figures, before it is known where it is shown.

`document.html` and `document.markdown` render one, `document.terminal` its blocks. Not: what a document says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture

Style = Literal["strong", "passed", "failed", "not judged", "warning", "faint", "code", "below"]
"""How a piece of text stands out. `below`: on a line of its own, in small letters."""


@dataclass(frozen=True)
class Span:
    """A piece of text that stands out, or leads to the block with this anchor."""

    text: str
    style: Style | None = None
    anchor: str = ""


@dataclass(frozen=True)
class Marks:
    """The letters of the doubts about what stands before them."""

    letters: tuple[str, ...]


Piece = str | Span | Marks
Text = Piece | tuple[Piece, ...]


def pieces(text: Text) -> tuple[Piece, ...]:
    """The pieces of a text, of which one alone needs no tuple."""
    return text if isinstance(text, tuple) else (text,)


@dataclass(frozen=True)
class Paragraph:
    """A text. A `note` is in small letters."""

    text: Text
    note: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of texts."""

    items: Sequence[Text]


@dataclass(frozen=True)
class Notes:
    """Remarks on what stands above them."""

    items: Sequence[Text]


@dataclass(frozen=True)
class Column:
    """What stands above a column. `is_number`: its cells are aligned to the right."""

    head: str = ""
    is_number: bool = False
    wraps: bool = True


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row says what the row is about. A page numbers it by its caption."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Text]]
    caption: str = ""
    has_head: bool = True


@dataclass(frozen=True)
class Preformatted:
    """Lines as they are, in `language`."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure, which only a page shows."""

    picture: Picture


@dataclass(frozen=True)
class Section:
    """Blocks with a title above them, or without one."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""


Block = Paragraph | Bullets | Notes | Table | Preformatted | Figure | Section


@dataclass(frozen=True)
class Document:
    """What is to be shown. `question` is what it answers, `window` what a browser calls it, where not its title."""

    title: str
    blocks: Sequence[Block]
    question: str = ""
    window: str = ""
    footer: str = ""
