"""`ioassay tune sweep`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.launcher_options import Hosts, Launcher, LauncherOptions, host_names, option_words
from ioassay.cli.output import say
from ioassay.cli.tune.journal_option import JournalPlace
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.store.sweep_directory import SweepDirectory
    from ioassay.store.sweep_document import SweepDocument


def sweep(
    *,
    experiment: Annotated[
        Path | None,
        typer.Argument(metavar="EXPERIMENT", help="YAML file with the experiment; options replace parts."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="TARGET", help="What to measure, as `ioassay run` takes it: a directory, lab:NAME, URL."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,...",
            help="A parameter and its values: a setting such as block:sdb/nr_requests, or a setting of the study "
            "such as transfer. Repeatable.",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="PHASE[:MEASURE]",
            help="The objective: a phase's rate, or p50, p90, p99 or max of its latency; or score.  [default: write]",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="PHASE=95%", help="Constraint: a share of a rate, or read:p99=20ms. Repeatable."),
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="STUDY", help="What is run in each measurement.  [default: tune]")
    ] = None,
    scale: Annotated[str | None, typer.Option(metavar="SCALE", help="A scale of the study, such as quick.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the study. Repeatable.")
    ] = None,
    trials: Annotated[
        str | None, typer.Option(metavar="N", help="Points to try; a smaller grid is tried whole.  [default: 30]")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Begin no further point after this, for example 2h.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Precision of each gain.  [default: 5%]")
    ] = None,
    pairs: Annotated[
        str | None, typer.Option(metavar="N", help="Pairs of measurements of a point at most.  [default: 10]")
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of the search.  [default: 1]")] = None,
    launcher: Launcher = None,
    hosts: Hosts = None,
    launcher_options: LauncherOptions = None,
    clients: Annotated[str | None, typer.Option(metavar="lab[:NAME]", help="The hosts to measure from.")] = None,
    destroy_data: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Repeat the block device of --target: its data will be lost.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The directory to create.  [default: sweeps/TIME-NAME]")
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="DIR", help="Resume this sweep.")] = None,
    journal: JournalPlace = None,
    yes: Annotated[bool, typer.Option("--yes", help="Change settings without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON document.")] = False,
) -> int:
    """Find the best settings by experiment, and prove the gain.

    Each point is measured alternately with today's settings. The best one is measured again with fresh pairs, and so is
    what each parameter contributes. All settings are put back at the end, whatever ends it.
    """
    from ioassay.execution.places import places  # noqa: PLC0415
    from ioassay.launchers import DEFAULT  # noqa: PLC0415
    from ioassay.store.sweep_directory import SweepDirectory  # noqa: PLC0415
    from ioassay.tuning.snapshot import collect  # noqa: PLC0415
    from ioassay.tuning.sweep.options import Options  # noqa: PLC0415
    from ioassay.tuning.sweep.options import experiment as asked  # noqa: PLC0415
    from ioassay.tuning.sweep.prepare import prepare  # noqa: PLC0415
    from ioassay.tuning.system import System  # noqa: PLC0415
    from ioassay.yaml_models.source import read_source  # noqa: PLC0415

    if resume is not None:
        if experiment or target or vary:
            raise UsageError(
                "--resume keeps what the sweep was asked.", f"Write only: ioassay tune sweep --resume {resume}"
            )
        with SweepDirectory.reopen(resume) as directory:
            return _do(directory, journal, yes=yes, as_json=as_json)
    if target is None:
        raise UsageError("--target is missing.", "Add a directory, URL or device.")
    options = Options(
        study=study,
        scale=scale,
        settings=settings or [],
        vary=vary or [],
        objective=objective,
        keep=keep or [],
        budget={"trials": trials, "time": time, "precision": precision, "pairs": pairs},
        seed=seed,
    )
    wanted = asked(options, read_source(experiment, "experiment").tree if experiment else None)
    (place, *others) = places([target], destroy_data, clients)
    if others:
        raise UsageError(f"{target} has several storage systems.", "Name one: lab:NAME/STORAGE.")
    local = place.target.place if place.clients is None and place.target.kind in ("directory", "device") else None
    document = prepare(
        wanted,
        place,
        System(collect(local)),
        launcher=launcher or DEFAULT,
        hosts=host_names(hosts),
        launcher_options=option_words(launcher_options),
        command=["ioassay", *sys.argv[1:]],
    )
    document.destroy_data = destroy_data
    if dry_run:
        _show_plan(document)
        return 0
    with SweepDirectory.create(out or Path("sweeps") / document.sweep, document) as directory:
        return _do(directory, journal, yes=yes, as_json=as_json)


def _do(directory: SweepDirectory, journal: Path | None, *, yes: bool, as_json: bool) -> int:
    from ioassay.cli.tune.conduct import conduct  # noqa: PLC0415
    from ioassay.cli.tune.confirmation import confirm  # noqa: PLC0415
    from ioassay.execution.interruption import Interruption  # noqa: PLC0415
    from ioassay.execution.places import places  # noqa: PLC0415
    from ioassay.reports.sweep import SweepReport  # noqa: PLC0415
    from ioassay.reports.sweep.wording import COMMANDS  # noqa: PLC0415
    from ioassay.tuning.settings.command import commands_text  # noqa: PLC0415
    from ioassay.tuning.study_runs import StudyRuns  # noqa: PLC0415
    from ioassay.tuning.sweep.answer import answer  # noqa: PLC0415
    from ioassay.tuning.sweep.loop import Loop  # noqa: PLC0415
    from ioassay.tuning.sweep.prepare import definitions  # noqa: PLC0415
    from ioassay.tuning.sweep.resume import restore_today  # noqa: PLC0415
    from ioassay.tuning.sweep.switch import settings_of  # noqa: PLC0415

    document = directory.document
    restore_today(document, journal, say)
    _show_plan(document)
    if any(parameter.key is None for parameter in document.parameters):
        confirm("Change these settings during the sweep, and restore them at the end?", yes=yes)
    (place,) = places([document.target], document.destroy_data, document.clients)
    if pairs := definitions(document.parameters):
        directory.write(COMMANDS, commands_text(pairs).encode())
    runs = StudyRuns(document, document.study, place, document.study_settings)

    def work() -> None:
        with settings_of(document, journal) as switch, Interruption() as interruption:
            Loop(directory, switch, runs, say, interruption).run()

    return conduct(directory, "sweep", work, lambda: SweepReport(answer(document)), as_json=as_json)


def _show_plan(document: SweepDocument) -> None:
    """On standard error: what is varied, over which values, and how much there is to measure."""
    from ioassay.reports.sweep.plan import lines  # noqa: PLC0415

    for line in lines(document):
        say(line)
