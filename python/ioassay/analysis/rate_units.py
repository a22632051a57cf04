"""The units in which a study may ask for a rate: what each counts, and how large it is.

`GB/s` and `MB/s` are decimal, `GiB/s` and `MiB/s` binary. Not: parsing or printing one (`ioassay.units`).
"""

from __future__ import annotations

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


_UNITS = (
    Unit("GB/s", "rate_bytes_per_s", 1e9),
    Unit("MB/s", "rate_bytes_per_s", 1e6),
    Unit("GiB/s", "rate_bytes_per_s", 2.0**30),
    Unit("MiB/s", "rate_bytes_per_s", 2.0**20),
    Unit("kIOPS", "rate_operations_per_s", 1e3),
    Unit("IOPS", "rate_operations_per_s", 1.0),
)

UNITS = {unit.name: unit for unit in _UNITS}
"""Every unit that `FigureEntry` and `SummaryRow` may name."""
