"""How stored runs went, as a document: the same on a terminal, as Markdown, JSON, CSV, one HTML page and its PDF.

`build` makes any of them but the terminal's. Not: telling a change (`ioassay.analysis.trend`), reading runs.
"""

from __future__ import annotations

from ioassay.control_characters import encoded
from ioassay.reports import Format
from ioassay.reports.trend.content import Content
from ioassay.reports.trend.document import page, text


def build(content: Content, format: Format) -> bytes:
    """The document of `content`, text in UTF-8. `csv` has a row per run and point, `json` everything."""
    # A page needs the figures' libraries, which take a second to import; the others do not.
    match format:
        case "html":
            from ioassay.figures.drawing import drawing  # noqa: PLC0415

            drawing.start()
            from ioassay.reports.document import html  # noqa: PLC0415
            from ioassay.reports.trend.pictures import pictures  # noqa: PLC0415

            return encoded(html.rendered(page(content, pictures(content))))
        case "pdf":
            from ioassay.reports.pdf import printed  # noqa: PLC0415

            return printed(build(content, "html"))
        case "md":
            from ioassay.reports.document import markdown  # noqa: PLC0415

            return encoded(markdown.rendered(text(content)))
        case "json":
            from ioassay.reports.trend import json  # noqa: PLC0415

            return encoded(json.document(content))
        case "csv":
            from ioassay.reports.trend import rows  # noqa: PLC0415

            return encoded(rows.frame(content).write_csv())
