"""Published figures held against the arithmetic, for other programs. Not: sentences (`published`)."""

from __future__ import annotations

from typing import Any

from ioassay.reports.sizing import numbers
from ioassay.reports.sizing.published import meaning
from ioassay.sizing.published.model import Figure, Published


def data(published: Published) -> dict[str, Any]:
    """`is_consistent`, and `figures` with every reading that was tried; those that agree first."""
    return {
        "is_consistent": published.is_consistent,
        "figures": [_figure(figure) for figure in published.figures],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "configuration": figure.configuration,
        "what": figure.stated.what,
        "stated": figure.stated.amount.text,
        "place": str(figure.stated.at),
        "verdict": figure.verdict,
        **({} if figure.arithmetic is None else {"arithmetic": numbers.number(figure.arithmetic)}),
        "readings": [
            {
                "meaning": meaning(trial, figure.label),
                "agrees": trial.agrees,
                "number": float(trial.number.nominal),
                "off": trial.off,
            }
            for trial in figure.trials
        ],
    }
