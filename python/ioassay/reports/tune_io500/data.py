"""A tuning of the IO500 for other programs, as a JSON document and a table: units in the names, unrounded."""

from __future__ import annotations

from typing import Any

import polars as pl

from ioassay.analysis.spread import Spread
from ioassay.tuning.io500 import answer as answers
from ioassay.tuning.io500.answer import Answer
from ioassay.tuning.io500.ramp import RampStep
from ioassay.tuning.sweep import pairs

TUNE_IO500_REPORT_VERSION = 1


def data(answer: Answer) -> dict[str, Any]:
    """`version`, `recommended`, `commands`, `ramp` (step 4), `balance` (step 5), and the `tuning` itself."""
    document = answer.document
    best = None if answer.is_withheld else answer.best
    return {
        "version": TUNE_IO500_REPORT_VERSION,
        "decided": answer.is_decided,
        "withheld": {"doubts": answer.void_doubts} if answer.is_withheld else None,
        "recommended": {"nodes": document.nodes.nodes, "ranks_per_node": best.ranks} if best else None,
        "commands": {
            "study": answers.study_command(document, best.ranks),
            "front_end": answers.front_end_command(document, best.ranks),
            "config_ini": answers.front_end_config(document),
        }
        if best
        else None,
        "ramp": {
            "end": answer.ramp.end,
            "ranks_per_node": answer.ramp.ranks,
            "steps": [_step(step) for step in answer.ramp.steps],
        },
        "balance": [
            {
                "ranks_per_node": rank_count.ranks,
                "standing": rank_count.standing,
                "score": _spread(rank_count.score),
                "bandwidth_gib_per_s": _spread(rank_count.bandwidth),
                "metadata_kiops": _spread(rank_count.metadata),
                "ratio_to_best": rank_count.ratio,
                "phases": rank_count.phases,
            }
            for rank_count in answer.rank_counts
        ],
        "tuning": document,
    }


def table(answer: Answer) -> pl.DataFrame:
    """A row for each measurement."""
    rows = []
    for measurement in answer.document.measurements:
        row = measurement.model_dump(exclude={"phases", "doubts", "doubted_phases"}) | {
            "doubts": ", ".join(measurement.doubts)
        }
        rows.append({**row, **{f"phase_{name}": value for name, value in measurement.phases.items()}})
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame([{name: row.get(name) for name in names} for row in rows], infer_schema_length=None)


def _step(step: RampStep) -> dict[str, Any]:
    return {
        "ranks_per_node": [step.lower, step.higher],
        "verdict": "failed" if step.failed else step.verdict,
        "failed": step.failed or None,
        "pairs": len(step.pairs),
        "gain": pairs.gain(step.pairs),
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {"median": spread.median, "interval": spread.interval, "values": list(spread.values)}
