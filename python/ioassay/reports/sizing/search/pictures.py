"""The figures of a search: the front, what moves the answer, ceilings and racks of each. Not: drawing (`figures`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ioassay.figures.picture import Picture, draw
from ioassay.figures.sizing import front, sensitivity
from ioassay.reports.sizing import racks
from ioassay.reports.sizing.explanation.pictures import ceilings_picture
from ioassay.reports.sizing.search import wording
from ioassay.reports.sizing.wording import capital, head
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import RateKind
from ioassay.sizing.search.model import Search, kind_of, tier_of
from ioassay.systems.amounts import BYTES_PER_S
from ioassay.text.format import count

_MOST_FIGURES = 12
"""Rows of the tornado: those that move the answer most."""


@dataclass(frozen=True)
class AnswerPictures:
    """The figures of a configuration."""

    ceilings: Mapping[str, Picture | None]
    """By tier; under "" of a configuration without tiers."""
    racks: Sequence[Picture]


@dataclass(frozen=True)
class Pictures:
    """`None`, or none, where there is nothing to draw."""

    fronts: Sequence[Picture]
    """One of each tier."""
    sensitivity: Picture | None
    answers: Sequence[AnswerPictures]


def pictures(search: Search, catalogue: Catalogue) -> Pictures:
    """Draws them."""
    return Pictures(
        [drawn for tier in _tiers(search) if (drawn := _front(search, tier)) is not None],
        _sensitivity(search),
        [
            AnswerPictures(
                # The others are folded and say in words what limits them: their figures would double the time.
                {tier: ceilings_picture(size, _named("ceilings", tier)) for tier, size in answer.parts.items()}
                if number == 1
                else {},
                racks.pictures(catalogue, answer.racks, f"racks-{number}"),
            )
            for number, answer in enumerate(search.answers, start=1)
        ],
    )


def _tiers(search: Search) -> Sequence[str]:
    return list(search.requirements.tiers) or [""]


def _named(figure: str, tier: str) -> str:
    """The id of a figure of a tier."""
    return f"{figure}-{tier}" if tier else figure


def shown_rate(search: Search, tier: str = "") -> RateKind | None:
    """The kind of I/O that the front of a tier is drawn by: the first that is required, otherwise writes or reads."""
    sizes = [answer.parts[tier] for answer in search.answers]
    kinds = [*(kind_of(need.what) for need in search.needs if tier_of(need.what) == tier), "write", "read"]
    for kind in kinds:
        if sizes and all(kind in size.rates["healthy"] for size in sizes):
            return kind  # type: ignore[return-value]
    return None


def _front(search: Search, tier: str) -> Picture | None:
    """`None` for a single configuration: a table says as much."""
    kind = shown_rate(search, tier)
    if len(search.answers) < 2 or kind is None:
        return None
    sizes = [answer.parts[tier] for answer in search.answers]
    rates = [size.rates["healthy"][kind].value for size in sizes]
    is_bytes = rates[0].dimension == BYTES_PER_S
    divisor, unit = (1e9, "GB/s") if is_bytes else (1e3, "k operations/s")
    data = pl.DataFrame(
        {
            "usable_pb": [size.capacity.usable.nominal / 1e15 for size in sizes],
            "rate": [rate.nominal / divisor for rate in rates],
            "cost": [answer.cost.nominal for answer in search.answers],
            "label": [f"{number}" for number in range(1, len(search.answers) + 1)],
        }
    )
    needs = {kind_of(need.what): need.value.nominal for need in search.needs if tier_of(need.what) == tier}
    capacity, rate = needs.get("usable"), needs.get(kind)
    needed = (None if capacity is None else capacity / 1e15, None if rate is None else rate / divisor)
    whole = " The cost is that of all tiers together." if tier else ""
    return draw(
        front.chart(data, f"{head(kind)} rate ({unit})", _cost_title(search), needed),
        _named("front", tier),
        title=f"The tier {tier} of configurations that none beats in capacity, rates and cost together"
        if tier
        else "Configurations that none beats in capacity, rates and cost together",
        data=data,
        caption=f"Numbers are those of the table.{whole}",
        description=f"{count(len(search.answers), 'point')}: usable capacity against {head(kind).lower()} rate, "
        "the cost as a colour.",
    )


def _cost_title(search: Search) -> str:
    return f"Price ({search.currency})" if search.cost == "price" else "Rack units"


def _sensitivity(search: Search) -> Picture | None:
    """`None` where no figure moves the answer."""
    if not search.answers:
        return None
    first = search.answers[0]
    moving = [movement.figure for movement in search.movements if wording.effect(movement, first) != wording.NO_CHANGE]
    if not moving:
        return None
    figures = list(dict.fromkeys(moving))[:_MOST_FIGURES]
    shown = [movement for movement in search.movements if movement.figure in figures]
    factors = sorted({movement.factor for movement in shown})
    sides = [wording.side(factor) for factor in factors]
    data = pl.DataFrame(
        {
            "figure": [capital(movement.figure) for movement in shown],
            "side": [wording.side(movement.factor) for movement in shown],
            "cost": [
                movement.cost.nominal if movement.cost is not None and movement.after is not None else None
                for movement in shown
            ],
            "label": [wording.effect(movement, first) for movement in shown],
        },
        schema_overrides={"cost": pl.Float64},
    )
    return draw(
        sensitivity.chart(data, first.cost.nominal, _cost_title(search), sides),
        "sensitivity",
        title="What moves the answer",
        data=data,
        caption=f"Cost of configuration 1 ({wording.cost(search, first.cost)}, the line) once a figure is off, with "
        "as many bricks as then meet the requirements.",
        description=". ".join(wording.movement(movement, first) for movement in shown) + ".",
    )
