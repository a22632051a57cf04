"""`ioassay record`: runs a command and records its I/O."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

_AGENT_ENDS_S = 8
"""Time for the agent to write its last documents after the command has ended."""


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
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Look where calls come from: functions, libraries, lines of Python.")
    ] = False,
    via: Annotated[
        Literal["preload", "ptrace", "ptrace-unfiltered"],
        typer.Option(help="How to see I/O calls: ptrace also sees static, Go and setuid programs."),
    ] = "preload",
    watch: Annotated[
        bool, typer.Option("--watch", help="Watch it second by second: Parquet files in the record, alerts.")
    ] = False,
    setup: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Watch it, and send metrics to the sinks in FILE.", show_default=False),
    ] = None,
    contract: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Watch it, and enforce the rules of this contract.", show_default=False),
    ] = None,
) -> int:
    """Run a command and record the I/O of all its processes.

    Ends with the command's own exit code, 128 and the number of the signal that ended it, or 3 if it cannot be
    started. `ioassay profile` shows what was recorded. Below mpirun or srun, start `ioassay-engine record` itself.

    `--via ptrace` costs some microseconds for each call, and the command is killed if its tracer is. With
    `ptrace-unfiltered` it goes on then, but every system call costs that much.

    With `--watch`, `--setup` or `--contract` an agent looks at it once a second. `ioassay watch` shows it live, and
    `ioassay watch set RECORD CONTRACT` changes the rules while the command runs.
    """
    from ioassay.processes import engine  # noqa: PLC0415

    asked = ["--via", via, *(["--tables", str(tables)] if tables else []), *(["--trace"] if trace else [])]
    asked += ["--stacks"] if stacks else []
    if watch or setup or contract:
        return _watched(asked, command, out or _new_record(command), setup, contract)
    asked += ["--out", str(out)] if out else []
    return engine.become("record", *asked, "--", *command)


def _new_record(command: list[str]) -> Path:
    """A record's directory, as the engine would call it."""
    name = "".join(letter for letter in Path(command[0]).name if letter.isascii() and letter.isalnum())[:32]
    first = Path("records") / f"{time.strftime('%Y%m%d-%H%M%S')}-{name or 'command'}"
    names = (first if number == 1 else first.with_name(f"{first.name}-{number}") for number in range(1, 100))
    return next((path for path in names if not path.exists()), first)


def _watched(asked: list[str], command: list[str], out: Path, setup: Path | None, contract: Path | None) -> int:
    """Records a command that an agent watches, and says which alerts there were. Returns its exit code."""
    from ioassay.processes import engine  # noqa: PLC0415

    record = out.absolute()
    is_new = not record.exists()
    # Nothing else starts threads before: signals would find them.
    with engine.blocked_signals() as mask, tempfile.TemporaryDirectory(prefix="ioassay-watch-") as place:
        from ioassay.monitoring.setup import default, load, write  # noqa: PLC0415

        watched = record / "watch"
        resolved = load(setup, watched, "registered", contract) if setup else default(watched, "registered", contract)
        for note in resolved.notes:
            typer.echo(f"note: {note}", err=True)
        agent = write(resolved, Path(place))
        asked = [*asked, "--watch", str(agent), "--out", str(record)]
        code = engine.attend(["record", *asked, "--", *command], mask)
    if is_new:
        # A second Ctrl-C ends the wait for alerts; the command has ended, and its exit code stays.
        with contextlib.suppress(KeyboardInterrupt):
            _say_alerts(record.resolve() / "watch")  # as the engine names it to the agent
    return code


def _say_alerts(watched: Path) -> None:
    """Prints the alerts in the files of a record on standard error."""
    from ioassay.monitoring.recorded_alerts import alerts_of, wait_for_agent  # noqa: PLC0415

    if not os.path.isdir(watched):  # False also where we may not look
        return
    wait_for_agent(watched, _AGENT_ENDS_S)
    for line in alerts_of(watched):
        typer.echo(f"ioassay: {line}", err=True)
