"""Prints measured values for people: three significant digits, always with a unit, and never a bare guess.

Not: parsing, exact sizes (`units`), values on the axes of a sweep (`ioassay.analysis.names`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.text.rate_units import RateColumn, suited
from ioassay.text.units import (
    RateUnit,
    format_number,
    format_rate,
    format_share,
    format_size,
)

_RANGE = " (range)"
ABSENT = "–"
"""The text for a value that was not measured."""

_DURATIONS = ((3600e9, "h"), (600e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_LENGTH = {"h": 3600e9, "min": 60e9, "s": 1e9, "ms": 1e6, "µs": 1e3}


def rate(bytes_per_s: float | None) -> str:
    """A rate that stands alone, in the decimal unit that suits it: `1.23 GB/s`."""
    return _single_rate(bytes_per_s, "rate_bytes_per_s", "read")


def operations_rate(per_s: float | None) -> str:
    """A rate of operations that stands alone: `12.3 kIOPS`."""
    return _single_rate(per_s, "rate_operations_per_s", "read")


def count_rate(per_s: float | None, noun: str = "") -> str:
    """A rate of metadata operations that stands alone: `12.3 k creates/s`; where its column says what, `12.3 k/s`."""
    return _single_rate(per_s, "rate_operations_per_s", "create", noun)


def _single_rate(per_s: float | None, column: RateColumn, operation: str, noun: str = "") -> str:
    return ABSENT if per_s is None else rate_in(suited(column, operation, [per_s]).name, per_s, noun)


def rate_in(unit: RateUnit, per_s: float | None, noun: str = "") -> str:
    """A rate in bytes or operations per second in a given unit, as one of several: `12.3 GB/s`, `0.12 k creates/s`."""
    return ABSENT if per_s is None else f"{format_rate(per_s, unit).split(' ')[0]} {counting(unit, noun)}"


def counting(unit: RateUnit, noun: str) -> str:
    """`creates/s` for `ops/s`, `k creates/s` for `kops/s`; every other unit has its own word."""
    words: dict[RateUnit, str] = {"ops/s": f"{noun}/s", "kops/s": f"k {noun}/s", "Mops/s": f"M {noun}/s"}
    return words.get(unit, unit).replace(" /", "/")


def duration(duration_ns: float | None) -> str:
    """A time: `312 ms`, `1.23 s`, `12.3 min`."""
    if duration_ns is None:
        return ABSENT
    unit = next((unit for least, unit in _DURATIONS if duration_ns >= least), None)
    return f"{duration_ns:.0f} ns" if unit is None else f"{significant(duration_ns / _LENGTH[unit])} {unit}"


def size(size_bytes: float | None) -> str:
    """A size in binary units: `1 MiB`, `3.50 GiB`; exact where that is short."""
    return ABSENT if size_bytes is None else format_size(int(size_bytes))


def share(share: float | None) -> str:
    """A share of 1 in percent: `8.2 %`, `97 %`."""
    return ABSENT if share is None else format_share(share)


def per_amount(duration_ns: float | None, amount: str) -> str:
    """Time per amount: `1.23 s/GiB`, `35.0 µs/op`."""
    return ABSENT if duration_ns is None else f"{duration(duration_ns)}/{amount}"


def count(number: float | None, singular: str = "", plural: str = "") -> str:
    """How many, with a noun or alone: `1 file`, `2,700 processes`, `64,000`. `plural`: of nouns without a plain s."""
    if number is None:
        return ABSENT
    noun = singular if number == 1 else plural or (f"{singular}s" if singular else "")
    return f"{number:,.0f} {noun}".rstrip()


def significant(value: float) -> str:
    """A number without a unit: `0.0432`, `1.23`, `12,300`."""
    return format_number(value)


def kept(rate: str, wanted: str) -> str:
    """The rate reached of the rate asked for, both written already: `998 of 1000 IOPS`."""
    number, _, unit = rate.partition(" ")
    return f"{number if wanted.endswith(f' {unit}') else rate} of {wanted}"


def interval(low: str, high: str, *, is_range: bool) -> str:
    """The confidence interval of a median from its formatted ends: `1.15 to 1.25 GB/s`; `is_range`: of too few
    repetitions for one, which says so: `1.15 to 1.25 GB/s (range)`.
    """
    return f"{span(low, high)}{_RANGE if is_range else ''}"


def interval_column(intervals: Sequence[str]) -> tuple[str, list[str]]:
    """The title of a column of such intervals, and its cells: `Range` where none of them is more than that."""
    known = [interval for interval in intervals if interval not in (ABSENT, "")]
    if known and all(interval.endswith(_RANGE) for interval in known):
        return "Range", [interval.removesuffix(_RANGE) for interval in intervals]
    return "Interval", [*intervals]


def span(low: str, high: str) -> str:
    """From one number to another, both written already: `1.15 to 1.25 GB/s`; one unit is enough."""
    number, _, unit = low.partition(" ")
    first = number if high.endswith(f" {unit}") else low
    return f"{first} to {high}"


def in_unit(value: float, unit: str) -> str:
    """A value of an acceptance criterion: `unit` is `bytes/s`, `operations/s`, `s` or `1`."""
    match unit:
        case "bytes/s":
            return rate(value)
        case "operations/s":
            return operations_rate(value)
        case "s":
            return duration(value * 1e9)
        case _:
            return f"{value:.0f}" if value == int(value) else significant(value)


def limit(value: float, unit: str) -> str:
    """A limit that a person wrote: as `in_unit`, but `1 s`, not `1.00 s`."""
    number, _, name = in_unit(value, unit).partition(" ")
    short = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{short} {name}".rstrip()


def moment(iso: str) -> str:
    """An ISO time to the second, without its zone: `2026-02-02 02:40:00`."""
    return iso[:19].replace("T", " ")
