"""Blocks of a document on the terminal: all but the figures, of which lines of text may take the place. Long words
and names, such as the paths of files, are shortened in the middle; commands are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text as RichText

from ioassay.reports.document import (
    Anchor,
    Block,
    Bullets,
    Commands,
    Contents,
    Figure,
    Marks,
    Notes,
    Paragraph,
    Preformatted,
    References,
    Section,
    Span,
    Style,
    Table,
    Text,
    non_empty,
    pieces,
)
from ioassay.reports.document.hanging import HangingIndent
from ioassay.reports.document.terminal_table import FittingTable, Heading
from ioassay.reports.document.unbroken import Unbroken, bound

_STYLES: dict[Style, str] = {
    "strong": "bold",
    "passed": "green",
    "failed": "bold red",
    "not judged": "yellow",
    "warning": "yellow",
    "faint": "dim",
    "code": "",
    "below": "dim",
    "caveat": "yellow",
}


_MOST_LETTERS = 160
"""Longest word or name in characters: two lines of a terminal."""

_LONG = re.compile(rf"\S{{{_MOST_LETTERS + 1},}}")


def _shortened(name: str) -> str:
    """A long name with its middle left out."""
    begin = _MOST_LETTERS // 2
    return name if len(name) <= _MOST_LETTERS else f"{name[:begin]}…{name[1 + begin - _MOST_LETTERS :]}"


def rendered(blocks: Iterable[Block]) -> Group:
    """The blocks one below the other, an empty line around each section."""
    return Group(Unbroken(Group(*_blocks(blocks))))


def _blocks(several: Iterable[Block]) -> Iterator[RenderableType]:
    before: Block | None = None
    for block in non_empty(several):
        lines = list(_block(block))
        if not lines:
            continue
        if before is not None and Section in (type(before), type(block)):
            yield ""
        before = block
        yield from lines


def _block(block: Block) -> Iterator[RenderableType]:
    match block:
        case Section(title, within):
            has_sections = any(isinstance(part, Section) for part in within)
            yield from [RichText(title, "bold underline" if has_sections else "bold")] if title else []
            yield from _blocks(within)
        case Paragraph(text, note):
            yield _inline(text, "yellow" if note else "")
        case Notes(items):
            yield from (_inline(item, "yellow") for item in items)
        case Bullets(items):
            yield from (HangingIndent(_inline(item)) for item in items)
        case Table():
            yield from [RichText(block.title, "bold")] if block.title else []
            yield _table(block)
        case Commands(items):
            for what, command in items:
                yield from [RichText(what), _as_it_is(f"  {command}")]
        case Preformatted(text):
            yield _as_it_is(text)
        case Figure(_, text) if text:
            yield _as_it_is(text)
        case Figure() | Contents():
            pass


def _as_it_is(text: str) -> RichText:
    """Lines that are copied or drawn: a console that does not crop prints them whole, however narrow it is."""
    return RichText(text, no_wrap=True, overflow="ignore")


def _table(block: Table) -> FittingTable:
    headings = [
        Heading(column.whole_head, "right" if column.is_number else "left", column.wraps, column.leaves)
        for column in block.columns
    ]
    return FittingTable(headings, [[*map(_inline, row)] for row in block.merged_rows], block.has_head)


def _inline(text: Text, style: str = "") -> RichText:
    rich_text = RichText(style=style)

    def fit(text: str, *, is_name: bool = False) -> str:
        return bound(_shortened(text) if is_name else _LONG.sub(lambda word: _shortened(word[0]), text))

    for piece in pieces(text):
        match piece:
            case Marks(letters):
                rich_text.append(f" {''.join(letters)}" if letters else "", "yellow")
            case Span(words, how):
                on_its_own = "\n" if how in ("below", "caveat") else ""
                rich_text.append(f"{on_its_own}{fit(words, is_name=how == 'code')}", _STYLES[how] if how else "")
            case Anchor() | References():
                pass
            case _:
                rich_text.append(fit(piece))
    return rich_text
