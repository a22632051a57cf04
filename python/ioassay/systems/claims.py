"""The claims about systems, recomputed from the figures that were printed.

A claim **follows** where the number that it says and the number that its figures give can be the same once both were
rounded as printed; it **does not follow** where they cannot; it **cannot be recomputed** where what it rests on is not
printed. "Does not follow" is about the printed numbers: figures that are only drawn may say otherwise.

How printed numbers are held against computed ones, and what words such as `about` add, is in `printed`. Two claims are
made in words alone:

    greater     the first printed number is the greater one
    similar     the printed numbers differ by no more than `SIMILAR`

Not: which claims there are (`builtin`), showing them (`reports.systems`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Literal, NamedTuple

from ioassay.systems.amounts import NUMBER, Amount, Dimension, Interval
from ioassay.systems.model import Claim, Operand, Qualifier, Reference, Rule, System
from ioassay.systems.printed import agrees, standing_for

SIMILAR = Fraction(10, 100)

Verdict = Literal["follows", "does not follow", "cannot be recomputed"]


class ResolvedOperand(NamedTuple):
    """An operand with its number."""

    operand: Operand
    amount: Amount
    qualifier: Qualifier
    interval: Interval
    """The range that the number stands for."""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim, and whether it follows."""

    system: str
    claim: Claim
    verdict: Verdict
    operands: tuple[ResolvedOperand, ...] = ()
    """The operands of the point that decided."""
    recomputed: float | None = None
    """In the unit that the claim is made in; a ratio for `greater` and `similar`."""
    low: float | None = None
    """The least and the largest that the printed digits allow."""
    high: float | None = None
    why: str = ""
    """Why it cannot be recomputed, or what the numbers would bear out."""


class _Value(NamedTuple):
    interval: Interval
    dimension: Dimension


def check(system: System, known: Mapping[str, System]) -> list[CheckedClaim]:
    """The claims made of `system` in their order; `known` are the systems whose figures they may rest on.

    Raises `KeyError` for a figure that neither has; `library.read` has refused those.
    """
    return [_check(claim, system, known) for claim in system.claims]


def _check(claim: Claim, system: System, known: Mapping[str, System]) -> CheckedClaim:
    if claim.how is None:
        return CheckedClaim(system.name, claim, "cannot be recomputed", why=claim.cannot or "")
    points = [_point(claim, claim.how, operands, system, known) for operands in claim.of]
    if claim.qualifier == "up-to":
        return max(points, key=lambda point: -math.inf if point.recomputed is None else point.recomputed)
    return next((point for point in points if point.verdict != "follows"), points[0])


def _point(
    claim: Claim, how: Rule, operands: Iterable[Operand], system: System, known: Mapping[str, System]
) -> CheckedClaim:
    resolved = tuple(_resolve(operand, system, known) for operand in operands)
    values = [
        _Value(operand.interval.scaled(1 / operand.amount.factor), NUMBER)
        if how == "geometric-mean"  # of the printed numbers, whatever their units: https://io500.org/rules
        else _Value(operand.interval, operand.amount.dimension)
        for operand in resolved
    ]
    claimed = claim.claimed
    try:
        interval, dimension = _RULES[how](values)
        low, nominal, high = map(float, interval.scaled(1 / claimed.factor) if claimed else interval)
    except OverflowError:
        return CheckedClaim(system.name, claim, "cannot be recomputed", resolved, why="It gives too large a number.")
    except (ValueError, ZeroDivisionError) as error:
        return CheckedClaim(system.name, claim, "cannot be recomputed", resolved, why=str(error))
    wanted = claimed.dimension if claimed else NUMBER
    if dimension != wanted:
        why = f"What it rests on gives {dimension.unit}, and it says {wanted.unit}."
        return CheckedClaim(system.name, claim, "cannot be recomputed", resolved, why=why)
    if claimed is not None:
        follows = agrees(claimed, claim.qualifier, interval)
    else:
        follows = interval.nominal > 1 if how == "greater" else abs(interval.nominal - 1) <= SIMILAR
    why = _borne_out(how, values, claimed) if claimed and not follows else ""
    return CheckedClaim(
        system.name, claim, "follows" if follows else "does not follow", resolved, nominal, low, high, why
    )


def _borne_out(how: Rule, values: list[_Value], claimed: Amount) -> str:
    """Percentages of are often called percentages better."""
    if how == "percent-better" and claimed.rounded.meets(_ratio(values).interval):
        return f"It is {claimed.text} of the other, not {claimed.text} better."
    return ""


def _resolve(operand: Operand, system: System, known: Mapping[str, System]) -> ResolvedOperand:
    if not isinstance(operand, Reference):
        return ResolvedOperand(operand, operand.amount, "exact", operand.amount.exact)
    figure = (known[operand.system] if operand.system else system).figure(operand.figure)
    if figure is None:
        raise KeyError(str(operand))
    return ResolvedOperand(operand, figure.amount, figure.qualifier, standing_for(figure.amount, figure.qualifier))


def _same(values: list[_Value]) -> _Value:
    return values[0]


def _ratio(values: list[_Value]) -> _Value:
    above, below = values
    return _Value(above.interval.over(below.interval), above.dimension.times(below.dimension, -1))


def _percent_better(values: list[_Value]) -> _Value:
    (low, nominal, high), dimension = _ratio(values)
    return _Value(Interval(low - 1, nominal - 1, high - 1), dimension)


def _percent_less(values: list[_Value]) -> _Value:
    (low, nominal, high), dimension = _ratio(values)
    return _Value(Interval(1 - high, 1 - nominal, 1 - low), dimension)


def _product(values: list[_Value]) -> _Value:
    return reduce(lambda value, other: _Value(value[0].times(other[0]), value[1].times(other[1])), values)


def _sum(values: list[_Value]) -> _Value:
    if len({value.dimension for value in values}) > 1:
        raise ValueError("What it rests on has different units.")
    return reduce(lambda value, other: _Value(value[0].plus(other[0]), value[1]), values)


def _mean(values: list[_Value]) -> _Value:
    total, dimension = _sum(values)
    return _Value(total.scaled(Fraction(1, len(values))), dimension)


def _geometric_mean(values: list[_Value]) -> _Value:
    columns = zip(*(value.interval for value in values), strict=True)
    root = [Fraction(math.prod(map(float, column)) ** (1 / len(values))) for column in columns]
    return _Value(Interval(*root), NUMBER)


_RULES: dict[Rule, Callable[[list[_Value]], _Value]] = {
    "same": _same,
    "ratio": _ratio,
    "percent-better": _percent_better,
    "percent-less": _percent_less,
    "product": _product,
    "sum": _sum,
    "mean": _mean,
    "geometric-mean": _geometric_mean,
    "greater": _ratio,
    "similar": _ratio,
}
