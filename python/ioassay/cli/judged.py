"""What commands that judge have in common: the tolerance as typed, JUnit XML, the exit code. Not: judging."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.cli.output import write
from ioassay.errors import UsageError
from ioassay.units import UnitError, parse_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ioassay.reports.check.lines import Line


def tolerance(text: str) -> float:
    """The share that may be lost, 0 to 1. Raises `UsageError`."""
    try:
        return parse_share(text)
    except UnitError as error:
        raise UsageError(f"--tolerance: {error}.") from error


def exit_code(suite: str, lines: Sequence[Line], junit: Path | None) -> int:
    """0 where the verdicts are accepted, else 1. Where `junit` is a file, they are written there as the test suite
    `suite`.
    """
    from ioassay.reports.check import junit as xml  # noqa: PLC0415
    from ioassay.reports.check.lines import accepted  # noqa: PLC0415

    if junit is not None:
        write(junit, xml.document(suite, lines))
    return 0 if accepted(lines) else 1
