"""`ioassay tune check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import AsJson, Form, Output, say
from ioassay.errors import CannotRun, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ioassay.tuning.snapshot import Snapshot


def check(
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Directory or block device to check, on this node.")
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="A workload: request sizes are measured while it runs."),
    ] = None,
    *,
    snapshots: Annotated[
        list[Path] | None,
        typer.Option(
            "--snapshot",
            metavar="FILE",
            help="What `ioassay tune capture` made, instead of this node. Repeat for client and server, or for before "
            "and after a workload on one host.",
        ),
    ] = None,
    transfer: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Bytes of each of the application's reads and writes.")
    ] = None,
    raid: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="A RAID controller's geometry, which no host can see: segment=128k,data=8,parity=2.",
        ),
    ] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the storage is, where the host cannot tell: onefs.")
    ] = None,
    storage_settings: Annotated[
        list[str] | None,
        typer.Option(
            "--storage-setting", metavar="NAME=VALUE", help="A setting of that storage, read there. Repeatable."
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="How files are used: shared-file, file-per-process or small-files."),
    ] = None,
    rules: Annotated[
        list[str] | None, typer.Option("--rule", metavar="NAME", help="Only this rule. Repeatable.")
    ] = None,
    form: Form = None,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Follow an I/O to the disk and judge every setting on its way.

    Shows each layer's request size, where requests are split or misaligned, and what to change, with reason, risk and
    source. Changes nothing. The exit code is 0 whatever it recommends, and 3 where no setting could be judged.
    """
    import shutil  # noqa: PLC0415

    from ioassay.cli.output import chosen_format, print_report  # noqa: PLC0415
    from ioassay.reports.tuning import CheckReport  # noqa: PLC0415
    from ioassay.reports.tuning.path_text import COLUMNS  # noqa: PLC0415
    from ioassay.tuning.check import CheckRequest, examine  # noqa: PLC0415
    from ioassay.tuning.snapshot import read_all  # noqa: PLC0415

    wanted = chosen_format(form, output, as_json=as_json)
    if snapshots and (target or command):
        raise UsageError(
            "--snapshot and TARGET contradict each other: a snapshot has its own target.", "Use one of them."
        )
    asked = CheckRequest.of(
        transfer=transfer,
        raid=raid,
        storage=storage,
        rules=rules or [],
        storage_settings=storage_settings or [],
        workload=workload,
    )
    loaded_snapshots = read_all(snapshots) if snapshots else _live(target, command or [])
    examination = examine(loaded_snapshots, asked)
    columns = shutil.get_terminal_size(fallback=(COLUMNS, 24)).columns
    undrawn = print_report(CheckReport(examination, columns), wanted, output)
    return max(undrawn, CannotRun.exit_code if examination.verdict == "nothing judged" else 0)


def _live(target: str | None, command: Sequence[str]) -> list[Snapshot]:
    """This node now; with a command also after it."""
    from ioassay.tuning.snapshot import collect  # noqa: PLC0415

    before = collect(target)
    if not command:
        return [before]
    import subprocess  # noqa: PLC0415

    say(f"Running: {' '.join(command)}")
    try:
        ended = subprocess.run(command, check=False, stdout=sys.stderr).returncode
    except OSError as error:
        raise UsageError(f"{command[0]} could not be started: {error.strerror}.", "Check its path.") from error
    if ended:
        print(f"The workload ended with exit status {ended}; what it did until then counts.", file=sys.stderr)
    return [before, collect(target)]
