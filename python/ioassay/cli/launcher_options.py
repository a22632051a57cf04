"""The options that say how the engine starts, and on which nodes. Not: what a launcher does (`ioassay.launchers`)."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from ioassay.errors import UsageError

Launcher = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="How to start the engine: local (this machine), mpirun or srun.  [default: local]"
    ),
]

LauncherOrBatch = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How to start the ranks: local (this machine), mpirun, srun (in a Slurm allocation), or sbatch (the "
        "whole run as a Slurm job).  [default: local]",
    ),
]

Hosts = Annotated[
    str | None,
    typer.Option(
        metavar="HOST,...|FILE",
        help="The nodes for mpirun or srun; n clients use the first n.  [default: the allocation, otherwise this one]",
    ),
]

LauncherOptions = Annotated[
    str | None,
    typer.Option(metavar="'OPTION ...'", help="Further launcher options, such as '--bind-to core' or '--account=p1'."),
]


def host_names(hosts: str | None) -> list[str]:
    """The nodes that `--hosts` names. Raises `UsageError`."""
    from ioassay.launchers.hosts import typed  # noqa: PLC0415

    return [node.name for node in typed(hosts)] if hosts else []


def option_words(options: str | None) -> list[str]:
    """The words of `--launcher-options`, split as a shell does. Raises `UsageError`."""
    try:
        return shlex.split(options or "")
    except ValueError:
        raise UsageError(f"--launcher-options {options} has an unclosed quote.", "Close the quote.") from None
