"""A point of a sweep: the value that each swept axis has in a case.

Axes are named as in the study: `clients`, `ranks_per_client`, `groups`, and whatever keys its `sweep` names. Values are
in base units: bytes, nanoseconds, counts; what is no number is a word.

Not: which keys of a study can be swept (`ioassay.studies.axes`), how a value reads (`ioassay.analysis.names`), points
as parts of documents (`point_types`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

CLIENTS, RANKS_PER_CLIENT, GROUPS = PLACEMENT = ("clients", "ranks_per_client", "groups")
"""The axes that say how many take part. They are counts in every run; `Axis` entries describe all other axes."""

MOST_CHARACTERS = 256
"""The longest value that is a word: a path of a plug-in."""

AxisUnit = Literal["bytes", "ns", "1", "word"]
"""The unit of the values of an axis; `1` is a count, `word` no number."""


class SweepPoint(NamedTuple):
    """A point of a workload's sweep, in a form that can be the key of a mapping."""

    workload: str
    values: tuple[tuple[str, int | str], ...]


Ascending = tuple[tuple[bool, int, str], ...]


def text(point: Mapping[str, int | str]) -> str:
    """The point as the tables have it: a JSON object."""
    return json.dumps(dict(point), separators=(",", ":"))


def of_text(text: str) -> dict[str, int | str]:
    """The point of a table's row."""
    point: dict[str, int | str] = json.loads(text)
    return point


def ascending(point: Mapping[str, int | str]) -> Ascending:
    """The sort key of points of one workload: the axes in the order in which the study names them, numbers first."""
    return tuple((False, value, "") if isinstance(value, int) else (True, 0, value) for value in point.values())
