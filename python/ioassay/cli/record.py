"""`ioassay record`: runs a command and records its I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def record(
    *,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The directory to create.  [default: records/TIME-COMMAND]"),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where tables lie while processes run.  [default: the temporary directory, on disk]"
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Record every call (`ioassay-engine calls RECORD` prints them).")
    ] = False,
) -> int:
    """Run a command and record the I/O of all its processes.

    Ends with the command's own exit code, 128 and the number of the signal that ended it, or 3 if it cannot be
    started. `ioassay profile` shows what was recorded. Below mpirun or srun, start `ioassay-engine record` itself.
    """
    from ioassay import engine  # noqa: PLC0415

    asked = [*(["--out", str(out)] if out else []), *(["--tables", str(tables)] if tables else [])]
    return engine.become("record", *asked, *(["--trace"] if trace else []), "--", *command)
