"""An experiment at work on the terminal, and what is left of it: its report, the answer, and how to go on with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import typer

from ioassay.cli.output import say, say_undrawn, show
from ioassay.errors import CannotRun
from ioassay.reports import Report

if TYPE_CHECKING:
    from ioassay.reports.document import Block
    from ioassay.store.experiment_directory import ExperimentDirectory


_WITHHELD = 1
"""The exit code of an experiment without an answer, because its measurements are doubted."""


class ExperimentReport(Report, Protocol):
    """What an experiment found."""

    @property
    def is_withheld(self) -> bool:
        """Whether doubts keep it from an answer."""

    def terminal(self) -> Sequence[Block]:
        """What the terminal shows of it."""


def conduct(
    directory: ExperimentDirectory[Any],
    command: str,
    work: Callable[[], None],
    report: Callable[[], ExperimentReport],
    *,
    as_json: bool,
) -> int:
    """Does the work, and writes the report into the directory, whatever ended it. Returns the exit code.

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
        found = report()
        if document.measurements:
            directory.write(REPORT, reports.build(found, "html"))
    if as_json:
        typer.echo(reports.build(found, "json"), nl=False)
    else:
        show("", rendered(found.terminal()))
        print(f"\nReport: {directory.path / REPORT}", flush=True)
    if document.state != "complete":
        return CannotRun.exit_code
    return max(say_undrawn(), _WITHHELD if found.is_withheld else 0)
