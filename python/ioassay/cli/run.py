"""`ioassay run STUDY --target DIR`, and `ioassay run --resume RUN` to go on with one that was interrupted."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.launcher_options import Hosts, LauncherOptions, LauncherOrBatch, host_names, option_words
from ioassay.cli.output import say
from ioassay.errors import CannotRun, UsageError
from ioassay.processes.verbosity import note
from ioassay.text.units import parse_duration_ns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from ioassay.execution.plan_check import Need
    from ioassay.execution.prepare import Prepared, StudyPreview
    from ioassay.store.document import RunDocument
    from ioassay.store.run_writer import RunWriter
    from ioassay.store.watch_document import WatchDocument


def run(
    *,
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="A built-in study (see `ioassay studies`) or a YAML file.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET",
            help="What to measure: a directory (a run writes only to its own subdirectory); a URL such as "
            "s3://BUCKET/PREFIX; a block device (see --destroy-data); a lab's storage as lab:NAME or lab:NAME/STORAGE "
            "(see `ioassay lab`). Repeatable: one run for each.",
        ),
    ] = None,
    destroy_data: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="Repeat the block device of --target: all data on it will be lost."),
    ] = None,
    scale: Annotated[str | None, typer.Option(metavar="SCALE", help="A scale of the study, such as quick.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the study. Repeatable.")
    ] = None,
    launcher: LauncherOrBatch = None,
    hosts: Hosts = None,
    launcher_options: LauncherOptions = None,
    clients: Annotated[
        str | None,
        typer.Option(
            metavar="lab[:NAME]",
            help="The hosts to measure from.  [default: the lab's hosts, otherwise local processes]",
        ),
    ] = None,
    ceilings: Annotated[
        Path | None,
        typer.Option(metavar="FILE|DIR", help="Result of `ioassay net`: the network between clients and target."),
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Time limit of a step; a step that takes longer ends the run and is reported with the rank and call "
            "that hang.  "
            "[default: as the study says]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            parser=Path,  # a plain Path is looked up by typer, which a mount that hangs never answers
            help="The run directory to create; with several targets, the directory for all of them.  "
            "[default: runs/TIME-STUDY]",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Resume this run: run the cases that are not complete."),
    ] = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="Record what the engine does, as `ioassay record` does for applications."),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Watch disks, network, processors and memory of clients and servers meanwhile."),
    ] = False,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOSTS",
            help="With --watch: the storage servers, as `ioassay net` takes them.  [default: those of the lab]",
        ),
    ] = None,
    watch_setup: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --watch: a setup (see `ioassay watch`) whose sinks get this node's counters and the phases.",
        ),
    ] = None,
    script_only: Annotated[
        bool, typer.Option("--script-only", help="With --launcher sbatch: write the script but do not submit it.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be run, and write nothing; without --target, check the study."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as one JSON document on standard output.")
    ] = False,
) -> int:
    """Run a study on a directory, object store, block device or lab.

    The run directory gets a report. Everything is checked before anything is written. Whatever ends the run, finished
    phases are kept.
    """
    from ioassay.execution.places import places  # noqa: PLC0415
    from ioassay.execution.prepare import BATCH, Request, prepare, preview  # noqa: PLC0415
    from ioassay.launchers import DEFAULT  # noqa: PLC0415

    if resume is not None:
        asked = [study, target, destroy_data, scale, settings, clients, ceilings, out]
        if any(asked) or any(
            [launcher, hosts, launcher_options, time_limit, record, watch, servers, watch_setup, script_only, dry_run]
        ):
            raise UsageError(
                "--resume keeps the settings of the run; they cannot be changed.",
                f"Write only: ioassay run --resume {resume}",
            )
        return _resume(resume, as_json)
    if study is None:
        raise UsageError("STUDY is missing.", "For example: ioassay run quick --target DIR")
    if not target and not dry_run:
        raise UsageError("--target is missing.", f"Add a directory, URL or device: ioassay run {study} --target DIR")
    if script_only and launcher != BATCH:
        raise UsageError("--script-only needs --launcher sbatch.", "Add it, or leave --script-only out.")
    watched = _watch(servers or [], watch_setup) if watch else None
    if watched is None and (servers or watch_setup):
        raise UsageError("--servers and --watch-setup need --watch.", "Add it, or leave them out.")
    request = Request(
        study=study,
        places=places(target or [], destroy_data, clients),
        scale=scale,
        settings=settings or [],
        launcher=launcher or DEFAULT,
        hosts=host_names(hosts),
        launcher_options=option_words(launcher_options),
        time_limit_ns=parse_duration_ns(time_limit) if time_limit else None,
        ceilings=ceilings,
        out=out,
        recorded=record,
        command=["ioassay", *sys.argv[1:]],
    )
    if dry_run:
        return _show(prepare(request) if target else [], None if target else preview(request), as_json)
    checked = prepare(request)
    for text in dict.fromkeys(judgement.text for prepared in checked for judgement in prepared.judgements):
        print(text, file=sys.stderr)
    runs = [(prepared.create(), prepared.need) for prepared in checked]
    if watched:
        for run, _ in runs:
            run.note_watch(watched)
    if launcher == BATCH:
        return _submit([run for run, _ in runs], script_only, as_json)
    return _run_all(runs, as_json)


def _show(runs: Sequence[Prepared], study: StudyPreview | None, as_json: bool) -> int:
    """Prints what would be run: `study` alone, or on the target of each of `runs`."""
    from ioassay.cli.output import show  # noqa: PLC0415
    from ioassay.reports import json_text  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
    from ioassay.reports.dry_run import DryRun, blocks, data  # noqa: PLC0415

    shown = []
    if study:
        less, again = study.may_write_less, study.may_write_again
        document, plans, judgements = study.document, study.plans, study.judgements
        shown.append(DryRun(document, plans, may_write_less=less, may_write_again=again, judgements=judgements))
    shown += [
        DryRun(
            run.document,
            run.plans,
            run.document.where,
            str(run.path),
            run.need.text,
            {case.id: run.command(case) for case in run.document.cases},
            judgements=run.judgements,
        )
        for run in runs
    ]
    if as_json:
        documents = [json_text(data(dry_run)) for dry_run in shown]
        print(documents[0] if len(documents) == 1 else f"[{','.join(documents)}]", end="")
    else:
        for dry_run in shown:
            show(rendered(blocks(dry_run)))
    return 0


def _watch(servers: Sequence[str], setup: Path | None) -> WatchDocument:
    """The hosts and setup to watch, checked. Raises `UsageError`, `CannotRun`."""
    from ioassay.monitoring import run_agents, watched_hosts  # noqa: PLC0415
    from ioassay.processes.engine import find_agent  # noqa: PLC0415
    from ioassay.store.watch_document import WatchDocument  # noqa: PLC0415

    find_agent()
    if servers:
        watched_hosts.servers(servers)
    if setup:
        run_agents.load_setup(str(setup), setup.parent)
    return WatchDocument(servers=list(servers), setup=str(setup.absolute()) if setup else None)


def _resume(path: Path, as_json: bool) -> int:
    """Runs the cases that are not complete. Of a run without any it says so, and leaves the run as it is; the exit code
    is that of the run again.
    """
    run = _reopen(path)
    if run.document.state != "complete" or run.document.leftovers:
        return _run_all([(run, None)], as_json)
    with run:
        loaded = run.loaded()
    say(f"The run is already complete: {path}\nWrite its report with: ioassay report {path}")
    from ioassay import reports  # noqa: PLC0415
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.cli.finish import exit_code  # noqa: PLC0415
    from ioassay.reports.run import RunReport  # noqa: PLC0415

    report = RunReport(doubted(loaded))
    if as_json:
        print(reports.build(report, "json").decode(), end="")
    return exit_code(report)


def _reopen(resume: Path) -> RunWriter:
    from ioassay.execution.run_owner import refuse_foreign  # noqa: PLC0415
    from ioassay.store.run_directory import read_document  # noqa: PLC0415
    from ioassay.store.run_writer import RunWriter  # noqa: PLC0415

    refuse_foreign(resume)
    _refuse_without_resume(resume, read_document(resume))
    directory = RunWriter.reopen(resume)
    try:
        if wrong := directory.repair_tables():
            print(f"{wrong} The tables are rebuilt from the logs.", file=sys.stderr)
    except BaseException:
        directory.close()
        raise
    return directory


def _refuse_without_resume(resume: Path, document: RunDocument) -> None:
    """Raises `UsageError` where ioassay's control plane has not measured the run."""
    if document.imported is not None:
        raise UsageError(
            f"{resume} was imported from results of {document.imported.tool}: there are no cases to run.",
            "Measure with a study: ioassay run STUDY --target TARGET",
        )
    if document.front_end is not None:
        raise UsageError(
            f"{resume} is a run of the command line {shlex.join(document.command)}, which cannot be resumed.",
            "Run the command line again, with another directory.",
        )


def _submit(runs: Sequence[RunWriter], script_only: bool, as_json: bool) -> int:
    """Has Slurm do the runs, each as a job, or only writes their scripts. Returns the highest of their exit codes."""
    from ioassay.cli.finish import RunReporter  # noqa: PLC0415
    from ioassay.cli.slurm_job import submit_and_follow, write  # noqa: PLC0415

    scripts = [write(run) for run in runs]
    if script_only:
        for script in scripts:
            print(f"sbatch {shlex.quote(str(script))}")
        return 0
    reporter = RunReporter(as_json)
    for run in runs:
        loaded = submit_and_follow(run.path)
        if loaded is None:
            return CannotRun.exit_code
        reporter.report(run.path, loaded)
    return reporter.finish()


def _agents(run: RunWriter) -> AbstractContextManager[object]:
    """A context with the agents that watch the run, if any. Raises `UsageError` for a damaged document."""
    if run.watch is None:
        return nullcontext()
    from ioassay.monitoring.run_agents import RunAgents  # noqa: PLC0415

    return RunAgents(run, run.watch, say)


def _run_all(runs: Sequence[tuple[RunWriter, Need | None]], as_json: bool) -> int:
    """Does the runs one after the other, until one is interrupted. Returns the highest of their exit codes."""
    from ioassay.cli.finish import RunReporter  # noqa: PLC0415
    from ioassay.cli.progress import watcher  # noqa: PLC0415
    from ioassay.execution.execute import execute  # noqa: PLC0415

    reporter = RunReporter(as_json)
    for number, (directory, need) in enumerate(runs):
        note(f"Run directory: {directory.path}; the engine's events and messages: {directory.path / 'logs'}")
        with directory:
            with _agents(directory):
                execute(directory, watcher(need))
            reporter.keep(directory.path, directory.document)
            loaded = directory.loaded()
        reporter.report(directory.path, loaded)
        if loaded.document.state == "interrupted":
            for later, _ in runs[number + 1 :]:
                later.close()
                print(f"Not started: ioassay run --resume {later.path}", file=sys.stderr)
            break
    return reporter.finish()
