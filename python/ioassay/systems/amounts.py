"""Numbers as texts print them, `12.4 GB/s`, `140K`, `33%`: their base units, and what their digits leave open.

A printed number stands for all that rounds to it: half a unit of its last digit either way, the upper end excluded
(`12` is 11.5 or more and less than 12.5). Whole numbers keep all their digits: `800` is 799.5 to 800.5, because
nothing printed says which of its zeros are rounded. Everything is computed in fractions, so that a number that lies
exactly between two printed ones is not decided by floating point.

Not: what people type for a study (`ioassay.text.units`), where `1.5x` is a mistake and not a ratio.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from ioassay.yaml_models.source import quoted


class Dimension(NamedTuple):
    """Powers of the base units: bytes, operations, seconds, …. A plain number has none."""

    bytes: int = 0
    operations: int = 0
    seconds: int = 0
    watts: int = 0
    kilograms: int = 0
    rack_units: int = 0
    money: int = 0
    """In whatever currency: who adds up prices sees to it that there is one."""

    def times(self, other: Dimension, power: int = 1) -> Dimension:
        """The dimension of a product, or with `power` -1 of a quotient."""
        return Dimension(
            *(exponent + power * other_exponent for exponent, other_exponent in zip(self, other, strict=True))
        )

    @property
    def unit(self) -> str:
        """The base unit: `bytes/s`, `operations/s`, `bytes`, `1`."""
        names = dict(zip(("bytes", "operations", "s", "W", "kg", "U", "money"), self, strict=True))
        above = "·".join(name for name, power in names.items() if power > 0) or "1"
        return "/".join([above, *(name for name, power in names.items() if power < 0)])


NUMBER, BYTES = Dimension(), Dimension(bytes=1)
BYTES_PER_S, OPERATIONS_PER_S = Dimension(bytes=1, seconds=-1), Dimension(operations=1, seconds=-1)
SECONDS, WATTS, KILOGRAMS = Dimension(seconds=1), Dimension(watts=1), Dimension(kilograms=1)
RACK_UNITS, MONEY = Dimension(rack_units=1), Dimension(money=1)


class Unit(NamedTuple):
    """How much of the base unit it is."""

    factor: Fraction
    dimension: Dimension


_DECIMAL = {"": 1, "K": 10**3, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_MANY = {"": 1, "K": 10**3, "k": 10**3, "M": 10**6, "万": 10**4}


def _units() -> dict[str, Unit]:
    units = {
        f"{prefix}B{per}": Unit(Fraction(factor), BYTES_PER_S if per else BYTES)
        for prefix, factor in (_DECIMAL | _BINARY).items()
        for per in ("", "/s", "/sec", "/秒", "ps")
    }
    units |= {
        prefix + bits: Unit(Fraction(factor, 8), BYTES_PER_S)
        for prefix, factor in _DECIMAL.items()
        for bits in ("bit/s", "bits/sec", "b/s", "bps")
    }
    units |= {
        prefix + counted: Unit(Fraction(factor), OPERATIONS_PER_S)
        for prefix, factor in _MANY.items()
        for counted in ("IOPS", "IOps", "iops", "ops", "ops/s", "op/s", "files/s")
    }
    units |= {prefix: Unit(Fraction(factor), NUMBER) for prefix, factor in _MANY.items()}
    units |= {letter: Unit(Fraction(factor), BYTES) for letter, factor in {"m": 2**20, "g": 2**30, "t": 2**40}.items()}
    # A floating-point operation counts as one operation, and a transfer as nothing but itself.
    units |= {flops: Unit(Fraction(10**15), OPERATIONS_PER_S) for flops in ("PF", "PFLOPs")}
    units |= {"MT/s": Unit(Fraction(10**6), Dimension(seconds=-1))}
    units |= {"W": Unit(Fraction(1), WATTS), "kW": Unit(Fraction(1000), WATTS), "kg": Unit(Fraction(1), KILOGRAMS)}
    units |= {"U": Unit(Fraction(1), RACK_UNITS)}
    return units | {"x": Unit(Fraction(1), NUMBER), "%": Unit(Fraction(1, 100), NUMBER)}


UNITS = _units()
"""Every unit that can be computed with, as it is printed but for spaces. `m g t` are IOR's."""

_LETTERS = ("G", "T", "P")
"""The suffixes that `df` prints; only a reader of the text knows whether they count in 1000s or in 1024s."""

WORDS = {"two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "ten": 10, "twenty": 20, "double": 2, "doubled": 2}
"""Numbers that are printed as words."""

_PRINTED = re.compile(r"([0-9]{1,15}(?:,[0-9]{3}){0,5})(?:\.([0-9]{1,15}))? ?(.*)")


class Interval(NamedTuple):
    """From `low` up to but without `high`, or a single number; in between what the printed digits say."""

    low: Fraction
    nominal: Fraction
    high: Fraction

    def scaled(self, factor: Fraction) -> Interval:
        """In another unit."""
        return Interval(self.low * factor, self.nominal * factor, self.high * factor)

    def times(self, other: Interval) -> Interval:
        """The product. Nothing that is printed is negative."""
        return Interval(self.low * other.low, self.nominal * other.nominal, self.high * other.high)

    def over(self, other: Interval) -> Interval:
        """The quotient. Raises `ZeroDivisionError` where `other` reaches down to 0."""
        if other.low == 0:
            raise ZeroDivisionError("It divides by a number that may have been rounded down to 0.")
        return Interval(self.low / other.high, self.nominal / other.nominal, self.high / other.low)

    def plus(self, other: Interval) -> Interval:
        """The sum."""
        return Interval(self.low + other.low, self.nominal + other.nominal, self.high + other.high)

    def widened(self, share: Fraction) -> Interval:
        """With a share of itself added at both ends."""
        return Interval(self.low * (1 - share), self.nominal, self.high * (1 + share))

    def meets(self, other: Interval) -> bool:
        """Whether a number lies in both."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return low < high or (low == high and (self.low == self.high or other.low == other.high))


@dataclass(frozen=True)
class Amount:
    """A printed number with its unit."""

    text: str
    """The whole as printed, followed by what the source states of its unit elsewhere: `140K IOPS`."""
    number: Fraction
    """140 of `140K`."""
    unit: str
    """Its unit, likewise: `K IOPS`."""
    factor: Fraction
    """How much of the base unit that is."""
    dimension: Dimension
    half: Fraction
    """Half a unit of the last digit, in `unit`."""

    @property
    def base(self) -> float:
        """In the base unit of its dimension: bytes/s, operations/s, bytes, 1."""
        return float(self.number * self.factor)

    @property
    def rounded(self) -> Interval:
        """All that rounds to it, in base units."""
        low = max(self.number - self.half, Fraction(0))
        return Interval(low, self.number, self.number + self.half).scaled(self.factor)

    @property
    def exact(self) -> Interval:
        """It and nothing else, in base units: a count, or a size that is so by definition."""
        return Interval(self.number, self.number, self.number).scaled(self.factor)


_DIGITS = 9
"""Significant digits of a rate that is written down: more than any clock tells, so that nothing is lost by it."""

_WRITTEN: dict[Dimension, tuple[str, ...]] = {
    BYTES_PER_S: ("GB/s", "MB/s", "kB/s", "B/s"),
    OPERATIONS_PER_S: ("Mops/s", "kops/s", "ops/s"),
}


def spelled(per_s: float, dimension: Dimension) -> str:
    """A rate as `parse_amount` reads it again, in the unit that suits it: `1.934 GB/s`; of bytes or of operations."""
    *_, smallest = units = _WRITTEN[dimension]
    unit = next((unit for unit in units if per_s >= UNITS[unit].factor), smallest)
    return f"{Decimal(f'{per_s / float(UNITS[unit].factor):.{_DIGITS}g}'):f} {unit}"


def parse_amount(printed: str, unit: str | None = None) -> Amount:
    """The number in `printed`; `unit` is what the text says of its unit elsewhere.

    After `140K` or a bare number it follows (`140K`, `IOPS`); in place of another unit it says what that means (`1PB`
    in a text that counts in 1024s: `PiB`; `10.7T`, as `df` and `zfs list` print it: `TiB`). Raises `ValueError`.
    """
    if (word := WORDS.get(printed.lower())) is not None:
        return _amount(printed, str(word), "", "", unit)
    match = _PRINTED.fullmatch(printed)
    if match is None:
        raise ValueError(f"{quoted(printed)} is not a number with a unit; write it as printed: 12.4 GB/s, 140K, 33%")
    whole, decimals, suffix = match.groups()
    return _amount(printed, whole.replace(",", ""), decimals or "", suffix, unit)


def _amount(printed: str, whole: str, decimals: str, suffix: str, unit: str | None) -> Amount:
    printed_unit, text = _unit(printed, unit if unit is not None and suffix in _LETTERS else suffix), printed
    if unit is not None:
        other = _unit(printed, unit)
        if printed_unit.dimension == NUMBER and suffix not in ("x", "%"):
            printed_unit, suffix = Unit(printed_unit.factor * other.factor, other.dimension), f"{suffix} {unit}".strip()
            text = f"{printed}{'' if unit in ('x', '%') else ' '}{unit}"
        else:
            printed_unit, suffix = other, unit
    number, half = Fraction(f"{whole}.{decimals or 0}"), Fraction(1, 2 * 10 ** len(decimals))
    return Amount(text, number, suffix, printed_unit.factor, printed_unit.dimension, half)


def _unit(printed: str, suffix: str) -> Unit:
    unit = UNITS.get(suffix.replace(" ", ""))
    if unit is None:
        raise ValueError(
            f"{quoted(printed)} has the unknown unit {quoted(suffix)}; "
            "use GB/s, MiB/s, Gbit/s, IOPS, kIOPS, files/s, TB, PiB, % or x"
        )
    return unit
