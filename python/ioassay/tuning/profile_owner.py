"""Says of a recommended setting that TuneD's active profile sets it otherwise: a change elsewhere does not last."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ioassay.tuning.rule import Change, Judgement
from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system.tuned import ActiveProfile, Option, active_profile


def profile_of(snapshot: Snapshot) -> ActiveProfile | None:
    """The active profile; `None` where there is none, or it cannot be read: the recommendations hold all the same."""
    try:
        return active_profile(snapshot)
    except Unreadable:
        return None


def with_owners(judgements: Iterable[Judgement], profile: ActiveProfile | None) -> list[Judgement]:
    """The judgements, with the line of the profile in the reason of each change that the profile would undo."""
    if profile is None:
        return list(judgements)
    return [_with_owner(one, profile) if isinstance(one, Change) else one for one in judgements]


def _with_owner(change: Change, profile: ActiveProfile) -> Change:
    lines = dict.fromkeys(_text(option) for option in _undoing(change, profile))
    if not lines:
        return change
    return replace(change, because="; ".join(filter(None, (change.because, *lines))))


def _undoing(change: Change, profile: ActiveProfile) -> Iterator[Option]:
    """What the profile sets to another value than recommended, one line of it once."""
    seen = set()
    for assignment in change.assignments:
        for name, option in profile.options.items():
            matches = fnmatch.fnmatchcase(name, assignment.name) or fnmatch.fnmatchcase(assignment.name, name)
            if matches and option.value_after(assignment.value) != assignment.value and option.line not in seen:
                seen.add(option.line)
                yield option


def _text(option: Option) -> str:
    sets = "may set" if option.condition else "sets"
    bound = f"{option.bound} " if option.bound else ""
    where = (
        "change it there" if option.unit is None else "change it there, or in a profile of your own that includes it"
    )
    return f"{option.where} {sets} it to {bound}{option.value}: {where}"
