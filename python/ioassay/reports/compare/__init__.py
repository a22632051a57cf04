"""A comparison as a document: the same content on a terminal, as Markdown, JSON, CSV, one HTML page and its PDF.

`build` makes any of them but the terminal's. Not: computing a ratio (`ioassay.analysis.compare`), reading runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.control_characters import encoded
from ioassay.reports import Format
from ioassay.reports.compare.content import Side, assemble
from ioassay.reports.compare.document import page, text


def build(sides: Sequence[Side], format: Format) -> bytes:
    """The comparison of `sides`, the first of which is the reference, text in UTF-8.

    `csv` has a row per ratio, `json` all ratios with their intervals and what was unlike.
    """
    # A page needs the figures' libraries, which take a second to import; the others do not.
    match format:
        case "html":
            from ioassay.figures.drawing import drawing  # noqa: PLC0415

            drawing.start()
            from ioassay.reports.compare.pictures import pictures  # noqa: PLC0415
            from ioassay.reports.document import html  # noqa: PLC0415

            content = assemble(sides)
            return encoded(html.rendered(page(content, pictures(content))))
        case "pdf":
            from ioassay.reports.pdf import printed  # noqa: PLC0415

            return printed(build(sides, "html"))
        case "md":
            from ioassay.reports.document import Document, markdown  # noqa: PLC0415

            content = assemble(sides)
            return encoded(markdown.rendered(Document(content.title, text(content))))
        case "json":
            from ioassay.reports.compare import json  # noqa: PLC0415

            return encoded(json.document(assemble(sides)))
        case "csv":
            from ioassay.reports.compare import rows  # noqa: PLC0415

            return encoded(rows.frame(assemble(sides)).write_csv())
