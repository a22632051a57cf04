"""`--quiet` and `--verbose`, before or behind the command: how much a command prints beside its answer."""

from __future__ import annotations

from typing import Annotated, Any

import typer.main

from ioassay.cli.group import group
from ioassay.errors import UsageError
from ioassay.processes import verbosity
from ioassay.processes.verbosity import Verbosity


def options() -> list[Any]:
    """Both options, as parameters of a command that does not declare them."""
    app = group()
    app.command()(_declared)
    return typer.main.get_command(app).params


def _option(asked: Verbosity, letter: str, meaning: str) -> Any:
    def choose(typed: bool) -> None:
        if not typed:
            return
        if verbosity.level() is Verbosity.NORMAL:
            verbosity.set_level(asked)
        elif verbosity.level() is not asked:
            raise UsageError("--quiet and --verbose contradict each other.", "Use one of them.")

    return typer.Option(letter, f"--{asked.value}", help=meaning, callback=choose, expose_value=False)


def _declared(
    quiet: Annotated[bool, _option(Verbosity.QUIET, "-q", "Print results and errors only.")] = False,
    verbose: Annotated[
        bool, _option(Verbosity.VERBOSE, "-v", "Also print started commands and where logs are.")
    ] = False,
) -> None: ...
