"""The figures of a sweep: each trial, and each point of the study, before and after. Not: drawing (`figures.sweep`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import polars as pl

from ioassay.analysis import axes
from ioassay.figures import sweep as figure
from ioassay.figures.picture import Picture, draw
from ioassay.reports.sweep import wording
from ioassay.store.sweep_document import Side
from ioassay.tuning.sweep.answer import Answer
from ioassay.tuning.sweep.trials import Trial

_MOST_TRIALS = 40
"""Rows of the figure; those that gained most, and the worst of all."""


@dataclass(frozen=True)
class Pictures:
    """`None` where there is nothing to draw."""

    points: Picture | None
    trials: Picture | None


def pictures(answer: Answer) -> Pictures:
    return Pictures(_points(answer), _trials(answer))


def _title(answer: Answer, scale: wording.Scale) -> str:
    what = wording.objective(answer.document.objective)
    unit = f" ({scale.unit})" if scale.unit else ""
    return f"{what[:1].upper()}{what[1:]}{unit}"


def _trials(answer: Answer) -> Picture | None:
    measured = sorted((trial for trial in answer.trials if trial.pairs), key=lambda trial: -(trial.estimate or 0.0))
    if not measured:
        return None
    scale = wording.Scale(answer.document)
    shown = measured if len(measured) <= _MOST_TRIALS else [*measured[: _MOST_TRIALS - 1], measured[-1]]
    data = pl.DataFrame([row for trial in shown for row in _trial_rows(answer, trial, scale)], infer_schema_length=None)
    left_out = len(measured) - len(shown)
    also = f" {left_out} trials between the last two rows are left out." if left_out else ""
    return draw(
        figure.trials(data, _title(answer, scale)),
        "sweep-trials",
        title="Every trial before and after",
        data=data,
        caption=f"Medians of each trial's pairs with their intervals: today's settings and the trial's.{also}",
        description="For each trial of the search the objective with today's settings and with its own; the table has "
        "the numbers.",
    )


def _trial_rows(answer: Answer, trial: Trial, scale: wording.Scale) -> Iterator[dict[str, object]]:
    for side, name in zip(get_args(Side), figure.SIDES, strict=True):
        yield {
            "trial": f"{trial.number + 1}: {wording.changes(answer, trial)}",
            "side": name,
            **trial.objective(side).ends(scale.divisor),
            "gain": wording.gain(trial.gain, trial.estimate),
        }


def _points(answer: Answer) -> Picture | None:
    """`None` for a study with a single point: the table says as much."""
    rows = [
        {
            "workload": point.coordinates.workload,
            "job": point.coordinates.phase,
            "phase": point.coordinates.phase,
            "clients": point.coordinates.clients,
            "ranks": point.coordinates.ranks,
            "point": point.coordinates.point,
            "number": number,
        }
        for number, point in enumerate(answer.points)
    ]
    if len(rows) < 2:
        return None
    frame = pl.DataFrame(rows, infer_schema_length=None)
    axis = axes.axis(frame)
    column = axes.column(axis)
    placed = axes.with_column(frame, axis)
    if placed[column].n_unique() < 2 or placed[column].null_count():
        return None
    scale = wording.Scale(answer.document)
    several = placed.select("workload", "phase").n_unique() > 1
    data = pl.DataFrame(
        [
            {
                "series": f"{row['workload']}, {row['phase']}" if several else row["phase"],
                "side": side,
                column: row[column],
                **level.ends(scale.divisor),
            }
            for row in placed.iter_rows(named=True)
            for side, level in zip(
                figure.SIDES, (answer.points[row["number"]].today, answer.points[row["number"]].point), strict=True
            )
        ],
        infer_schema_length=None,
    )
    return draw(
        figure.points(data, axis, _title(answer, scale), column=column),
        "sweep-before-after",
        title=f"Before and after, by {axis}",
        data=data,
        caption="Medians of fresh pairs with their intervals: today's settings and the best ones.",
        description=f"The objective before and after against {axis}; the table has the numbers.",
    )
