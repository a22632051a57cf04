"""Shared by commands that judge: the tolerance as typed, JUnit XML, the exit code. Not: judging."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import write
from ioassay.errors import IoassayError, UsageError
from ioassay.text.units import UnitError, parse_share

if TYPE_CHECKING:
    from ioassay.reports.check.junit import Suite

Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write JUnit XML.", show_default=False)]


def tolerance(text: str) -> float:
    """The share that may be lost, 0 to 1. Raises `UsageError`."""
    try:
        return parse_share(text)
    except UnitError as error:
        raise UsageError(f"--tolerance: {error}.") from error


@contextlib.contextmanager
def errors_in(junit: Path | None, command: str) -> Iterator[None]:
    """An error in the context stands in `junit` too, so that no file of earlier verdicts is taken for these."""
    try:
        yield
    except IoassayError as error:
        if junit is not None:
            from ioassay.reports.check.junit import refusal  # noqa: PLC0415

            write(junit, refusal(command, f"{error.message}\n{error.remedy}"))
        raise


def exit_code(suite: Suite, junit: Path | None) -> int:
    """0 where the verdicts are accepted, else 1. Where `junit` is a file, they are written there."""
    from ioassay.reports.check.junit import document  # noqa: PLC0415
    from ioassay.reports.check.lines import accepted  # noqa: PLC0415

    if junit is not None:
        write(junit, document(suite))
    return 0 if accepted(suite.lines) else 1
