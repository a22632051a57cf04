"""A search for other programs, as a JSON document and a table: base units, unrounded, units in the names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ioassay.reports.sizing import bill as bill_table
from ioassay.reports.sizing import numbers, racks, steps
from ioassay.reports.sizing.explanation import data as of_sizes
from ioassay.reports.sizing.search.configuration_yaml import configuration_yaml
from ioassay.sizing.bill import bill
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.search.model import Answer, Margin, Movement, Need, Search, Shortfall, in_tier

if TYPE_CHECKING:
    import polars as pl

SEARCH_REPORT_VERSION = 1


def data(search: Search, catalogue: Catalogue) -> dict[str, Any]:
    """`version`, `verdict`, `is_met`, `needs`, `answers`, `shortfalls`, `movements`, and what was left out."""
    return {
        "version": SEARCH_REPORT_VERSION,
        "name": search.requirements.name,
        "title": search.requirements.title,
        "is_met": bool(search.answers),
        "verdict": search.verdict,
        "is_complete": search.is_complete,
        "time_limit_s": search.limit_s,
        "cost": search.cost,
        "currency": search.currency,
        "needs": [{**_need(need), **numbers.arithmetic([need.value])} for need in search.needs],
        "answers": [_answer(search, catalogue, answer) for answer in search.answers],
        "shortfalls": [_shortfall(shortfall) for shortfall in search.shortfalls],
        "movements": [_movement(movement) for movement in search.movements],
        "candidates": search.candidates,
        "dominated": search.dominated,
        "left_out": {
            "too_little_known": list(search.unknown),
            "too_fragile": list(search.fragile),
            "beyond_limits": list(search.beyond_limits),
        },
        "cost_ends_at": None if search.cost_ends_at is None else float(search.cost_ends_at),
    }


def _need(need: Need) -> dict[str, Any]:
    return {"what": need.what, "is_most": need.is_most, **numbers.named({"needed": need.value})}


def _answer(search: Search, catalogue: Catalogue, answer: Answer) -> dict[str, Any]:
    return {
        "role": answer.role,
        **of_sizes.size(answer.size),
        "tiers": {tier: of_sizes.size(size) for tier, size in answer.tiers.items()},
        **numbers.named({"cost": answer.cost}),
        "margins": [_margin(margin) for margin in answer.margins],
        "racks": racks.data(answer.racks),
        "bill_of_materials": bill_table.data(bill(catalogue, answer.configuration, len(answer.racks))),
        "arithmetic": numbers.arithmetic([value for size in answer.parts.values() for value in steps.of_size(size)]),
        "configuration_yaml": configuration_yaml(answer, search.requirements),
    }


def _margin(margin: Margin) -> dict[str, Any]:
    return {**_need(margin.need), **numbers.named({"has": margin.has}), "share": margin.share}


def _shortfall(shortfall: Shortfall) -> dict[str, Any]:
    return {
        **_need(shortfall.need),
        **numbers.named({"best": shortfall.best}),
        "limited_by": shortfall.limited_by,
        "together": [_need(other) for other in shortfall.together],
    }


def _movement(movement: Movement) -> dict[str, Any]:
    return {
        "figure": movement.figure,
        **numbers.named({"value": movement.value}),
        "factor": movement.factor,
        "before": dict(movement.before),
        "after": None if movement.after is None else dict(movement.after),
        **numbers.named({"cost": movement.cost}),
    }


def table(search: Search) -> pl.DataFrame:
    """A row per configuration on the front, the cheapest first."""
    rows = [
        {
            "role": answer.role,
            **{f"count_{counted.brick}": counted.count for counted in answer.configuration.bricks},
            **{
                in_tier(tier, key): value
                for tier, size in answer.parts.items()
                for key, value in of_sizes.row(size).items()
            },
            "racks": len(answer.racks),
        }
        for answer in search.answers
    ]
    import polars as pl  # noqa: PLC0415  (half a second, which a terminal need not wait for)

    return pl.DataFrame(rows, infer_schema_length=None)
