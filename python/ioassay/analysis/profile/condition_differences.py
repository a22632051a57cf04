"""In what two profiles are not alike before any of their I/O is compared: who recorded them, how many processes, where.

Not: what they did (`comparison`), words (`ioassay.reports.profile.comparison`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ioassay.analysis.profile.coverage import coverage
from ioassay.profiles.model import Profile

Condition = Literal[
    "source", "command", "processes", "ranks", "nodes", "names of nodes", "duration", "state", "completeness", "steps"
]

CONDITIONS: tuple[Condition, ...] = get_args(Condition)
"""In the order in which they are named: the source first, because it decides what is known at all."""

DURATION = 0.1
"""Durations that differ by less than this share are alike: they are what is compared, and a reason for differences."""

Value = str | int | float | tuple[str, ...]


@dataclass(frozen=True)
class ConditionDifference:
    """A condition that differs, with both values; durations and steps in seconds, completeness in doubts and losses."""

    what: Condition
    reference: Value
    other: Value


def condition_differences(reference: Profile, other: Profile) -> tuple[ConditionDifference, ...]:
    """Every condition that both profiles know and that differs, in the order of `CONDITIONS`."""
    mine, its = _conditions(reference), _conditions(other)
    found = []
    for what in CONDITIONS:
        one, another = mine.get(what), its.get(what)
        if one is None or another is None or one == another:
            continue
        if what == "duration" and _is_near(one, another):
            continue
        if what == "names of nodes" and len(_texts(one)) != len(_texts(another)):
            continue  # said by their number
        found.append(ConditionDifference(what, one, another))
    return tuple(found)


def _conditions(profile: Profile) -> dict[Condition, Value | None]:
    processes = profile.processes
    nodes = tuple(sorted(set(processes["node"].drop_nulls())))
    has_nodes = nodes and not processes["node"].has_nulls()
    ranks = processes["rank"].drop_nulls().n_unique()
    return {
        "source": profile.source,
        "command": profile.commands or None,
        "processes": processes.height,
        "ranks": ranks or None,
        "nodes": len(nodes) if has_nodes else None,
        "names of nodes": nodes if has_nodes else None,
        "duration": profile.duration_s,
        "state": "running" if profile.is_running else "ended",
        "completeness": len(coverage(profile).doubts) + len(profile.losses),
        "steps": profile.timeline_step_s,
    }


def _is_near(value: Value, another: Value) -> bool:
    assert isinstance(value, float)
    assert isinstance(another, float)
    return abs(another - value) <= DURATION * max(value, another)


def _texts(value: Value) -> tuple[str, ...]:
    assert isinstance(value, tuple)
    return value
