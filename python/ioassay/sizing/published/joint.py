"""Conclusions from printed numbers together: one reading for all units, one rate of a brick, contradictions.

Not: how one number can be meant (`readings`), prices (`prices`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations, groupby

from ioassay.sizing.arithmetic import Origin, Value, exactly, quotient
from ioassay.sizing.model import Size
from ioassay.sizing.published.model import (
    Figure,
    Loss,
    NeededRate,
    RateFinding,
    Reading,
    RepeatedNumber,
    Shared,
    UnitFinding,
    UnitKind,
)
from ioassay.sizing.published.readings import meant, stated_rate
from ioassay.systems.amounts import BYTES, BYTES_PER_S, OPERATIONS_PER_S, Dimension, Interval

LARGEST_LOSS = Fraction(1, 5)
"""No file system takes more of what it is made on; who states less means something else."""

_KINDS: dict[Dimension, UnitKind] = {
    BYTES: "capacities",
    BYTES_PER_S: "data rates",
    OPERATIONS_PER_S: "operation rates",
}


def shared_units(figures: Iterable[Figure]) -> tuple[UnitFinding, ...]:
    """For each kind of unit, which readings its numbers share."""
    groups: dict[tuple[UnitKind, str], list[Figure]] = {}
    for figure in figures:
        kind = _KINDS.get(figure.stated.amount.dimension)
        if kind is not None and figure.arithmetic is not None:
            groups.setdefault((kind, figure.label.base), []).append(figure)
    return tuple(_unit_finding(kind, group) for (kind, _), group in groups.items())


def _unit_finding(kind: UnitKind, figures: Sequence[Figure]) -> UnitFinding:
    readings = dict.fromkeys(trial.reading for figure in figures for trial in figure.trials)
    shared = [_shared(reading, figures) for reading in readings if reading.neighbour is None]
    shared.sort(key=lambda common: (len(common.contradicting), common.weight))
    units = tuple(common for common in shared if common.reading.is_unit_alone)
    return UnitFinding(
        kind=kind,
        label=figures[0].label.base,
        figures=tuple(figures),
        units=units,
        others=tuple(common for common in shared if not common.reading.is_unit_alone and not common.contradicting),
        losses=tuple(sorted(_losses(units, figures), key=lambda loss: (loss.weight, -loss.left.high))),
    )


def _losses(units: Iterable[Shared], figures: Sequence[Figure]) -> Iterable[Loss]:
    """The losses of two and more usable capacities: one alone would fit with some loss in any unit."""
    usable = [figure for figure in figures if figure.stated.what == "usable" and figure.stated.qualifier != "at-least"]
    if len(usable) < 2:
        return
    for unit in units:
        lefts = [left for figure in usable if (left := _share_of_arithmetic(figure, unit.reading)) is not None]
        others_agree = all(figure.stated.what == "usable" for figure in unit.contradicting)
        if len(lefts) == len(usable) and others_agree:
            low, _, high = reduce(_intersection, lefts)
            low = max(low, 1 - LARGEST_LOSS)
            if low < high <= 1:
                yield Loss(unit.reading, Interval(low, (low + high) / 2, high), unit.weight)


def _share_of_arithmetic(figure: Figure, reading: Reading) -> Interval | None:
    """The share of the capacity by arithmetic that a printed number stands for."""
    interval = meant(figure, reading)
    if interval is None or figure.arithmetic is None or figure.arithmetic.interval.low == 0:
        return None
    return interval.over(figure.arithmetic.interval)


def _shared(reading: Reading, figures: Sequence[Figure]) -> Shared:
    trials = [(figure, figure.trial(reading)) for figure in figures]
    return Shared(
        reading=reading,
        agreeing=tuple(figure for figure, trial in trials if trial is not None and trial.agrees),
        contradicting=tuple(figure for figure, trial in trials if trial is None or not trial.agrees),
        weight=max(trial.weight for _, trial in trials if trial is not None),
    )


def rates_of_one_brick(
    figures: Iterable[Figure], sizes: Mapping[str, Size], units: Sequence[UnitFinding]
) -> tuple[RateFinding, ...]:
    """Where no rate of one brick agrees with all printed rates of several configurations of such bricks."""
    groups: dict[tuple[str, str, Interval], tuple[Value, list[NeededRate]]] = {}
    for figure in figures:
        bricks = sizes[figure.configuration].bricks
        if figure.arithmetic is None or len(bricks) != 1 or figure.stated.qualifier == "at-least":
            continue
        ((choice, brick),) = bricks.items()
        stated = stated_rate(brick.rates["healthy"], figure.stated.what)
        if stated is not None:
            needed = _needed_rate(figure, stated, _interval(figure, units))
            key = choice.brick, figure.stated.what, stated.interval
            groups.setdefault(key, (stated, []))[1].append(needed)
    findings = (
        _rate_finding(brick, stated, needed)
        for (brick, *_), (stated, needed) in groups.items()
        if len({rate.figure.configuration for rate in needed}) > 1
    )
    return tuple(finding for finding in findings if finding.contradicting)


def _needed_rate(figure: Figure, value: Value, interval: Interval) -> NeededRate:
    """The rate of one brick that a printed rate needs, if several do the multiple of one that the arithmetic has."""
    assert figure.arithmetic is not None
    what = figure.stated.what.replace("_", " ")
    printed = Value(
        f"{what} rate as printed",
        interval,
        figure.arithmetic.dimension,
        Origin("published", str(figure.stated.at)),
        figure.stated.value,
    )
    multiple = exactly("bricks", figure.arithmetic.interval.nominal / value.interval.nominal)
    return NeededRate(figure, quotient(f"{what} rate of one brick", printed, multiple))


def _rate_finding(brick: str, value: Value, needed: Sequence[NeededRate]) -> RateFinding:
    """The rates that most agree on: where most intervals overlap, and of two such places what the catalogue says."""
    sets = [
        [other for other in needed if other.value.interval.low <= start.value.interval.low < other.value.interval.high]
        for start in needed
    ]
    common = [reduce(_intersection, (other.value.interval for other in agreeing)) for agreeing in sets]
    best = max(range(len(sets)), key=lambda index: (len(sets[index]), common[index].meets(value.interval)))
    agreeing = tuple(sets[best])
    contradicting = tuple(rate for rate in needed if all(rate is not other for other in agreeing))
    return RateFinding(brick, value, common[best], agreeing, contradicting)


def _intersection(interval: Interval, other: Interval) -> Interval:
    low, high = max(interval.low, other.low), min(interval.high, other.high)
    return Interval(low, (low + high) / 2, high)


def repetitions(figures: Iterable[Figure], units: Sequence[UnitFinding]) -> tuple[RepeatedNumber, ...]:
    """Where the same thing of the same configuration is stated with numbers that cannot be the same."""

    def subject(figure: Figure) -> tuple[str, str, str]:
        return figure.configuration, figure.stated.what, figure.stated.relative_to or ""

    exact = sorted((printed for printed in figures if printed.stated.qualifier != "at-least"), key=subject)
    groups = [tuple(group) for _, group in groupby(exact, key=subject)]
    return tuple(
        RepeatedNumber(group)
        for group in groups
        if any(not _interval(first, units).meets(_interval(other, units)) for first, other in combinations(group, 2))
    )


def _interval(figure: Figure, units: Sequence[UnitFinding]) -> Interval:
    """The range of the printed number, in the unit that fits most numbers of its kind."""
    unit = next((finding.best.reading for finding in units if figure in finding.figures), Reading(figure.label.base))
    interval = meant(figure, unit)
    assert interval is not None  # it is one of the readings of this figure, or as printed
    return interval
