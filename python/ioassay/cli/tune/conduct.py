"""Runs an experiment from the terminal: its report, the answer, and how to resume it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from ioassay.cli.output import say, say_undrawn, show
from ioassay.errors import CannotRun

if TYPE_CHECKING:
    from ioassay.reports.sweep import SweepReport
    from ioassay.reports.tune_io500 import TuneIo500Report
    from ioassay.store.experiment_directory import ExperimentDirectory

_WITHHELD = 1
"""The exit code of an experiment without an answer, because its measurements are doubted."""


def conduct(
    directory: ExperimentDirectory[Any],
    command: str,
    work: Callable[[], None],
    report: Callable[[], SweepReport | TuneIo500Report],
    *,
    as_json: bool,
) -> int:
    """Does the work and writes the report into the directory, however it ended. Returns the exit code.

    The exit code is 1 where doubts keep the experiment from an answer. `command`: of `ioassay tune`, which resumes it.
    `report`: what is known when it is called. Raises what `work` does.
    """
    from ioassay import reports  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.store.run_files import REPORT  # noqa: PLC0415

    document = directory.document
    try:
        work()
    finally:
        if document.state != "complete":
            say(f"Resume with: ioassay tune {command} --resume {directory.path}")
        result = report()
        if document.measurements:
            directory.write(REPORT, reports.build(result, "html"))
    if as_json:
        typer.echo(reports.build(result, "json"), nl=False)
    else:
        show("", rendered(result.terminal()))
        print(f"\nReport: {directory.path / REPORT}", flush=True)
    if document.state != "complete":
        return CannotRun.exit_code
    return max(say_undrawn(), _WITHHELD if result.is_withheld else 0)
