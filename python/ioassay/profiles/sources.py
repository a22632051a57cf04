"""The profile of what was captured of an application, whatever captured it.

How a file or a directory begins says what it comes from. Another source is a line in `SOURCES`. A run stands for the
records of its engines (`recorded_runs`). Not: reading one (`records`, `darshan`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.profiles import other_files
from ioassay.profiles.darshan.recognise import SUFFIX, is_darshan, open_log
from ioassay.profiles.dftracer.recognise import is_dftracer
from ioassay.profiles.model import Profile
from ioassay.profiles.recorder.recognise import is_recorder
from ioassay.profiles.records.directory import is_table
from ioassay.store.kinds import RECORD, recognise
from ioassay.store.stored_directory import StoredDirectory


@dataclass(frozen=True)
class ProfileSource:
    """What profiles are read from."""

    title: str
    """Of several, for messages."""
    recognises: Callable[[Path], bool]
    """Whether a path is of it, also where it is damaged."""
    load: Callable[[Sequence[Path]], Profile]
    """The profile of all paths together. Raises `UsageError`."""


def _load_records(paths: Sequence[Path]) -> Profile:
    from ioassay.profiles.engine_io import with_engine_io  # noqa: PLC0415
    from ioassay.profiles.recorded_runs import cases_of, records_of  # noqa: PLC0415
    from ioassay.profiles.records import profile as records_profile  # noqa: PLC0415

    records = records_of(paths)
    for path in records:
        refuse_other(path)
    return with_engine_io(records_profile.load_profile(records), cases_of(records))


def refuse_other(path: Path) -> None:
    """Raises `UsageError` for what never was a record; a damaged one passes, and its reader says what is damaged."""
    if not path.is_dir():
        beginning = _beginning(path)
        if not is_table(path.name, beginning):
            raise other_files.not_a_profile(path, beginning)
        return
    with StoredDirectory.open(path) as directory:
        kind, names = recognise(directory), directory.names()
    if kind is not None and kind is not RECORD:
        raise UsageError(f"{path} is of the kind {kind.name} ({kind.document}), not a profile.", other_files.TAKES)
    for name in sorted(names):
        if kind is None and SUFFIX in name:
            raise other_files.not_a_profile(path / name, _beginning(path / name))


def _beginning(path: Path) -> bytes:
    try:
        with open_log(path) as file:
            return file.read(other_files.BEGINNING_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"There is no {path}.", other_files.TAKES) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", other_files.TAKES) from error


def _load_darshan(paths: Sequence[Path]) -> Profile:
    from ioassay.profiles.darshan import profile  # noqa: PLC0415

    return profile.load_profile(paths)


def _load_dftracer(paths: Sequence[Path]) -> Profile:
    from ioassay.profiles.dftracer import profile  # noqa: PLC0415

    return profile.load_profile(paths)


def _load_recorder(paths: Sequence[Path]) -> Profile:
    from ioassay.profiles.recorder import profile  # noqa: PLC0415

    return profile.load_profile(paths)


SOURCES = (
    ProfileSource("Darshan logs", is_darshan, _load_darshan),
    ProfileSource("traces of DFTracer", is_dftracer, _load_dftracer),
    ProfileSource("traces of Recorder", is_recorder, _load_recorder),
    ProfileSource("records", lambda _: True, _load_records),
)
"""The first that recognises a path reads it, and only that one is imported. The last refuses what is of none."""


def load_profile(paths: Sequence[Path]) -> Profile:
    """The profile of all paths together. Raises `UsageError` where they are of several sources, or of none."""
    by_source: dict[ProfileSource, list[Path]] = {}
    for path in paths:
        by_source.setdefault(next(kind for kind in SOURCES if kind.recognises(path)), []).append(path)
    if len(by_source) > 1:
        named = " and ".join(f"{source.title} ({of_source[0]})" for source, of_source in by_source.items())
        raise UsageError(f"These are {named}: one profile is read from one of them.", "Name either.")
    ((source, of_source),) = by_source.items()
    return source.load(of_source)
