"""Reports: a run, a comparison or a trend in every format. Each is a function of what is stored and of nothing else.

Same run, same bytes: no clock, no random number, no path of the run directory goes in; of a PDF that holds for the page
that a browser prints. Not: computing a number (`ioassay.analysis`), drawing (`ioassay.figures`), reading or writing
files (`ioassay.store`).

How to add a figure, a section or a report: docs/development/reports.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args

from ioassay.text.control_characters import encoded

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Block, Document

Format = Literal["html", "pdf", "md", "csv", "json"]

FORMATS: tuple[Format, ...] = get_args(Format)

IN_FILES: tuple[Format, ...] = ("html", "pdf")
"""Formats that go to files only, never to a terminal."""


_Content = TypeVar("_Content")


class Report(Generic[_Content]):
    """A report, available in every format, made of its `content` by the modules of its package.

    The module `document` has the functions `document` and `terminal`, `data` has `data` and `table`, and `pictures` has
    `pictures`, which draws the figures for `document`. They are imported when they are needed: the libraries of figures
    take a second. A report that needs more than its content replaces methods.
    """

    content: _Content

    def document(self, *, with_figures: bool) -> Document:
        """The document for readers. Figures take seconds to draw."""
        drawn = [self._module("pictures").pictures(self.content)] if with_figures else []
        document: Document = self._module("document").document(self.content, *drawn)
        return document

    def terminal(self) -> Sequence[Block]:
        """What a terminal shows: the essentials."""
        blocks: Sequence[Block] = self._module("document").terminal(self.content)
        return blocks

    def data(self) -> Mapping[str, Any]:
        """Everything for other programs: base units, unrounded, units in the names. `json_text` writes it."""
        data: Mapping[str, Any] = self._module("data").data(self.content)
        return data

    def table(self) -> pl.DataFrame:
        """The numbers as one table, in the same units."""
        table: pl.DataFrame = self._module("data").table(self.content)
        return table

    def _module(self, name: str) -> Any:
        return import_module(f"{type(self).__module__}.{name}")


def build(report: Report[Any], format: Format) -> bytes:
    """The report, text in UTF-8.

    `html` is one self-contained page, `pdf` that page as a browser prints it (`CannotRun` where there is none), `md`
    the same without figures, `csv` the table, `json` the data.
    """
    # Imported where they are needed: a page takes the figures' libraries, which take a second.
    match format:
        case "html" | "pdf":
            from ioassay.figures.drawing import drawing  # noqa: PLC0415

            drawing.start()
            return page(report.document(with_figures=True), format)
        case "md":
            from ioassay.reports.document import markdown  # noqa: PLC0415

            return encoded(markdown.rendered(report.document(with_figures=False)))
        case "json":
            return encoded(json_text(report.data()))
        case "csv":
            return encoded(report.table().write_csv())


def page(document: Document, format: Format = "html") -> bytes:
    """A document as an HTML page, or as that page on paper; `format` is one of `IN_FILES`."""
    from ioassay.reports.document import html  # noqa: PLC0415

    html_page = encoded(html.rendered(document))
    if format != "pdf":
        return html_page
    from ioassay.reports.pdf import printed  # noqa: PLC0415

    return printed(html_page)


def json_text(data: Mapping[str, Any]) -> str:
    """Data for other programs as a JSON document; what content is made of may stand in it as it is (`_as_json`)."""
    return json.dumps(data, default=_as_json, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _as_json(value: Any) -> Any:
    """A dataclass by its fields, a stored document as it is stored, a frame as its rows. Infinite numbers, such as the
    peak of a law that has none, are null.
    """
    if is_dataclass(value):
        values = {field.name: getattr(value, field.name) for field in fields(value)}
        infinite = (name for name, number in values.items() if isinstance(number, float) and not isfinite(number))
        return values | dict.fromkeys(infinite)
    if hasattr(value, "to_dicts"):
        return value.to_dicts()
    return value.model_dump(mode="json")
