"""A sweep for other programs, as a JSON document and a table: base units, unrounded, units in the names."""

from __future__ import annotations

from typing import Any

import polars as pl

from ioassay.tuning.sweep.answer import Answer
from ioassay.tuning.sweep.trials import Trial

SWEEP_REPORT_VERSION = 1


def data(answer: Answer) -> dict[str, Any]:
    """`version`, `verdict`, `recommended` values, why it is `withheld`, the `confirmed` trial, and what it rests on."""
    return {
        "version": SWEEP_REPORT_VERSION,
        "verdict": answer.verdict,
        "recommended": answer.recommended,
        "withheld": {"doubts": answer.void_doubts, "remedies": answer.remedies}
        if answer.verdict == "withheld"
        else None,
        "confirmed": _trial(answer.confirmed) if answer.confirmed else None,
        "contributions": [
            {
                "parameter": one.name,
                "today": one.today,
                "value": one.value,
                "pairs": one.pairs,
                "gain": one.gain,
                "matters": one.matters,
            }
            for one in answer.contributions
        ],
        "points": [
            {
                **one.at.model_dump(exclude={"value"}),
                "before": one.today.ends(),
                "after": one.point.ends(),
                "gain": one.gain,
            }
            for one in answer.points
        ],
        "trials": [_trial(one) for one in answer.trials],
        "sweep": answer.document,
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "trial": trial.number,
        "values": dict(trial.values),
        "pairs": trial.pairs,
        "gain": trial.gain,
        "estimate": trial.estimate,
        "broken_constraints": trial.broken,
    }


def table(answer: Answer) -> pl.DataFrame:
    """A row per trial of the search: its values, pairs, gain, low, high, confidence; gains are factors."""
    rows = [
        {
            "trial": one.number,
            **{f"value_{name}": value for name, value in one.values.items()},
            "pairs": len(one.pairs),
            "gain": one.estimate,
            "gain_low": one.gain.low if one.gain else None,
            "gain_high": one.gain.high if one.gain else None,
            "confidence": one.gain.confidence if one.gain else None,
        }
        for one in answer.trials
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
