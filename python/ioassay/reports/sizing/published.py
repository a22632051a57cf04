"""Published numbers beside the arithmetic: how each can be meant, and where they contradict each other.

Not: finding that (`ioassay.sizing.published`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from itertools import groupby

from ioassay.reports.document import Block, Bullets, Column, Notes, Paragraph, Section, Span, Table, Text
from ioassay.reports.format import ABSENT
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Formula, Value
from ioassay.sizing.published.model import (
    BrickRatio,
    Figure,
    Implied,
    Label,
    Measure,
    PartName,
    PriceFinding,
    PriceHypothesis,
    Published,
    RateFinding,
    Reading,
    Repeated,
    Scope,
    Shared,
    Trial,
    UnitFinding,
)
from ioassay.systems.amounts import Interval

_PREFIXES = ("", "K", "M", "G", "T", "P", "E")

_MEASURES: dict[Measure, str] = {
    "whole": "of the whole configuration",
    "usable": "per usable capacity",
    "write": "per write rate",
    "drive": "per drive",
    "rack unit": "per rack unit",
}

_SCOPES: dict[Scope, str] = {"listed": "", "bricks": ", bricks alone"}

_PARTS: dict[PartName, str] = {"drive": "a drive", "group": "a RAID group", "brick": "a brick"}

_MOST_SHOWN = 2
"""Readings that are named of a number that does not fit the others."""


def blocks(published: Published) -> list[Block]:
    """Every published number with what the arithmetic gives, then what all of them say together."""
    if not published.figures:
        return []
    if published.is_consistent:
        follow = f"All {len(published.figures)} published numbers follow from the arithmetic as printed."
        findings: list[Block] = [Paragraph(follow)]
    else:
        findings = [Bullets(list(_findings(published)))]
    return [
        Section("Published numbers", [_table(published)]),
        Section("Do the published numbers agree?", findings),
        *([] if published.prices is None else [_prices(published.prices)]),
    ]


def unit_name(reading: Reading, label: Label) -> str:
    """What a printed unit means in a reading: `PiB`, `1000 TiB`, `1024 TB`; the unit itself where nothing else."""
    power, suffix = label.power + reading.prefix, _suffix(reading, label)
    if not label.power:
        return suffix
    match reading.base:
        case "decimal":
            return f"{_PREFIXES[power]}{suffix}"
        case "binary":
            return f"{_PREFIXES[power]}i{suffix}"
        case "thousands":
            return f"1000 {_PREFIXES[power - 1]}i{suffix}"
        case "of 1024":
            return f"1024 {_PREFIXES[power - 1]}{suffix}"
        case "millions":
            return f"million {_PREFIXES[power - 2]}i{suffix}"


def _suffix(reading: Reading, label: Label) -> str:
    match reading.bits:
        case "bits":
            return label.suffix.replace("B", "bit", 1)
        case "bytes":
            return "B/s"
        case "":
            return label.suffix


def meaning(trial: Trial, label: Label) -> str:
    """A reading in words, without its number: `PiB, rounded down`."""
    reading = trial.reading
    if reading.neighbour is not None:
        configuration, printed, ratio = reading.neighbour
        return f"{printed} of {configuration} × {ratio}"
    return ", ".join(filter(None, (unit_name(reading, label), *_extras(reading, [trial.recomputed]))))


def _extras(reading: Reading, recomputed: Iterable[Value]) -> Iterable[str]:
    """What a reading assumes besides the unit."""
    match reading.basis:
        case "before file system":
            yield "before the file system's overhead"
        case "raw" | "usable":
            yield f"{reading.basis} capacity"
    if reading.rounding != "nearest":
        yield f"rounded {reading.rounding}"
    if reading.part is not None:
        rounded = dict.fromkeys(_rounded_part(value, reading) for value in recomputed)
        yield f"computed from the rounded capacity of {_PARTS[reading.part.part]} ({_listed(list(rounded))})"


def _rounded_part(value: Value, reading: Reading) -> str:
    assert isinstance(value.origin, Formula)
    part = value.origin.operands[-1]
    return formulas.brief(part) if reading.base in ("decimal", "of 1024") else formulas.binary(part)


def _table(published: Published) -> Table:
    columns = [
        Column("Configuration", merges=True),
        Column("Stated", wraps=False),
        Column("Place"),
        Column("Arithmetic"),
        Column("Agrees as"),
    ]
    rows: list[list[Text]] = [
        [
            one.configuration,
            f"{one.stated.what.replace('_', ' ')} {_printed(one)}",
            Span(str(one.stated.at), "faint"),
            ABSENT if one.arithmetic is None else _arithmetic(one.arithmetic),
            _agrees_as(published, one),
        ]
        for one in published.figures
    ]
    return Table(columns, rows)


def _printed(figure: Figure) -> str:
    """With what the source says of its unit elsewhere."""
    stated = figure.stated
    return f"{stated.value} ({stated.unit})" if stated.unit else stated.value


def _arithmetic(value: Value) -> Text:
    step = formulas.formula(value)
    return (formulas.amount(value), Span(step, "below")) if step else formulas.amount(value)


def _agrees_as(published: Published, figure: Figure) -> Text:
    if figure.stated.what == "price":
        return _price_agrees_as(published.prices, figure)
    if figure.arithmetic is None:
        return Span(figure.why, "not judged")
    finding = published.units_of(figure)
    trial = figure.trial(Reading(figure.label.base) if finding is None else finding.best.reading)
    printed = figure.trial(Reading(figure.label.base))
    assert trial is not None  # units alone are tried of every number
    assert printed is not None
    if not trial.agrees:
        fits = [_fit(one, figure) for one in figure.agreeing[:_MOST_SHOWN]]
        alone = f"by itself it fits {' or '.join(fits)}" if fits else "nothing fits"
        return Span(f"not {_fit(trial, figure)}, {_off(trial)}", "failed"), Span(alone, "below")
    agrees = Span(_fit(trial, figure), "passed" if trial.weight == 0 else "warning")
    if trial is printed:
        return agrees
    return agrees, Span(f"{'also' if printed.agrees else 'not'} {_fit(printed, figure)}, {_off(printed)}", "below")


def _price_agrees_as(prices: PriceFinding | None, figure: Figure) -> Text:
    if prices is None or all(figure is not one for one in prices.figures):
        return Span("by definition", "not judged")
    if not prices.possible:
        return Span("nothing fits", "failed")
    best = prices.possible[0]
    return Span(f"price {_MEASURES[best.measure]}", "passed" if best.measure == "whole" else "warning")


def _fit(trial: Trial, figure: Figure) -> str:
    """`PiB: 1.535`, `1.4PB of performance-8 × 3/2: 2.1`."""
    return f"{meaning(trial, figure.label)}: {formulas.significant(trial.number.nominal)}"


def _off(trial: Trial) -> str:
    """`9.7 % more`: the arithmetic than what is printed."""
    return f"{abs(trial.off) * 100:.2g} % {'more' if trial.off > 0 else 'less'}"


def _findings(published: Published) -> Iterable[Text]:
    contradicted = {id(figure) for one in published.repeated for figure in one.figures}
    for finding in published.units:
        yield from _units(finding, contradicted)
    yield from map(_repeated, published.repeated)
    yield from map(_rates, published.rates)


def _units(finding: UnitFinding, contradicted: Container[int]) -> Iterable[Text]:
    """`contradicted` are the figures of which more is said elsewhere."""
    best, number = finding.best, len(finding.figures)
    match finding.outcome:
        case "as printed":
            return
        case "one unit":
            yield f"All {number} {finding.kind} fit {_unit_of(best)}, not {_labels(finding)} as printed."
        case _:
            yield _no_unit(finding)
            for figure in best.contradicting if best.agreeing else ():
                fits = [_fit(one, figure) for one in figure.agreeing[:_MOST_SHOWN]]
                if fits and id(figure) not in contradicted:
                    yield f"{_place(figure)} fits {' or '.join(fits)}."
            yield from (_assuming_more(one, finding) for one in finding.others[:_MOST_SHOWN])


def _no_unit(finding: UnitFinding) -> str:
    best = finding.best
    total = len(finding.figures)
    counts = [f"{_unit_of(one)} {len(one.agreeing)}" for one in finding.units[1:] if one.agreeing]
    left = []
    for figure in best.contradicting:
        trial = figure.trial(best.reading)
        assert trial is not None  # units alone are tried of every number
        left.append(f"{figure.stated.value} would be {formulas.significant(trial.number.nominal)}")
    others = f" Others fit fewer or assume more: {_listed(counts)}." if counts else ""
    fits = f"{_unit_of(best)} fits {len(best.agreeing)} ({'; '.join(left)})"
    return f"No single unit fits all {total} {finding.kind}: {fits}.{others}"


def _assuming_more(shared: Shared, finding: UnitFinding) -> str:
    trials = [trial for one in finding.figures if (trial := one.trial(shared.reading)) is not None]
    extras = _listed(list(_extras(shared.reading, (one.recomputed for one in trials))))
    prefix = " with another prefix than is printed" if shared.reading.prefix else ""
    return (
        f"All {len(finding.figures)} {finding.kind} fit {_unit_of(shared)}{prefix}{f' if {extras}' if extras else ''}."
    )


def _unit_of(shared: Shared) -> str:
    figures = (*shared.agreeing, *shared.contradicting)
    return " and ".join(dict.fromkeys(unit_name(shared.reading, one.label) for one in figures))


def _labels(finding: UnitFinding) -> str:
    printed = Reading(finding.label)
    return " and ".join(dict.fromkeys(unit_name(printed, one.label) for one in finding.figures))


def _place(figure: Figure) -> str:
    return f"{figure.stated.value} ({figure.configuration}, {figure.stated.at})"


def _repeated(finding: Repeated) -> str:
    first = finding.figures[0]
    numbers = _listed([f"{one.stated.value} ({one.stated.at})" for one in finding.figures])
    what = first.stated.what.replace("_", " ")
    arithmetic = "" if first.arithmetic is None else f" The arithmetic gives {formulas.amount(first.arithmetic)}."
    return f"{first.configuration}: {what} is stated as {numbers}, which contradict each other.{arithmetic}"


def _rates(finding: RateFinding) -> str:
    what = finding.agreeing[0].figure.stated.what.replace("_", " ")
    needed = _listed([f"{_place(one.figure)} takes {_ends(one.value)}" for one in finding.contradicting])
    common = _ends(Value("", finding.common, finding.one.dimension, finding.one.origin))
    others = _listed(list(dict.fromkeys(one.figure.stated.value for one in finding.agreeing)))
    one = formulas.brief(finding.one)
    return f"Of one {finding.brick} ({what} {one} in the catalogue), {needed}, but {others} take {common}."


def _ends(value: Value) -> str:
    """`4.25 to 4.417 GB/s`."""
    low, high = (
        formulas.brief(Value("", Interval(end, end, end), value.dimension, value.origin))
        for end in (value.interval.low, value.interval.high)
    )
    return f"{low.rpartition(' ')[0] if low.rpartition(' ')[2] == high.rpartition(' ')[2] else low} to {high}"


def _prices(finding: PriceFinding) -> Section:
    """What the prices can be of and what that implies, and what they cannot be of and why."""
    printed = _listed(list(dict.fromkeys(one.stated.value for one in finding.figures)))
    groups = [
        tuple(alike) for _, alike in groupby(finding.possible, key=lambda one: (one.common_in, one.scope, one.implied))
    ]
    told: list[Text] = [_possible(alike, finding) for alike in groups if not alike[0].common_in]
    told += [_impossible(one) for one in finding.hypotheses if one.common_in or not one.is_possible]
    told += [] if not groups else _larger_drives(groups[0][0], finding)
    return Section(
        f"What is the relative price {printed} relative to?",
        [Bullets(told), _implications(groups, finding), Notes(list(finding.assumptions))],
    )


def _possible(alike: Sequence[PriceHypothesis], finding: PriceFinding) -> str:
    first, total = alike[0], len(finding.figures)
    costs = "; ".join(
        f"one {one.brick.brick} costs {_number(cost)} {one.reference.brick}" for one, cost in _same(first)
    )
    alternatives = " or ".join(_MEASURES[one.measure] for one in alike)
    also = ""
    if first.measure != "whole" and first.same_as_whole:
        also = (
            f" In {first.same_as_whole} of {total} comparisons both have as much, so that it is the whole price, too."
        )
    return f"It can be {alternatives}{_SCOPES[first.scope]}{f': {costs}' if costs else ''}.{also}"


def _same(one: PriceHypothesis) -> Iterable[tuple[BrickRatio, float]]:
    """Pairs of bricks with their ratio of prices, where all statements say the same of them."""
    pairs: dict[tuple[str, str], list[BrickRatio]] = {}
    for ratio in one.ratios:
        pairs.setdefault((ratio.brick.brick, ratio.reference.brick), []).append(ratio)
    for ratios in pairs.values():
        if len({ratio.value.nominal for ratio in ratios}) == 1:
            yield ratios[0], ratios[0].value.nominal


def _impossible(one: PriceHypothesis) -> str:
    listed = " of what is listed" if one.common_in else ""
    unless = f"; unless {_implied(one.implied[-1])}" if one.common_in else ""
    return f"It cannot be {_MEASURES[one.measure]}{listed}{_SCOPES[one.scope]}: {_reason(one)}{unless}."


def _implied(implied: Implied) -> str:
    exact = "" if implied.exact is None else f" ({_number(implied.exact)} if all printed prices are exact)"
    return f"{implied.what} costs {_within(implied)}{exact}"


def _within(implied: Implied) -> str:
    low, high = _number(implied.low), "" if implied.high is None else _number(implied.high)
    return low if low == high else f"{low} to {high}" if high else f"at least {low}"


def _larger_drives(one: PriceHypothesis, finding: PriceFinding) -> Iterable[Text]:
    """What the same brick with other drives can cost, which tables with the same price for both bound."""
    for implied in one.implied:
        if implied.of is not None and implied.of.brick == finding.unit.brick and implied.high is not None:
            least, most = (f"{(end - 1) * 100:.2g} %" for end in (implied.low, implied.high))
            yield (
                f"With {implied.of.drive} in place of {finding.unit.drive}, one {implied.of.brick} "
                f"then costs {least} to {most} more."
            )


def _implications(groups: Sequence[Sequence[PriceHypothesis]], finding: PriceFinding) -> Table:
    """What each possible hypothesis implies, one beside the other."""
    implied = [{one.what: one for one in alike[0].implied} for alike in groups]
    whats = dict.fromkeys(what for one in implied for what in one)
    heads = [" or ".join(_MEASURES[one.measure] for one in alike) for alike in groups]
    marks = [f"{_SCOPES[alike[0].scope]}{', with unlisted parts' if alike[0].common_in else ''}" for alike in groups]
    rows: list[list[Text]] = [[what, *(_implied_cell(one.get(what)) for one in implied)] for what in whats]
    columns = [Column("Item"), *(Column(f"{head}{mark}".capitalize()) for head, mark in zip(heads, marks, strict=True))]
    return Table(columns, rows, title=f"Prices that follow, in those of one {finding.unit.name}")


def _implied_cell(implied: Implied | None) -> Text:
    if implied is None:
        return ABSENT
    within = _within(implied)
    if implied.exact is None or _number(implied.exact) == within:
        return within
    return _number(implied.exact), Span(within, "below")


def _reason(one: PriceHypothesis) -> str:
    """Why no prices agree with all statements, of nothing but what is listed."""
    if one.contained is not None:
        further = _listed([f"{number} {name}" for name, number in one.contained.further.items()])
        large, small = one.contained.brick.brick, one.contained.within.brick
        cost = next(of.value for of in one.ratios if of.brick == one.contained.brick).interval.nominal
        return (
            f"one {large} would cost {formulas.significant(cost)} of one {small}, "
            f"although it has all parts of that and {further} more"
        )
    conflict = [ratio for ratio in one.ratios if not one.conflict or any(ratio.figure is of for of in one.conflict)]
    if conflict:
        return _contradicting(conflict)
    return f"no prices of components agree with {_listed([_place(figure) for figure in one.conflict])} together"


def _contradicting(ratios: Sequence[BrickRatio]) -> str:
    """`one md3460-capacity would cost 1.95 md3460-performance by capacity-2, but 1.733 by capacity-3`."""
    first = ratios[0]
    by_number: dict[Fraction, list[str]] = {}
    for one in ratios:
        by_number.setdefault(one.value.interval.nominal, []).append(one.figure.configuration)
    costs = [f"{formulas.significant(number)} (by {_listed(names)})" for number, names in by_number.items()]
    return f"one {first.brick.brick} would cost {', but '.join(costs)} times what one {first.reference.brick} costs"


def _number(number: float) -> str:
    return formulas.significant(Fraction(f"{number:.3g}"))


def _listed(items: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
