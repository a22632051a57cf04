"""Names of nodes in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ioassay.text import prose

if TYPE_CHECKING:
    from ioassay.protocol.event import SurveyedNode


_MOST = 5


def host(node: SurveyedNode) -> str:
    return node["environment"]["host"]


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; for many names, the first ones and the number of the others."""
    if len(names) > _MOST:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more"
    return prose.listed(names)


def on(affected: Sequence[SurveyedNode], nodes: Sequence[SurveyedNode]) -> str:
    """`on all nodes`, or the names of the nodes."""
    if len(nodes) == 1:
        return f"on {host(nodes[0])}"
    return "on all nodes" if len(affected) == len(nodes) else f"on {listed([host(node) for node in affected])}"


def who_differs(nodes: Sequence[SurveyedNode], value_of: Callable[[SurveyedNode], str]) -> str | None:
    """The nodes whose value differs from the most common one; `None` if all are equal."""
    values = [value_of(node) for node in nodes]
    (usual, _), *less_common = Counter(values).most_common()
    if not less_common:
        return None
    differ = [
        f"{host(node)} has {value or 'none'}" for node, value in zip(nodes, values, strict=True) if value != usual
    ]
    return f"{listed(differ)}, the others {usual or 'none'}"
