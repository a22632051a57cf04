"""The profile of what was captured of an application, whatever captured it.

How a file or a directory begins says what it comes from. Another source is a line in `SOURCES`. A run stands for the
records of its engines (`recorded_runs`). Not: reading one (`records`, `darshan`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.results.darshan import profile as darshan_profile
from ioassay.results.darshan.recognise import is_darshan
from ioassay.results.engine_io import with_engine_io
from ioassay.results.profile_model import Profile
from ioassay.results.recorded_runs import cases_of, records_of
from ioassay.results.records import profile as records_profile


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
    records = records_of(paths)
    return with_engine_io(records_profile.load_profile(records), cases_of(records))


SOURCES = (
    ProfileSource("Darshan logs", is_darshan, darshan_profile.load_profile),
    ProfileSource("records", lambda _: True, _load_records),
)
"""The first that recognises a path reads it. The last refuses what is of none."""


def load_profile(paths: Sequence[Path]) -> Profile:
    """The profile of all paths together. Raises `UsageError` where they are of several sources, or of none."""
    by_source: dict[ProfileSource, list[Path]] = {}
    for path in paths:
        by_source.setdefault(next(one for one in SOURCES if one.recognises(path)), []).append(path)
    if len(by_source) > 1:
        named = " and ".join(f"{source.title} ({own[0]})" for source, own in by_source.items())
        raise UsageError(f"These are {named}: one profile is read from one of them.", "Name either.")
    ((source, own),) = by_source.items()
    return source.load(own)
