"""Verdicts as one JSON document for other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from ioassay.reports.check.lines import Line, accepted

CHECK_VERSION = 1


def document(run: str, lines: Sequence[Line]) -> str:
    """`version`, `run`, `accepted`, and every check with its judgement and what it says."""
    whole = {"version": CHECK_VERSION, "run": run, "accepted": accepted(lines), "checks": list(map(asdict, lines))}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
