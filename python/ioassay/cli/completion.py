"""`ioassay completion SHELL`: the script that completes command lines. Not: the candidates (`complete`)."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import typer

from ioassay.errors import UsageError

SCRIPTS = {"bash": "ioassay.bash", "zsh": "_ioassay", "fish": "ioassay.fish"}
"""The file of each shell in `shells`, named as the shell looks for it."""


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> int:
    """Print the completions for a shell."""
    if shell not in SCRIPTS:
        raise UsageError(f"There are no completions for {shell}.", f"Use one of {', '.join(SCRIPTS)}.")
    typer.echo(files("ioassay").joinpath("cli", "shells", SCRIPTS[shell]).read_text(encoding="utf-8"), nl=False)
    return 0
