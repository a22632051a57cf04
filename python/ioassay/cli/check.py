"""`ioassay check`: a run against a baseline or a file of criteria, for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli import judged
from ioassay.cli.output import show
from ioassay.cli.subjects import sides
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.reports.check.lines import Line


def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    *,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="A run that it must not be slower than.", show_default=False),
    ] = None,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="How much slower than the baseline a point may be.")
    ] = "5%",
    criteria: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Criteria as YAML that it must meet.", show_default=False)
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write JUnit XML.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """Judges a run by a baseline or criteria; exits with 1 where one fails or nothing could be judged."""
    if baseline is None and criteria is None:
        raise UsageError("There is nothing to check it by.", "Give --baseline RUN, --criteria FILE, or both.")
    # Imported here because they take a second, which `--help` must not.
    from ioassay.reports.check import json, terminal  # noqa: PLC0415

    lines = _by_criteria(run, criteria) if criteria else []
    lines += _by_baseline(run, baseline, judged.tolerance(tolerance)) if baseline else []
    name = run.resolve().name
    if as_json:
        typer.echo(json.document(name, lines), nl=False)
    else:
        show(terminal.summary(lines))
    return judged.exit_code(f"ioassay check {name}", lines, junit)


def _by_criteria(run: Path, criteria: Path) -> list[Line]:
    from ioassay.analysis.ceilings import doubted  # noqa: PLC0415
    from ioassay.analysis.check.criteria import check as judge  # noqa: PLC0415
    from ioassay.criteria.model import read  # noqa: PLC0415
    from ioassay.reports.check.lines import of_criterion  # noqa: PLC0415
    from ioassay.results.run_directory import load  # noqa: PLC0415

    return [of_criterion(one) for one in judge(doubted(load(run)), read(criteria).criteria)]


def _by_baseline(run: Path, baseline: str, tolerance: float) -> list[Line]:
    from ioassay.analysis.check.regression import regressions  # noqa: PLC0415
    from ioassay.analysis.compare.ratios import compare  # noqa: PLC0415
    from ioassay.reports.check.lines import of_point  # noqa: PLC0415

    reference, other = (side.subject for side in sides([baseline, str(run)]))
    if reference.kind != "run" or other.kind != "run":
        raise UsageError(
            "Single figures that are published have no repetitions, so no regression can be told from them.",
            "Write what they ask for into a file for --criteria.",
        )
    return [of_point(one, reference.name) for one in regressions(compare(reference, other), tolerance)]
