"""`ioassay clean RUN`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ioassay.errors import UsageError
from ioassay.units import format_count


def clean(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What starts the engine that removes: local, mpirun or srun.  [default: local, whatever the run had]",
        ),
    ] = None,
    hosts: Annotated[
        str | None, typer.Option(metavar="HOST,...|FILE", help="The nodes for mpirun or srun; the first one removes.")
    ] = None,
    launcher_options: Annotated[
        str | None, typer.Option(metavar="'OPTION ...'", help="More for the launcher, such as '--account=p1'.")
    ] = None,
) -> int:
    """Remove what an interrupted run left on its target.

    Only files that the run itself created are removed, by the list that lies beside them.
    """
    from ioassay.execution.clean import By, clean_run  # noqa: PLC0415
    from ioassay.launchers.hosts import typed  # noqa: PLC0415

    if launcher is None and (hosts or launcher_options):
        raise UsageError("--hosts and --launcher-options are for a launcher.", "Name it: --launcher mpirun or srun.")
    nodes = [node.name for node in typed(hosts)] if hosts else []
    by = By(launcher, nodes, shlex.split(launcher_options or "")) if launcher is not None else None
    cleaned = clean_run(run, by)
    if cleaned.leftovers:
        print("These remain on the target:")
        for path in cleaned.leftovers:
            print(f"  {path}")
        print(cleaned.why)
        return 3
    if cleaned.workspace is None:
        print(f"Nothing to remove. {cleaned.why}")
    elif cleaned.files:
        print(f"Removed {cleaned.workspace} with {format_count(cleaned.files, 'file')}.")
    else:
        print(f"Nothing to remove: no file of this run is in {cleaned.workspace}.")
    return 0
