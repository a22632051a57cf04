"""A comparison as a document: the same content on a terminal, as Markdown, JSON, CSV, one HTML page and its PDF.

`build` makes any of them but the terminal's. Not: computing a ratio (`ioassay.analysis.compare`), reading runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.reports import Format
from ioassay.reports.compare.content import Side, assemble


def build(sides: Sequence[Side], format: Format) -> bytes:
    """The comparison of `sides`, the first of which is the reference, text in UTF-8.

    `csv` has a row per ratio, `json` all ratios with their intervals and what was unlike.
    """
    if format == "pdf":
        from ioassay.reports.pdf import printed  # noqa: PLC0415

        return printed(build(sides, "html"))
    content = assemble(sides)
    # A page needs the figures' libraries, which take a second to import; the others do not.
    match format:
        case "html":
            from ioassay.reports.compare.html import page as render  # noqa: PLC0415
        case "md":
            from ioassay.reports.compare.markdown import document as render  # noqa: PLC0415
        case "csv":
            from ioassay.reports.compare.csv import table as render  # noqa: PLC0415
        case "json":
            from ioassay.reports.compare.json import document as render  # noqa: PLC0415
    text: str = render(content)
    return text.encode()
