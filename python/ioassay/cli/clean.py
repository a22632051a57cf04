"""`ioassay clean RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.units import format_count


def clean(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
) -> int:
    """Remove what an interrupted run left on its target.

    Only files that the run itself created are removed, by the list that lies beside them.
    """
    from ioassay.execution.clean import clean_run  # noqa: PLC0415

    cleaned = clean_run(run)
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
