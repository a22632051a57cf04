"""The possible bases of relative prices, in words: what each implies, and why others are ruled out.

Not: finding that (`ioassay.sizing.published.prices`), all other published numbers (`table`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ioassay.reports.document import Bullets, Column, Notes, Section, Span, Table, Text
from ioassay.reports.sizing.published.readings import place, three_digits, two_digits
from ioassay.sizing.published.model import (
    BrickRatio,
    Figure,
    ImpliedPrice,
    Measure,
    PriceFinding,
    PriceHypothesis,
    Scope,
)
from ioassay.text.format import ABSENT
from ioassay.text.prose import listed

_MEASURES: dict[Measure, str] = {
    "whole": "of the whole configuration",
    "usable": "per usable capacity",
    "write": "per write rate",
    "drive": "per drive",
    "rack unit": "per rack unit",
}

_SCOPES: dict[Scope, str] = {"listed": "", "bricks": ", bricks alone"}


_AS_MUCH: dict[Measure, str] = {
    "whole": "",
    "usable": "usable capacity",
    "write": "write rate",
    "drive": "drives",
    "rack unit": "rack units",
}


def price_conclusion(finding: PriceFinding) -> str:
    """The conclusion for buyers: the base of the prices, and the resulting price of whole configurations."""
    printed = listed(list(dict.fromkeys(figure.stated.value for figure in finding.figures)))
    price = f"The relative {'price' if ' and ' not in printed else 'prices'} {printed}"
    if not finding.possible:
        return f"{price} cannot be relative to anything known of the configurations: they contradict each other."
    best, possible = finding.possible[0], [hypothesis for hypothesis in finding.possible if not hypothesis.common_in]
    if not possible or possible[0].measure == "whole":
        return f"{price} can be {_MEASURES[best.measure]}{_unlisted(best)}."
    best = possible[0]
    measures = listed(list(dict.fromkeys(_MEASURES[hypothesis.measure] for hypothesis in possible)), "or")
    whole = next((hypothesis for hypothesis in finding.hypotheses if hypothesis.measure == "whole"), None)
    against = (
        ""
        if whole is None
        else f"; as prices of whole configurations they contradict each other{_unless(whole, finding)}"
    )
    example = max(best.wholes, key=lambda comparison: abs(comparison.times - 1))
    configuration, reference = example.figure.configuration, example.figure.stated.relative_to
    return (
        f"{price} must be {measures}{against}. If it is {_MEASURES[best.measure]}: for as much "
        f"{_AS_MUCH[best.measure]}, {configuration} costs {example.figure.stated.value} of {reference}; it has "
        f"{three_digits(example.times)} times as much, so that the whole costs {three_digits(example.price)} of "
        f"{reference}."
    )


def _unless(hypothesis: PriceHypothesis, finding: PriceFinding) -> str:
    """The assumptions under which prices could still be those of whole configurations."""
    if not hypothesis.common_in:
        return ""
    names = [
        name
        for reference in hypothesis.common_in
        for name in (reference, *(of.configuration for of in finding.figures if of.stated.relative_to == reference))
    ]
    return f", unless {listed(list(dict.fromkeys(names)))} contain something that the file does not list"


def _unlisted(hypothesis: PriceHypothesis) -> str:
    return f", if {_implied(hypothesis.implied[-1])}" if hypothesis.common_in else ""


def price_section(finding: PriceFinding) -> Section:
    """The possible bases of the prices with their implications, and the refuted ones with the reason."""
    printed = listed(list(dict.fromkeys(figure.stated.value for figure in finding.figures)))
    groups = [
        tuple(alike)
        for _, alike in groupby(
            finding.possible,
            key=lambda hypothesis: (hypothesis.common_in, hypothesis.scope, *map(_implied, hypothesis.implied)),
        )
    ]
    statements: list[Text] = [_possible(alike, finding) for alike in groups if not alike[0].common_in]
    statements += [
        _impossible(hypothesis)
        for hypothesis in finding.hypotheses
        if hypothesis.common_in or not hypothesis.is_possible
    ]
    statements += [] if not groups else _larger_drives(groups[0][0], finding)
    return Section(
        f"What is the relative price {printed} relative to?",
        [Bullets(statements), _implications(groups, finding), Notes(list(finding.assumptions))],
    )


def _possible(alike: Sequence[PriceHypothesis], finding: PriceFinding) -> str:
    first, total = alike[0], len(finding.figures)
    costs = "; ".join(
        f"one {ratio.brick.brick} costs {three_digits(cost)} {ratio.reference.brick}" for ratio, cost in _same(first)
    )
    alternatives = " or ".join(_MEASURES[hypothesis.measure] for hypothesis in alike)
    also = ""
    if first.measure != "whole" and first.same_as_whole:
        also = (
            f" In {first.same_as_whole} of {total} comparisons both have as much, so that it is the whole price, too."
        )
    return f"It can be {alternatives}{_SCOPES[first.scope]}{f': {costs}' if costs else ''}.{also}"


def _same(hypothesis: PriceHypothesis) -> Iterable[tuple[BrickRatio, float]]:
    """Pairs of bricks with their ratio of prices, where all statements say the same of them."""
    pairs: dict[tuple[str, str], list[BrickRatio]] = {}
    for ratio in hypothesis.ratios:
        pairs.setdefault((ratio.brick.brick, ratio.reference.brick), []).append(ratio)
    for ratios in pairs.values():
        if len({three_digits(ratio.value.nominal) for ratio in ratios}) == 1:
            yield ratios[0], ratios[0].value.nominal


def _impossible(hypothesis: PriceHypothesis) -> str:
    scope = " of what is listed" if hypothesis.common_in else ""
    unless = f"; unless {_implied(hypothesis.implied[-1])}" if hypothesis.common_in else ""
    what = f"{_MEASURES[hypothesis.measure]}{scope}{_SCOPES[hypothesis.scope]}"
    return f"It cannot be {what}: {_reason(hypothesis)}{unless}."


def _implied(implied: ImpliedPrice) -> str:
    exact = "" if implied.exact is None else f" ({three_digits(implied.exact)} if all printed prices are exact)"
    return f"{implied.what} costs {_within(implied)}{exact}"


def _within(implied: ImpliedPrice) -> str:
    low, high = three_digits(implied.low), "" if implied.high is None else three_digits(implied.high)
    return low if low == high else f"{low} to {high}" if high else f"at least {low}"


def _larger_drives(hypothesis: PriceHypothesis, finding: PriceFinding) -> Iterable[Text]:
    """The possible prices of the same brick with other drives, bounded by tables with one price for both."""
    for implied in hypothesis.implied:
        if implied.of is not None and implied.of.brick == finding.unit.brick and implied.high is not None:
            least, most = (two_digits((end - 1) * 100) for end in (implied.low, implied.high))
            within = f"at most {most} %" if least == "0" else f"{least} to {most} %"
            yield (
                f"With {implied.of.drive} in place of {finding.unit.drive}, one {implied.of.brick} "
                f"then costs {within} more."
            )


def _implications(groups: Sequence[Sequence[PriceHypothesis]], finding: PriceFinding) -> Table:
    """The implications of each possible hypothesis, side by side."""
    implied = [{price.what: price for price in alike[0].implied} for alike in groups]
    whats = dict.fromkeys(what for prices in implied for what in prices)
    heads = [" or ".join(_MEASURES[hypothesis.measure] for hypothesis in alike) for alike in groups]
    marks = [f"{_SCOPES[alike[0].scope]}{', with unlisted parts' if alike[0].common_in else ''}" for alike in groups]
    rows: list[list[Text]] = [[what, *(_implied_cell(prices.get(what)) for prices in implied)] for what in whats]
    columns = [Column("Item"), *(Column(f"{head}{mark}".capitalize()) for head, mark in zip(heads, marks, strict=True))]
    return Table(columns, rows, title=f"Prices that follow, in those of one {finding.unit.name}")


def _implied_cell(implied: ImpliedPrice | None) -> Text:
    if implied is None:
        return ABSENT
    within = _within(implied)
    if implied.exact is None or three_digits(implied.exact) == within:
        return within
    return three_digits(implied.exact), Span(within, "below")


def _reason(hypothesis: PriceHypothesis) -> str:
    """Why no prices agree with all statements, of nothing but what is listed."""
    if hypothesis.contained is not None:
        further = listed([f"{number} {name}" for name, number in hypothesis.contained.further.items()])
        large, small = hypothesis.contained.brick.brick, hypothesis.contained.within.brick
        cost = next(of.value for of in hypothesis.ratios if of.brick == hypothesis.contained.brick).nominal
        return (
            f"one {large} would cost {three_digits(cost)} of one {small}, "
            f"although it has all parts of that and {further} more"
        )
    conflict = [
        ratio
        for ratio in hypothesis.ratios
        if not hypothesis.conflict or any(ratio.figure is of for of in hypothesis.conflict)
    ]
    if conflict:
        return _contradicting(conflict)
    return f"no prices of components agree with {listed([place(figure) for figure in hypothesis.conflict])} together"


def _contradicting(ratios: Sequence[BrickRatio]) -> str:
    """`one md3460-capacity would cost 1.95 md3460-performance by capacity-2, but 1.733 by capacity-3`."""
    first = ratios[0]
    by_number: dict[str, list[str]] = {}
    for ratio in ratios:
        by_number.setdefault(three_digits(ratio.value.nominal), []).append(ratio.figure.configuration)
    costs = [f"{number} (by {listed(names)})" for number, names in by_number.items()]
    return f"one {first.brick.brick} would cost {', but '.join(costs)} times what one {first.reference.brick} costs"


def price_agrees_as(prices: PriceFinding | None, figure: Figure) -> Text:
    """The possible base of a stated price, in a cell."""
    if prices is None or all(figure is not priced for priced in prices.figures):
        return Span("by definition", "not judged")
    if not prices.possible:
        return Span("nothing fits", "failed")
    best = prices.possible[0]
    return Span(f"price {_MEASURES[best.measure]}", "passed" if best.measure == "whole" else "warning")
