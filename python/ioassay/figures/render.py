"""A chart becomes SVG text, the same bytes for the same chart: in any process, whatever was drawn before."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from ioassay.figures import theme
from ioassay.figures.drawing import drawing
from ioassay.figures.vega_lite import Specification
from ioassay.text.control_characters import without_controls

_ID = re.compile(r'\bid="([^"]+)"')
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_TOO_FINE = re.compile(r"(?<=\.\d\d)\d+")
_FONT = f' font-family="{theme.FONT}"'
_SUPERFLUOUS = (
    '<path class="foreground" aria-hidden="true" d="" pointer-events="none" display="none"/>',
    '<path class="background" aria-hidden="true" d="M0,0h0v0h0Z" pointer-events="none"/>',
    ' xmlns:xlink="http://www.w3.org/1999/xlink"',
    ' pointer-events="none"',
    ' opacity="1"',
    _FONT,  # of each text; once for all of them is enough
)
_SIZE = re.compile(r'width="(?P<width>\d+)" height="(?P<height>\d+)" viewBox="0 0 \d+ \d+"')
_TRANSLATE = re.compile(r"translate\((-?[\d.]+)")
_BEFORE = {"end": 1.0, "middle": 0.5}
"""The share of a text's width to the left of its anchor, by alignment."""
_WIDTHS = {**dict.fromkeys(" .,:;'!|()[]/-Iijlftr", 0.37), **dict.fromkeys("mwMW%@×÷±→", 0.9)}
_CAPITAL, _OTHER = 0.68, 0.62
"""Widths of letters of DejaVu Sans, of their height, to the nearest of a few."""
_COORDINATES = re.compile(r'\b(d|transform)="([^"]*)"')


def svg(chart: Specification, prefix: str) -> str:
    """`chart` as an SVG element. All ids in it begin with `prefix`, which has to be unique in the page.

    Raises `CannotDraw`.
    """
    text = _with_left_margin(drawing.svg({**_cleaned(chart), "config": theme.CONFIG}))
    return _shortened(_renumbered_ids(text, prefix))


def _with_left_margin(text: str) -> str:
    """Adds a left margin for labels, wide enough for readers without Liberation Sans."""
    size = _SIZE.search(text)
    if size is None:
        return text
    beyond = math.ceil(max([0.0, *(-left for left in _lefts(ElementTree.fromstring(text), 0.0))]))
    whole, height = int(size["width"]) + beyond, size["height"]
    text = _SIZE.sub(f'width="{whole}" height="{height}" viewBox="{-beyond} 0 {whole} {height}"', text, count=1)
    paper = f'<rect width="{size["width"]}" height="{height}"'
    return text.replace(paper, f'<rect x="{-beyond}" width="{whole}" height="{height}"', 1) if beyond else text


def _lefts(element: ElementTree.Element, x: float) -> Iterator[float]:
    """The left ends of all texts in a wide font, in pixels from the left of the drawing."""
    transform = element.get("transform", "")
    moved = _TRANSLATE.search(transform)
    x += float(moved[1]) if moved else 0.0
    if "rotate" in transform:
        return
    if element.tag.endswith("text"):
        size = float(element.get("font-size", "11px").removesuffix("px"))
        width = size * sum(map(_width, "".join(element.itertext())))
        yield x - _BEFORE.get(element.get("text-anchor", "start"), 0.0) * width
    for child in element:
        yield from _lefts(child, x)


def _cleaned(specification: Any) -> Any:
    """Without control characters."""
    if isinstance(specification, str):
        return without_controls(specification)
    if isinstance(specification, dict):
        return {key: _cleaned(value) for key, value in specification.items()}
    if isinstance(specification, list):
        return [_cleaned(value) for value in specification]
    return specification


def _width(letter: str) -> float:
    return _WIDTHS.get(letter, _CAPITAL if letter.isupper() else _OTHER)


def _renumbered_ids(text: str, prefix: str) -> str:
    """The renderer numbers its clip paths through all renders of a process; here they count from 1 again."""
    names = {name: f"{prefix}-{number}" for number, name in enumerate(dict.fromkeys(_ID.findall(text)), start=1)}
    text = _ID.sub(lambda match: f'id="{names[match[1]]}"', text)
    return _REFERENCE.sub(lambda match: f"url(#{names[match[1]]})", text)


def _shortened(text: str) -> str:
    """Drops invisible parts, a third of the text, and rounds coordinates to a hundredth of a pixel."""
    for superfluous in _SUPERFLUOUS:
        text = text.replace(superfluous, "")
    text = text.replace("<svg ", f"<svg{_FONT} ", 1)
    return _COORDINATES.sub(lambda match: _TOO_FINE.sub("", match[0]), text)
