"""Systems and checked claims as JSON documents: what is printed and what it is in base units. Not: printing them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from ioassay.systems.amounts import Amount
from ioassay.systems.claims import CheckedClaim, Verdict
from ioassay.systems.figure_table import facts
from ioassay.systems.model import Figure, Place, Reference, System

VERSION = 1


def overview(checked: Iterable[tuple[System, Sequence[CheckedClaim]]]) -> dict[str, Any]:
    """Every system in a few fields."""
    systems = [
        {
            "name": system.name,
            "title": system.title,
            "published": [document.model_dump() for document in system.sources.values()],
            "figures": len(system.figures),
            "claims": verdicts(claims),
        }
        for system, claims in checked
    ]
    return {"version": VERSION, "systems": systems}


def whole(system: System, checked: Sequence[CheckedClaim]) -> dict[str, Any]:
    """All of one system."""
    return {
        "version": VERSION,
        "name": system.name,
        "title": system.title,
        "sources": {name: document.model_dump() for name, document in system.sources.items()},
        "test_bed": system.test_bed,
        "predicts": system.predicts,
        "settings": {
            group: [
                {"what": setting.what, "value": setting.value, "at": _place(system, setting.at)} for setting in settings
            ]
            for group, settings in system.settings.items()
        },
        "figures": [_figure(system, figure) for figure in system.figures],
        "claims": [_claim(system, claim) for claim in checked],
    }


def verification(checked: Iterable[tuple[System, Sequence[CheckedClaim]]]) -> dict[str, Any]:
    """The result of `--check`."""
    by_system = list(checked)
    return {
        "version": VERSION,
        "verdicts": verdicts([claim for _, claims in by_system for claim in claims]),
        "claims": [_claim(system, claim) for system, claims in by_system for claim in claims],
    }


def verdicts(checked: Sequence[CheckedClaim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    return {verdict: sum(claim.verdict == verdict for claim in checked) for verdict in get_args(Verdict)}


def _figure(system: System, figure: Figure) -> dict[str, Any]:
    low, high = figure.band or (None, None)
    return {
        "id": figure.id,
        **facts(figure),
        "printed": figure.value,
        **_amount(figure.amount),
        "low": None if low is None else {"printed": figure.low, **_amount(low)},
        "high": None if high is None else {"printed": figure.high, **_amount(high)},
        "at": _place(system, figure.at),
        "note": figure.note,
    }


def _claim(system: System, checked: CheckedClaim) -> dict[str, Any]:
    claim, claimed = checked.claim, checked.claim.claimed
    return {
        "system": checked.system,
        "id": claim.id,
        "printed": claim.says,
        **(_amount(claimed) if claimed else {}),
        "qualifier": claim.qualifier,
        "at": _place(system, claim.at),
        "how": claim.how,
        "of": [
            [
                {"figure": str(operand)}
                if isinstance(operand, Reference)
                else {"printed": operand.amount.text, "at": _place(system, operand.at) if operand.at else None}
                for operand in point
            ]
            for point in claim.of
        ],
        "verdict": checked.verdict,
        "recomputed": checked.recomputed,
        "recomputed_low": checked.low,
        "recomputed_high": checked.high,
        "recomputed_unit": claimed.unit if claimed else "x",
        "why": checked.why,
        "note": claim.note,
    }


def _amount(amount: Amount) -> dict[str, Any]:
    return {
        "value": float(amount.number),
        "unit": amount.unit,
        "base_value": amount.base,
        "base_unit": amount.dimension.unit,
    }


def _place(system: System, place: Place) -> dict[str, Any]:
    return {"source": system.sources[place.source].where, "lines": list(place.lines)}
