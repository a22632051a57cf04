"""What is compared: a subject has curves, a curve has points, a point has rates and the conditions of their
measurement. Every ratio carries the conditions that differ between its sides.

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
    """Conditions of a measurement. `None`: not stated, or meaningless for the operation."""

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
    """How caches were emptied before the phase, as the study states it; `None` for writes."""


Condition = str | int | None
"""A value of a field of `Conditions`; also `True` and `False`."""


@dataclass(frozen=True)
class ConditionDifference:
    """A condition that differs: a field of `Conditions` with both values, `None` where one side does not state it."""

    what: str
    reference: Condition
    other: Condition

    @property
    def is_stated(self) -> bool:
        """True if both sides state it."""
        return self.reference is not None and self.other is not None


def condition_differences(reference: Conditions, other: Conditions) -> tuple[ConditionDifference, ...]:
    """Every condition that differs, in the order of `Conditions`.

    Names of tools are compared case-insensitively. More ranks have more files of their own: only the ranks are
    reported.
    """
    differences = [
        ConditionDifference(field.name, getattr(reference, field.name), getattr(other, field.name))
        for field in fields(Conditions)
    ]
    differing = [difference for difference in differences if _plain(difference.reference) != _plain(difference.other)]
    more_ranks = any(difference.what == "ranks" for difference in differing)
    return tuple(difference for difference in differing if not (difference.what == "files" and more_ranks))


def _plain(value: Condition) -> Condition:
    return value.casefold() if isinstance(value, str) else value


_CONDITION: Mapping[Axis, str] = {"transfer": "transfer_bytes", "storage": "api"}
"""Axes whose condition has another name."""


class AxisValue(NamedTuple):
    """A value on an axis of a sweep, in its unit."""

    axis: Axis
    value: Value
    unit: AxisUnit


class Band(NamedTuple):
    """The rates that agree with a prediction: from `low` to `high`, in the unit of the measured rate."""

    low: float
    high: float


@dataclass(frozen=True)
class Point:
    """A point of a sweep, a published or predicted figure, or a sustained rate.

    `rates` are its valid repetitions, at least one, all above 0. For a sustained rate there is one of each repetition's
    sweep.
    """

    clients: int | None
    conditions: Conditions
    rates: tuple[float, ...]
    others: tuple[AxisValue, ...] = ()
    """Its values on the axes that its study sweeps besides clients, ranks and groups."""
    ceiling_bytes_per_s: float | None = None
    """The lowest ceiling on the path, if known and `rates` count bytes."""
    doubts: tuple[str, ...] = ()
    """The kinds of doubts about its repetitions."""
    sustained: float | None = None
    """For a sustained rate: the sustained rate of the medians of its sweep."""
    band: Band | None = None
    """For a predicted figure."""
    given: GivenRate | None = None
    """For a phase at a given rate or with pauses: `rates` are what was achieved."""

    def value(self, axis: Axis) -> Value | None:
        """Its value on an axis; if that was not swept, the condition of its measurement."""
        swept = next((other.value for other in self.others if other.axis == axis), None)
        if swept is not None:
            return swept
        value = getattr(self.conditions, _CONDITION.get(axis, axis), None)
        return ("no", "yes")[value] if isinstance(value, bool) else value

    @property
    def median(self) -> float:
        """The median of its repetitions, in their unit; for a sustained rate, that of the medians."""
        return median(self.rates) if self.sustained is None else self.sustained

    @property
    def ceiling_share(self) -> float | None:
        """Median / ceiling."""
        return self.median / self.ceiling_bytes_per_s if self.ceiling_bytes_per_s else None


@dataclass(frozen=True)
class Rates:
    """A curve in one quantity: its points in ascending order, its peak and its sustained rate."""

    points: tuple[Point, ...]
    peak: Point | None
    sustained: Point | None
    """For a run, the one of `peak_sustained`."""


def tested(title: str, operation: str) -> str:
    """The title of a series without its operation: `Sequential 1 MiB` of `Sequential 1 MiB, write`."""
    return title.removesuffix(f", {operation}").removesuffix(f" ({operation})")


@dataclass(frozen=True)
class Curve:
    """A series of a run, or the figures of a published or predicted test that belong together."""

    name: tuple[str, ...]
    """Distinguishes it from other curves of the operation: for a run, its workload, phase and job."""
    title: str
    operation: str
    column: RateColumn
    """The quantity that its rates count; a key of `rates`."""
    rates: Mapping[RateColumn, Rates]

    @property
    def test(self) -> str:
        """The title without the operation, as a published system names its tests."""
        return tested(self.title, self.operation)

    @property
    def conditions(self) -> Conditions:
        """The conditions of its first point."""
        curve_rates = self.rates[self.column]
        return next(
            point for point in (*curve_rates.points, curve_rates.peak, curve_rates.sustained) if point
        ).conditions


@dataclass(frozen=True)
class Trained:
    """Epochs of a workload with a number of accelerators: the valid ones of all repetitions, at least one."""

    workload: str
    title: str
    accelerators: int
    batch: int | None
    """Samples of a step; `None`: unknown."""
    compute_ns: int | None
    """Nominal time of a step; `None`: unknown."""
    measures: Mapping[str, tuple[float, ...]]
    """By name of `training.MEASURES` what is known of each epoch, in the unit of the measure."""


@dataclass(frozen=True)
class Subject:
    name: str
    kind: Kind
    curves: tuple[Curve, ...]
    given: tuple[Curve, ...] = ()
    """Series at a rate that the plan sets: no throughput, so they have neither ratios nor trends."""
    trained: tuple[Trained, ...] = ()
    """By workload and number of accelerators."""
