"""A prediction for other programs, as a JSON document and a table: base units, unrounded, units in the names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from ioassay.reports.prediction import wording
from ioassay.sizing.prediction.model import Predicted, Prediction

PREDICTION_VERSION = 1

_SCHEMA: dict[str, type[pl.DataType]] = {
    "series": pl.String,
    "operation": pl.String,
    "clients": pl.Int64,
    "ranks": pl.Int64,
    "point": pl.String,
    "column": pl.String,
    "expected": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "method": pl.String,
    "limit": pl.String,
    "why_not": pl.String,
    "notes": pl.String,
}


def data(prediction: Prediction) -> dict[str, Any]:
    """`version`, `study`, `configuration`, `points` and `assumptions`."""
    return {
        "version": PREDICTION_VERSION,
        "study": {"name": prediction.study.name, "scale": prediction.study.scale, "title": prediction.study.title},
        "configuration": {"name": prediction.configuration, "title": prediction.title},
        "points": [row | {"point": dict(axis_values)} for row, axis_values in _rows(prediction)],
        "assumptions": [
            {"name": assumption.name, "value": assumption.nominal, "unit": assumption.dimension.unit, "why": why}
            for assumption, why in prediction.assumptions
        ],
    }


def table(prediction: Prediction) -> pl.DataFrame:
    """A row per point; its values on other axes as JSON, notes separated by spaces."""
    rows = [
        row | {"point": json.dumps(dict(axis_values)), "notes": " ".join(row["notes"])}
        for row, axis_values in _rows(prediction)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _rows(prediction: Prediction) -> Iterator[tuple[dict[str, Any], list[tuple[str, int | str]]]]:
    for name, points in prediction.series:
        for point in points:
            row = {
                "series": name.title,
                "operation": name.operation,
                "clients": point.spot.clients,
                "ranks": point.spot.job.ranks,
                **_rate(point),
                "method": point.method,
                "limit": point.limit or None,
                "why_not": point.why_not or None,
                "notes": list(point.notes),
            }
            yield row, [(axis, value) for axis, value, _ in point.spot.others]


def _rate(point: Predicted) -> dict[str, Any]:
    value = point.value
    if value is None:
        return dict.fromkeys(("column", "expected", "low", "high"))
    return {
        "column": wording.column(value),
        "expected": value.nominal,
        "low": float(value.interval.low),
        "high": float(value.interval.high),
    }
