"""A profile for other programs, as a JSON document and a table: base units, unrounded, units in the names."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from ioassay.analysis.profile import phases
from ioassay.analysis.profile.coverage import Coverage
from ioassay.profiles.model import Direction
from ioassay.reports.profile import limits, workflow
from ioassay.reports.profile.content import MOST_REFERENCES, Content, FindingLine

PROFILE_VERSION = 1

MOST_ROWS = 10_000
"""Of files, those with the largest share of the time or of the bytes first, of processes, and of maps and shortfalls,
the largest first: more make a document that few programs read.
"""


def data(content: Content) -> dict[str, Any]:
    """`version`, what was profiled, totals, findings, coverage, phases, and rows of processes, files and operations."""
    profile, totals = content.profile, content.totals
    return {
        "version": PROFILE_VERSION,
        "source": profile.source,
        "names": profile.names,
        "commands": profile.commands,
        "is_running": profile.is_running,
        "begin_unix_ns": profile.begin_unix_ns,
        "end_unix_ns": profile.end_unix_ns,
        "origin_unix_ns": profile.origin_unix_ns,
        "totals": {
            **{
                direction.direction: asdict(direction) | _mapped(content, direction.direction)
                for direction in totals.directions
            },
            "elsewhere_ns": totals.elsewhere_ns,
            "run_ns": totals.run_ns,
            "recorder_ns": totals.recorder_ns,
            "startup": content.startup,
        },
        "findings": [_finding(line) for line in content.findings],
        **limits.data(content.thresholds, content.limits),
        "coverage": _coverage(content.coverage),
        "maps": content.maps.bounds.head(MOST_ROWS),
        "losses": content.coverage.losses,
        "unknown": list(profile.unknown),
        "supplements": profile.supplements,
        "uncounted": sorted(profile.uncounted),
        "phases": content.phases,
        "periods_s": content.periods_s,
        "regions": content.regions,
        "callers": content.call_sites[:MOST_ROWS],
        "imbalances": content.imbalances,
        **({"workflow": workflow.data(content.workflow)} if content.workflow.exchanges else {}),
        "operations": content.operations,
        "errors": profile.errors,
        "in_flight": profile.in_flight,
        "timeline_step_s": profile.timeline_step_s,
        "timeline": phases.by_direction(profile),
        "processes": profile.processes.head(MOST_ROWS),
        "files": content.every_file.head(MOST_ROWS),
    }


def table(content: Content) -> pl.DataFrame:
    """A row for each file on storage and operation."""
    return content.stored.drop("users", "last_errno").sort("path", "node", "operation")


def _coverage(coverage: Coverage) -> dict[str, Any]:
    fields = asdict(coverage)
    del fields["losses"]  # they have a place of their own
    return fields | {"shortfalls": fields["shortfalls"][:MOST_ROWS]}


def _mapped(content: Content, direction: Direction) -> dict[str, Any]:
    """What maps moved, beside what calls did; unknown of sources that do not know what was mapped."""
    if direction == "metadata":
        return {}
    return {"mapped": content.maps.total(direction) if content.profile.source == "record" else None}


def _finding(line: FindingLine) -> dict[str, Any]:
    finding = line.finding
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "sentence": finding.message.text,
        "remedy": finding.message.remedy,
        "savings": line.savings,
        "evidence": finding.evidence,
        "callers": line.callers[:MOST_ROWS],
        "rests_on": [reference._asdict() for reference in finding.rests_on[:MOST_REFERENCES]],
    }
