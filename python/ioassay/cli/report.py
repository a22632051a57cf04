"""`ioassay report`: stored runs become documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import file_format, say, say_undrawn, write, write_beside
from ioassay.cli.report_arguments import Against, Ceilings, Runs, read
from ioassay.cli.subjects import sides
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.reports import Format


def report(
    runs: Runs,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write: a file, whose suffix names the format, or a directory for several runs. "
            "Default: RUN/report.html, or RUN/report.pdf, RUN/summary.html; standard output for the rest.",
            show_default=False,
        ),
    ] = None,
    ceilings: Ceilings = None,
    against: Against = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Write a one-page summary (html or pdf) instead of the report.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print the appendix too: all measurements, time lines, doubts.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="html|pdf|md|csv|json", help="What to write. Default: html, or as -o ends."),
    ] = None,
) -> int:
    """Write the report of stored runs, sweeps or IO500 tunings.

    The storage is not touched.
    """
    # Imported here because they take a second, which `--help` must not.
    from ioassay import reports  # noqa: PLC0415
    from ioassay.reports.experiments import experiment_report  # noqa: PLC0415
    from ioassay.reports.run import RunReport  # noqa: PLC0415
    from ioassay.store import index  # noqa: PLC0415
    from ioassay.store.run_directory import require_own  # noqa: PLC0415

    # A directory may be called anything.
    is_directory = output is not None and (len(runs) > 1 or output.is_dir())
    chosen = file_format(form, None if is_directory else output) or "html"
    if against and chosen == "csv":
        raise UsageError(
            "A CSV of measurements cannot contain a comparison.", "Write `ioassay compare A B --format csv`."
        )
    if summary and chosen not in reports.IN_FILES:
        raise UsageError(f"A summary cannot be written as {chosen}.", f"Use one of {', '.join(reports.IN_FILES)}.")
    if summary and full:
        raise UsageError("A summary is not the full report.", "Use one of --summary and --full.")
    if len(runs) == 1 and (experiment := experiment_report(runs[0])) is not None:
        if summary or full or against or ceilings:
            raise UsageError(f"{runs[0]} is not a run.", "Leave out --summary, --full, --against and --ceilings.")
        (destination,) = _destinations(runs, output, chosen, "report")
        _deliver(reports.build(experiment, chosen), runs[0], destination, is_beside=output is None)
        return say_undrawn()
    runs = index.runs(runs)
    destinations = _destinations(runs, output, chosen, "summary" if summary else "report")
    if output is None and chosen in reports.IN_FILES:
        for path in runs:
            require_own(path)
    others = sides(against) if against else []
    for path, run, destination in zip(runs, read(runs, ceilings), destinations, strict=True):
        run_report = RunReport(run, others, is_full=full)
        document = reports.page(run_report.summary(), chosen) if summary else reports.build(run_report, chosen)
        _deliver(document, path, destination, is_beside=output is None)
    return say_undrawn()


def _deliver(document: bytes, path: Path, destination: Path | None, *, is_beside: bool) -> None:
    """Prints a document, or writes it and says where: into the directory `path` itself, or where the user wants it."""
    if destination is None:
        typer.echo(document, nl=False)
        return
    if is_beside:
        write_beside(path, destination.name, document)
    else:
        write(destination, document)
    say(f"{destination}")


def _destinations(runs: list[Path], output: Path | None, form: Format, name: str) -> list[Path | None]:
    """The destination of each report; `None` is standard output."""
    from ioassay.reports import IN_FILES  # noqa: PLC0415

    if output is None and form in IN_FILES:
        return [run / f"{name}.{form}" for run in runs]
    if len(runs) == 1:
        return [output / _name(runs[0], form) if output is not None and output.is_dir() else output]
    if output is None:
        raise UsageError(
            f"{len(runs)} {form} reports cannot share standard output.", "Write them to a directory: -o DIR."
        )
    if output.exists() and not output.is_dir():
        raise UsageError(
            f"{output} is a file, but {len(runs)} runs give {len(runs)} reports.", "Use a directory: -o DIR."
        )
    destinations = [output / _name(run, form) for run in runs]
    if len(set(destinations)) < len(destinations):
        raise UsageError("Two runs have the same name.", "Report them one by one, each with its own -o.")
    return list(destinations)


def _name(run: Path, form: Format) -> str:
    return f"{run.resolve().name}.{form}"
