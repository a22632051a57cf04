"""A trend for other programs, as a JSON document and a table: base units, unrounded, units in the names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from ioassay.analysis import intervals
from ioassay.analysis.trend.change_detection import FALSE_ALARMS, Course
from ioassay.analysis.trend.history import MeasuredPoint
from ioassay.reports.check.lines import accepted
from ioassay.reports.trend.content import Content

TREND_VERSION = 1


def data(content: Content) -> dict[str, Any]:
    """`version`, `accepted`, `checks` as `ioassay check` has them, `points`, `moments`, and what was left out."""
    return {
        "version": TREND_VERSION,
        "accepted": accepted(content.lines),
        "tolerance": content.tolerance,
        "false_alarms": FALSE_ALARMS,
        "checks": content.lines,
        "points": list(points(content)),
        "moments": [
            {
                "study_and_target": part.title,
                "between": moment.between,
                "sentences": moment.sentences,
                "configuration": [
                    {"what": row.what, "before": row.values[0], "after": row.values[1]} for row in moment.configuration
                ],
            }
            for part in content.groups
            for moment in part.moments
        ],
        "trends": [text for part in content.groups for text in part.trends],
        "given_rates": [
            {"study_and_target": part.title, "series": [curve.title for curve in part.group.latest.subject.given]}
            for part in content.groups
            if part.given
        ],
        "left_out": content.left_out,
    }


def points(content: Content) -> Iterator[dict[str, Any]]:
    """A row per point of the latest run of each study and target: the judgement, and why.

    `column` says what its rates count; shares are of 1.
    """
    for part in content.groups:
        for series in part.series:
            for course in series.courses:
                yield {
                    **_point(course),
                    "judgement": course.judgement,
                    "reason": course.reason,
                    "before": course.before,
                    "now": course.now,
                    "change": course.change,
                    "smallest_detectable_drop": course.smallest_detectable_drop,
                    "trend": asdict(course.trend) if course.trend else None,
                    "changes": [
                        {
                            "last_run_before": course.history.measured[change.index - 1].run.name,
                            "first_run_after": course.history.measured[change.index].run.name,
                            "before": change.before,
                            "after": change.after,
                        }
                        for change in course.changes
                    ],
                    "runs": [_run(measured) for measured in course.history.measured],
                    "left_out": [
                        {"run": excluded.run.name, "unlike": excluded.unlike} for excluded in course.history.left_out
                    ],
                }


def runs(content: Content) -> Iterator[dict[str, Any]]:
    """A row per run and point; `level` counts the levels of the point from 1, runs of one level have the same."""
    for part in content.groups:
        for series in part.series:
            for course in series.courses:
                splits = [change.index for change in course.changes]
                for index, measured in enumerate(course.history.measured):
                    level = 1 + sum(split <= index for split in splits)
                    yield {
                        **_point(course),
                        **_run(measured),
                        "level": level,
                    }


def table(content: Content) -> pl.DataFrame:
    """The rows of `runs`; without a rate neither rows nor columns."""
    return pl.DataFrame(list(runs(content)), infer_schema_length=None)


def _point(course: Course) -> dict[str, Any]:
    history = course.history
    return {
        "study": history.measured[-1].run.study,
        "series": history.curve.title,
        "operation": history.curve.operation,
        "clients": history.point.clients,
        "ranks": history.point.conditions.ranks,
        "files": history.point.conditions.files,
        "point": json.dumps({other.axis: other.value for other in history.point.others}),
        "column": history.curve.column,
    }


def _run(measured: MeasuredPoint) -> dict[str, Any]:
    interval = intervals.of_median(measured.point.rates)
    return {
        "run": measured.run.name,
        "target": measured.run.target,
        "started": measured.run.started.isoformat(),
        "rate": measured.point.median,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "confidence": None if interval is None else interval.confidence,
        "repetitions": len(measured.point.rates),
        "doubts": ";".join(measured.point.doubts),
    }
