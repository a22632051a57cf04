"""Reports: a loaded run becomes a document. Every document is a function of the stored run and of nothing else.

Same run, same bytes: no clock, no random number, no path of the run directory goes in; of a PDF that holds for the page
that a browser prints. Not: computing a number (`ioassay.analysis`), drawing (`ioassay.figures`), reading or writing
files (`ioassay.results`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

from ioassay.control_characters import encoded

if TYPE_CHECKING:
    from ioassay.reports.compare.content import Content as Comparison
    from ioassay.reports.compare.content import Side
    from ioassay.reports.run.content import Content
    from ioassay.results.loaded import LoadedRun

Format = Literal["html", "pdf", "md", "csv", "json"]

FORMATS: tuple[Format, ...] = get_args(Format)

IN_FILES: tuple[Format, ...] = ("html", "pdf")
"""Those that nobody wants on a terminal."""


def build(run: LoadedRun, format: Format, against: Sequence[Side] = ()) -> bytes:
    """The report of `run`, text in UTF-8, with a section that compares it with what it is `against`.

    `html` is one self-contained page, `pdf` that page as a browser prints it (`CannotRun` where there is none), `md`
    the same without figures, `csv` a row per measurement and no comparison, `json` one document with the run, the peak
    and sustained table, the verdicts, the measurements and the doubts.
    """
    # A page needs the figures' libraries, which take a second to import; the others do not.
    match format:
        case "html":
            from ioassay.figures.drawing import drawing  # noqa: PLC0415

            drawing.start()
            from ioassay.reports.run import html, pictures  # noqa: PLC0415

            content, comparison = _assembled(run, against)
            return encoded(html.page(content, pictures.drawn(content, run, comparison), comparison))
        case "pdf":
            from ioassay.reports.pdf import printed  # noqa: PLC0415

            return printed(build(run, "html", against))
        case "md":
            from ioassay.reports.document import markdown  # noqa: PLC0415
            from ioassay.reports.run import text  # noqa: PLC0415

            return encoded(markdown.rendered(text.document(*_assembled(run, against))))
        case "json":
            from ioassay.reports.run import json  # noqa: PLC0415

            return encoded(json.document(run, *_assembled(run, against)))
        case "csv":
            from ioassay.reports.run import tables  # noqa: PLC0415

            return encoded(tables.measurements(run).write_csv())


def one_page(run: LoadedRun, format: Format, against: Sequence[Side] = ()) -> bytes:
    """The report on one page of A4, for those who decide: what came out, what to beware of, how far to trust it.

    `format` is one of `IN_FILES`.
    """
    from ioassay.figures.drawing import drawing  # noqa: PLC0415

    drawing.start()
    from ioassay.reports.run import summary  # noqa: PLC0415

    made = encoded(summary.page(*_assembled(run, against)))
    if format != "pdf":
        return made
    from ioassay.reports.pdf import printed  # noqa: PLC0415

    return printed(made)


def _assembled(run: LoadedRun, against: Sequence[Side]) -> tuple[Content, Comparison | None]:
    from ioassay.reports.run.content import assemble  # noqa: PLC0415

    return assemble(run), compared(run, against)


def compared(run: LoadedRun, against: Sequence[Side]) -> Comparison | None:
    """The comparison of all others with the run itself; `None` where there is no other."""
    from ioassay.analysis.compare import measured_run  # noqa: PLC0415
    from ioassay.reports.compare import configuration  # noqa: PLC0415
    from ioassay.reports.compare.content import Side, assemble  # noqa: PLC0415

    if not against:
        return None
    itself = Side(measured_run.subject(run, "this run"), configuration.of_run(run.document))
    return assemble([itself, *against])
