"""How stored runs went, as a document: the same content on a terminal, as Markdown, JSON, CSV and one HTML page.

`build` makes any of them but the terminal's. Not: telling a change (`ioassay.analysis.trend`), reading runs.
"""

from __future__ import annotations

from ioassay.reports import Format
from ioassay.reports.trend.content import Content


def build(content: Content, format: Format) -> bytes:
    """The document of `content`, in UTF-8. `csv` has a row per run and point, `json` everything."""
    if format == "pdf":
        from ioassay.reports.pdf import printed  # noqa: PLC0415

        return printed(build(content, "html"))
    # A page needs the figures' libraries, which take a second to import; the others do not.
    match format:
        case "html":
            from ioassay.reports.trend.html import page as render  # noqa: PLC0415
        case "md":
            from ioassay.reports.trend.markdown import document as render  # noqa: PLC0415
        case "csv":
            from ioassay.reports.trend.csv import table as render  # noqa: PLC0415
        case "json":
            from ioassay.reports.trend.json import document as render  # noqa: PLC0415
    text: str = render(content)
    return text.encode()
