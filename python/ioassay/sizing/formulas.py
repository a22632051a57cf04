"""Numbers of a size in words: an amount with its unit, and a step as a line of arithmetic.

Capacities stand in decimal and in binary units side by side, because a drive of 4 TB and a `df` of 3.64 TiB are the
same bytes. Not: computing (`arithmetic`), where a line stands (`ioassay.reports.sizing`).
"""

from __future__ import annotations

import re
from fractions import Fraction

from ioassay.sizing.arithmetic import Formula, Value
from ioassay.systems.amounts import (
    BYTES,
    BYTES_PER_S,
    KILOGRAMS,
    MONEY,
    NUMBER,
    OPERATIONS_PER_S,
    RACK_UNITS,
    SECONDS,
    WATTS,
    Dimension,
)

_DIGITS = 4
"""Significant digits: with three, 1.364 PiB would read as 1.36, on which the reading of a 1.4 PB hangs."""

_UNITS: dict[Dimension, tuple[tuple[Fraction, str], ...]] = {
    BYTES: tuple(
        (Fraction(1000**power), f"{prefix}B") for power, prefix in ((5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "k"))
    ),
    BYTES_PER_S: ((Fraction(10**12), "TB/s"), (Fraction(10**9), "GB/s"), (Fraction(10**6), "MB/s")),
    OPERATIONS_PER_S: ((Fraction(10**6), "million IOPS"), (Fraction(10**3), "kIOPS"), (Fraction(1), "IOPS")),
    WATTS: ((Fraction(1000), "kW"), (Fraction(1), "W")),
    KILOGRAMS: ((Fraction(1), "kg"),),
    RACK_UNITS: ((Fraction(1), "U"),),
    MONEY: ((Fraction(1), ""),),
    NUMBER: ((Fraction(1), ""),),
    SECONDS: (
        (Fraction(2 * 365 * 86400), "years"),
        (Fraction(2 * 86400), "days"),
        (Fraction(3600), "h"),
        (Fraction(60), "min"),
        (Fraction(1), "s"),
    ),
}
"""Per dimension: from which number of base units on a unit is used, and the unit."""

_LENGTHS = {"years": Fraction(365 * 86400), "days": Fraction(86400)}
"""How much those units are that are used only from two on."""

_BINARY = tuple(
    (Fraction(1024**power), f"{prefix}iB") for power, prefix in ((5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "K"))
)

_TIMES = "times "
"""Begins the name of a factor that is not a count of something; then follows what it multiplies."""

_SIGNS = {"product": " × ", "quotient": " ÷ ", "sum": " + ", "difference": " − "}


def amount(value: Value) -> str:
    """`1.536 PB (1.364 PiB)`, `27 GB/s (26.7 to 27.3)`: both kinds of bytes, and what printed digits leave open."""
    text = brief(value)
    if value.dimension == BYTES:
        return f"{text} ({binary(value)})"
    return text if value.is_exact else f"{text} ({_ends(value)})"


def brief(value: Value) -> str:
    """`1.536 PB`, `27 GB/s`: the number alone, bytes in decimal units."""
    return _in_unit(value.interval.nominal, _units(value.dimension))


def binary(value: Value) -> str:
    """Bytes in binary units: `1.364 PiB`."""
    return _in_unit(value.interval.nominal, _BINARY)


def formula(value: Value) -> str:
    """How it was computed: `8 bricks × 4.5 GB/s`; empty of what was not."""
    if not isinstance(value.origin, Formula):
        return ""
    operands = value.origin.operands
    match value.origin.rule:
        case "function":
            return value.origin.text
        case "lowest":
            whose = f"{value.name} of the "
            return "lowest of " + ", ".join(
                f"{operand.name.removeprefix(whose)} {brief(operand)}" for operand in operands
            )
        case "product" if operands[0].name.startswith(_TIMES):
            factor, *others = operands
            whose = factor.name.removeprefix(_TIMES)
            return f"{brief(factor)} × {whose} ({_SIGNS['product'].join(_operand(operand) for operand in others)})"
        case rule:
            return _SIGNS[rule].join(_operand(operand) for operand in operands)


def line(value: Value) -> str:
    """A step: `write rate = 8 bricks × 4.5 GB/s = 36 GB/s (35.6 to 36.4)`."""
    return " = ".join(filter(None, (value.name, formula(value), amount(value))))


def _operand(value: Value) -> str:
    return brief(value) if value.dimension != NUMBER else counted(value)


def counted(value: Value) -> str:
    """A number of things with their name: `8 bricks`, `1 brick`."""
    number = brief(value)
    return f"{number} {_singular(value.name) if number == '1' else value.name}"


def _singular(noun: str) -> str:
    """`drive of a group`, `drive that is read`, `switch`."""
    head, *rest = re.split(r"(?= (?:of|at|in|that|less|lost)\b)", noun, maxsplit=1)
    if head.endswith(("ches", "xes")):
        head = head.removesuffix("es")
    elif head.endswith("ies"):
        head = f"{head.removesuffix('ies')}y"
    return head.removesuffix("s") + "".join(rest).replace(" that are ", " that is ", 1)


def _ends(value: Value) -> str:
    """Both ends in the unit of the number itself, which stands before them."""
    size, _ = _unit(value.interval.nominal, _units(value.dimension))
    return f"{significant(value.interval.low / size)} to {significant(value.interval.high / size)}"


def _in_unit(number: Fraction, units: tuple[tuple[Fraction, str], ...]) -> str:
    size, unit = _unit(number, units)
    return f"{significant(number / size)} {unit}".rstrip()


def _units(dimension: Dimension) -> tuple[tuple[Fraction, str], ...]:
    return _UNITS.get(dimension, ((Fraction(1), dimension.unit),))


def _unit(number: Fraction, units: tuple[tuple[Fraction, str], ...]) -> tuple[Fraction, str]:
    """How much the unit is that suits a number, and the unit."""
    least, unit = next((known_unit for known_unit in units if abs(number) >= known_unit[0]), units[-1])
    return _LENGTHS.get(unit, least), unit


def significant(number: Fraction) -> str:
    """Four significant digits, whole numbers whole: `1,536`, `0.6789`, `4.5`."""
    if number == int(number) or abs(number) >= 10 ** (_DIGITS - 1):
        return f"{round(number):,}"
    text = f"{float(number):.{_DIGITS}g}"
    return text if "e" not in text else f"{float(number):.2e}"
