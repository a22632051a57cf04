"""`ioassay publish`: stored runs become a directory to hand out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import say, say_undrawn
from ioassay.cli.report_arguments import Against, Ceilings, Runs, read
from ioassay.cli.subjects import sides
from ioassay.errors import CannotRun, UsageError
from ioassay.text.control_characters import encoded
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.reports.compare.content import Side
    from ioassay.store.loaded import LoadedRun

_PUBLISHED = Path("published")
"""The default directory of exports."""


def publish(
    runs: Runs,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="The directory to create; with several runs, one directory for each.  "
            "[default: published/RUN, with several runs published]",
            show_default=False,
        ),
    ] = None,
    ceilings: Ceilings = None,
    against: Against = None,
) -> int:
    """Export a run: reports, figures, tables.

    The report as HTML, PDF, Markdown and JSON, its summary, every figure as SVG and PNG, every table as CSV. The
    directory is complete or not created. PDFs need Chromium or Chrome and are left out without it.
    """
    from ioassay.reports.run.publication import INDEX, index_of_runs  # noqa: PLC0415
    from ioassay.store import index  # noqa: PLC0415
    from ioassay.store.atomic import whole_directory  # noqa: PLC0415

    runs = index.runs(runs)
    names = [run.resolve().name for run in runs]
    if output is None:
        output = _PUBLISHED / names[0] if len(runs) == 1 else _PUBLISHED
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output} exists and is not empty.", "Use a new or empty directory: -o DIR.")
    if len(set(names)) < len(names):
        raise UsageError("Two runs have the same name.", "Publish them one by one, each with its own -o.")
    others = sides(against) if against else []
    with_papers = _can_print()
    try:
        with whole_directory(output) as place:
            documents = []
            for name, run in zip(names, read(runs, ceilings), strict=True):
                _fill(place if len(runs) == 1 else place / name, run, others, with_papers=with_papers)
                documents.append((name, run.document))
            if len(runs) > 1:
                (place / INDEX).write_bytes(encoded(index_of_runs(documents)))
            count = sum(file.is_file() for file in place.rglob("*"))
    except OSError as error:
        raise CannotRun(f"{output} cannot be written: {error.strerror}.", "Use another directory: -o DIR.") from error
    say(f"{output}: {format_count(count, 'file')}, start with {INDEX}")
    return say_undrawn()


def _can_print() -> bool:
    """Whether there is a browser; prints a message where there is none."""
    from ioassay.reports.pdf import find_browser  # noqa: PLC0415

    try:
        find_browser()
    except CannotRun as error:
        typer.echo(f"PDFs were not written. {error.message}\n  {error.remedy}", err=True)
        return False
    return True


def _fill(place: Path, run: LoadedRun, others: list[Side], *, with_papers: bool) -> None:
    """Writes the files of one run. A PDF that the browser fails to print is left out."""
    from ioassay.reports.pdf import printed  # noqa: PLC0415
    from ioassay.reports.run.publication import PAPERS, files  # noqa: PLC0415

    for file in files(run, others):
        path = place / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    try:
        for page, paper in PAPERS.items() if with_papers else ():
            (place / paper).write_bytes(printed((place / page).read_bytes()))
    except CannotRun as error:
        typer.echo(f"PDFs of {run.document.run} were not written. {error.message}\n  {error.remedy}", err=True)
