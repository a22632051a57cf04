"""`ioassay compare`: runs and published systems against one another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.output import document_format, show, write
from ioassay.cli.subjects import sides
from ioassay.errors import UsageError


def compare(
    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            help="Run directories, names of published systems (`ioassay systems`), or YAML files of such. "
            "All others are divided by the first.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write. Default: standard output."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="html|pdf|md|csv|json", help="What to write. Default: tables for the terminal."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as `--format json`.")] = False,
) -> None:
    """Compares runs and published systems: ratios with intervals, what was unlike, what differs in configuration."""
    if len(subjects) < 2:
        raise UsageError("One subject alone cannot be compared.", "Write `ioassay compare A B`.")
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other.", "Give one of them.")
    form = "json" if as_json else form
    chosen = None if form is None else document_format(form)
    if chosen is None and output is not None:
        raise UsageError("-o needs a format.", "Write for example --format html.")
    # Imported here because they take a second, which `--help` must not.
    from ioassay.reports import IN_FILES  # noqa: PLC0415
    from ioassay.reports.compare import build  # noqa: PLC0415
    from ioassay.reports.compare.content import assemble  # noqa: PLC0415
    from ioassay.reports.compare.terminal import summary  # noqa: PLC0415

    if chosen in IN_FILES and output is None:
        raise UsageError(f"--format {chosen} goes into a file.", "Name it with -o.")
    compared = sides(subjects)
    if chosen is None:
        show(summary(assemble(compared)))
        return
    document = build(compared, chosen)
    if output is None:
        typer.echo(document, nl=False)
    else:
        write(output, document)
        typer.echo(f"{output}", err=True)
