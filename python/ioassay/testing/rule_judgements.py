"""What a rule says of a snapshot, in few words for tests."""

from __future__ import annotations

from ioassay.testing.storage_nodes import Node
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule
from ioassay.tuning.system import Array, System


def judged(rule: Rule, node: Node, *, array: Array | None = None) -> list[Judgement]:
    """What a rule says of a node."""
    return rule.judgements(System(node.snapshot(), array))


def changes(rule: Rule, node: Node, *, array: Array | None = None) -> list[Change]:
    """The changes that it recommends, and nothing else than those and what is fine."""
    found = judged(rule, node, array=array)
    assert all(isinstance(one, Change | Fine) for one in found), found
    return [one for one in found if isinstance(one, Change)]


def change(rule: Rule, node: Node, *, array: Array | None = None) -> Change:
    """The only change that it recommends."""
    found = changes(rule, node, array=array)
    assert len(found) == 1, found
    return found[0]


def fine(rule: Rule, node: Node, *, array: Array | None = None) -> list[str]:
    """The values that are as they should be; it says nothing else."""
    found = judged(rule, node, array=array)
    assert all(isinstance(one, Fine) for one in found), found
    return [one.value for one in found if isinstance(one, Fine)]


def not_applicable(rule: Rule, node: Node, *, array: Array | None = None) -> str:
    """Why it does not apply; it says nothing else."""
    found = judged(rule, node, array=array)
    assert all(isinstance(one, NotApplicable) for one in found), found
    return "; ".join(one.why for one in found if isinstance(one, NotApplicable))


def not_readable(rule: Rule, node: Node, *, array: Array | None = None) -> list[NotReadable]:
    """The values that cannot be read, beside what is fine."""
    found = judged(rule, node, array=array)
    assert not any(isinstance(one, Change) for one in found), found
    return [one for one in found if isinstance(one, NotReadable)]


def assignments(found: Change) -> dict[str, str]:
    """What a change would set."""
    return {one.name: one.value for one in found.assignments}
