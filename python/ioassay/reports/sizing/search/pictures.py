"""The figures of a search: the front, what moves the answer, ceilings and racks of each. Not: drawing (`figures`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ioassay.figures.picture import Picture, draw
from ioassay.figures.sizing import front, sensitivity
from ioassay.reports.format import count
from ioassay.reports.sizing import racks
from ioassay.reports.sizing.explanation.pictures import Pictures as OfConfiguration
from ioassay.reports.sizing.explanation.pictures import ceilings_picture
from ioassay.reports.sizing.search import wording
from ioassay.reports.sizing.wording import capital, head
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import RateKind
from ioassay.sizing.search.model import Search
from ioassay.systems.amounts import BYTES_PER_S

_MOST_FIGURES = 12
"""Rows of the tornado: those that move the answer most."""


@dataclass(frozen=True)
class Pictures:
    """`None` where there is nothing to draw."""

    front: Picture | None
    sensitivity: Picture | None
    answers: Sequence[OfConfiguration]


def pictures(search: Search, catalogue: Catalogue) -> Pictures:
    """Draws them."""
    return Pictures(
        _front(search),
        _sensitivity(search),
        [
            OfConfiguration(
                # The others are folded and say in words what limits them: their figures would double the time.
                ceilings_picture(one.size, "ceilings") if number == 1 and not one.tiers else None,
                racks.pictures(catalogue, one.racks, f"racks-{number}"),
            )
            for number, one in enumerate(search.answers, start=1)
        ],
    )


def shown_rate(search: Search) -> RateKind | None:
    """The kind of I/O that the front is drawn by: the first that is required, otherwise writes or reads."""
    answers = [one for one in search.answers if not one.tiers]
    kinds = [*(need.what for need in search.needs), "write", "read"]
    for kind in kinds:
        if answers and all(kind in one.size.rates["healthy"] for one in answers):
            return kind  # type: ignore[return-value]
    return None


def _front(search: Search) -> Picture | None:
    """`None` for a single configuration: a table says as much."""
    kind = shown_rate(search)
    if len(search.answers) < 2 or kind is None:
        return None
    rates = [one.size.rates["healthy"][kind].value for one in search.answers]
    is_bytes = rates[0].dimension == BYTES_PER_S
    divisor, unit = (1e9, "GB/s") if is_bytes else (1e3, "k operations/s")
    data = pl.DataFrame(
        {
            "usable_pb": [one.size.capacity.usable.nominal / 1e15 for one in search.answers],
            "rate": [rate.nominal / divisor for rate in rates],
            "cost": [one.cost.nominal for one in search.answers],
            "label": [f"{number}" for number in range(1, len(search.answers) + 1)],
        }
    )
    needs = {need.what: need.value.nominal for need in search.needs}
    capacity, rate = needs.get("usable"), needs.get(kind)
    needed = (None if capacity is None else capacity / 1e15, None if rate is None else rate / divisor)
    return draw(
        front.chart(data, f"{head(kind)} rate ({unit})", _cost_title(search), needed),
        "front",
        title="Configurations that none beats in capacity, rates and cost together",
        data=data,
        caption="Numbers are those of the table.",
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
    moving = [one.figure for one in search.movements if wording.effect(one, first) != wording.NO_CHANGE]
    if not moving:
        return None
    figures = list(dict.fromkeys(moving))[:_MOST_FIGURES]
    shown = [one for one in search.movements if one.figure in figures]
    factors = sorted({one.factor for one in shown})
    sides = [wording.side(factor) for factor in factors]
    data = pl.DataFrame(
        {
            "figure": [capital(one.figure) for one in shown],
            "side": [wording.side(one.factor) for one in shown],
            "cost": [one.cost.nominal if one.cost is not None and one.after is not None else None for one in shown],
            "label": [wording.effect(one, first) for one in shown],
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
        description=". ".join(wording.movement(one, first) for one in shown) + ".",
    )
