"""`--quiet` and `--verbose`, before or behind the command: what is said beside its answer. Not: what is said."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import typer.main

from ioassay import verbosity
from ioassay.errors import UsageError


def options() -> list[Any]:
    """Both options, as parameters of a command that knows nothing of them."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(_declared)
    return typer.main.get_command(app).params


def _choose(asked: verbosity.Verbosity) -> Any:
    def choose(typed: bool) -> None:
        if not typed:
            return
        if verbosity.level() is verbosity.Verbosity.NORMAL:
            verbosity.set_level(asked)
        elif verbosity.level() is not asked:
            raise UsageError("--quiet and --verbose contradict each other.", "Use one of them.")

    return choose


def _declared(
    quiet: Annotated[
        bool,
        typer.Option(
            "-q",
            "--quiet",
            help="Print results and errors only.",
            callback=_choose(verbosity.Verbosity.QUIET),
            expose_value=False,
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            help="Also print what is started and where logs are.",
            callback=_choose(verbosity.Verbosity.VERBOSE),
            expose_value=False,
        ),
    ] = False,
) -> None: ...
