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
                "parameter": contribution.name,
                "today": contribution.today,
                "value": contribution.value,
                "pairs": contribution.pairs,
                "gain": contribution.gain,
                "matters": contribution.matters,
            }
            for contribution in answer.contributions
        ],
        "points": [
            {
                **point.coordinates.model_dump(exclude={"value"}),
                "before": point.today.ends(),
                "after": point.point.ends(),
                "gain": point.gain,
            }
            for point in answer.points
        ],
        "trials": [_trial(trial) for trial in answer.trials],
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
            "trial": trial.number,
            **{f"value_{name}": value for name, value in trial.values.items()},
            "pairs": len(trial.pairs),
            "gain": trial.estimate,
            "gain_low": trial.gain.low if trial.gain else None,
            "gain_high": trial.gain.high if trial.gain else None,
            "confidence": trial.gain.confidence if trial.gain else None,
        }
        for trial in answer.trials
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
