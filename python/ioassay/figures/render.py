"""A chart becomes SVG text, the same bytes for the same chart: in any process, whatever was drawn before."""

from __future__ import annotations

import re
from typing import Any

from ioassay.control_characters import without_controls
from ioassay.figures import theme
from ioassay.figures.drawing import drawing

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
_COORDINATES = re.compile(r'\b(d|transform)="([^"]*)"')


def svg(chart: theme.Chart, prefix: str) -> str:
    """`chart` as an SVG element. All ids in it begin with `prefix`, which has to be unique in the page.

    Raises `CannotDraw`.
    """
    specification = _cleaned(chart.to_dict(validate=False))
    specification["config"] = theme.CONFIG
    text = drawing.svg(specification)
    return _shorter(_own_ids(text, prefix))


def _cleaned(specification: Any) -> Any:
    """Without control characters, and without the names that Altair counts up within a process; nothing here refers to
    them.
    """
    if isinstance(specification, str):
        return without_controls(specification)
    if isinstance(specification, dict):
        return {key: _cleaned(value) for key, value in specification.items() if not _is_counted(key, value)}
    if isinstance(specification, list):
        return [_cleaned(value) for value in specification]
    return specification


def _is_counted(key: str, value: object) -> bool:
    return key == "name" and isinstance(value, str) and value.startswith("view_")


def _own_ids(text: str, prefix: str) -> str:
    """The renderer numbers its clip paths through all renders of a process; here they count from 1 again."""
    names = {name: f"{prefix}-{at}" for at, name in enumerate(dict.fromkeys(_ID.findall(text)), start=1)}
    text = _ID.sub(lambda match: f'id="{names[match[1]]}"', text)
    return _REFERENCE.sub(lambda match: f"url(#{names[match[1]]})", text)


def _shorter(text: str) -> str:
    """Without what changes nothing that is seen: a third of it. Coordinates to a hundredth of a pixel."""
    for superfluous in _SUPERFLUOUS:
        text = text.replace(superfluous, "")
    text = text.replace("<svg ", f"<svg{_FONT} ", 1)
    return _COORDINATES.sub(lambda match: _TOO_FINE.sub("", match[0]), text)
