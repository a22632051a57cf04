"""`ioassay run STUDY --target DIR`, and `ioassay run --resume RUN` to go on with one that was interrupted."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.errors import CannotRun, UsageError
from ioassay.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ioassay.execution.check import Need
    from ioassay.results.loaded import LoadedRun
    from ioassay.results.run_directory import RunDirectory

_NOT_AS_ASKED = 1


def run(
    *,
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="A built-in study (see `ioassay studies`) or a YAML file.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET",
            help="What to measure: a directory, of which only a directory of its own is written to; a URL such as "
            "s3://BUCKET/PREFIX; a block device (see --destroy-data); a lab's storage as lab:NAME or lab:NAME/STORAGE "
            "(see `ioassay lab`). Repeatable: a run for each.",
        ),
    ] = None,
    destroy_data: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="The block device of --target once more: all data on it will be lost."),
    ] = None,
    scale: Annotated[str | None, typer.Option(metavar="SCALE", help="A scale of the study, such as quick.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the study. Repeatable.")
    ] = None,
    launcher: Annotated[str, typer.Option(metavar="NAME", help="What starts the ranks.")] = "local",
    clients: Annotated[
        str | None,
        typer.Option(
            metavar="lab[:NAME]",
            help="The hosts to measure from.  [default: of a lab's target its own, else processes of this node]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="The run directory to create, or of several targets the directory for theirs.  "
            "[default: runs/TIME-STUDY]",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Go on with this run instead: do its cases that are not complete."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as one JSON document on standard output.")
    ] = False,
) -> int:
    """Run a study on a directory, an object store, a block device or a lab and write its report.

    Everything is checked before anything is written. Whatever ends the run, finished phases are kept.
    """
    from ioassay.execution.places import places  # noqa: PLC0415
    from ioassay.execution.prepare import Request, prepare  # noqa: PLC0415

    if resume is not None:
        if study or target or destroy_data or scale or settings or clients or out:
            raise UsageError(
                "--resume goes on with a run as it was asked for.", f"Write only: ioassay run --resume {resume}"
            )
        return _do([(_reopen(resume), None)], as_json)
    if study is None:
        raise UsageError("Which study?", "Write for example: ioassay run quick --target DIR")
    if not target:
        raise UsageError(
            "Which directory, URL or device is to be measured?", f"Write: ioassay run {study} --target DIR"
        )
    request = Request(
        study=study,
        places=places(target, destroy_data, clients),
        scale=scale,
        settings=settings or [],
        launcher=launcher,
        out=out,
        command=["ioassay", *sys.argv[1:]],
    )
    return _do([(prepared.create(), prepared.need) for prepared in prepare(request)], as_json)


def _reopen(resume: Path) -> RunDirectory:
    from ioassay.results.run_directory import RunDirectory  # noqa: PLC0415

    directory = RunDirectory.reopen(resume)
    if directory.document.front_end is not None:
        directory.close()
        raise UsageError(
            f"{resume} is a run of the command line {shlex.join(directory.document.command)}, which has no resume.",
            "Give the command line again, with another directory.",
        )
    return directory


def _do(runs: Sequence[tuple[RunDirectory, Need | None]], as_json: bool) -> int:
    """Does the runs one after the other, until one is interrupted. Returns the gravest of their exit codes."""
    from ioassay import reports  # noqa: PLC0415
    from ioassay.cli.progress import watcher  # noqa: PLC0415
    from ioassay.execution.execute import execute  # noqa: PLC0415
    from ioassay.results.run_directory import REPORT  # noqa: PLC0415

    codes, documents = [], []
    for number, (directory, need) in enumerate(runs):
        with directory:
            execute(directory, watcher(need))
            loaded = directory.loaded()
        interrupted = loaded.document.state == "interrupted"
        if not interrupted:
            report = directory.path / REPORT
            report.write_bytes(reports.build(loaded, "html"))
            if as_json:
                documents.append(reports.build(loaded, "json").decode())
            else:
                _show(loaded, report)
        _say_how_it_ended(directory, loaded)
        codes.append(_exit_code(loaded))
        if interrupted:
            for later, _ in runs[number + 1 :]:
                later.close()
                print(f"Not begun: ioassay run --resume {later.path}", file=sys.stderr)
            break
    if as_json and documents:
        print(documents[0] if len(runs) == 1 else f"[{','.join(documents)}]")
    return max(codes)


def _show(loaded: LoadedRun, report: Path) -> None:
    """Prints the summary, and where the report is."""
    from rich.console import Console  # noqa: PLC0415

    from ioassay.reports import terminal  # noqa: PLC0415

    console = Console()
    with console.capture() as text:  # printed below: rich would end the process when nobody reads it
        console.print("", terminal.summary(loaded))
    print(f"{text.get()}\nReport: {report}", flush=True)


def _say_how_it_ended(directory: RunDirectory, loaded: LoadedRun) -> None:
    """On standard error, unless all went well."""
    document = loaded.document
    for path in document.leftovers:
        print(f"Left on the target: {path}", file=sys.stderr)
    if document.leftovers:
        print(f"Remove it with: ioassay clean {directory.path}", file=sys.stderr)
    if document.state == "complete":
        return
    done = sum(case.state == "complete" for case in document.cases)
    what = "was interrupted" if document.state == "interrupted" else "failed"
    print(
        f"The run {what}: {done} of {format_count(len(document.cases), 'case')} complete, "
        "and what was measured is kept.\n"
        f"Do the rest with: ioassay run --resume {directory.path}",
        file=sys.stderr,
    )


def _exit_code(loaded: LoadedRun) -> int:
    from ioassay.analysis import io500  # noqa: PLC0415
    from ioassay.analysis.acceptance import accepted, judge  # noqa: PLC0415

    if loaded.document.state == "interrupted" or loaded.measurements.is_empty():
        return CannotRun.exit_code
    believed = loaded.document.state == "complete" and loaded.measurements["valid"].all()
    believed &= all(score.is_valid for score in io500.scores(loaded))
    if not believed or accepted(judge(loaded)) == "failed":
        return _NOT_AS_ASKED
    return 0
