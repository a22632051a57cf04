"""Peak and sustained performance, as storage papers summarise a sweep in one table.

Peak is the best median over the sweep. Sustained is what a machine room can count on: the median over the
sweep points at and beyond the first one, in ascending clients, that reaches 90 % of the peak; so a system
that collapses under more clients shows it, and the slow start with few clients does not count. The form of
the table is that of "Dell EMC Ready Solution for HPC PixStor Storage, capacity expansion" (2020), Table 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.rate_units import UNITS, Unit
from ioassay.results.document import SummaryRow

SATURATED = 0.9
"""The share of the peak from which on a sweep counts as saturated."""


@dataclass(frozen=True)
class Level:
    """A rate (bytes/s or operations/s) and the sweep points, in clients, that it rests on."""

    rate: float
    clients: tuple[int, ...]


@dataclass(frozen=True)
class PeakSustained:
    """The two numbers that a sweep comes down to."""

    peak: Level
    sustained: Level


@dataclass(frozen=True)
class Row:
    """A row of the table. `None` where nothing valid was measured."""

    label: str
    workload: str
    unit: Unit
    write: PeakSustained | None
    read: PeakSustained | None


def peak_and_sustained(curve: Sequence[tuple[int, float]]) -> PeakSustained | None:
    """Peak and sustained rate of `curve`: (clients, median rate) per sweep point, in any order.

    Of several equal peaks, the one with the fewest clients counts. An empty curve gives `None`.
    """
    if not curve:
        return None
    ascending = sorted(curve)
    clients, peak = max(ascending, key=lambda point: (point[1], -point[0]))
    first = next(at for at, (_, rate) in enumerate(ascending) if rate >= SATURATED * peak)
    plateau = ascending[first:]
    return PeakSustained(
        peak=Level(peak, (clients,)),
        sustained=Level(median(rate for _, rate in plateau), tuple(clients for clients, _ in plateau)),
    )


def table(summary: Sequence[SummaryRow], points: pl.DataFrame) -> list[Row]:
    """The rows that the study asks for, from the `points` of `rates.points`."""
    return [
        Row(
            label=row.label,
            workload=row.workload,
            unit=UNITS[row.unit],
            write=_of(points, row, "write"),
            read=_of(points, row, "read"),
        )
        for row in summary
    ]


def _of(points: pl.DataFrame, row: SummaryRow, operation: str) -> PeakSustained | None:
    curve = rates.medians(rates.of(points, row.workload, operation), UNITS[row.unit].column)
    return peak_and_sustained(list(zip(curve["clients"], curve["median"], strict=True)))
