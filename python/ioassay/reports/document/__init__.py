"""A document: a title, and sections of sentences, tables and figures, before it is known where it is shown.

`document.html` and `document.markdown` render one, `document.terminal` its blocks. Not: what a document says.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from ioassay.text.control_characters import escaped

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture

Style = Literal["strong", "passed", "failed", "not judged", "warning", "faint", "code", "below", "caveat"]
"""The style of a piece of text. `below`: on a line of its own, in small print; `caveat`: the same, as a warning."""


class Span(Struct, frozen=True):
    """A piece of text that stands out, or leads to the section or `Anchor` with this anchor."""

    text: str
    style: Style | None = None
    anchor: str = ""


class Anchor(Struct, frozen=True):
    """Makes links lead to the item of a list in which it stands, or to the row that it begins."""

    name: str


class Marks(Struct, frozen=True):
    """The letters of the doubts about what stands before them."""

    letters: tuple[str, ...]


MOST_REFERENCES = 2
"""References that are shown at once."""


class References(Struct, frozen=True):
    """References of a statement. A page unfolds more than `MOST_REFERENCES`; text names the first."""

    items: tuple[Span, ...]
    summary: str


Piece = str | Span | Anchor | Marks | References
Text = Piece | tuple[Piece, ...]


def pieces(text: Text) -> tuple[Piece, ...]:
    """The pieces of a text, of which one alone needs no tuple. Names, which are code, are on one line."""
    return tuple(map(_with_names_escaped, text if isinstance(text, tuple) else (text,)))


def _with_names_escaped(piece: Piece) -> Piece:
    match piece:
        case Span(text, "code"):
            return structs.replace(piece, text=escaped(text))
        case References(items):
            return structs.replace(piece, items=tuple(structs.replace(item, text=escaped(item.text)) for item in items))
    return piece


class Paragraph(Struct, frozen=True):
    """A text. A `note` is in small print."""

    text: Text
    note: bool = False


class Bullets(Struct, frozen=True):
    items: Sequence[Text]


class Notes(Struct, frozen=True):
    """Remarks on what stands above them."""

    items: Sequence[Text]


class Column(Struct, frozen=True):
    """A column and its head. `is_number`: its cells are aligned to the right."""

    head: str = ""
    is_number: bool = False
    wraps: bool = True
    group: str = ""
    """The common head of several adjacent columns, on a page."""
    full_head: str = ""
    """The head where nothing stands above it, if that is another."""
    merges: bool = False
    """A page and the terminal show a cell like the one above it once."""
    leaves: int = 0
    """A narrow terminal leaves out columns that have this, those with the highest number first."""

    @property
    def whole_head(self) -> str:
        """The head where the group has no head of its own."""
        return self.full_head or ", ".join(filter(None, (self.group, self.head)))


def numbers(*heads: str, leaves: int = 0) -> list[Column]:
    return [Column(head, is_number=True, leaves=leaves) for head in heads]


class Table(Struct, frozen=True):
    """A table; the first cell of a row says what the row is about.

    A page numbers it by its title, or by a `caption`, which nothing else shows.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Text]]
    caption: str = ""
    has_head: bool = True
    title: str = ""
    rules: Collection[int] = ()
    """The rows above which a page has a rule."""
    density: Literal["normal", "narrow", "dense", "wide"] = "normal"
    """`narrow`: fits on a phone, where its numbers are wrapped. `dense`: in small print. `wide`: in smaller print, and
    beyond the text where there is room.
    """

    @property
    def merged_rows(self) -> list[list[Text]]:
        """The rows with nothing in cells that are merged with those above them."""
        return [
            [
                "" if column.merges and index and cell == self.rows[index - 1][place] else cell
                for place, (column, cell) in enumerate(zip(self.columns, row, strict=True))
            ]
            for index, row in enumerate(self.rows)
        ]


class Commands(Struct, frozen=True):
    """Command lines, each with what it does."""

    items: Sequence[tuple[str, str]]


class Preformatted(Struct, frozen=True):
    """Lines as they are, in `language`."""

    text: str
    language: str = ""


class Figure(Struct, frozen=True):
    """A figure, if it was drawn, which only a page shows. Elsewhere, and where none was drawn, `text` stands for it."""

    picture: Picture | None
    text: str = ""


Fold = Literal["", "open", "closed"]


class Section(Struct, frozen=True):
    """Blocks with a title above them, or without one. A page folds them under it where `fold` says so."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""
    fold: Fold = ""


class Contents(Struct, frozen=True):
    """Links to sections, which only a page shows."""

    sections: Sequence[Section]


Block = Paragraph | Bullets | Notes | Table | Commands | Preformatted | Figure | Section | Contents
"""A part of a document. What has no text, item, row, picture or block in it is not shown."""


class Document(Struct, frozen=True):
    """A document. `question` is the question that it answers, `window` the title in a browser if not `title`."""

    title: str
    blocks: Sequence[Block]
    question: str = ""
    window: str = ""
    footer: str = ""
    is_sheet: bool = False
    """One page of A4, close-set, on which neither tables nor figures are numbered."""
    prints_folds: bool = True
    """Paper has what a page folds."""


def introduced(before: str, items: Sequence[Text]) -> list[Block]:
    """A list with a sentence before it; nothing without an item."""
    return [Paragraph(before), Bullets(items)] if items else []


def facts(rows: Sequence[tuple[str, str]], title: str = "") -> Table:
    """Facts as a table of two columns."""
    return Table([Column(), Column()], rows, has_head=False, title=title)


def non_empty(blocks: Iterable[Block]) -> list[Block]:
    """The blocks that are not empty."""
    return [block for block in blocks if not _is_empty(block)]


def _is_empty(block: Block) -> bool:
    match block:
        case Section(blocks=within) | Contents(sections=within):
            return not non_empty(within)
        case Table(rows=items) | Bullets(items=items) | Notes(items=items) | Commands(items=items):
            return not items
        case Paragraph(text) | Preformatted(text):
            return not text
        case Figure(picture, text):
            return picture is None and not text


def changes(keys: Iterable[Hashable]) -> set[int]:
    """The places of what differs from the one before it, the first among them: rules of a table."""
    known = list(keys)
    return {index for index, key in enumerate(known) if index == 0 or key != known[index - 1]}
