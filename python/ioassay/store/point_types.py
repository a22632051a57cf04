"""Points and axes of a sweep as stored documents hold them, with their bounds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ioassay.store.point import MOST_CHARACTERS, PLACEMENT, AxisUnit
from ioassay.store.stored_struct import Count, StoredStruct

AxisName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\Z", max_length=200)]

_Word = Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS)]
AxisValue = Count | _Word


Point = dict[AxisName, AxisValue]
"""A value for each axis. An imported result leaves out what its files do not state. See `counted`."""


def counted(point: Point) -> None:
    """Raises `ValueError` for an axis of `PLACEMENT` whose value is no count."""
    if wrong := next((axis for axis in PLACEMENT if not isinstance(point.get(axis, 0), int)), None):
        raise ValueError(f"{wrong} is not a count")


class Axis(StoredStruct, kw_only=True):
    """An axis that a study sweeps besides those of `PLACEMENT`."""

    name: AxisName
    """As the study's `sweep` calls it."""
    unit: AxisUnit
