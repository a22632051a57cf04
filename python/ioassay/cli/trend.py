"""`ioassay trend`: stored runs in the order of time, for a study that runs every night."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ioassay.cli import verdict_output
from ioassay.cli.output import AsJson, Form, Output, chosen_format, print_report
from ioassay.cli.subjects import stored
from ioassay.cli.verdict_output import Junit
from ioassay.errors import UsageError

_MOST_EXPLAINED = 3
"""The most runs for which an error says why they are left out."""


def trend(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Run directories, for example runs/*-quick, or folders with run directories.",
            show_default=False,
        ),
    ],
    *,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Smallest drop to report, as a share of the rate.")
    ] = "5%",
    any_target: Annotated[
        bool,
        typer.Option("--any-target", help="Treat all targets as one, for example when their paths contain a date."),
    ] = False,
    junit: Junit = None,
    output: Output = None,
    form: Form = None,
    as_json: AsJson = False,
) -> int:
    """Detect regressions over stored runs.

    The exit code is 1 if the latest run has declined, or if nothing could be judged.
    """
    # Imported here because they take a second, which `--help` must not.
    from ioassay.reports.check.junit import Suite  # noqa: PLC0415
    from ioassay.reports.trend import TrendReport  # noqa: PLC0415
    from ioassay.reports.trend.content import assemble  # noqa: PLC0415

    with verdict_output.errors_in(junit, "ioassay trend"):
        chosen = chosen_format(form, output, as_json=as_json)
        content = assemble(*stored(runs), verdict_output.tolerance(tolerance), any_target=any_target)
        if not content.groups:
            because = " ".join(content.left_out[:_MOST_EXPLAINED])
            raise UsageError(
                f"A trend needs two runs of the same study and target. {because}",
                "Use several runs of one study, for example runs/*-quick; add --any-target if their targets are one.",
            )
    undrawn = print_report(TrendReport(content), chosen, output)
    judgement = verdict_output.exit_code(Suite(f"ioassay trend {content.title}", content.lines), junit)
    return max(judgement, undrawn)
