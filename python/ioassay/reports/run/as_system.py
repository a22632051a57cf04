"""A run as the file about a system (`ioassay.systems.model`): a figure for each median, what it was measured with.

Compared with others, the file has the rates of the run. What it does not keep are repetitions, so nothing that it is
compared with has an interval. Not: reading such files (`ioassay.systems.library`), comparing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ioassay.analysis import rates
from ioassay.analysis.compare import measured_run
from ioassay.analysis.compare.subject import Curve, Point
from ioassay.errors import UsageError
from ioassay.reports.compare import configuration
from ioassay.store.document import RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.store.origin import ImportedFile
from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S, Dimension, spelled
from ioassay.text.rate_units import RateColumn
from ioassay.text.units import format_bytes, format_count

_RUN, _MEASUREMENTS = "run", "measurements"
"""The sources that every such file has, by their short names."""

_MOST_LINES, _LAST_LINE = 50, 99_999
"""The limits of a place in a system's file: how many lines, and the last line number."""

_DIMENSIONS: Mapping[RateColumn, Dimension] = {
    "rate_bytes_per_s": BYTES_PER_S,
    "rate_operations_per_s": OPERATIONS_PER_S,
}


def text(run: LoadedRun, name: str, files: Mapping[Path, str]) -> str:
    """The YAML. `files` are those of the run with their SHA-256.

    Raises `UsageError` for a run that has no valid rate.
    """
    writing = _Writing(run, files)
    figures = [figure for curve in measured_run.subject(run, name).curves for figure in writing.figures(curve)]
    if not figures:
        raise UsageError(f"The run {run.document.run} has no valid rate.", "See the doubts in its report.")
    system = {
        "name": _identifier(name),
        "title": run.document.study.title,
        "sources": writing.sources(),
        "settings": _settings(run.document),
        "figures": figures,
    }
    heading = "# Medians of a run, written by `ioassay systems --from`. Every key: docs/reference/systems.md.\n"
    return heading + yaml.safe_dump(system, sort_keys=False, allow_unicode=True, width=120)


def _identifier(text: str) -> str:
    """The text as a valid name of a system, or the start of a figure's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:50].strip("-.") or "system"


def _settings(document: RunDocument) -> dict[str, list[dict[str, str]]]:
    """The facts of the run that a comparison reports, in the groups of published systems where these name them."""
    groups: dict[str, list[dict[str, str]]] = {}
    for fact, value in configuration.run_facts(document).items():
        group, what = configuration.AS_PUBLISHED.get(fact, (configuration.OF_RUN, fact))
        groups.setdefault(group, []).append({"what": what, "value": value, "at": _RUN})
    return groups


@dataclass
class _Writing:
    """The figures of a run while they are written, with the names and files that they took."""

    run: LoadedRun
    files: Mapping[Path, str]
    taken: Counter[str] = field(default_factory=Counter)
    read: dict[str, str] = field(default_factory=dict)
    """Files of imported results that figures stand in, with the short name of each."""

    def sources(self) -> dict[str, dict[str, str]]:
        """The sources of the figures: the run, its measurements, and imported files."""
        document = self.run.document
        kept = [{"file": str(file), "sha256": sha256} for file, sha256 in self.files.items()] or [{}]
        about = {"title": f"{document.study.title}, run {document.run}"}
        if document.started:
            about["date"] = document.started
        entries = {
            _RUN: about | kept[0],
            _MEASUREMENTS: {"title": f"Measurements of the run {document.run}"} | kept[-1],
        }
        imported = {file.path: file for file in document.imported.files} if document.imported else {}
        return entries | {name: _of_file(imported[path], document) for path, name in self.read.items()}

    def figures(self, curve: Curve) -> Iterator[dict[str, Any]]:
        """The points and the sustained rate of a series: first in what it counts by itself."""
        for column in (curve.column, *(other for other in curve.rates if other != curve.column)):
            of = curve.rates[column]
            for point in of.points:
                figure = self._figure(curve, column, point, "peak" if point is of.peak else None)
                yield figure | {"at": self._place(curve, point), "note": _note(point)}
            if of.sustained is not None:
                like = of.points[0].conditions
                figure = self._figure(curve, column, of.sustained, "sustained")
                figure |= _conditions(Point(None, like, of.sustained.rates), "layout", "order", "transfer")
                yield figure | {"at": _MEASUREMENTS, "note": "median of the points from 90 % of the peak on"}

    def _figure(self, curve: Curve, column: RateColumn, point: Point, level: str | None) -> dict[str, Any]:
        counts = [f"c{point.clients}" if point.clients else "", f"r{point.conditions.ranks}" if not level else ""]
        other = "" if column == curve.column else column.removeprefix("rate_").removesuffix("_per_s")
        words = [curve.test, curve.operation, *counts, level or "", other]
        return {
            "id": self._id("-".join(filter(None, words)).lower()),
            "test": curve.test,
            **({"level": level} if level else {}),
            "operation": curve.operation,
            **_conditions(point),
            "value": spelled(point.median, _DIMENSIONS[column]),
        }

    def _id(self, wanted: str) -> str:
        name = _identifier(wanted)
        self.taken[name] += 1
        return name if self.taken[name] == 1 else f"{name}.{self.taken[name]}"

    def _place(self, curve: Curve, point: Point) -> str:
        """The lines of its repetitions where one imported file has them all, else the run's measurements."""
        if self.run.sources.is_empty():
            return _MEASUREMENTS
        workload, phase, job = curve.name
        where = {
            **{"workload": workload, "phase": phase, "job": job, "operation": curve.operation},
            **{"clients": point.clients, "ranks": point.conditions.ranks, "files": point.conditions.files},
        }
        measured = self.run.measurements.filter("valid", rates.is_at(where))
        lines = self.run.sources.join(measured, on=list(KEY), how="semi").select("file", "line").unique().sort("line")
        if lines["file"].n_unique() != 1 or lines.height > _MOST_LINES or lines["line"].max() > _LAST_LINE:  # type: ignore[operator]
            return _MEASUREMENTS
        path = lines["file"][0]
        name = self.read.setdefault(path, f"file-{len(self.read) + 1}")
        return f"{name}:{','.join(map(str, lines['line']))}"


def _conditions(point: Point, *wanted: str) -> dict[str, Any]:
    """The conditions of a point, by the keys of a figure; only `wanted`, if that is given."""
    of = point.conditions
    fields = {
        "tool": of.tool,
        "layout": of.layout,
        "order": of.order,
        "transfer": format_bytes(of.transfer_bytes) if of.transfer_bytes else None,
        "total": format_bytes(of.file_set_bytes) if of.file_set_bytes else None,
        "files": of.files or None,
        "clients": point.clients or None,
        "threads": of.ranks or None,
    }
    return {key: value for key, value in fields.items() if value is not None and (not wanted or key in wanted)}


def _note(point: Point) -> str:
    count = len(point.rates)
    basis = "a single repetition" if count == 1 else f"median of {format_count(count, 'repetition')}"
    return "; ".join([basis, *([f"doubted: {', '.join(point.doubts)}"] if point.doubts else [])])


def _of_file(file: ImportedFile, document: RunDocument) -> dict[str, str]:
    tool = document.imported.tool if document.imported else ""
    return {"title": f"Output of {tool}, {Path(file.path).name}", "file": file.path, "sha256": file.sha256}
