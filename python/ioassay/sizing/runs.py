"""Rates that stored runs measured, as figures of components.

The rate is the peak of the sweep, as compared and reported elsewhere, with the interval of its median. Not: reading
runs (`results`), what is valid of them (`analysis`).
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from ioassay.analysis import intervals
from ioassay.analysis.ceilings import doubted
from ioassay.analysis.compare import measured_run
from ioassay.analysis.compare.subject import Curve
from ioassay.errors import UsageError
from ioassay.results.run_directory import load
from ioassay.sizing.arithmetic import Origin, Value
from ioassay.sizing.quantities import Quantity
from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S, Interval


def measured_rate(quantity: Quantity, what: str, kind: str, folder: Path | None) -> Value:
    """The peak that a run measured for `kind` of I/O, a `RateKind`; the run's path is relative to `folder`.

    Raises `UsageError` where the run has no valid rate of that kind, or of several workloads.
    """
    path = (folder or Path()) / (quantity.run or "")
    curves = [
        curve
        for curve in measured_run.subject(doubted(load(path)), path.name).curves
        if _is_of(curve, kind) and (quantity.workload is None or curve.name[0] == quantity.workload)
    ]
    if len(curves) != 1:
        named = ", ".join(sorted({curve.name[0] for curve in curves}))
        raise UsageError(
            f"{path} has {'several rates' if curves else 'no valid rate'} of {kind}{f': {named}' if named else ''}.",
            "Name one with `workload`.",
        )
    random = kind.startswith("random") or kind in ("create", "stat", "read_files", "remove")
    rates = curves[0].rates.get("rate_operations_per_s" if random else "rate_bytes_per_s")
    if rates is None or rates.peak is None:
        raise UsageError(f"{path} has no valid rate of {kind}.", "See the doubts in its report.")
    repetitions = rates.peak.rates
    found = intervals.of_median(repetitions)
    low, high = (found.low, found.high) if found else (min(repetitions), max(repetitions))
    interval = Interval(Fraction(low), Fraction(rates.peak.median), Fraction(high))
    origin = Origin("measured", f"{path.name}, {curves[0].title}")
    return Value(what, interval, OPERATIONS_PER_S if random else BYTES_PER_S, origin)


def _is_of(curve: Curve, kind: str) -> bool:
    operation = kind.removeprefix("random_")
    if kind in ("create", "stat", "remove"):
        return curve.operation == kind
    if kind == "read_files":
        return curve.operation == "read" and curve.conditions.order is None
    return curve.operation == operation and (curve.conditions.order == "random") == kind.startswith("random_")
