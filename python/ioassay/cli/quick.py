"""`ioassay quick DIR`: how fast is this directory, and is it healthy? The study `quick`, sized to fit."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.errors import CannotRun, UsageError
from ioassay.text.units import parse_duration_ns

if TYPE_CHECKING:
    from ioassay.calibration.sizes import Sizes
    from ioassay.execution.places import Place
    from ioassay.execution.prepare import Prepared
    from ioassay.reports.run.storage import Storage

STUDY = "quick"

HUNG_SHARE = 3
"""A step that takes this part of the time limit hangs: the longest is planned to take two seconds or three."""

SHORTEST_S = 10
"""Shortest time limit: less leaves no time to repeat each phase."""


def quick(
    *,
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="What to measure; only a subdirectory of its own is written.")
    ],
    time: Annotated[str, typer.Option(metavar="DURATION", help="Time limit, including the report.")] = "30s",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            parser=Path,  # a plain Path is looked up by typer, which a mount that hangs never answers
            help="The run directory to create.  [default: runs/TIME-quick]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON document.")] = False,
) -> int:
    """Measure how fast a directory is, and whether it is healthy.

    Takes 30 seconds: writes and reads sequentially and at random and creates files, with sizes and processes that suit
    the directory and this node, and judges the result. To choose the settings yourself, use `ioassay run quick`.
    """
    limit_s = _seconds(time)
    place = _place(directory)
    storage, free_bytes = _look(place)
    from ioassay.figures.drawing import drawing  # noqa: PLC0415

    drawing.start()  # it gets ready while the rest is imported, and waits for the report
    from ioassay.calibration import probe, sizes  # noqa: PLC0415
    from ioassay.calibration.budget import Budget  # noqa: PLC0415
    from ioassay.cli.finish import RunReporter  # noqa: PLC0415
    from ioassay.cli.progress import brief  # noqa: PLC0415
    from ioassay.execution.deadline import Deadline  # noqa: PLC0415
    from ioassay.execution.execute import execute  # noqa: PLC0415
    from ioassay.reports.run import pictures, terminal  # noqa: F401, PLC0415  (imported before anything is measured)

    budget = Budget.of_this_process(limit_s)
    watcher = brief(budget)
    ranks = sizes.suitable_ranks()
    with watcher.probing():
        speeds = probe.measure(place, ranks, free_bytes, watcher)
    chosen = sizes.suitable(speeds, ranks, free_bytes, budget.left_s)
    reporter = RunReporter(as_json, storage)
    with _prepared(place, chosen, out, limit_s).create() as run:
        execute(run, watcher, deadline=Deadline(budget.measured_by_s, f"The time limit of {time} left no time for it."))
        reporter.keep(run.path, run.document)
        loaded = run.loaded()
    reporter.report(run.path, loaded)
    return reporter.finish()


def _seconds(text: str) -> float:
    """The time limit. Raises `UsageError`."""
    limit_s = parse_duration_ns(text) / 1e9
    if limit_s < SHORTEST_S:
        raise UsageError(f"--time {text} is too short to measure anything.", f"Use at least {SHORTEST_S}s.")
    return limit_s


def _place(directory: str) -> Place:
    """The place to measure. Raises `UsageError` for anything but a directory, with the command to use instead."""
    from ioassay.execution.places import places  # noqa: PLC0415
    from ioassay.studies.library import find_study  # noqa: PLC0415
    from ioassay.studies.resolve import resolve  # noqa: PLC0415
    from ioassay.studies.suitable_targets import refuse_unsuitable  # noqa: PLC0415

    if directory.startswith("lab:"):
        raise UsageError(
            f"quick measures from this node, but {directory} is mounted on the hosts of a lab.",
            f"Run the study with its own settings: ioassay run quick --target {directory}",
        )
    (place,) = places([directory], None, None)
    refuse_unsuitable(resolve(find_study(STUDY), None, []).study, place.target)
    return place


def _look(place: Place) -> tuple[Storage, int | None]:
    """The file system and its free bytes, if known. Raises `UsageError`, `CannotRun`."""
    from ioassay import mounts  # noqa: PLC0415
    from ioassay.reports.run.storage import Storage  # noqa: PLC0415
    from ioassay.studies.target import no_directory  # noqa: PLC0415

    where = place.target.place
    try:
        statvfs = mounts.ask(where, lambda: _directory(where))
    except OSError as error:
        cannot = CannotRun(f"{where}: {error.strerror}.", "Use a directory that you may write to.")
        raise (no_directory(where, error.errno) or cannot) from error
    mount = mounts.mount_of(where)
    room = mounts.Room.of(mounts.Statfs.of(statvfs, mount))
    file_system = mount.file_system if mount else None
    if room.total_bytes is None or room.free_bytes is None:
        return Storage(where, file_system), None
    used = statvfs.f_blocks - statvfs.f_bfree
    available = used + statvfs.f_bavail  # as df counts it: without what is reserved for root
    return Storage(where, file_system, room.total_bytes, used / max(1, available)), room.free_bytes


def _directory(path: str) -> os.statvfs_result:
    """The file system of a directory. Raises `OSError`, also for what is no directory."""
    if not stat.S_ISDIR(os.stat(path).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return os.statvfs(path)


def _prepared(place: Place, chosen: Sizes, out: Path | None, limit_s: float) -> Prepared:
    """The run of the study, checked. Raises as `prepare`."""
    from ioassay.execution.prepare import Request, prepare  # noqa: PLC0415

    (prepared,) = prepare(
        Request(
            study=STUDY,
            places=[place],
            scale=None,
            settings=chosen.settings(),
            launcher="local",
            hosts=[],
            launcher_options=[],
            time_limit_ns=int(limit_s / HUNG_SHARE * 1e9),
            ceilings=None,
            out=out,
            recorded=False,
            command=["ioassay", *sys.argv[1:]],
        )
    )
    return prepared
