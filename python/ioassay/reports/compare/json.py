"""A comparison as one JSON document for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ioassay.reports.compare.content import Content
from ioassay.reports.compare.rows import rows

COMPARE_VERSION = 1


def document(content: Content) -> str:
    """The document."""
    return json.dumps(whole(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def whole(content: Content) -> dict[str, Any]:
    """`version`, `subjects` (the first is the reference), `ratios`, `sentences`, `chance` (of each subject, how many
    differences are more than that), `notes`, `not_compared`, `configuration`.
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
            for side, curve in comparison.alone
        ],
        "configuration": [
            {"what": row.what, "values": dict(zip(names, row.values, strict=True))} for row in content.differences
        ],
    }
