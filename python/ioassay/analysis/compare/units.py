"""The units of a comparison's rates: one for each kind of rate in a series, in its table, figure and sentences.

Not: the units themselves (`text.rate_units`), the units of a run's report (`run_units`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioassay.analysis.compare.ratios import Compared
from ioassay.text.rate_units import RateColumn, Unit, suited


def of_series(compared: Sequence[Compared]) -> Mapping[RateColumn, Unit]:
    """For each kind of rate the unit in which most rates of a reference and its others read well."""
    medians: dict[RateColumn, dict[int, float]] = {}
    for series in compared:
        for curve in (series.reference, series.other):
            rates = curve.rates[series.column]
            shown = rates.points or [level for level in (rates.peak, rates.sustained) if level]
            # The reference is in each of them, and counts once.
            medians.setdefault(series.column, {}).update({id(point): point.median for point in shown})
    return {
        column: suited(column, compared[0].reference.operation, points.values()) for column, points in medians.items()
    }
