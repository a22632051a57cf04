"""`ioassay help COMMAND`: the same as `ioassay COMMAND --help`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ioassay.errors import UsageError


def help_(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND [SUBCOMMAND]", help="The command.  [default: all of them, a line each]"),
    ] = None,
) -> int:
    """Show the help of a command."""
    about: Any = context.find_root()
    for word in words or []:
        inner = getattr(about.command, "commands", {}).get(word)
        if inner is None:
            raise UsageError(f"`{about.command_path}` has no command {word}.", f"See `{about.command_path} --help`.")
        about = inner.make_context(word, [], parent=about, resilient_parsing=True)
    typer.echo(about.get_help())
    return 0
