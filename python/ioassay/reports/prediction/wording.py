"""Words of a prediction: names of points, rates with their range. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.analysis.names import axis_value
from ioassay.reports.compare.wording import rate_of
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.prediction.model import Predicted, SeriesName, Spot
from ioassay.systems.amounts import BYTES_PER_S
from ioassay.text import format
from ioassay.text.rate_units import RateColumn, Unit, suited
from ioassay.text.units import format_count


def column(value: Value) -> RateColumn:
    """The column that a predicted rate belongs to."""
    return "rate_bytes_per_s" if value.dimension == BYTES_PER_S else "rate_operations_per_s"


def point_name(spot: Spot, points: Sequence[Predicted]) -> str:
    """`8 clients`, or where its series needs more: `8 clients, 16 ranks, transfer 64 KiB`."""
    parts = [format_count(spot.clients, "client")]
    if any(point.spot.clients != point.spot.job.ranks for point in points):
        parts.append(format_count(spot.job.ranks, "rank"))
    parts += [f"{axis} {axis_value(value, unit)}" for axis, value, unit in spot.others]
    return ", ".join(parts)


def unit(name: SeriesName, values: Sequence[Value]) -> Unit:
    """The unit of a series, in which most of its rates read well: one for its table and figure."""
    rates = (rate for value in values for rate in (value.nominal, *_ends(value)))
    return suited(column(values[0]), name.operation, rates)


def expected(point: Predicted, of_series: Unit, value: Value) -> str:
    """The rate that is expected."""
    return rate_of(point.spot.operation, of_series, value.nominal)


def span(point: Predicted, of_series: Unit, value: Value) -> str:
    """The predicted range."""
    return format.span(*(rate_of(point.spot.operation, of_series, end) for end in _ends(value)))


def _ends(value: Value) -> tuple[float, float]:
    return float(value.interval.low), float(value.interval.high)


def places(where: Sequence[str], every: Sequence[str]) -> str:
    """Some of `every` point: `1 client to 8 clients` where they follow one another, else each."""
    first = every.index(where[0])
    if len(where) > 2 and list(every[first : first + len(where)]) == list(where):
        return f"{where[0]} to {where[-1]}"
    return "; ".join(where)
