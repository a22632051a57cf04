"""The units in which a study may ask for a rate: what each counts, and how large it is.

`GB/s` and `MB/s` are decimal, `GiB/s` and `MiB/s` binary. Not: parsing or printing one (`ioassay.units`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ioassay import units

RateColumn = Literal["rate_bytes_per_s", "rate_operations_per_s"]


@dataclass(frozen=True)
class Unit:
    """A unit of rate. A rate in it is the value of `column` divided by `divisor`."""

    name: units.RateUnit
    column: RateColumn
    divisor: float


def _counted(unit: units.RateUnit) -> RateColumn:
    return "rate_operations_per_s" if unit in units.OPERATIONS_UNITS else "rate_bytes_per_s"


UNITS = {unit: Unit(unit, _counted(unit), units.PER_SECOND[unit]) for unit in units.RATE_UNITS}
"""Every unit that `FigureEntry` and `SummaryRow` may name."""

_SUITED: dict[tuple[RateColumn, bool], tuple[units.RateUnit, units.RateUnit]] = {
    ("rate_bytes_per_s", True): ("MB/s", "GB/s"),
    ("rate_operations_per_s", True): ("IOPS", "kIOPS"),
    ("rate_operations_per_s", False): ("ops/s", "kops/s"),
}
"""By what is counted, and whether the operation moves data: the unit below and from a thousand on."""


def suited(column: RateColumn, operation: str, rates: Iterable[float]) -> Unit:
    """The unit that suits the highest of an operation's `rates`, in bytes/s or operations/s."""
    small, large = _SUITED[column, column == "rate_bytes_per_s" or operation in ("write", "read")]
    return UNITS[large if max(rates, default=0.0) >= UNITS[large].divisor else small]
