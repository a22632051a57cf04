"""Asking a rule about a made-up system in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ioassay.testing import snapshots
from ioassay.tuning.rule import Judgement, Rule
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array, System

_Kind = TypeVar("_Kind", bound=Judgement)


def judged(
    rule: Rule,
    about: Snapshot | Mapping[str, str],
    array: Array | None = None,
    unreadable: str | None = None,
) -> list[Judgement]:
    """What a rule says of a snapshot, or of one with these files; `unreadable` is a path that cannot be read."""
    if isinstance(about, Snapshot):
        return rule.judgements(System(about, array))
    files = {path: text for path, text in about.items() if path != unreadable}
    denied = {unreadable: "Permission denied"} if unreadable else None
    return rule.judgements(System(snapshots.snapshot(files, unreadable=denied), array))


def only(judgements: list[Judgement], kind: type[_Kind]) -> _Kind:
    """The one judgement, of this kind."""
    assert len(judgements) == 1, judgements
    assert isinstance(judgements[0], kind), judgements
    return judgements[0]


def settings_of(judgements: list[Judgement]) -> list[str]:
    """All that would be set, in order: `block:sda/nr_requests=1024`."""
    return [str(assignment) for one in judgements for assignment in getattr(one, "assignments", ())]
