"""The arguments of `ioassay profile --against`: runs, which give limits, or a profile to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.analysis.profile.measured_limits import MeasuredLimits, NamedRun
    from ioassay.profiles.model import Profile

_NAME = "Name a run, a record, a folder of either, a Darshan log, or a trace of DFTracer or Recorder."


@dataclass(frozen=True)
class Against:
    """The arguments, by kind."""

    runs: tuple[Path, ...]
    profiles: tuple[Path, ...]


def recognise(typed: list[Path]) -> Against:
    """Sorts the arguments. Raises `UsageError` for what is neither, and for a folder with both."""
    runs: list[Path] = []
    profiles: list[Path] = []
    for path in typed:
        kind, paths = _recognise(path)
        (runs if kind == "run" else profiles).extend(paths)
    return Against(tuple(runs), tuple(profiles))


def _recognise(path: Path) -> tuple[str, list[Path]]:
    """`run` or `profile`, and the directories that are meant."""
    from ioassay.profiles.darshan.recognise import is_darshan  # noqa: PLC0415
    from ioassay.profiles.dftracer.recognise import is_dftracer  # noqa: PLC0415
    from ioassay.profiles.recorder.recognise import is_recorder  # noqa: PLC0415
    from ioassay.profiles.records.directory import open_record  # noqa: PLC0415
    from ioassay.profiles.sources import refuse_other  # noqa: PLC0415
    from ioassay.store import index  # noqa: PLC0415
    from ioassay.store.kinds import NET, RECORD, RUN, recognise  # noqa: PLC0415
    from ioassay.store.stored_directory import StoredDirectory  # noqa: PLC0415

    if is_darshan(path) or is_dftracer(path) or is_recorder(path):
        return "profile", [path]
    if path.is_file():
        refuse_other(path)
        return "profile", [path]
    try:
        with StoredDirectory.open(path) as directory:
            kind = recognise(directory)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"There is no {path}.", _NAME) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", _NAME) from error
    if kind is NET:
        raise UsageError(f"{path} is a measurement of the network, which has no limit of a profile.", _NAME)
    if kind is not None:
        return "run" if kind is RUN else "profile", [path]
    entries = index.index(path)
    below = {entry.kind for entry in entries.entries} | {unreadable.kind for unreadable in entries.unreadable}
    if {RUN.name, RECORD.name} <= below:
        raise UsageError(f"{path} holds runs and records.", "Name the run or the record that you mean.")
    if RUN.name in below:
        return "run", index.runs([path])
    try:
        if not below:
            open_record(path)
    except UsageError as error:
        raise UsageError(f"{path} holds no run, no record, no Darshan log and no trace.", _NAME) from error
    return "profile", [path]


def named_runs(paths: tuple[Path, ...]) -> list[NamedRun]:
    """The runs. Raises `UsageError` for one that cannot be read."""
    if not paths:
        return []
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.analysis.profile.measured_limits import NamedRun  # noqa: PLC0415
    from ioassay.store.run_directory import load  # noqa: PLC0415
    from ioassay.store.short_names import distinct  # noqa: PLC0415

    return [NamedRun(name, doubted(load(path))) for name, path in zip(distinct(paths), paths, strict=True)]


def limits_of(runs: list[NamedRun], profile: Profile) -> MeasuredLimits | None:
    """The limits that they measured, for a profile; `None` without runs. Raises `UsageError` where there are none."""
    from ioassay.analysis.profile.measured_limits import measured_limits  # noqa: PLC0415

    if not runs:
        return None
    limits = measured_limits(runs, profile)
    if not limits.measured and not limits.needs:
        what = runs[0].name if len(runs) == 1 else "These runs"
        raise UsageError(
            f"{what} measured nothing that a limit could come from: no valid sweep of transfer sizes, no random beside "
            "sequential requests, no latencies of direct reads or writes, or of stat, remove or rename.",
            "Measure the storage with: ioassay run examples/limits-of-my-storage.yaml --target DIR",
        )
    return limits
