"""What is compared: a subject has curves, a curve has points, a point has rates and the conditions that they hold for;
what two were not measured alike in, so that no ratio stands without it.

Not: where subjects come from (`measured_run`, `published_system`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from statistics import median
from typing import Literal, NamedTuple

from ioassay.analysis.axes import Axis, Value
from ioassay.analysis.given_rates import GivenRate
from ioassay.store.point import AxisUnit
from ioassay.text.rate_units import RateColumn

Kind = Literal["run", "published system", "prediction"]


@dataclass(frozen=True)
class Conditions:
    """What rates were measured with. `None`: not told, or of no meaning for the operation."""

    tool: str | None = None
    layout: str | None = None
    order: str | None = None
    transfer_bytes: int | None = None
    file_set_bytes: int | None = None
    ranks: int | None = None
    files: int | None = None
    api: str | None = None
    direct: bool | None = None
    uncached: bool | None = None
    depth: int | None = None
    fsync: str | None = None
    payload: str | None = None
    cold_cache: str | None = None
    """How caches were emptied before, as the study has it; of what writes it is `None`."""


Condition = str | int | None
"""A value of a field of `Conditions`; also `True` and `False`."""


@dataclass(frozen=True)
class ConditionDifference:
    """A condition that differs: a field of `Conditions` with both values, `None` where one side does not state it."""

    what: str
    reference: Condition
    other: Condition

    @property
    def is_told(self) -> bool:
        """True if both sides tell it, and differently."""
        return self.reference is not None and self.other is not None


def unlike(reference: Conditions, other: Conditions) -> tuple[ConditionDifference, ...]:
    """Every condition that differs, in the order of `Conditions`.

    Names of tools are compared without case. More ranks have more files of their own: that is said once, of the ranks.
    """
    differences = [
        ConditionDifference(field.name, getattr(reference, field.name), getattr(other, field.name))
        for field in fields(Conditions)
    ]
    differing = [difference for difference in differences if _plain(difference.reference) != _plain(difference.other)]
    more_ranks = any(one.what == "ranks" for one in differing)
    return tuple(one for one in differing if not (one.what == "files" and more_ranks))


def _plain(value: Condition) -> Condition:
    return value.casefold() if isinstance(value, str) else value


_CONDITION: Mapping[Axis, str] = {"transfer": "transfer_bytes", "storage": "api"}
"""Axes whose condition is called otherwise."""


class AxisValue(NamedTuple):
    """A value on an axis of a sweep, in its unit."""

    axis: Axis
    value: Value
    unit: AxisUnit


class Band(NamedTuple):
    """What a prediction allows: a measured rate from `low` to `high`, in their unit, agrees with it."""

    low: float
    high: float


@dataclass(frozen=True)
class Point:
    """A point of a sweep, a published or predicted figure, or a sustained rate.

    `rates` are its valid repetitions, at least one, above 0; of a sustained rate those of each repetition's own sweep.
    """

    clients: int | None
    conditions: Conditions
    rates: tuple[float, ...]
    others: tuple[AxisValue, ...] = ()
    """Its values on the axes that its study sweeps besides clients, ranks and groups."""
    ceiling_bytes_per_s: float | None = None
    """The lowest ceiling on the path, where it is known and `rates` are of bytes."""
    doubts: tuple[str, ...] = ()
    """The kinds of doubts about its repetitions."""
    sustained: float | None = None
    """Of a sustained rate: that of the medians of its sweep."""
    band: Band | None = None
    """Of a predicted figure."""
    given: GivenRate | None = None
    """Of a phase at a given rate or with pauses: `rates` are what was kept."""

    def value(self, axis: Axis) -> Value | None:
        """The value that it has on an axis: where that was not swept, what it was measured with."""
        swept = next((other.value for other in self.others if other.axis == axis), None)
        if swept is not None:
            return swept
        found = getattr(self.conditions, _CONDITION.get(axis, axis), None)
        return ("no", "yes")[found] if isinstance(found, bool) else found

    @property
    def median(self) -> float:
        """The median of its repetitions, in their unit; of a sustained rate that of the medians."""
        return median(self.rates) if self.sustained is None else self.sustained

    @property
    def ceiling_share(self) -> float | None:
        """Median / ceiling."""
        return self.median / self.ceiling_bytes_per_s if self.ceiling_bytes_per_s else None


@dataclass(frozen=True)
class Rates:
    """What a curve has in one quantity: points in ascending order, and the two numbers that a sweep comes down to."""

    points: tuple[Point, ...]
    peak: Point | None
    sustained: Point | None
    """Of a run that of `peak_sustained`."""


def tested(title: str, operation: str) -> str:
    """The title of a series without its operation: `Sequential 1 MiB` of `Sequential 1 MiB, write`."""
    return title.removesuffix(f", {operation}").removesuffix(f" ({operation})")


@dataclass(frozen=True)
class Curve:
    """A series of a run, or the figures of a published or predicted test that belong together."""

    name: tuple[str, ...]
    """What tells it apart from others of the same operation: of a run the workload, phase and job."""
    title: str
    operation: str
    column: RateColumn
    """What its rates count by themselves; one of the keys of `rates`."""
    rates: Mapping[RateColumn, Rates]

    @property
    def test(self) -> str:
        """The title without the operation: what was tested, as a file about a system calls it."""
        return tested(self.title, self.operation)

    @property
    def conditions(self) -> Conditions:
        """Those of its first point."""
        own = self.rates[self.column]
        return next(point for point in (*own.points, own.peak, own.sustained) if point).conditions


@dataclass(frozen=True)
class Subject:
    """A side of a comparison."""

    name: str
    kind: Kind
    curves: tuple[Curve, ...]
    given: tuple[Curve, ...] = ()
    """Series whose rate the plan gave: they are no throughput, so no ratio is made of them and no trend."""
