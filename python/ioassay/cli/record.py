"""`ioassay record`: runs a command and records its I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

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
    via: Annotated[
        Literal["preload", "ptrace", "ptrace-unfiltered"],
        typer.Option(help="How to see I/O calls: ptrace also sees static, Go and setuid programs."),
    ] = "preload",
) -> int:
    """Run a command and record the I/O of all its processes.

    Ends with the command's own exit code, 128 and the number of the signal that ended it, or 3 if it cannot be
    started. `ioassay profile` shows what was recorded. Below mpirun or srun, start `ioassay-engine record` itself.

    `--via ptrace` costs some microseconds for each call, and the command is killed if its tracer is. With
    `ptrace-unfiltered` it goes on then, but every system call costs that much.
    """
    from ioassay import engine  # noqa: PLC0415

    asked = [*(["--out", str(out)] if out else []), *(["--tables", str(tables)] if tables else [])]
    asked += ["--trace"] if trace else []
    return engine.become("record", "--via", via, *asked, "--", *command)
