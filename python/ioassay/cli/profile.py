"""`ioassay profile`: the I/O profile of a recorded application."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ioassay.cli.against import limits_of, named_runs, recognise
from ioassay.cli.output import AsJson, Form, Output, chosen_format, emit, format_of_file, print_report
from ioassay.errors import UsageError


def profile(
    records: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORD...",
            help="Records of a job, recorded runs, Darshan logs, traces of DFTracer or Recorder.",
            show_default=False,
        ),
    ],
    *,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN|RECORD",
            help="A run on the same storage: take limits from it. A record, log or trace: compare with it.",
            show_default=False,
        ),
    ] = None,
    as_study: Annotated[
        bool,
        typer.Option("--as-study", help="Write a study that makes the same I/O, for `ioassay run`."),
    ] = False,
    below: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="With --as-study: only files below this directory.", show_default=False),
    ] = None,
    output: Output = None,
    form: Form = None,
    as_json: AsJson = False,
) -> int:
    """Show what a recorded application does to storage.

    Several records, such as those of the nodes of a job, are one profile; so are Darshan logs of a job, or what
    darshan-parser prints of them, traces of DFTracer (.pfw, .pfw.gz), and what Recorder's recorder2parquet writes.

    With --against RECORD, say what changed since that profile, and where. With --against RUN, judge by what was
    measured on the storage. Both may be given, and each several times.

    With --as-study, write a study with the same I/O: sizes, order, sharing, metadata, pauses and pace. `ioassay run`
    replays it elsewhere without the application, and reports how faithful that was.
    """
    # Imported here because they take a second, which `--help` must not.
    from ioassay.profiles.sources import load_profile  # noqa: PLC0415
    from ioassay.reports import Report  # noqa: PLC0415
    from ioassay.reports.profile import ProfileReport  # noqa: PLC0415
    from ioassay.reports.profile.content import assemble  # noqa: PLC0415
    from ioassay.store.short_names import distinct  # noqa: PLC0415

    if as_study:
        if against:
            raise UsageError("--as-study compares nothing.", "Leave out --against.")
        if form is not None or as_json:
            raise UsageError("--as-study writes YAML.", "Leave out --format and --json.")
        if format_of_file(output) is not None:
            raise UsageError(
                f"--as-study writes YAML, but the name of {output} does not end in .yaml.", "Use -o STUDY.yaml."
            )
        emit(_study(records, (output or records[0].resolve()).stem, below).encode(), output)
        return 0
    if below is not None:
        raise UsageError("--below belongs to --as-study.", "Add --as-study, or leave out --below.")
    chosen = chosen_format(form, output, as_json=as_json)
    other = recognise(against or [])
    runs = named_runs(other.runs)
    loaded = load_profile(records)
    content = assemble(loaded, limits_of(runs, loaded))
    report: Report[Any] = ProfileReport(content)
    if other.profiles:
        from ioassay.reports.profile.comparison import ProfileComparisonReport  # noqa: PLC0415
        from ioassay.reports.profile.comparison.content import Side  # noqa: PLC0415
        from ioassay.reports.profile.comparison.content import assemble as compared  # noqa: PLC0415

        before = load_profile(other.profiles)
        reference = assemble(before, limits_of(runs, before))
        names = distinct([other.profiles[0], records[0]])
        report = ProfileComparisonReport(compared(Side(names[0], reference), Side(names[1], content)))
    return print_report(report, chosen, output)


def _study(records: list[Path], name: str, below: str | None) -> str:
    """The replay of some records as a study. Raises `UsageError` where there is nothing to replay."""
    from ioassay.analysis.replay import replay  # noqa: PLC0415
    from ioassay.profiles.sources import load_profile  # noqa: PLC0415
    from ioassay.reports.profile import as_study  # noqa: PLC0415

    profile = load_profile(records)
    replayed = replay(profile, None if below is None else os.path.abspath(below))
    if replayed is None:
        where = f" below {below}" if below is not None else ""
        raise UsageError(f"The profile has no I/O on storage{where} to replay.", "See it with `ioassay profile`.")
    return as_study.text(replayed, profile, name)
