"""`ioassay check`: a run by its study's criteria, a file of criteria, a baseline; for continuous integration."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli import verdict_output
from ioassay.cli.output import show
from ioassay.cli.subjects import sides
from ioassay.cli.verdict_output import Junit
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.reports.check.lines import Line
    from ioassay.store.loaded import LoadedRun


def check(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    *,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="The baseline: a run to compare with.", show_default=False),
    ] = None,
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Largest accepted loss of a point against the baseline.")
    ] = "5%",
    although: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Accept a difference in conditions, such as fsync; repeatable.",
            show_default=False,
        ),
    ] = None,
    criteria: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML file with further criteria to meet.", show_default=False),
    ] = None,
    junit: Junit = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """Judge a run by criteria or against a baseline.

    The criteria are those of its study and of a file. The exit code is 1 if one fails.
    """
    # Imported here because they take a second, which `--help` must not.
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.reports import json_text  # noqa: PLC0415
    from ioassay.reports.check.document import blocks  # noqa: PLC0415
    from ioassay.reports.check.junit import Suite  # noqa: PLC0415
    from ioassay.reports.check.lines import data  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.store.run_directory import load  # noqa: PLC0415

    with verdict_output.errors_in(junit, "ioassay check"):
        share = verdict_output.tolerance(tolerance)
        accepted = _conditions(although or [])
        if accepted and not baseline:
            raise UsageError("--although needs a baseline.", "Add --baseline RUN.")
        loaded = doubted(load(run))
        lines = _by_study(loaded)
        lines += _by_criteria(loaded, criteria) if criteria else []
        lines += _by_baseline(run, baseline, share, accepted) if baseline else []
        if not lines:
            raise UsageError(
                "There is nothing to check against: the study has no acceptance criteria.",
                "Add --baseline RUN, --criteria FILE, or both.",
            )
    if as_json:
        typer.echo(json_text(data(loaded.document, lines)), nl=False)
    else:
        show(rendered(blocks(lines)))
    about = loaded.document
    name = f"ioassay check {about.study.name} on {about.target}"
    return verdict_output.exit_code(Suite(name, lines, {"run": about.run, "started": about.started}), junit)


def _by_study(run: LoadedRun) -> list[Line]:
    from ioassay.analysis.acceptance import judge  # noqa: PLC0415
    from ioassay.reports.check.lines import study_verdict  # noqa: PLC0415

    return [study_verdict(verdict, run) for verdict in judge(run)]


def _by_criteria(run: LoadedRun, criteria: Path) -> list[Line]:
    from ioassay.criteria.model import read  # noqa: PLC0415
    from ioassay.criteria.verdicts import check as judge  # noqa: PLC0415
    from ioassay.reports.check.lines import criterion_verdict  # noqa: PLC0415

    return [criterion_verdict(criterion_check) for criterion_check in judge(run, read(criteria).criteria)]


def _by_baseline(run: Path, baseline: str, tolerance: float, accepted: set[str]) -> list[Line]:
    """The verdicts; `accepted` are the fields of `Conditions` that may differ. Raises `UsageError` where others do."""
    from ioassay.analysis.compare.ratios import compare  # noqa: PLC0415
    from ioassay.analysis.regression import differing, regressions  # noqa: PLC0415
    from ioassay.reports.check.lines import baseline_verdicts  # noqa: PLC0415
    from ioassay.reports.compare import wording  # noqa: PLC0415

    reference, other = (side.subject for side in sides([baseline, str(run)]))
    if reference.kind != "run":
        raise UsageError(
            "Published figures have no repetitions, so they cannot show a regression.",
            "Write the required rates into a file for --criteria.",
        )
    comparison = compare(reference, other)
    unlike = [difference for difference in differing(comparison) if difference.what not in accepted]
    if unlike:
        raise UsageError(
            f"{other.name} and {reference.name} were measured under different conditions: "
            f"{'; '.join(wording.differs(difference, reference.name) for difference in unlike)}.",
            "Measure both under the same conditions, or accept the difference: "
            f"{' '.join(f'--although {_typed(difference.what)}' for difference in unlike)}",
        )
    return baseline_verdicts(regressions(comparison, tolerance), reference, tolerance)


def _conditions(although: list[str]) -> set[str]:
    """The fields of `Conditions` that are named. Raises `UsageError`."""
    from ioassay.analysis.compare.subject import Conditions  # noqa: PLC0415
    from ioassay.yaml_models.source import nearest, quoted  # noqa: PLC0415

    fields = {_typed(field.name): field.name for field in dataclasses.fields(Conditions)}
    for name in although:
        if name not in fields:
            raise UsageError(f"--although: {quoted(name)} is not a condition; {nearest(name, fields)}")
    return {fields[name] for name in although}


def _typed(condition: str) -> str:
    """The name of a field of `Conditions` on the command line: `transfer`, `cold-cache`."""
    return condition.removesuffix("_bytes").replace("_", "-")
