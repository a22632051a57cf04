"""Verdicts as one JSON document for other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from ioassay.reports.check.lines import Line, accepted
from ioassay.results.document import RunDocument

CHECK_VERSION = 1


def document(run: RunDocument, lines: Sequence[Line]) -> str:
    """`version`, `run`, `study`, `target`, `accepted`, and every check as a `Line` has it."""
    whole = {
        "version": CHECK_VERSION,
        "run": run.run,
        "study": run.study.name,
        "target": run.target,
        "accepted": accepted(lines),
        "checks": list(map(asdict, lines)),
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
