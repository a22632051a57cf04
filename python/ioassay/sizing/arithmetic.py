"""Numbers that know where they come from: a name, a unit, what their digits leave open, and an origin or a formula.

Every number of a size is one of these, from a drive's capacity to what a rack costs, so that nothing is computed whose
way cannot be shown. Printed digits stand for all that rounds to them (`systems.amounts`), and what is computed from
them is an interval too; counts are exact.

Not: which numbers there are (`model`), what a storage system makes of them (`evaluate`), words (`formulas`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Literal

from ioassay.systems.amounts import NUMBER, Amount, Dimension, Interval

Kind = Literal["published", "measured", "assumed", "given"]
"""`published`: printed by a source. `measured`: of a stored run. `assumed`: by the author of the catalogue or of this
program, who says why. `given`: a count or wish of the configuration or of the requirements."""


@dataclass(frozen=True)
class Origin:
    """Where a number that is not computed comes from."""

    kind: Kind
    source: str = ""
    """Published: the document and the lines. Measured: the run and the series. Assumed: why."""


@dataclass(frozen=True)
class Formula:
    """How a number was computed."""

    rule: Literal["product", "quotient", "sum", "difference", "lowest", "function"]
    operands: tuple[Value, ...]
    text: str = ""
    """Only of a `function`: the formula in words and symbols, such as `ceil(d / k) × p`."""
    source: str = ""
    """Where the method comes from: a book, a paper, a source file. Empty for plain arithmetic."""


@dataclass(frozen=True)
class Value:
    """A number in base units: bytes, operations, seconds, watts, kilograms, rack units, money or none."""

    name: str
    """A noun: `data drives of a group`, `write rate of a drive`."""
    interval: Interval
    dimension: Dimension
    origin: Origin | Formula
    written: str = ""
    """As its source writes it: `4 TB`. Empty for computed values."""
    note: str = ""
    """A further fact for the reader, as a sentence."""

    @property
    def nominal(self) -> float:
        """The number itself, in its base unit."""
        return float(self.interval.nominal)

    @property
    def is_exact(self) -> bool:
        """True if its digits leave nothing open."""
        return self.interval.low == self.interval.high

    def named(self, name: str) -> Value:
        """The same number under another name."""
        return replace(self, name=name)


def exactly(name: str, number: int | Fraction, dimension: Dimension = NUMBER, origin: Origin | None = None) -> Value:
    """A count, or a size that is so by definition; without an `origin` it is given."""
    value = Fraction(number)
    return Value(name, Interval(value, value, value), dimension, origin or Origin("given"))


def given(name: str, amount: Amount, dimension: Dimension | None = None) -> Value:
    """A number that the user requires, exact as written; `dimension` where its unit does not say it."""
    return Value(name, amount.exact, dimension or amount.dimension, Origin("given"), amount.text)


def assumed(name: str, number: int | Fraction, dimension: Dimension, why: str, written: str = "") -> Value:
    """A number chosen by the author of the catalogue or of this program."""
    return replace(exactly(name, number, dimension, Origin("assumed", why)), written=written)


def product(name: str, *values: Value, note: str = "") -> Value:
    """All of them multiplied."""
    interval = reduce(Interval.times, (value.interval for value in values))
    dimension = reduce(Dimension.times, (value.dimension for value in values))
    return Value(name, interval, dimension, Formula("product", values), note=note)


def quotient(name: str, above: Value, below: Value, note: str = "") -> Value:
    """One over the other. Raises `ZeroDivisionError` where the lower may be 0."""
    interval = above.interval.over(below.interval)
    dimension = above.dimension.times(below.dimension, -1)
    return Value(name, interval, dimension, Formula("quotient", (above, below)), note=note)


def total(name: str, *values: Value, note: str = "") -> Value:
    """All of them added up; a single one is the total itself. Raises `ValueError` where they have different units."""
    if len(values) == 1:
        return replace(values[0], name=name, note=note or values[0].note)
    interval = reduce(Interval.plus, (value.interval for value in values))
    return Value(name, interval, _common(name, values), Formula("sum", values), note=note)


def difference(name: str, first: Value, *others: Value, note: str = "") -> Value:
    """The first less all others; never below 0. Raises `ValueError` where they have different units."""
    interval = first.interval
    for other in others:
        interval = Interval(
            max(interval.low - other.interval.high, Fraction(0)),
            max(interval.nominal - other.interval.nominal, Fraction(0)),
            max(interval.high - other.interval.low, Fraction(0)),
        )
    dimension = _common(name, (first, *others))
    return Value(name, interval, dimension, Formula("difference", (first, *others)), note=note)


def lowest(name: str, *values: Value, note: str = "") -> Value:
    """The lowest of several limits. Raises `ValueError` where they have different units."""
    interval = Interval(
        min(value.interval.low for value in values),
        min(value.interval.nominal for value in values),
        min(value.interval.high for value in values),
    )
    return Value(name, interval, _common(name, values), Formula("lowest", values), note=note)


def applied(
    name: str,
    function: Callable[..., Fraction],
    *values: Value,
    text: str,
    dimension: Dimension,
    falling: Sequence[int] = (),
    source: str = "",
    note: str = "",
) -> Value:
    """A function of their nominal numbers that rises with each of `values`, but falls with those at `falling`.

    `function` takes a `Fraction` for each value, in base units, and gives one in the base unit of `dimension`.
    """
    rising = [value.interval for value in values]
    low = function(*(bounds.high if index in falling else bounds.low for index, bounds in enumerate(rising)))
    high = function(*(bounds.low if index in falling else bounds.high for index, bounds in enumerate(rising)))
    interval = Interval(low, function(*(bounds.nominal for bounds in rising)), high)
    return Value(name, interval, dimension, Formula("function", values, text, source), note=note)


def _common(name: str, values: Sequence[Value]) -> Dimension:
    dimensions = {value.dimension for value in values}
    if len(dimensions) > 1:
        raise ValueError(f"{name}: {', '.join(f'{value.name} is in {value.dimension.unit}' for value in values)}")
    return values[0].dimension


@dataclass
class Derivation:
    """How values came about: every computed one after what it rests on, each once; then what nothing computed."""

    steps: list[Value] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)

    @property
    def assumptions(self) -> list[tuple[Value, str]]:
        """The assumed inputs, each with the reason."""
        return [
            (value, value.origin.source)
            for value in self.inputs
            if isinstance(value.origin, Origin) and value.origin.kind == "assumed"
        ]


def derivation(*values: Value) -> Derivation:
    """The inputs and steps behind all of `values`, in the order in which a person would work them out."""
    derived = Derivation()
    seen: set[int] = set()
    for value in values:
        for step in _depth_first(value, seen):
            (derived.steps if isinstance(step.origin, Formula) else derived.inputs).append(step)
    derived.inputs = list(dict.fromkeys(derived.inputs))
    return derived


def _depth_first(value: Value, seen: set[int]) -> Iterator[Value]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value.origin, Formula):
        for operand in value.origin.operands:
            yield from _depth_first(operand, seen)
    yield value
