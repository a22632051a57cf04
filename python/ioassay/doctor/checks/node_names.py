"""How nodes are named in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ioassay.text import prose

if TYPE_CHECKING:
    from ioassay.protocol.event import SurveyedNode


_MOST = 5


def host(node: SurveyedNode) -> str:
    """The name of a surveyed node."""
    return node["environment"]["host"]


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; of many the first ones and how many more."""
    if len(names) > _MOST:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
    return prose.listed(names)


def on(concerned: Sequence[SurveyedNode], nodes: Sequence[SurveyedNode]) -> str:
    """`on all nodes`, or on which."""
    if len(nodes) == 1:
        return f"on {host(nodes[0])}"
    return "on all nodes" if len(concerned) == len(nodes) else f"on {listed([host(node) for node in concerned])}"


def who_differs(nodes: Sequence[SurveyedNode], what: Callable[[SurveyedNode], str]) -> str | None:
    """Which nodes have something else than most, and what; `None` where all have the same."""
    values = [what(node) for node in nodes]
    (usual, _), *others = Counter(values).most_common()
    if not others:
        return None
    differ = [
        f"{host(node)} has {value or 'none'}" for node, value in zip(nodes, values, strict=True) if value != usual
    ]
    return f"{listed(differ)}, the others {usual or 'none'}"
