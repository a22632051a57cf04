"""A run as a directory to hand out: the report in every format, each figure and table as a file, and an index.

Same run, same bytes, the PDFs excepted. Not: writing files (`ioassay.cli.publish`), what the documents say.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ioassay.errors import CannotRun
from ioassay.figures.drawing import drawing
from ioassay.figures.picture import SUFFIXES, Picture
from ioassay.reports import build, page
from ioassay.reports.compare import ComparisonReport
from ioassay.reports.compare.content import Side
from ioassay.reports.document.markdown import table
from ioassay.reports.run import RunReport, document
from ioassay.reports.run.pictures import drawn, timelines
from ioassay.reports.run.tables import TABLES
from ioassay.store.document import RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.text.control_characters import encoded
from ioassay.version import __version__

INDEX = "README.md"

PAPERS = {"report.html": "report.pdf", "summary.html": "summary.pdf"}
"""Each page and the name of its PDF."""


@dataclass(frozen=True)
class File:
    """A file of the directory. Its `path` is below it, with slashes."""

    path: str
    content: bytes


def files(run: LoadedRun, against: Sequence[Side] = ()) -> Iterator[File]:
    """All files but the PDFs, one after the other: a run may have hundreds of figures.

    What the run is `against` gets a section, figures and a table, as in `RunReport`.
    """
    drawing.start()
    report = RunReport(run, against)
    content = report.content
    pictures = drawn(content)
    yield File("report.html", page(document.document(content, pictures)))
    yield File("summary.html", page(report.summary()))
    yield File("report.md", build(report, "md"))
    yield File("report.json", build(report, "json"))
    if content.names.repeated:  # the report has typical repetitions over time
        pictures = replace(pictures, timelines=timelines(content))
    for picture in pictures:
        for suffix in SUFFIXES if picture.svg else (".csv",):
            with contextlib.suppress(CannotRun):  # a PNG that could not be drawn, which `drawing` notes
                yield File(f"figures/{picture.id}{suffix}", picture.content(suffix))
    tables = []
    for name, run_table in TABLES.items():
        frame = run_table.of(run)
        if not frame.is_empty():
            tables.append((name, run_table.meaning))
            yield File(f"tables/{name}.csv", encoded(frame.write_csv()))
    if content.comparison is not None:
        tables.append(("ratios", "Every ratio of the comparison, with its interval and the conditions that differ."))
        yield File("tables/ratios.csv", build(ComparisonReport(content.comparison), "csv"))
    index = _index(run.document, list(pictures), tables)
    yield File(INDEX, encoded(index))


def _index(run: RunDocument, figures: Sequence[Picture], tables: Sequence[tuple[str, str]]) -> str:
    """The index of the directory, as Markdown."""
    documents = [
        ["[summary.html](summary.html)", "A one-page summary (A4)."],
        ["[report.html](report.html)", "The report, as one self-contained page."],
        ["summary.pdf, report.pdf", "Both as PDF, if a browser was available to print them."],
        ["[report.md](report.md)", "The report as Markdown, without figures."],
        ["[report.json](report.json)", "The report for programs, with `run.json`: base units, unrounded."],
    ]
    lines = [
        f"# {run.study.title}",
        "",
        f"Run `{run.run}`, published by ioassay {__version__}.",
        "The run directory has the rest: all samples of all ranks and the events of the engine.",
        "",
        table(["document", "contents"], documents),
        "",
    ]
    if figures:
        lines += [
            "## Figures",
            "",
            "Each as SVG, as PNG (300 dpi), and its data as CSV.",
            "",
            table(["figure", "contents"], [_figure_row(picture) for picture in figures]),
            "",
        ]
    lines += [
        "## Tables",
        "",
        "CSV, unrounded, units in the names of the columns: bytes, nanoseconds, and both per second.",
        "",
        table(["table", "contents"], [[f"[{name}](tables/{name}.csv)", meaning] for name, meaning in tables]),
    ]
    return "\n".join(lines) + "\n"


def _figure_row(picture: Picture) -> list[str]:
    suffix = "csv" if picture.undrawn else "svg"
    return [f"[{picture.id}](figures/{picture.id}.{suffix})", " ".join([picture.title, picture.undrawn]).strip()]


def index_of_runs(runs: Sequence[tuple[str, RunDocument]]) -> str:
    """The index of a directory of several runs, each in its own directory: (its name, the run)."""
    rows = [[f"[{name}]({name}/{INDEX})", run.study.title, f"`{run.run}`"] for name, run in runs]
    return "\n".join(["# Runs", "", table(["directory", "study", "run"], rows)]) + "\n"
