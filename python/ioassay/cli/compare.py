"""`ioassay compare`: runs, published systems and predictions against one another."""

from __future__ import annotations

from typing import Annotated

import typer

from ioassay.cli.output import AsJson, Form, Output, chosen_format, print_report
from ioassay.cli.subjects import each, sides
from ioassay.errors import UsageError


def compare(
    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="A B...",
            help="Run directories or folders of them, names of published systems (`ioassay systems`), or YAML files of "
            "systems or predictions (`ioassay size predict --save`). The first is the reference.",
            show_default=False,
        ),
    ],
    output: Output = None,
    form: Form = None,
    as_json: AsJson = False,
) -> int:
    """Compare runs, published systems and predictions.

    Ratios with confidence intervals, different conditions, and what differs in the configuration.
    """
    subjects = each(subjects)
    if len(subjects) < 2:
        raise UsageError("There is only one subject to compare.", "Write `ioassay compare A B`.")
    chosen = chosen_format(form, output, as_json=as_json)
    # Imported here because they take a second, which `--help` must not.
    from ioassay.reports.compare import ComparisonReport  # noqa: PLC0415
    from ioassay.reports.compare.content import assemble  # noqa: PLC0415

    return print_report(ComparisonReport(assemble(sides(subjects))), chosen, output)
