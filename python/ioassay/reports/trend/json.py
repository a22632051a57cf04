"""A trend as one JSON document for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from ioassay.analysis.trend.change_detection import FALSE_ALARMS
from ioassay.reports.check.lines import accepted
from ioassay.reports.trend.content import Content
from ioassay.reports.trend.rows import points

TREND_VERSION = 1


def document(content: Content) -> str:
    """`version`, `accepted`, `checks` as `ioassay check` has them, `points`, `moments`, and what was left out."""
    whole = {
        "version": TREND_VERSION,
        "accepted": accepted(content.lines),
        "tolerance": content.tolerance,
        "false_alarms": FALSE_ALARMS,
        "checks": list(map(asdict, content.lines)),
        "points": list(points(content)),
        "moments": [
            {
                "study_and_target": part.title,
                "between": moment.between,
                "sentences": moment.sentences,
                "configuration": [
                    {"what": row.what, "before": row.values[0], "after": row.values[1]} for row in moment.also
                ],
            }
            for part in content.groups
            for moment in part.moments
        ],
        "trends": [text for part in content.groups for text in part.trends],
        "left_out": content.left_out,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
