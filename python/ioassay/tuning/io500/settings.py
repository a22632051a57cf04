"""The settings of the studies: what the user gave, and what follows from the number of nodes and ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioassay.errors import UsageError

STONEWALL = "10s"
"""The stonewall of each write phase, instead of the 300 s of the rules, so that many rank counts can be measured."""

DECIDED = ("clients", "ranks")
"""Settings that the procedure decides."""

AMOUNTS = ("easy_size", "hard_size", "easy_items", "hard_items")
"""Settings that say how much there is to do at most, which the full benchmark leaves as the rules have it."""

_SHIFTS = {"stat_shift": 1, "read_shift": 2, "delete_shift": 3}
"""By how many ranks' items a phase of mdtest looks further on, in ranks of a node."""


def typed(settings: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` each, by key. Raises `UsageError`."""
    values: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting} has no value.", "Write --set KEY=VALUE.")
        if key in DECIDED:
            raise UsageError(
                f"--set {key}: the procedure decides it.",
                "Use --hosts or --clients for the nodes and --most-ranks for the ranks of a node.",
            )
        values[key] = value
    return values


def of_run(settings: Mapping[str, str], nodes: int, ranks: int) -> dict[str, str]:
    """The settings of the study io500 for so many ranks on each of so many nodes.

    With several nodes mdtest looks at the items of another node, as its -N with the ranks of a node does.
    """
    shifts = {key: str(times * ranks) for key, times in _SHIFTS.items() if nodes > 1}
    return {"clients": str(nodes), "ranks": str(ranks), **shifts, **settings}


def words(settings: Mapping[str, str]) -> list[str]:
    """`KEY=VALUE` each."""
    return [f"{key}={value}" for key, value in settings.items()]
