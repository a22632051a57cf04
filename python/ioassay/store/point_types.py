"""Points and axes of a sweep as stored documents hold them, with their bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from ioassay.store.point import MOST_CHARACTERS, PLACEMENT, AxisUnit
from ioassay.store.stored_types import Count, StoredModel

AxisName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=200)]

_Word = Annotated[str, Field(strict=True, min_length=1, max_length=MOST_CHARACTERS)]
AxisValue = Annotated[Count, Field(strict=True)] | _Word


def _counted(point: dict[str, int | str]) -> dict[str, int | str]:
    if wrong := next((axis for axis in PLACEMENT if not isinstance(point.get(axis, 0), int)), None):
        raise ValueError(f"{wrong} is not a count")
    return point


Point = Annotated[dict[AxisName, AxisValue], AfterValidator(_counted)]
"""A value for each axis. An imported result leaves out what its files do not tell."""


class Axis(StoredModel):
    """An axis that a study sweeps besides those of `PLACEMENT`."""

    name: AxisName = Field(description="As the study's `sweep` calls it.")
    unit: AxisUnit
