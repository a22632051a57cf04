"""The parts of a Vega-Lite specification that figures share. Not: the look (`theme`), drawing one (`render`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

Specification = dict[str, Any]
"""A figure, or a part of one, as Vega-Lite's JSON: https://vega.github.io/vega-lite/docs/spec.html. `render` adds the
`config`.
"""

Rows = pl.DataFrame | Iterable[Mapping[str, object]]
"""Rows to draw, a mapping by column for each."""


def quantitative(field: str, **properties: object) -> Specification:
    """An encoding of numbers, with its properties: `title`, `scale`, `axis`. `None` there means without."""
    return {"field": field, "type": "quantitative", **properties}


def nominal(field: str, **properties: object) -> Specification:
    """An encoding of names, with its properties: `scale`, `legend`, `sort`. `None` there means without."""
    return {"field": field, "type": "nominal", **properties}


def marks(kind: str, rows: Rows | None, encoding: Mapping[str, Specification], **look: object) -> Specification:
    """A mark of a kind for each of `rows`, or a line or an area for all of them.

    `None` stands for the rows of the figure around it. Of a frame the specification has the columns that `encoding`
    names.
    """
    layer: Specification = {"mark": {"type": kind, **look}, "encoding": encoding}
    return layer if rows is None else {"data": values(rows, *_fields(encoding)), **layer}


def values(rows: Rows, *columns: str) -> Specification:
    """Rows as the `data` of a figure; those of a frame with these columns, or with all."""
    if isinstance(rows, pl.DataFrame):
        return {"values": (rows.select(columns) if columns else rows).to_dicts()}
    return {"values": list(rows)}


def _fields(encoding: Mapping[str, Specification]) -> list[str]:
    return list(dict.fromkeys(channel["field"] for channel in encoding.values() if "field" in channel))
