"""A document as one HTML page that needs nothing but itself: style, script, figures and their data are in it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from ioassay.reports.document import Document, Marks, Piece, Span, Text, pieces

_TEMPLATES = Path(__file__).parents[1] / "templates"


def rendered(document: Document) -> str:
    """The page."""
    return environment().get_template("document.html.j2").render(document=document, running=document.title)


def environment() -> jinja2.Environment:
    """What all templates are rendered with: their folder and filters."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["csv_link"] = _csv_link
    made.filters["drawn"] = Markup  # only for SVG that `figures.render` made
    made.filters["inline"] = _inline
    made.filters["kind"] = lambda block: type(block).__name__
    return made


def _inline(text: Text) -> Markup:
    return Markup().join(map(_piece, pieces(text)))


def _piece(piece: Piece) -> Markup:
    match piece:
        case Marks(letters):
            links = (Markup('<a href="#doubt-{0}" title="doubt {0}">{0}</a>').format(letter) for letter in letters)
            return Markup("<sup>{}</sup>").format(Markup().join(links)) if letters else Markup()
        case Span(text, style, anchor):
            return _styled(Markup('<a href="#{}">{}</a>').format(anchor, text) if anchor else escape(text), style)
    return escape(piece)


def _styled(text: Markup, style: str | None) -> Markup:
    match style:
        case None:
            return text
        case "strong":
            return Markup("<b>{}</b>").format(text)
        case "code":
            return Markup("<code>{}</code>").format(text)
        case "warning":
            return Markup('<b class="failed">{}</b>').format(text)
        case "below":
            return Markup("<small>{}</small>").format(text)
    return Markup('<span class="{}">{}</span>').format(style.replace(" ", "-"), text)


def _csv_link(text: str) -> str:
    """A `data:` URI: a download that needs neither a network nor a script."""
    return "data:text/csv;charset=utf-8," + quote(text, safe=",;:/ -_.()")
