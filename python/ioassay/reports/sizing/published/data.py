"""Published figures held against the arithmetic, for other programs: base units, unrounded, units in the names.

Not: sentences (`conclusions`), the table (`table`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ioassay.reports.sizing import numbers
from ioassay.reports.sizing.published.readings import judged, meaning, unit_name
from ioassay.sizing.published.model import (
    Figure,
    ImpliedPrice,
    Loss,
    PriceFinding,
    PriceHypothesis,
    Published,
    RateFinding,
    Shared,
    UnitFinding,
)
from ioassay.systems.printed import standing_for


def data(published: Published) -> dict[str, Any]:
    """`figures` with every reading that was tried, and what they say together.

    A figure is referred to by its place in `figures`, from 0. `follows` is about the unit that fits most numbers of its
    kind, `verdict` about the number alone.
    """
    index = {id(figure): position for position, figure in enumerate(published.figures)}
    return {
        "is_consistent": published.is_consistent,
        "figures": [_figure(published, figure) for figure in published.figures],
        "units": [_units(finding, index) for finding in published.units],
        "rates_of_one_brick": [_rates(finding, index) for finding in published.rates],
        "contradicting": [_places(repetition.figures, index) for repetition in published.repeated],
        "prices": None if published.prices is None else _prices(published.prices, index),
    }


def _figure(published: Published, figure: Figure) -> dict[str, Any]:
    stated = figure.stated
    printed = numbers.ends(standing_for(stated.amount, stated.qualifier))
    document: dict[str, Any] = {
        "configuration": figure.configuration,
        "what": stated.what,
        "stated": stated.amount.text,
        "qualifier": stated.qualifier,
        "place": str(stated.at),
        "unit_stated_elsewhere": stated.unit,
        "printed": {**printed, "unit": stated.amount.dimension.unit},
        "verdict": figure.verdict,
        "readings": [
            {
                "meaning": meaning(trial, figure.label),
                "agrees": trial.agrees,
                "number": float(trial.number.nominal),
                "recomputed": numbers.number(trial.recomputed),
                "off": trial.off,
                "assumes": trial.weight,
            }
            for trial in figure.trials
        ],
    }
    if stated.relative_to is not None:
        document["relative_to"] = stated.relative_to
    if figure.arithmetic is None:
        return {**document, "why_not_recomputed": figure.why}
    return {**document, "follows": judged(published, figure).agrees, "arithmetic": numbers.number(figure.arithmetic)}


def _units(finding: UnitFinding, index: Mapping[int, int]) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "outcome": finding.outcome,
        "figures": _places(finding.figures, index),
        "units": [_shared(unit, index) for unit in finding.units],
        "with_further_assumptions": [_shared(shared, index) for shared in finding.others],
        "with_less_usable": [_loss(loss, finding) for loss in finding.losses],
    }


def _shared(shared: Shared, index: Mapping[int, int]) -> dict[str, Any]:
    figures = (*shared.agreeing, *shared.contradicting)
    trials = [(figure, trial) for figure in figures if (trial := figure.trial(shared.reading)) is not None]
    return {
        "meanings": list(dict.fromkeys(meaning(trial, figure.label) for figure, trial in trials)),
        "agreeing": _places(shared.agreeing, index),
        "contradicting": _places(shared.contradicting, index),
        "assumes": shared.weight,
    }


def _loss(loss: Loss, finding: UnitFinding) -> dict[str, Any]:
    return {
        "units": list(dict.fromkeys(unit_name(loss.reading, figure.label) for figure in finding.figures)),
        "least_share_lost": float(1 - loss.left.high),
        "most_share_lost": float(1 - loss.left.low),
    }


def _rates(finding: RateFinding, index: Mapping[int, int]) -> dict[str, Any]:
    return {
        "brick": finding.brick,
        "catalogue": numbers.number(finding.of_brick),
        "common": {**numbers.ends(finding.common), "unit": finding.of_brick.dimension.unit},
        "needed": [
            {"figure": index[id(rate.figure)], "agrees": agrees, **numbers.number(rate.value)}
            for agrees, several in ((True, finding.agreeing), (False, finding.contradicting))
            for rate in several
        ],
    }


def _prices(finding: PriceFinding, index: Mapping[int, int]) -> dict[str, Any]:
    return {
        "figures": _places(finding.figures, index),
        "unit": {"brick": finding.unit.brick, "drive": finding.unit.drive},
        "hypotheses": [_hypothesis(hypothesis, index) for hypothesis in finding.hypotheses],
        "assumptions": list(finding.assumptions),
    }


def _hypothesis(price_hypothesis: PriceHypothesis, index: Mapping[int, int]) -> dict[str, Any]:
    return {
        "relative_to": price_hypothesis.measure,
        "paid_for": price_hypothesis.scope,
        "is_possible": price_hypothesis.is_possible,
        "something_unlisted_in_tables_of": list(price_hypothesis.common_in),
        "whole_configurations": [
            {"figure": index[id(of.figure)], "times_as_much": of.times, "price": of.price}
            for of in price_hypothesis.wholes
        ],
        "price_of_one_brick": [
            {
                "figure": index[id(of.figure)],
                "brick": of.brick.name,
                "reference": of.reference.name,
                **numbers.ends(of.value.interval),
            }
            for of in price_hypothesis.ratios
        ],
        "prices_that_follow": [_implied(of) for of in price_hypothesis.implied],
        "conflict": _places(price_hypothesis.conflict, index),
    }


def _implied(of: ImpliedPrice) -> dict[str, Any]:
    return {"item": of.what, "low": of.low, "high": of.high, "exact": of.exact}


def _places(figures: Sequence[Figure], index: Mapping[int, int]) -> list[int]:
    return [index[id(figure)] for figure in figures]
