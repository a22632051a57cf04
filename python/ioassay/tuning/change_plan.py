"""The plan of the changes, worked out and checked before any is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.settings import ROOT, Assignment, CannotRead, Definitions, Instance, NotLive, instance_named, parse
from ioassay.tuning.settings.coupling import excluded, followers, order


@dataclass(frozen=True)
class Follower:
    """A setting that may change with another one."""

    instance: Instance
    now: str
    why: str


@dataclass(frozen=True)
class Step:
    """A setting that shall have another value."""

    instance: Instance
    now: str
    wanted: str
    typed: Assignment
    """As it was asked for, with its pattern."""
    followers: Sequence[Follower] = ()
    not_live: str = ""
    """Why only a persistent file can change it; empty where it is changed now."""

    @property
    def name(self) -> str:
        """The full name of the setting."""
        return self.instance.name

    @property
    def is_already_so(self) -> bool:
        """Whether it has the value now."""
        return not self.not_live and self.instance.is_same(self.wanted, self.now)


@dataclass(frozen=True)
class ChangePlan:
    """All changes, in the order in which they are made."""

    steps: Sequence[Step]
    definitions: Definitions = field(default_factory=dict)
    root: Path = ROOT

    @property
    def live(self) -> list[Step]:
        """The steps that are made on the running system."""
        return [step for step in self.steps if not step.not_live]

    @property
    def is_needed(self) -> bool:
        """Whether anything would change."""
        return any(not step.is_already_so for step in self.steps)


def plan_changes(
    assignments: Iterable[Assignment],
    definitions: Definitions | None = None,
    root: Path = ROOT,
    *,
    is_persistent: bool = False,
) -> ChangePlan:
    """Looks up every setting, reads it, checks its value and orders the changes. Changes nothing.

    Raises `UsageError` for what cannot be meant, `CannotRead`, `CannotSet`; of a setting that only a persistent file
    can change `NotLive`, unless it `is_persistent`.
    """
    definitions = definitions or {}
    steps: dict[str, Step] = {}
    for assignment in assignments:
        for instance in parse(assignment.name, definitions, root).instances():
            step = _step(instance, assignment, root, is_persistent=is_persistent)
            known = steps.get(step.name)
            if known is not None and known.wanted != step.wanted:
                raise UsageError(
                    f"{step.name} is given twice: {known.typed} and {step.typed}.", "Keep one of the two assignments."
                )
            steps[step.name] = step
    for name, step in steps.items():
        other = steps.get(excluded(name))
        if other is not None and step.wanted != "0" and other.wanted != "0":
            raise UsageError(f"{name} and {other.name} exclude each other: one of them is 0.", "Set one of the two.")
    return ChangePlan(sorted(steps.values(), key=lambda step: order(step.name, step.wanted)), definitions, root)


def _step(instance: Instance, typed: Assignment, root: Path, *, is_persistent: bool) -> Step:
    now = instance.read()
    not_live = instance.not_live()
    wanted = instance.check(typed.value, now)
    if not_live and not is_persistent:
        raise NotLive(
            f"{instance.name}={typed.value}: {not_live}.",
            "Write the persistent form instead: --persist / (or --persist DIR to look at it first).",
        )
    moved = [] if not_live else [*followers_of(instance.name, root)]
    return Step(instance, now, wanted, typed, moved, not_live)


def followers_of(name: str, root: Path) -> Iterable[Follower]:
    """The settings that may change with this one, as far as they exist here and can be read."""
    for follower, why in followers(name, root):
        instance = instance_named(follower, {}, root)
        try:
            yield Follower(instance, instance.read(), why)
        except CannotRead:
            continue
