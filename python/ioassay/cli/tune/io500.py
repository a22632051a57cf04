"""`ioassay tune io500`."""

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
    from ioassay.execution.places import Place
    from ioassay.store.tune_io500_directory import TuneIo500Directory
    from ioassay.store.tune_io500_document import TuneIo500Document

_FEWEST_TURNS, _MOST_TURNS = 4, 100
"""Fewer cannot judge a step: `tuning.io500.ramp.FEWEST_PAIRS`."""


def io500(
    *,
    target: Annotated[
        str | None,
        typer.Option(metavar="DIR|lab:NAME/STORAGE", help="A directory of the file system, or a storage of a lab."),
    ] = None,
    theory: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help="The highest rate in theory, such as 36GB/s.  [default: --ceilings, network]"
        ),
    ] = None,
    ceilings: Annotated[
        Path | None, typer.Option(metavar="FILE|DIR", help="Result of `ioassay net`, whose rates are the ceiling.")
    ] = None,
    storage_targets: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Storage targets.  [default: the OSTs of Lustre, otherwise 1]"),
    ] = None,
    most_ranks: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Ranks per node at most.  [default: its processors]")
    ] = None,
    stonewall: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Length of each write phase.  [default: that of --scale, otherwise 10s]"),
    ] = None,
    scale: Annotated[str | None, typer.Option(metavar="SCALE", help="A scale of the study io500: quick.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the study io500. Repeatable.")
    ] = None,
    turns: Annotated[
        int,
        typer.Option(
            "--turns", metavar="N", min=_FEWEST_TURNS, max=_MOST_TURNS, help="Pairs or rounds of a comparison at most."
        ),
    ] = 8,
    precision: Annotated[
        str, typer.Option(metavar="SHARE", help="Precision of a comparison, as a share of the score.")
    ] = "5%",
    launcher: Launcher = None,
    hosts: Hosts = None,
    launcher_options: LauncherOptions = None,
    clients: Annotated[str | None, typer.Option(metavar="lab[:NAME]", help="The hosts to measure from.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The directory to create.  [default: sweeps/TIME-tune-io500]")
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="DIR", help="Resume this procedure.")] = None,
    journal: JournalPlace = None,
    yes: Annotated[bool, typer.Option("--yes", help="On Lustre, stripe the target without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first three steps, and measure nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON document.")] = False,
) -> int:
    """Find the nodes, striping and ranks per node for the IO500.

    Five steps: gather system and theory; stripe for the hard tests; as many nodes as storage targets; raise the ranks
    per node until ior-easy nears the ceiling or gains nothing more; take those with the best score. Write phases are
    short, so the answer ends with the command line of the full benchmark.
    """
    from ioassay.execution.places import places  # noqa: PLC0415
    from ioassay.launchers import DEFAULT  # noqa: PLC0415
    from ioassay.store.tune_io500_directory import TuneIo500Directory  # noqa: PLC0415
    from ioassay.text.units import parse_rate, parse_share  # noqa: PLC0415
    from ioassay.tuning.io500.prepare import Io500Request, prepare  # noqa: PLC0415
    from ioassay.tuning.io500.runs import Io500Runs  # noqa: PLC0415

    if resume is not None:
        asked = (target, theory, ceilings, storage_targets, most_ranks, stonewall, scale, settings, clients, out)
        if any(asked) or any((launcher, hosts, launcher_options)):
            raise UsageError(
                "--resume keeps what the procedure was asked.", f"Write only: ioassay tune io500 --resume {resume}"
            )
        with TuneIo500Directory.reopen(resume) as directory:
            (place,) = places([directory.document.target], None, directory.document.clients)
            return _do(directory, place, as_json=as_json)
    if target is None:
        raise UsageError("--target is missing.", "Add a directory: ioassay tune io500 --target DIR")
    (place, *others) = places([target], None, clients)
    if others:
        raise UsageError(f"{target} has several storage systems.", "Name one: lab:NAME/STORAGE.")
    document = prepare(
        Io500Request(
            place=place,
            scale=scale,
            settings=settings or [],
            launcher=launcher or DEFAULT,
            hosts=host_names(hosts),
            launcher_options=option_words(launcher_options),
            theory_bytes_per_s=parse_rate(theory) if theory else None,
            ceilings=ceilings,
            storage_targets=storage_targets,
            most_ranks=most_ranks,
            stonewall=stonewall,
            precision=parse_share(precision),
            most_turns=turns,
            command=["ioassay", *sys.argv[1:]],
        )
    )
    Io500Runs(document, place).check()
    if dry_run:
        _show_plan(document)
        return 0
    with TuneIo500Directory.create(out or Path("sweeps") / document.tuning, document) as directory:
        _show_plan(document)
        if document.striping.settings:
            _stripe(directory, journal, yes=yes)
        return _do(directory, place, as_json=as_json)


def _show_plan(document: TuneIo500Document) -> None:
    """On standard error: steps 1 to 3, and what there is to measure."""
    from ioassay.reports.tune_io500.wording import plan  # noqa: PLC0415

    for line in plan(document):
        say(line)


def _stripe(directory: TuneIo500Directory, journal: Path | None, *, yes: bool) -> None:
    """Step 2 on Lustre, if the user agrees. Without a terminal and without --yes it is left to the user."""
    from ioassay.cli.output import show  # noqa: PLC0415
    from ioassay.reports import tuning_changes  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.tuning.apply import apply  # noqa: PLC0415
    from ioassay.tuning.change_plan import plan_changes  # noqa: PLC0415
    from ioassay.tuning.io500.striping import assignments  # noqa: PLC0415

    plan = plan_changes(assignments(directory.document.striping))
    if not plan.is_needed:
        say("The target already has this striping.")
        return
    if not yes:
        if not sys.stdin.isatty():
            say("The striping was not changed; add --yes to set it.")
            return
        show(rendered(tuning_changes.plan_blocks(plan)))
        if not typer.confirm("Set this striping?", err=True):
            return
    done = apply(plan, journal)
    directory.document.striping.journal = done.journal.id
    directory.save()
    done.close()
    say(f"The striping is set. Put it back with: ioassay tune rollback {done.journal.id}")


def _do(directory: TuneIo500Directory, place: Place, *, as_json: bool) -> int:
    from ioassay.cli.tune.conduct import conduct  # noqa: PLC0415
    from ioassay.execution.interruption import Interruption  # noqa: PLC0415
    from ioassay.reports.tune_io500 import TuneIo500Report  # noqa: PLC0415
    from ioassay.tuning.io500.answer import answer  # noqa: PLC0415
    from ioassay.tuning.io500.procedure import Procedure  # noqa: PLC0415
    from ioassay.tuning.io500.runs import Io500Runs  # noqa: PLC0415

    document = directory.document
    runs = Io500Runs(document, place)

    def work() -> None:
        with Interruption() as interruption:
            Procedure(directory, runs, say, interruption).run()

    return conduct(directory, "io500", work, lambda: TuneIo500Report(answer(document)), as_json=as_json)
