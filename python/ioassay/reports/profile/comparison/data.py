"""The comparison of two profiles for other programs, as a JSON document and a table: base units, unrounded, units in
the names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.comparison import ClassComparison
from ioassay.analysis.profile.finding_changes import FindingChange
from ioassay.reports.profile.comparison import wording
from ioassay.reports.profile.comparison.content import Content, Side
from ioassay.reports.profile.data import MOST_ROWS

COMPARISON_VERSION = 1

_AMOUNTS = ("calls", "bytes", "bytes_per_call", "spent_ns", "p50_ns", "p99_ns", "slowest_ns")


def data(content: Content) -> dict[str, Any]:
    """`version`, both sides, what was unlike, sentences, classes (ratios are other / reference; null: unknown or not
    comparable), phases, imbalances, findings, and rows of files.
    """
    comparison, files = content.comparison, content.files
    return {
        "version": COMPARISON_VERSION,
        "reference": _side(content.reference),
        "other": _side(content.other),
        "conditions": content.conditions,
        "uncounted": list(comparison.uncounted),
        "sentences": list(wording.changes(content)),
        "note": wording.SINGLE,
        "span_s": {
            "reference": comparison.reference_span_s,
            "other": comparison.other_span_s,
            "ratio": comparison.span_ratio,
        },
        "directions": [_class(direction) | _patterns(content, direction.name) for direction in comparison.directions],
        "operations": [_class(operation) for operation in comparison.operations],
        "phases": {name: _phases(side) for name, side in _named(content)},
        "imbalances": [
            {"measure": measure, **{name: _imbalance(side, measure) for name, side in _named(content)}}
            for measure in content.measures
        ],
        "findings": [_finding(finding) for finding in content.findings],
        "files": [{"reference": change.reference, "other": change.other} for change in files.changed[:MOST_ROWS]],
        "files_only_reference": files.only_reference[:MOST_ROWS],
        "files_only_other": files.only_other[:MOST_ROWS],
    }


def table(content: Content) -> pl.DataFrame:
    """A row for each amount of each direction and operation: of (`direction`, `operation`: some have one name), class,
    amount (its unit in its name), reference, other, ratio.
    """
    schema = {
        "of": pl.String,
        "class": pl.String,
        "amount": pl.String,
        "reference": pl.Float64,
        "other": pl.Float64,
        "ratio": pl.Float64,
    }
    return pl.DataFrame(list(_rows(content)), schema, orient="row")


def _rows(content: Content) -> Iterator[tuple[str, str, str, float | None, float | None, float | None]]:
    comparison = content.comparison
    classes = (
        *(("direction", direction) for direction in comparison.directions),
        *(("operation", operation) for operation in comparison.operations),
    )
    for of, compared in classes:
        for name in _AMOUNTS:
            before, after = getattr(compared.reference, name), getattr(compared.other, name)
            if before is not None or after is not None:
                yield of, compared.name, name, before, after, compared.ratio(name)
        for name in ("size_distance", "timeline_distance"):
            if (distance := getattr(compared, name)) is not None:
                yield of, compared.name, name, 0.0, distance, None


def _named(content: Content) -> tuple[tuple[str, Side], ...]:
    return ("reference", content.reference), ("other", content.other)


def _side(side: Side) -> dict[str, Any]:
    profile, totals = side.profile, side.content.totals
    return {
        "name": side.name,
        "source": profile.source,
        "names": profile.names,
        "commands": profile.commands,
        "is_running": profile.is_running,
        "begin_unix_ns": profile.begin_unix_ns,
        "end_unix_ns": profile.end_unix_ns,
        "processes": profile.processes.height,
        "io_ns": totals.io_ns,
        "run_ns": totals.run_ns,
        "unknown": list(profile.unknown),
    }


def _class(comparison: ClassComparison) -> dict[str, Any]:
    return {
        "class": comparison.name,
        **{
            name: _amounts(amounts)
            for name, amounts in (("reference", comparison.reference), ("other", comparison.other))
        },
        "ratios": {name: comparison.ratio(name) for name in _AMOUNTS},
        "size_distance": comparison.size_distance,
        "timeline_distance": comparison.timeline_distance,
    }


def _amounts(amounts: Any) -> dict[str, Any]:
    sizes = {name: size._asdict() for name, size in amounts.sizes.items()}
    return {name: getattr(amounts, name) for name in _AMOUNTS} | {"sizes": sizes}


def _patterns(content: Content, direction: str) -> dict[str, Any]:
    both = content.patterns.get(direction)
    return {} if both is None else {"patterns": {"reference": both[0], "other": both[1]}}


def _phases(side: Side) -> dict[str, Any]:
    return {"phases": side.content.phases, "periods_s": side.content.periods_s}


def _imbalance(side: Side, measure: str) -> dict[str, Any] | None:
    imbalance = side.imbalance(measure)
    return None if imbalance is None else asdict(imbalance) | {"share": imbalance.share}


def _finding(change: FindingChange) -> dict[str, Any]:
    return {
        "change": change.change,
        "kind": change.kind,
        "reference": _evidence(change.reference),
        "other": _evidence(change.other),
    }


def _evidence(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    return {
        "severity": finding.severity,
        "sentence": finding.message.text,
        "evidence": finding.evidence,
    }
