"""The units of a comparison's rates: one for each kind of rate in a series, in its table, figure and sentences.

Not: the units themselves (`text.rate_units`), the units of a run's report (`run_units`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioassay.analysis.compare.ratios import Compared
from ioassay.text.rate_units import RateColumn, Unit, suited


def of_series(compared: Sequence[Compared]) -> Mapping[RateColumn, Unit]:
    """For each kind of rate the unit in which most rates of a reference and its others read well."""
    found: dict[RateColumn, dict[int, float]] = {}
    for one in compared:
        for curve in (one.reference, one.other):
            rates = curve.rates[one.column]
            shown = rates.points or [level for level in (rates.peak, rates.sustained) if level]
            # The reference is in each of them, and counts once.
            found.setdefault(one.column, {}).update({id(point): point.median for point in shown})
    return {column: suited(column, compared[0].reference.operation, own.values()) for column, own in found.items()}
