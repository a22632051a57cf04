"""The command line: one file per command. Parse, call, print; decisions are made elsewhere.

`commands` names them all. A command's module imports only typer at its top and what it needs inside its function, so
that its help and completions come at once. Commands return their exit code (`manual.facts`) or raise; only `main`
exits.

What several commands share:

    group              what all groups of commands have in common
    lazy_command       how a command of the table is loaded, and what all get: `examples`, `verbosity`, `parameters`
    launcher_options   the options that say how the engine starts, and on which nodes
    report_arguments   arguments of commands that make documents of runs
    subjects           the arguments of comparisons: runs and published systems
    output, console    where a document goes and in which format; the terminal, without control characters of the text
    default_command    the command of a group that is meant where none is named
    verdict_output     tolerance, JUnit XML and exit code of commands that judge
    progress           a run while it happens, with its `remaining_time`
    complete           the candidates that complete a command line, with `completion_values` and `built_in`
    manual             the manual pages
    slurm_job          the same of a job of Slurm
    finish             the output when runs have ended

How to add a command: docs/development/adding-commands.md.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, TextIO, cast

import typer

from ioassay.cli.group import group
from ioassay.cli.lazy_command import CommandTable
from ioassay.cli.output import print_error
from ioassay.errors import CannotRun, IoassayError, UsageError
from ioassay.processes import keyboard_interrupt
from ioassay.text.control_characters import PlainStream
from ioassay.version import __version__

_HELP = ["-h", "--help"]

_COMPLETE = "_IOASSAY_COMPLETE"
"""The variable with which the scripts of `ioassay completion` ask for candidates."""

_TYPERS_INTERRUPTED = 130
"""Typer's exit code for a `KeyboardInterrupt`."""

app = group(
    name="ioassay",
    cls=CommandTable,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": _HELP},
)


@app.callback(invoke_without_command=True)
def _ioassay(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
) -> None:
    """An HPC storage laboratory: measures parallel storage and stands behind every number with evidence."""
    if version:
        print(f"ioassay {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(UsageError.exit_code)


def main() -> None:
    """Runs the command line and exits with its code."""
    if shell := os.environ.get(_COMPLETE):
        from ioassay.cli.complete import answer  # noqa: PLC0415

        print("\n".join(answer(shell, sys.argv[1:])))
        return
    sys.stdout = cast(TextIO, PlainStream(sys.stdout))
    sys.stderr = cast(TextIO, PlainStream(sys.stderr))
    code = _run()
    keyboard_interrupt.finish()
    sys.exit(code)


def _run() -> int:
    try:
        return _command()
    except IoassayError as error:
        return print_error(error)
    except typer.TyperException as error:  # what was typed is no command line of ours
        context = getattr(error, "ctx", None)  # of the command that refused it
        command = context.command_path if context is not None else "ioassay"
        return print_error(UsageError(error.format_message(), f"See `{command} --help`."))
    except (KeyboardInterrupt, typer.Abort):
        print(keyboard_interrupt.message(), file=sys.stderr)
        return CannotRun.exit_code
    except BrokenPipeError:
        # The reader of our output has seen enough; Python's own flush at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return print_error(CannotRun(f"{where}{error.strerror or error}."))


def _command() -> int:
    _refuse_other_encodings(sys.argv[1:])
    try:
        code = app(prog_name="ioassay", standalone_mode=False)
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer would have it exit with 1
            raise ended.__context__ from None
        raise
    sys.stdout.flush()
    # A command that `lab exec` runs may end with the same code as typer makes of an interruption.
    if keyboard_interrupt.noted and code == _TYPERS_INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


keyboard_interrupt.allow_below(_command.__code__)


def _refuse_other_encodings(arguments: list[str]) -> None:
    """Refuses names that are not UTF-8 before a run starts: its documents could not contain them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = str(os.fsencode(argument))[2:-1]
            raise UsageError(f"{shown} is not UTF-8.", "Rename it, or use a symbolic link.") from None
