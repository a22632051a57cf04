"""Where a document goes and in which format: the terminal, or a file that is written atomically. Not: its content."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ioassay.errors import CannotRun, IoassayError, UsageError
from ioassay.processes.verbosity import is_quiet

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ioassay.reports import Format, Report

UNDRAWN = 1
"""The exit code where a document lacks figures that could not be drawn: it ran, and something is missing."""

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Where to write; its suffix names the format."),
]

Form = Annotated[
    str | None,
    typer.Option("--format", metavar="html|pdf|md|csv|json", help="What to write. Default: tables, or as -o ends."),
]

AsJson = Annotated[bool, typer.Option("--json", help="The same as `--format json`.")]


def document_format(text: str) -> Format:
    """The format of that name. Raises `UsageError`."""
    from ioassay.reports import FORMATS  # noqa: PLC0415

    chosen = next((known for known in FORMATS if known == text), None)
    if chosen is None:
        raise UsageError(f"--format {text} is not supported.", f"Use one of {', '.join(FORMATS)}.")
    return chosen


def format_of_file(output: Path | None) -> Format | None:
    """The format that the suffix of a file names, such as `pdf` of `report.pdf`; `None` where it names none."""
    from ioassay.reports import FORMATS  # noqa: PLC0415

    suffix = output.suffix.lower().removeprefix(".") if output is not None else ""
    return next((known for known in FORMATS if known == suffix), None)


def file_format(form: str | None, output: Path | None) -> Format | None:
    """The format of `--format` or of the suffix of `-o`; `None`: none. Raises `UsageError` if they contradict."""
    of_file = format_of_file(output)
    if form is None:
        return of_file
    chosen = document_format(form)
    if output is not None and of_file not in (None, chosen):
        raise UsageError(
            f"-o {output} and --format {chosen} contradict each other.",
            f"Leave --format out, or write to {output.with_suffix(f'.{chosen}')}.",
        )
    return chosen


def chosen_format(form: str | None, output: Path | None, *, as_json: bool) -> Format | None:
    """The format of `--format`, `--json` and `-o`; `None`: tables for the terminal. Raises `UsageError`."""
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other.", "Use one of them.")
    from ioassay.reports import FORMATS, IN_FILES  # noqa: PLC0415

    chosen = file_format("json" if as_json else form, output)
    if chosen is None and output is not None:
        suffixes = ", ".join(f".{known}" for known in FORMATS)
        raise UsageError(f"-o {output} names no format.", f"End the name in one of {suffixes}, or add --format.")
    if chosen in IN_FILES and output is None:
        raise UsageError(f"--format {chosen} is written to a file.", "Add -o FILE.")
    return chosen


def print_report(report: Report[Any], form: Format | None, output: Path | None) -> int:
    """Shows a report on the terminal, or writes it in the format `form`. Returns the exit code for undrawn figures."""
    from ioassay import reports  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415

    if form is None:
        show(rendered(report.terminal()))
    else:
        emit(reports.build(report, form), output)
    return say_undrawn()


def emit(document: bytes, output: Path | None) -> None:
    """Prints a document, or writes it to `output` and says so. Raises `CannotRun`."""
    if output is None:
        typer.echo(document, nl=False)
    else:
        write(output, document)
        say(f"{output}")


def write(destination: Path, document: bytes) -> None:
    """Writes the file, with the directories above it; into what is no file, such as /dev/stdout. Raises `CannotRun`."""
    from ioassay.store.atomic import write_atomically  # noqa: PLC0415

    try:
        if destination.exists() and not destination.is_file():
            destination.write_bytes(document)  # root could replace a device by a file
            return
        destination.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(destination, document)
    except OSError as error:
        raise CannotRun(f"{destination} cannot be written: {error.strerror}.", "Use another place: -o FILE.") from error


def write_beside(run: Path, name: str, document: bytes) -> None:
    """Writes the file into a stored directory. Raises `UsageError` for one of another user, `CannotRun`."""
    from ioassay.store.stored_directory import add_file  # noqa: PLC0415

    try:
        add_file(run, name, document)
    except OSError as error:
        raise CannotRun(f"{run / name} cannot be written: {error.strerror}.", "Use another place: -o FILE.") from error


def print_wrapped(line: str, indent: int = 0) -> None:
    """Prints a line; on a terminal that is narrower in several, broken between words, the later ones indented."""
    if not sys.stdout.isatty() or len(line) <= (width := terminal_width()):
        print(line, flush=True)
        return
    import textwrap  # noqa: PLC0415

    print(
        textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False),
        flush=True,
    )


def terminal_width() -> int:
    """The columns of the terminal, or what `COLUMNS` says."""
    from shutil import get_terminal_size  # noqa: PLC0415

    return get_terminal_size().columns


def say(line: str) -> None:
    """Prints a line of progress, beside a command's answer; not with `--quiet`."""
    if not is_quiet():
        print(line, file=sys.stderr, flush=True)


def say_undrawn() -> int:
    """Prints in one line that figures could not be drawn, and why. Returns the exit code for it."""
    from ioassay.figures.drawing import drawing  # noqa: PLC0415

    if not drawing.undrawn:
        return 0
    print(f"Figures are missing: {drawing.undrawn[0]}.", file=sys.stderr)
    return UNDRAWN


def print_error(error: IoassayError) -> int:
    """Prints it on standard error. Returns its exit code."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        print(f"ioassay: {error.message}", file=sys.stderr)
        if error.remedy:
            print(f"  {error.remedy}", file=sys.stderr)
    return error.exit_code


def show(*shown: RenderableType) -> None:
    """Prints renderables on the terminal, one below the other."""
    from ioassay.cli.console import PlainTextConsole  # noqa: PLC0415
    from ioassay.text.control_characters import styled  # noqa: PLC0415

    stream = styled(sys.stdout)
    console = PlainTextConsole(file=stream)
    with console.capture() as text:  # printed below: rich would end the process when nobody reads it
        console.print(*shown, crop=False)  # commands are copied, and pictures drawn, in whole lines
    print(text.get(), end="", file=stream, flush=True)
