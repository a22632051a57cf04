"""`ioassay check`: a run by its study's criteria, a file of criteria, a baseline; for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli import judged
from ioassay.cli.judged import Junit
from ioassay.cli.output import show
from ioassay.cli.subjects import sides
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.reports.check.lines import Line
    from ioassay.results.loaded import LoadedRun


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
        Path | None,
        typer.Option(metavar="FILE", help="Criteria as YAML that it must meet as well.", show_default=False),
    ] = None,
    junit: Junit = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """Judges a run by its study's criteria, by a file of criteria and by a baseline; exits with 1 where it fails."""
    # Imported here because they take a second, which `--help` must not.
    from ioassay.analysis.ceilings import doubted  # noqa: PLC0415
    from ioassay.reports.check import json, terminal  # noqa: PLC0415
    from ioassay.reports.check.junit import Suite  # noqa: PLC0415
    from ioassay.results.run_directory import load  # noqa: PLC0415

    with judged.errors_in(junit, "ioassay check"):
        share = judged.tolerance(tolerance)
        loaded = doubted(load(run))
        lines = _by_study(loaded)
        lines += _by_criteria(loaded, criteria) if criteria else []
        lines += _by_baseline(run, baseline, share) if baseline else []
        if not lines:
            raise UsageError(
                "There is nothing to check it by: its study has no acceptance criteria.",
                "Give --baseline RUN, --criteria FILE, or both.",
            )
    if as_json:
        typer.echo(json.document(loaded.document, lines), nl=False)
    else:
        show(terminal.summary(lines))
    about = loaded.document
    name = f"ioassay check {about.study.name} on {about.target}"
    return judged.exit_code(Suite(name, lines, {"run": about.run, "started": about.started}), junit)


def _by_study(run: LoadedRun) -> list[Line]:
    from ioassay.analysis.acceptance import judge  # noqa: PLC0415
    from ioassay.reports.check.lines import of_study  # noqa: PLC0415

    return [of_study(verdict, run) for verdict in judge(run)]


def _by_criteria(run: LoadedRun, criteria: Path) -> list[Line]:
    from ioassay.analysis.check.criteria import check as judge  # noqa: PLC0415
    from ioassay.criteria.model import read  # noqa: PLC0415
    from ioassay.reports.check.lines import of_criterion  # noqa: PLC0415

    return [of_criterion(one) for one in judge(run, read(criteria).criteria)]


def _by_baseline(run: Path, baseline: str, tolerance: float) -> list[Line]:
    from ioassay.analysis.check.regression import regressions  # noqa: PLC0415
    from ioassay.analysis.compare.ratios import compare  # noqa: PLC0415
    from ioassay.reports.check.lines import of_baseline  # noqa: PLC0415

    reference, other = (side.subject for side in sides([baseline, str(run)]))
    if reference.kind != "run":
        raise UsageError(
            "Single figures that are published have no repetitions, so no regression can be told from them.",
            "Write what they ask for into a file for --criteria.",
        )
    return of_baseline(regressions(compare(reference, other), tolerance), reference.name, tolerance)
