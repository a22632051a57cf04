"""The units in which a study may ask for a rate: what each counts, and how large it is.

`GB/s` and `MB/s` are decimal, `GiB/s` and `MiB/s` binary. Not: parsing or printing one (`ioassay.text.units`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ioassay.text import units

RateColumn = Literal["rate_bytes_per_s", "rate_operations_per_s"]


ON_DATA = ("write", "read")
"""Operations that move bytes of file sets. The rates of all others count operations."""


@dataclass(frozen=True)
class Unit:
    """A unit of rate. A rate in it is the value of `column` divided by `divisor`."""

    name: units.RateUnit
    column: RateColumn
    divisor: float


def _column_of(unit: units.RateUnit) -> RateColumn:
    return "rate_operations_per_s" if unit in units.OPERATIONS_UNITS else "rate_bytes_per_s"


UNITS = {unit: Unit(unit, _column_of(unit), units.PER_SECOND[unit]) for unit in units.RATE_UNITS}
"""Every unit that `FigureEntry` and `SummaryRow` may name."""

_Family = tuple[units.RateUnit, ...]

_DECIMAL: _Family = ("kB/s", "MB/s", "GB/s")
_BINARY: _Family = ("KiB/s", "MiB/s", "GiB/s")
_IOPS: _Family = ("IOPS", "kIOPS", "MIOPS")
_OPERATIONS: _Family = ("ops/s", "kops/s", "Mops/s")
_FAMILIES = (_DECIMAL, _BINARY, _IOPS, _OPERATIONS)
"""Units of the same kind, ascending."""

_USUAL: Mapping[_Family, units.RateUnit] = {
    _DECIMAL: "MB/s",
    _BINARY: "MiB/s",
    _IOPS: "IOPS",
    _OPERATIONS: "ops/s",
}
"""Where no rate says what fits."""

LEAST, MOST = 1, 9999
"""The numbers that read well: without a zero before the point, and with at most four digits."""


def fitting(wanted: Unit, rates: Iterable[float]) -> Unit:
    """The unit of the kind of `wanted` in which most of `rates`, in bytes/s or operations/s, read well; of several
    `wanted` itself, else the largest.
    """
    kind = next(family for family in _FAMILIES if wanted.name in family)
    return _best(kind, wanted, rates)


def suited(column: RateColumn, operation: str, rates: Iterable[float]) -> Unit:
    """The unit in which most of an operation's `rates`, in bytes/s or operations/s, read well; the largest of such."""
    if column == "rate_bytes_per_s":
        return _best(_DECIMAL, None, rates)
    return _best(_IOPS if operation in ON_DATA else _OPERATIONS, None, rates)


def is_same_kind(unit: Unit, other: Unit) -> bool:
    """True if numbers in both can be compared at a glance, apart from their size: MB/s and GB/s, not MB/s and MiB/s."""
    return any(unit.name in family and other.name in family for family in _FAMILIES)


def _best(family: _Family, wanted: Unit | None, rates: Iterable[float]) -> Unit:
    shown = [rate for rate in rates if rate > 0 and math.isfinite(rate)]
    if not shown:
        return wanted or UNITS[_USUAL[family]]

    def order(unit: Unit) -> tuple[int, bool, float, float]:
        numbers = [rate / unit.divisor for rate in shown]
        badly_read = sum(not LEAST <= number < MOST + 0.5 for number in numbers)
        zeros = sum(max(0.0, math.log(LEAST / number)) for number in numbers)  # before the first digit
        return badly_read, unit != wanted, zeros, -unit.divisor

    return min((UNITS[name] for name in family), key=order)
