"""The judgements of a rule on a made-up system, in few words for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ioassay.testing import snapshots
from ioassay.testing.storage_nodes import Node
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import Array, System

_Kind = TypeVar("_Kind", bound=Judgement)


def judged(
    rule: Rule,
    about: Node | Snapshot | Mapping[str, str],
    array: Array | None = None,
    *,
    unreadable: str | None = None,
) -> list[Judgement]:
    """The judgements on a node, a snapshot, or a snapshot of these files, of which `unreadable` cannot be read."""
    if isinstance(about, Node):
        about = about.snapshot()
    elif not isinstance(about, Snapshot):
        files = {path: text for path, text in about.items() if path != unreadable}
        about = snapshots.snapshot(files, unreadable={unreadable: "Permission denied"} if unreadable else None)
    return rule.judgements(System(about, array))


def only(judgements: list[Judgement], kind: type[_Kind]) -> _Kind:
    """The one judgement, of this kind."""
    assert len(judgements) == 1, judgements
    assert isinstance(judgements[0], kind), judgements
    return judgements[0]


def changes_of(rule: Rule, node: Node, *, array: Array | None = None) -> list[Change]:
    """The changes that it recommends, and nothing else than those and what is fine."""
    judgements = judged(rule, node, array)
    assert all(isinstance(judgement, Change | Fine) for judgement in judgements), judgements
    return [judgement for judgement in judgements if isinstance(judgement, Change)]


def change_of(rule: Rule, node: Node, *, array: Array | None = None) -> Change:
    """The only change that it recommends."""
    recommended = changes_of(rule, node, array=array)
    assert len(recommended) == 1, recommended
    return recommended[0]


def fine(rule: Rule, node: Node, *, array: Array | None = None) -> list[str]:
    """The values that are as they should be; it says nothing else."""
    judgements = judged(rule, node, array)
    assert all(isinstance(judgement, Fine) for judgement in judgements), judgements
    return [judgement.value for judgement in judgements if isinstance(judgement, Fine)]


def not_applicable(rule: Rule, node: Node, *, array: Array | None = None) -> str:
    """Why it does not apply; it says nothing else."""
    judgements = judged(rule, node, array)
    assert all(isinstance(judgement, NotApplicable) for judgement in judgements), judgements
    return "; ".join(judgement.why for judgement in judgements if isinstance(judgement, NotApplicable))


def not_readable(rule: Rule, node: Node, *, array: Array | None = None) -> list[NotReadable]:
    """The values that cannot be read, beside what is fine."""
    judgements = judged(rule, node, array)
    assert not any(isinstance(judgement, Change) for judgement in judgements), judgements
    return [judgement for judgement in judgements if isinstance(judgement, NotReadable)]


def settings_of(judgements: Iterable[Judgement]) -> list[str]:
    """All that would be set, in order: `block:sda/nr_requests=1024`."""
    return [
        str(assignment)
        for judgement in judgements
        if isinstance(judgement, Change)
        for assignment in judgement.assignments
    ]


def assignments(recommended: Change) -> dict[str, str]:
    """The settings of a change."""
    return {assignment.name: assignment.value for assignment in recommended.assignments}
