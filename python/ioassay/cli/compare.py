"""`ioassay compare`: runs and published systems against one another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import document_format, write
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.reports.compare.content import Side


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
        typer.Option("--format", metavar="html|md|csv|json", help="What to write. Default: tables for the terminal."),
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
    if chosen == "html" and output is None:
        raise UsageError("A page goes into a file.", "Name it with -o.")
    sides = _sides(subjects)
    if chosen is None:
        _print(sides)
        return
    # Imported here because they take a second, which `--help` must not.
    from ioassay.reports.compare import build  # noqa: PLC0415

    document = build(sides, chosen)
    if output is None:
        typer.echo(document, nl=False)
    else:
        write(output, document)
        typer.echo(f"{output}", err=True)


def _sides(typed: list[str]) -> list[Side]:
    from ioassay.analysis.ceilings import doubted  # noqa: PLC0415
    from ioassay.analysis.compare import measured, published  # noqa: PLC0415
    from ioassay.reports.compare import configuration  # noqa: PLC0415
    from ioassay.reports.compare.content import Side  # noqa: PLC0415
    from ioassay.results.run_directory import load  # noqa: PLC0415
    from ioassay.systems.library import builtin_systems, find_system  # noqa: PLC0415

    known = builtin_systems()
    sides = []
    for one, name in zip(typed, _names(typed), strict=True):
        if one not in known and Path(one).is_dir():
            run = doubted(load(Path(one)))
            sides.append(Side(measured.subject(run, name), configuration.of_run(run.document)))
        else:
            system = find_system(one, known)
            sides.append(Side(published.subject(system), configuration.of_system(system, known)))
    return sides


def _names(typed: list[str]) -> list[str]:
    """What each is called: the directory's own name, the whole path where two have the same."""
    short = [Path(one).resolve().name if Path(one).is_dir() else one for one in typed]
    return [name if short.count(name) == 1 else one for name, one in zip(short, typed, strict=True)]


def _print(sides: list[Side]) -> None:
    from rich.console import Console  # noqa: PLC0415

    from ioassay.reports.compare.content import assemble  # noqa: PLC0415
    from ioassay.reports.compare.terminal import summary  # noqa: PLC0415

    console = Console()
    with console.capture() as text:  # printed below: rich would end the process when nobody reads it
        console.print(summary(assemble(sides)))
    print(text.get(), end="", flush=True)
