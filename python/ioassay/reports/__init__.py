"""Reports: a loaded run becomes a document. Every document is a function of the stored run and of nothing else.

Same run, same bytes: no clock, no random number, no path of the run directory goes in. Not: computing a
number (`ioassay.analysis`), drawing (`ioassay.figures`), reading or writing files (`ioassay.results`).
"""

from __future__ import annotations

from typing import Literal, get_args

from ioassay.results.loaded import LoadedRun

Format = Literal["html", "md", "csv", "json"]

FORMATS: tuple[Format, ...] = get_args(Format)


def build(run: LoadedRun, format: Format) -> bytes:
    """The report of `run` in UTF-8.

    `html` is one self-contained page, `md` the same without figures, `csv` a row per measurement, `json` one
    document with the run, the peak and sustained table, the verdicts, the measurements and the doubts.
    """
    # A page needs the figures' libraries, which take a second to import; the others do not.
    match format:
        case "html":
            from ioassay.reports.html import page as render  # noqa: PLC0415
        case "md":
            from ioassay.reports.markdown import document as render  # noqa: PLC0415
        case "csv":
            from ioassay.reports.csv import table as render  # noqa: PLC0415
        case "json":
            from ioassay.reports.json import document as render  # noqa: PLC0415
    return render(run).encode()
