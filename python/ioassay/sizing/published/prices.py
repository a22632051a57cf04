"""The possible references of prices that are only relative (0.65 against 1).

A hypothesis says of what they are: of the whole configuration, of its usable capacity, its write rate, its drives or
its rack units. Unknown are the prices of all components, none below 0, and a larger drive of the same kind no cheaper
than a smaller one. Every printed price bounds a linear form of them from below and above, so that linear programming
(HiGHS, by way of `scipy.optimize.linprog`) says whether prices exist with which all of them are true, and within which
bounds the price of a brick, or of what one brick has more than another, then lies.

Prices are expressed in those of one brick of the first reference, which therefore is not free.

Not: absolute prices (`evaluate` adds them up).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import NamedTuple, get_args

from ioassay.sizing.arithmetic import Origin, Value, exactly, product, quotient
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Drive
from ioassay.sizing.model import BrickChoice, Size
from ioassay.sizing.parts import choice_of, parts_of
from ioassay.sizing.published.model import (
    BrickRatio,
    ContainedBrick,
    Figure,
    ImpliedPrice,
    Measure,
    PriceFinding,
    PriceHypothesis,
    Scope,
    WholePrice,
)
from ioassay.systems.printed import standing_for

_SLACK = 1e-6
"""By how much, as a share, bounds are widened: whether 0.645 itself rounds to 0.65 is not for the solver to decide."""

_TIGHT = 1e-6
"""Prices that are closer together, as a share of the larger, are one: HiGHS solves to 1e-7."""

Form = Mapping[str, float]
"""A sum of so many times the price of each component."""


class _Statement(NamedTuple):
    """A printed price: `ratio` × the price of the configuration lies between `low` and `high` of the reference's."""

    figure: Figure
    form: Form
    reference: Form
    ratio: float
    low: float
    exact: float
    high: float | None
    """`None` of a price that is printed as the least."""


@dataclass(frozen=True)
class _Problem:
    """Statements, and what else bounds prices."""

    statements: tuple[_Statement, ...]
    unit: Form
    """The thing whose price is 1."""
    dearer: tuple[tuple[str, str], ...]
    """Components of which the first costs no less than the second."""

    def is_possible(self, exact: bool = False) -> bool:
        """Whether prices exist that agree with all statements; with `exact` to the last digit."""
        return self._minimum(1, {}, exact) is not None

    def bounds(self, form: Form, exact: bool = False) -> tuple[float, float | None]:
        """The least and the most that `form` can cost, of a possible problem; `None` where nothing bounds it.

        That the problem is possible is known, so that what the solver cannot end with is unbounded: it sometimes calls
        that infeasible.
        """
        low, high = self._minimum(1, form, exact), self._minimum(-1, form, exact)
        return low or 0.0, None if high is None else -high

    def _minimum(self, sign: int, form: Form, exact: bool) -> float | None:
        """The least of `sign` × `form`; `None` where there is none."""
        import numpy as np  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415  (0.3 s, and few configurations state relative prices)

        names = sorted(
            {*self.unit, *form}
            | {name for statement in self.statements for name in (*statement.form, *statement.reference)}
            | {name for pair in self.dearer for name in pair}
        )

        def row(*terms: tuple[float, Form]) -> list[float]:
            return [sum(factor * of.get(name, 0) for factor, of in terms) for name in names]

        above = [
            row((statement.ratio, statement.form), (-most, statement.reference))
            for statement in self.statements
            if (most := statement.exact if exact else statement.high) is not None
        ]
        below = [
            row((-statement.ratio, statement.form), (statement.exact if exact else statement.low, statement.reference))
            for statement in self.statements
        ]
        order = [row((1, {cheap: 1}), (-1, {dear: 1})) for dear, cheap in self.dearer]
        rows = np.array([*above, *below, *order])
        solved = linprog(
            np.array(row((sign, form))),
            A_ub=rows,
            b_ub=np.zeros(len(rows)),
            A_eq=np.array([row((1, self.unit))]),
            b_eq=np.ones(1),
            method="highs",
        )
        return solved.fun

    def without(self, figure: Figure) -> _Problem:
        """The same without what one figure states."""
        return _Problem(
            tuple(statement for statement in self.statements if statement.figure is not figure), self.unit, self.dearer
        )


def relative_prices(catalogue: Catalogue, figures: Iterable[Figure], sizes: Mapping[str, Size]) -> PriceFinding | None:
    """The possible references of all relative prices of a file; `None` where there are none."""
    stated = tuple(
        figure
        for figure in figures
        if figure.stated.relative_to is not None and figure.stated.relative_to != figure.configuration
    )
    if not stated:
        return None
    price_problem = _PriceProblem(catalogue, stated, sizes)
    hypotheses = [
        hypothesis
        for scope in _scopes(stated, sizes)
        for measure in get_args(Measure)
        if (hypothesis := price_problem.hypothesis(measure, scope)) is not None
    ]
    hypotheses.sort(
        key=lambda hypothesis: (not hypothesis.is_possible, len(hypothesis.common_in), -hypothesis.same_as_whole)
    )
    return PriceFinding(stated, price_problem.bricks[0], tuple(hypotheses), price_problem.assumptions)


def _scopes(figures: Sequence[Figure], sizes: Mapping[str, Size]) -> Sequence[Scope]:
    """Bricks alone only where something else is listed."""
    names = {name for figure in figures for name in (figure.configuration, _reference(figure))}
    others = any(sizes[name].configuration.metadata or sizes[name].configuration.switches for name in names)
    return ("listed", "bricks") if others else ("listed",)


def _reference(figure: Figure) -> str:
    assert figure.stated.relative_to is not None  # `relative_prices` leaves out all others
    return figure.stated.relative_to


class _PriceProblem:
    """The prices of a file, and what is built of what."""

    def __init__(self, catalogue: Catalogue, figures: tuple[Figure, ...], sizes: Mapping[str, Size]) -> None:
        self.catalogue, self.figures, self.sizes = catalogue, figures, sizes
        self.references = tuple(dict.fromkeys(_reference(figure) for figure in figures))
        names = dict.fromkeys(chain(self.references, (figure.configuration for figure in figures)))
        self.bricks = tuple(dict.fromkeys(choice for name in names for choice in sizes[name].bricks))
        self.dearer = tuple(self._dearer_drives())

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of all hypotheses."""
        always = ("No component costs less than 0.", "The same component costs the same in all configurations.")
        return (*always, *(f"{dear} costs no less than {cheap}." for dear, cheap in self.dearer))

    def _dearer_drives(self) -> Iterable[tuple[str, str]]:
        names = dict.fromkeys(choice.drive for choice in self.bricks)
        sized = [(name, self.catalogue.find(name, Drive)) for name in names]
        for (first, first_drive), (second, second_drive) in combinations(sized, 2):
            first_capacity, second_capacity = self._capacity(first), self._capacity(second)
            if first_drive.media == second_drive.media and first_capacity != second_capacity:
                yield (first, second) if first_capacity > second_capacity else (second, first)

    def _capacity(self, drive: str) -> Fraction:
        value = self.catalogue.value(drive, "capacity", "capacity")
        assert value is not None  # every drive has one
        return value.interval.nominal

    def hypothesis(self, measure: Measure, scope: Scope) -> PriceHypothesis | None:
        """Whether all prices can be of `measure`; `None` where the arithmetic does not have it."""
        names = {*self.references, *(figure.configuration for figure in self.figures)}
        if any(not _measured(self.sizes[name], measure, self.catalogue) for name in names):
            return None
        problem = self._problem(measure, scope, ())
        common_in: tuple[str, ...] = ()
        if not problem.is_possible():
            common_in = self._common_in(measure, scope)
            problem = self._problem(measure, scope, common_in)
        is_possible = problem.is_possible()
        ratios = tuple(self._ratios(measure))
        return PriceHypothesis(
            measure=measure,
            scope=scope,
            common_in=common_in,
            is_possible=is_possible,
            same_as_whole=sum(math.isclose(statement.ratio, 1) for statement in problem.statements),
            wholes=tuple(
                WholePrice(statement.figure, 1 / statement.ratio, statement.exact / statement.ratio)
                for statement in problem.statements
            ),
            ratios=ratios,
            implied=tuple(self._implied(problem, common_in)) if is_possible else (),
            conflict=() if is_possible else _conflict(problem),
            contained=None if is_possible else self._contained(ratios),
        )

    def _common_in(self, measure: Measure, scope: Scope) -> tuple[str, ...]:
        """The fewest references in whose tables something unlisted makes all prices possible; none if nothing does."""
        for count in range(1, len(self.references) + 1):
            for some in combinations(self.references, count):
                if self._problem(measure, scope, some).is_possible():
                    return some
        return ()

    def _problem(self, measure: Measure, scope: Scope, common_in: Sequence[str]) -> _Problem:
        statements = []
        for figure in self.figures:
            reference = _reference(figure)
            common = {_common(reference): 1} if reference in common_in else {}
            amount = figure.stated.amount
            interval = standing_for(amount, figure.stated.qualifier)
            of_reference = _measured(self.sizes[reference], measure, self.catalogue)
            ratio = of_reference / _measured(self.sizes[figure.configuration], measure, self.catalogue)
            statements.append(
                _Statement(
                    figure=figure,
                    form={**self._bill(figure.configuration, scope), **common},
                    reference={**self._bill(reference, scope), **common},
                    ratio=float(ratio),
                    low=float(interval.low) * (1 - _SLACK),
                    exact=float(amount.number),
                    high=None if figure.stated.qualifier == "at-least" else float(interval.high) * (1 + _SLACK),
                )
            )
        return _Problem(tuple(statements), self._brick_bill(self.bricks[0]), self.dearer)

    def _bill(self, name: str, scope: Scope) -> Counter[str]:
        """All components of a configuration: bricks and metadata modules taken apart as far as the catalogue does."""
        configuration = self.sizes[name].configuration
        bill: Counter[str] = Counter()
        for counted in configuration.bricks:
            for part, number in self._brick_bill(choice_of(self.catalogue, counted)).items():
                bill[part] += number * counted.count
        if scope == "listed":
            for module, count in configuration.metadata.items():
                for part, number in (parts_of(self.catalogue, module) or {module: 1}).items():
                    bill[part] += number * count
            bill.update(configuration.switches)
        return bill

    def _brick_bill(self, choice: BrickChoice) -> Counter[str]:
        """Its parts and drives; a brick that the catalogue does not take apart is a part by itself."""
        parts = Counter(parts_of(self.catalogue, choice))
        return parts if len(parts) > 1 else parts + Counter({choice.brick: 1})

    def _ratios(self, measure: Measure) -> Iterable[BrickRatio]:
        """The price of one brick by each printed price, where both configurations are of one kind."""
        for figure in self.figures:
            size, reference = self.sizes[figure.configuration], self.sizes[_reference(figure)]
            if len(size.bricks) > 1 or len(reference.bricks) > 1:
                continue
            (choice,), (unit,) = size.bricks, reference.bricks
            amount = figure.stated.amount
            printed = Value(
                "relative price",
                standing_for(amount, figure.stated.qualifier),
                amount.dimension,
                Origin("published", str(figure.stated.at)),
                figure.stated.value,
            )
            above, below = (_measured(measured_size, measure, self.catalogue) for measured_size in (size, reference))
            counts = [exactly("bricks", sized.configuration.bricks[0].count) for sized in (reference, size)]
            factors = [] if above == below else [exactly(f"ratio of {_NOUNS[measure]}", above / below)]
            whole = product("price of all bricks", printed, counts[0], *factors)
            value = quotient(f"price of {choice.brick} in {unit.brick}", whole, counts[1])
            yield BrickRatio(figure, choice, unit, value)

    def _contained(self, ratios: Sequence[BrickRatio]) -> ContainedBrick | None:
        """A brick that would cost less than the one that it contains."""
        for ratio in ratios:
            large, small = self._brick_bill(ratio.brick), self._brick_bill(ratio.reference)
            if ratio.value.interval.high < 1 and small <= large and large != small:
                return ContainedBrick(ratio.brick, ratio.reference, large - small)
        return None

    def _implied(self, problem: _Problem, common_in: Sequence[str]) -> Iterable[ImpliedPrice]:
        unit = self._brick_bill(self.bricks[0])
        for choice in self.bricks[1:]:
            bill = self._brick_bill(choice)
            yield _implied_price(problem, choice.name, bill, choice)
            if unit <= bill:
                yield _implied_price(problem, _listed(bill - unit), bill - unit)
        names = {*self.references, *(figure.configuration for figure in self.figures)}
        for module in sorted({module for name in names for module in self.sizes[name].configuration.metadata}):
            yield _implied_price(problem, module, parts_of(self.catalogue, module) or {module: 1})
        for reference in common_in:
            compared = [figure.configuration for figure in self.figures if _reference(figure) == reference]
            together = ", ".join(dict.fromkeys((reference, *compared)))
            yield _implied_price(problem, f"what each of {together} has besides", {_common(reference): 1})


_NOUNS: dict[Measure, str] = {
    "whole": "configurations",
    "usable": "usable capacities",
    "write": "write rates",
    "drive": "numbers of drives",
    "rack unit": "rack units",
}


def _common(reference: str) -> str:
    """An unknown of its own, which no component can be called."""
    return f"besides {reference}"


def _listed(parts: Mapping[str, int]) -> str:
    return " + ".join(f"{number} {name}" for name, number in parts.items())


def _implied_price(problem: _Problem, what: str, form: Form, of: BrickChoice | None = None) -> ImpliedPrice:
    exact = None
    if problem.is_possible(exact=True):
        low, high = problem.bounds(form, exact=True)
        exact = high if high is not None and high - low <= _TIGHT * max(high, 1) else None
    return ImpliedPrice(what, of, *problem.bounds(form), exact)


def _conflict(problem: _Problem) -> tuple[Figure, ...]:
    """A smallest set of statements that cannot hold together: those without any of which the others can."""
    left = problem
    for statement in problem.statements:
        fewer = left.without(statement.figure)
        if fewer.statements and not fewer.is_possible():
            left = fewer
    return tuple(statement.figure for statement in left.statements)


def _measured(size: Size, measure: Measure, catalogue: Catalogue) -> Fraction:
    """How much of what a price can be of a configuration has; 0 where that is unknown."""
    match measure:
        case "whole":
            return Fraction(1)
        case "usable":
            return size.capacity.usable.interval.nominal
        case "write":
            rate = size.rates["healthy"].get("write")
            return Fraction(0) if rate is None else rate.value.interval.nominal
        case "drive":
            counts = (
                brick.count * catalogue.find(brick.brick, Brick).drive_count for brick in size.configuration.bricks
            )
            return Fraction(sum(counts))
        case "rack unit":
            return Fraction(0) if size.rack_units is None else size.rack_units.interval.nominal
