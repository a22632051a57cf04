"""An examination for other programs, as a JSON document and a table: base units, units in the names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from ioassay.reports.tuning import path
from ioassay.tuning.change_groups import ChangeGroup, change_groups
from ioassay.tuning.check import Examination
from ioassay.tuning.outcomes import outcome
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotJudged, NotReadable

CHECK_VERSION = 1

_COLUMNS = ("host", "rule", "judgement", "subject", "value", "recommended", "because", "assignments", "command")
_SCHEMA = dict.fromkeys(_COLUMNS, pl.String) | {"harmful": pl.Boolean}


def data(examination: Examination) -> dict[str, Any]:
    """`version`, `hosts`, `verdict`, `paths` with what was measured on them, `changes` with equal ones together, the
    weightiest first, and `judgements`, each with what its rule says.
    """
    return {
        "version": CHECK_VERSION,
        "hosts": [
            {"host": system.host, "taken": system.snapshot.taken.isoformat(), "target": system.snapshot.target}
            for system in examination.systems
        ],
        "verdict": examination.verdict,
        "paths": path.data(
            examination.paths, examination.measured, lambda problem: outcome(problem, examination.findings)
        ),
        "changes": [_group(group) for group in change_groups(examination)],
        "judgements": list(_judgements(examination)),
        "rules": [
            {
                "name": rule.name,
                "title": rule.title,
                "area": rule.area,
                "reason": rule.reason,
                "risk": rule.risk,
                "weight": rule.weight,
                "sources": [{"text": source.text, "url": source.url} for source in rule.sources],
            }
            for rule in dict.fromkeys(finding.rule for finding in examination.findings)
        ],
    }


def _group(group: ChangeGroup) -> dict[str, Any]:
    """The changes of a rule, equal ones together."""
    return {
        "rule": group.rule.name,
        "harmful": group.is_harmful,
        "weight": group.rule.weight,
        "evidence": list(group.evidence),
        "places": [
            {
                "hosts": list(place.hosts),
                "subjects": list(place.subjects),
                "value": place.value,
                "recommended": place.wanted,
                "because": place.because,
            }
            for place in group.places
        ],
        "exceptions": group.exceptions,
    }


def table(examination: Examination) -> pl.DataFrame:
    """A row per judgement; assignments are separated by spaces."""
    rows = [{**row, "assignments": " ".join(row["assignments"])} for row in _judgements(examination)]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _judgements(examination: Examination) -> Iterator[dict[str, Any]]:
    for finding in examination.findings:
        for judgement in finding.judgements:
            fields = dict.fromkeys(_COLUMNS, "") | {"host": finding.host, "rule": finding.rule.name}
            yield {**fields, "assignments": [], "harmful": False, **_judgement(judgement)}


def _judgement(judgement: Judgement) -> dict[str, Any]:
    match judgement:
        case Fine(subject, value):
            return {"judgement": "as recommended", "subject": subject, "value": value}
        case Change():
            return {
                "judgement": "change",
                "subject": judgement.subject,
                "value": judgement.value,
                "recommended": judgement.wanted,
                "because": judgement.because,
                "assignments": [str(assignment) for assignment in judgement.assignments],
                "command": judgement.command,
                "harmful": judgement.is_harmful,
            }
        case NotApplicable(why, subject):
            return {"judgement": "not applicable", "subject": subject, "because": why}
        case NotJudged(subject, value, why):
            return {"judgement": "not judged", "subject": subject, "value": value, "because": why}
        case NotReadable(what, reason):
            return {"judgement": "not readable", "subject": what, "because": reason}
