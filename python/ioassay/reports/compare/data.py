"""A comparison for other programs, as a JSON document and a table: base units, unrounded, units in the names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from ioassay.analysis.compare.predictions import judge
from ioassay.analysis.compare.ratios import Compared, Ratio
from ioassay.analysis.compare.subject import Point
from ioassay.reports.compare import training
from ioassay.reports.compare.content import Content
from ioassay.reports.compare.wording import LEVELS

COMPARE_VERSION = 1


def data(content: Content) -> dict[str, Any]:
    """`version`, `subjects` (the first is the reference), `ratios`, `sentences`, `chance` (of each subject, how many
    differences are more than that), `notes`, `not_compared`, `given_rates` (of series without a ratio, because their
    rate is the study's), `training` (measures of epochs, each by its definition), `configuration`.
    """
    names = [subject.name for subject in content.subjects]
    return {
        "version": COMPARE_VERSION,
        "subjects": [{"name": subject.name, "kind": subject.kind} for subject in content.subjects],
        "ratios": list(rows(content)),
        "sentences": content.sentences,
        "chance": [
            {"other": comparison.other.name, **asdict(comparison.chance)}
            for comparison in content.comparisons
            if comparison.chance
        ],
        "notes": [*content.chance, *content.notes],
        "not_compared": [
            {"subject": side.name, "against": comparison.other.name, "series": curve.title}
            for comparison in content.comparisons
            for side, curve in comparison.unmatched
        ],
        "given_rates": [
            {
                "series": given_point.series,
                "at": given_point.place,
                "subject": given_point.subject.name,
                "operation": given_point.given.point["operation"],
                "clients": given_point.given.point["clients"],
                "column": given_point.given.column,
                "given_per_s": given_point.given.given_per_s,
                "think_ns": given_point.given.think_ns,
                "kept_per_s": given_point.given.kept_per_s,
                "p50_ns": given_point.given.p50_ns,
                "p99_ns": given_point.given.p99_ns,
            }
            for given_point in content.given
        ],
        "training": training.data(content.subjects),
        "configuration": [
            {"what": row.what, "values": dict(zip(names, row.values, strict=True))} for row in content.differences
        ],
    }


def rows(content: Content) -> Iterator[dict[str, Any]]:
    """A row per ratio: series, operation, `at` (`point`, `peak`, `sustained`), both sides, ratio, interval.

    `column` says what both rates count; `reference_low` and so on are the range of a prediction, and `predicted` says
    where a measured rate lies: `within`, `below` or `above` it.
    """
    for part in content.series:
        for other, compared in part.compared:
            levels = zip(LEVELS, (compared.peak, compared.sustained), strict=True)
            named = [*(("point", ratio) for ratio in compared.points), *(pair for pair in levels if pair[1])]
            for place, ratio in named:
                if ratio is not None:
                    judgement = judge(ratio)
                    yield {
                        "series": compared.reference.title,
                        "operation": compared.reference.operation,
                        "reference": content.reference.name,
                        "other": other.name,
                        "other_series": compared.other.title,
                        "at": place,
                        **_ratio(compared, ratio),
                        "predicted": judgement.verdict if judgement else None,
                    }


def table(content: Content) -> pl.DataFrame:
    """The columns of `rows`, a row each; names of what was unlike joined by `;`. Without a ratio it has no column."""
    flat = [row | {"unlike": ";".join(unlike.what for unlike in row["unlike"])} for row in rows(content)]
    return pl.DataFrame(flat, infer_schema_length=None)


def _ratio(compared: Compared, ratio: Ratio) -> dict[str, Any]:
    interval = ratio.interval
    return {
        "column": compared.column,
        **_side("reference", ratio.reference),
        **_side("other", ratio.other),
        "ratio": ratio.value,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "confidence": None if interval is None else interval.confidence,
        "differs": None if interval is None else ratio.differs,
        "unlike": ratio.unlike,
    }


def _side(name: str, point: Point) -> dict[str, Any]:
    return {
        f"{name}_clients": point.clients,
        f"{name}_ranks": point.conditions.ranks,
        f"{name}_point": json.dumps({other.axis: other.value for other in point.others}),
        f"{name}_rate": point.median,
        f"{name}_low": point.band.low if point.band else None,
        f"{name}_high": point.band.high if point.band else None,
        f"{name}_repetitions": len(point.rates),
        f"{name}_ceiling_share": point.ceiling_share,
        f"{name}_doubts": ";".join(point.doubts),
    }
