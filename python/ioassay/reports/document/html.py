"""A document as one HTML page that needs nothing but itself: style, script, figures and their data are in it.

How it looks on the screen and on paper stands in `templates/document.css`, of a sheet also in `templates/sheet.css`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import count, groupby
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from ioassay.figures import theme
from ioassay.figures.picture import Picture
from ioassay.reports.document import (
    MOST_REFERENCES,
    Anchor,
    Block,
    Bullets,
    Column,
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
    Style,
    Table,
    Text,
    non_empty,
    pieces,
)

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parents[1] / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)

_STYLES: dict[Style, tuple[str, str]] = {
    "strong": ("b", ""),
    "warning": ("b", "failed"),
    "code": ("code", ""),
    "below": ("small", ""),
    "caveat": ("small", "caveat"),
    "faint": ("span", "faint"),
    "passed": ("span", "passed"),
    "failed": ("span", "failed"),
    "not judged": ("span", "not-judged"),
}
"""The element of each style and its class."""

MOST_ENLARGED = 1.25
"""A figure grows with the window to so many times the size in which it was drawn; more makes its letters clumsy."""

BROAD = 560
"""Pixels. A figure that is broader has a row of its own where others stand side by side."""

TALL = 0.6
"""Height of a broad figure over its width, from which on paper gives it more height: it would be too small to read."""

LONG = 12
"""Rows. Paper may break a longer table, before which a page would stay empty."""


def rendered(document: Document) -> str:
    blocks = _Page(is_numbered=not document.is_sheet).blocks(document.blocks)
    script = Markup(_TEMPLATES.get_template("script.js.j2").render())
    return _TEMPLATES.get_template("document.html.j2").render(
        document=document, blocks=blocks, script=script, script_hash=_hash(script), colours=theme.ON_DARK
    )


def _hash(script: str) -> str:
    """The hash of the page's only script, for its Content-Security-Policy."""
    return "sha256-" + b64encode(sha256(script.encode()).digest()).decode()


class _Page:
    """The blocks of a page. It counts its tables and figures."""

    def __init__(self, *, is_numbered: bool) -> None:
        self._is_numbered = is_numbered
        self._tables, self._figures = count(1), count(1)

    def blocks(self, several: Iterable[Block], level: int = 2) -> Markup:
        """`level` is that of the titles of sections."""
        parts = []
        for are_figures, group in groupby(non_empty(several), key=lambda block: isinstance(block, Figure)):
            markup = [part for block in group for part in self._block(block, level)]
            side_by_side = are_figures and len(markup) > 1
            parts += [_element("div", _around(markup), class_="figures")] if side_by_side else markup
        return _lines(parts)

    def _block(self, block: Block, level: int) -> Iterator[Markup]:
        match block:
            case Section(title, within, anchor, ""):
                heading = [_element(f"h{level}", title)] if title else []
                yield _element("section", _around([*heading, self.blocks(within, level + 1)]), id=anchor)
            case Section(title, within, anchor, fold):
                folded = [_element("summary", title), self.blocks(within, level + 1)]
                yield _element("details", _around(folded), id=anchor, open="open" if fold == "open" else "")
            case Paragraph(text, note):
                yield _element("p", _inline(text), class_="note" if note else "")
            case Notes(items):
                yield from (_element("p", _inline(item), class_="note") for item in items)
            case Bullets(items):
                yield _element("ul", _around(_element("li", _inline(item), id=_anchor(item)) for item in items))
            case Table():
                yield self._table(block)
            case Commands(items):
                pairs = (_element("dt", what) + _element("dd", command) for what, command in items)
                yield _element("dl", _around(_element("div", pair) for pair in pairs), class_="commands")
            case Preformatted(text):
                yield _element("pre", text)
            case Figure(picture) if picture:
                yield self._figure(picture)
            case Figure(_, text):
                yield _element("pre", text)
            case Contents(sections):
                links = (
                    _element("a", section.title, href=f"#{section.anchor}")
                    for section in sections
                    if non_empty([section])
                )
                yield _element("nav", _around(links), class_="contents", aria_label="Contents")

    def _table(self, table: Table) -> Markup:
        parts = []
        if self._is_numbered and (name := table.title or table.caption):
            parts.append(_element("caption", f"Table {next(self._tables)}. {name}"))
        if table.has_head:
            parts.append(_element("thead", _around(_heads(table.columns))))
        rows = (
            _element("tr", _row(table.columns, row), id=_anchor(row[0]), class_="first" if index in table.rules else "")
            for index, row in enumerate(table.merged_rows)
        )
        parts.append(_element("tbody", _around(rows)))
        classes = ["scroll", *_DENSITIES[table.density], *([] if table.has_head else ["key"])]
        classes += ["long"] if len(table.rows) > LONG else []
        return _element("div", _element("table", _around(parts)), class_=" ".join(classes))

    def _figure(self, picture: Picture) -> Markup:
        parts = []
        if picture.svg:
            parts.append(
                # Markup as it is: `figures.render` made it.
                _element(
                    "div",
                    Markup(picture.svg),
                    class_="picture",
                    role="img",
                    aria_label=picture.description,
                    style=f"max-width: {round(MOST_ENLARGED * picture.width)}px" if picture.width else "",
                )
            )
        if picture.undrawn:
            parts.append(_element("p", picture.undrawn, class_="undrawn"))
        caption = self._caption(picture, next(self._figures)) if self._is_numbered else _element("b", picture.title)
        shape = ["broad"] if picture.width > BROAD else []
        shape += ["tall"] if shape and picture.height > TALL * picture.width else []
        figure = _around([*parts, _element("figcaption", caption)])
        # A section may be called like its figure.
        return _element("figure", figure, id=f"{_FIGURE_ID}{picture.id}", class_=" ".join(shape))

    def _caption(self, picture: Picture, number: int) -> Markup:
        title = _element("b", f"Figure {number}. {picture.title}.") + f" {picture.caption}"
        if not picture.svg and not picture.undrawn:
            return title
        # The script adds what takes a script, such as the SVG.
        data = _element(
            "a",
            "CSV",
            href=_csv_link(picture.csv),
            download=f"{picture.id}.csv",
            aria_label=f"Data of figure {number} as CSV",
        )
        return title + "\n" + _element("span", data, class_="tools")


_FIGURE_ID = "figure-"
"""Begins the id of a figure; what follows names its files (`figures.js`)."""

_DENSITIES = {"normal": [], "narrow": ["narrow"], "dense": ["dense"], "wide": ["dense", "wide"]}


def _heads(columns: Sequence[Column]) -> Iterator[Markup]:
    """The row of the heads, and above it that of their groups, if there are any."""
    if any(column.group for column in columns):
        groups = (
            (group, str(len(list(members)))) for group, members in groupby(columns, key=lambda column: column.group)
        )
        cells = (
            _element("th", group, scope="colgroup", colspan=span) if group else _element("td", "", colspan=span)
            for group, span in groups
        )
        yield _element("tr", _together(cells))
    heads = (_element("th", column.head, scope="col", class_=_class(column)) for column in columns)
    yield _element("tr", _together(heads))


def _row(columns: Sequence[Column], row: Sequence[Text]) -> Markup:
    first, *others = (_inline(cell) for cell in row)
    cells = [_element("th", first, scope="row", class_=_class(columns[0]))]
    cells += [_element("td", cell, class_=_class(column)) for column, cell in zip(columns[1:], others, strict=True)]
    return _together(cells)


def _class(column: Column) -> str:
    if column.is_number:
        return "number"
    return "" if column.wraps else "name"


def _anchor(text: Text) -> str:
    """The id of the row or item that begins with this text."""
    return next((piece.name for piece in pieces(text) if isinstance(piece, Anchor)), "")


def _inline(text: Text) -> Markup:
    if isinstance(text, Marks) and text.letters:  # alone, as in a column of doubts: as large as other text
        return _element("span", _letters(text), class_="marks")
    return _together(map(_piece, pieces(text)))


def _piece(piece: Piece) -> Markup:
    match piece:
        case Marks(letters):
            return _element("sup", _letters(piece)) if letters else Markup()
        case Span(text, style, anchor):
            linked = _element("a", text, href=f"#{anchor}") if anchor else escape(text)
            return _element(_STYLES[style][0], linked, class_=_STYLES[style][1]) if style else linked
        case Anchor():
            return Markup()
        case References(items, summary):
            links = Markup("; ").join(map(_piece, items))
            if len(items) <= MOST_REFERENCES:
                return _element("span", links, class_="note")
            return _element("details", _element("summary", summary) + links, class_="note")
    return escape(piece)


def _letters(marks: Marks) -> Markup:
    return Markup().join(
        _element("a", letter, href=f"#doubt-{letter}", title=f"doubt {letter}") for letter in marks.letters
    )


def _csv_link(text: str) -> str:
    """A `data:` URI: a download that needs neither a network nor a script."""
    return "data:text/csv;charset=utf-8," + quote(text, safe=",;:/ -_.()")


def _element(name: str, content: str, **attributes: str) -> Markup:
    """An HTML element. `content` is escaped unless it is markup; attributes without a value are left out."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value
    )
    return Markup(f"<{name}{attribute_text}>{escape(content)}</{name}>")


def _together(parts: Iterable[Markup], between: str = "") -> Markup:
    """Parts as they are: `Markup.join` would escape each again, which takes as long as all the rest of a page."""
    return Markup(between.join(parts))


def _lines(parts: Iterable[Markup]) -> Markup:
    return _together(parts, "\n")


def _around(parts: Iterable[Markup]) -> Markup:
    """Parts on lines of their own."""
    return _lines([Markup(), *parts, Markup()])
