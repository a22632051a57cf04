"""What is left of an experiment that has ended, whatever ended it: its report, and the answer on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ioassay.reports import Report
    from ioassay.reports.document import Block
    from ioassay.results.experiment_directory import ExperimentDirectory


def write_report(directory: ExperimentDirectory[Any], report: Report) -> None:
    """Writes the page into the directory."""
    from ioassay import reports  # noqa: PLC0415
    from ioassay.results.run_files import REPORT  # noqa: PLC0415

    directory.write(REPORT, reports.build(report, "html"))


def print_answer(
    directory: ExperimentDirectory[Any], report: Report, blocks: Sequence[Block], *, as_json: bool
) -> None:
    """Prints the answer, as blocks for the terminal or as one JSON document."""
    from ioassay import reports  # noqa: PLC0415
    from ioassay.cli.output import show  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.results.run_files import REPORT  # noqa: PLC0415

    if as_json:
        typer.echo(reports.build(report, "json"), nl=False)
        return
    show("", rendered(blocks))
    print(f"\nReport: {directory.path / REPORT}", flush=True)
