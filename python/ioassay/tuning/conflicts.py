"""Who else sets what is recommended or planned, and would set it back: TuneD.

One judgement for both: `tune check` says it of what its rules recommend, `tune apply` of what it is about to set.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from ioassay.tuning.change_plan import ChangePlan
from ioassay.tuning.rule import Change, Judgement
from ioassay.tuning.settings.coupling import tuned_options
from ioassay.tuning.settings.meaning import is_same
from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system.tuned import ActiveProfile, Option, active_profile, is_running


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
    return [
        _with_owner(judgement, profile.options) if isinstance(judgement, Change) else judgement
        for judgement in judgements
    ]


def set_back_by_tuned(plan: ChangePlan, profile: str = "") -> Iterator[str]:
    """The settings that TuneD would set back when it starts, each with whose line it is, as a sentence.

    `profile`: of TuneD, which is written for this plan and changes what the active one sets.
    """
    options = tuned_options(plan.root)
    when = "restarts" if is_running(plan.root) else "starts"
    for step in plan.live:
        for option in _contradicting_options(options, step.name, step.wanted, step.instance.is_same):
            if not profile or option.unit is None:
                yield f"{step.name}: {_claim(option)}, again when TuneD {when}: {_remedy(option)}"


def _with_owner(change: Change, options: Mapping[str, Option]) -> Change:
    owners = {
        option.line: option
        for assignment in change.assignments
        for option in _contradicting_options(options, assignment.name, assignment.value, is_same)
    }
    lines = dict.fromkeys(f"{_claim(option)}: {_remedy(option)}" for option in owners.values())
    return replace(change, because="; ".join(filter(None, (change.because, *lines)))) if lines else change


def _contradicting_options(
    options: Mapping[str, Option], name: str, wanted: str, is_same_value: Callable[[str, str], bool]
) -> Iterator[Option]:
    """The options of TuneD that set another value than is wanted; names on both sides may be patterns."""
    for other, option in options.items():
        matches = other == name or fnmatch.fnmatchcase(other, name) or fnmatch.fnmatchcase(name, other)
        if matches and not is_same_value(wanted, option.value_after(wanted)):
            yield option


def _claim(option: Option) -> str:
    sets = "may set" if option.condition else "sets"
    bound = f"{option.bound} " if option.bound else ""
    why = f" ({option.condition})" if option.condition else ""
    return f"{option.where} {sets} it to {bound}{option.value}{why}"


def _remedy(option: Option) -> str:
    return "change it there" if option.unit is None else "change it there, or in a profile of your own that includes it"
