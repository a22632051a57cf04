"""Differences in the conditions of two profiles: their source, numbers of processes and nodes, and so on.

Not: their I/O (`comparison`), words (`ioassay.reports.profile.comparison`).
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
"""In the order of reports: the source first, because it decides what is known."""

DURATION = 0.1
"""Relative difference of durations below which they count as equal: durations are compared themselves."""

Value = str | int | float | tuple[str, ...]


@dataclass(frozen=True)
class ConditionDifference:
    """A condition that differs, with both values; durations and steps in seconds, completeness in doubts and losses."""

    what: Condition
    reference: Value
    other: Value


def condition_differences(reference: Profile, other: Profile) -> tuple[ConditionDifference, ...]:
    """Every condition that both profiles know and that differs, in the order of `CONDITIONS`."""
    mine, theirs = _conditions(reference), _conditions(other)
    differences = []
    for what in CONDITIONS:
        value, other_value = mine.get(what), theirs.get(what)
        if value is None or other_value is None or value == other_value:
            continue
        if what == "duration" and _is_near(value, other_value):
            continue
        if what == "names of nodes" and len(_texts(value)) != len(_texts(other_value)):
            continue  # reported by their number
        differences.append(ConditionDifference(what, value, other_value))
    return tuple(differences)


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


def _is_near(value: Value, other: Value) -> bool:
    assert isinstance(value, float)
    assert isinstance(other, float)
    return abs(other - value) <= DURATION * max(value, other)


def _texts(value: Value) -> tuple[str, ...]:
    assert isinstance(value, tuple)
    return value
