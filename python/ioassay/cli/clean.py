"""`ioassay clean RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli.launcher_options import Hosts, Launcher, LauncherOptions, host_names, option_words
from ioassay.errors import UsageError
from ioassay.text.prose import listed
from ioassay.text.units import format_count


def clean(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Remove only the dataset that is kept there under this name.")
    ] = None,
    launcher: Launcher = None,
    hosts: Hosts = None,
    launcher_options: LauncherOptions = None,
) -> int:
    """Remove what an interrupted run left on its target.

    Removes only files that the run created, as listed in the file beside them. The engine runs on this machine,
    whatever launcher the run used, unless --launcher is set.
    """
    from ioassay.execution.clean import By, clean_run  # noqa: PLC0415

    if launcher is None and (hosts or launcher_options):
        raise UsageError("--hosts and --launcher-options need a launcher.", "Add --launcher mpirun or srun.")
    by = By(launcher, host_names(hosts), option_words(launcher_options)) if launcher is not None else None
    cleaned = clean_run(run, by, dataset)
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
    if cleaned.datasets:
        print(f"Kept datasets on the target: {listed(cleaned.datasets)}.")
        print(f"Remove one with: ioassay clean {run} --dataset NAME")
    return 0
