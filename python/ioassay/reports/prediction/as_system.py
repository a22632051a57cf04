"""A prediction as the file about a system (`ioassay.systems.model`), so that `compare` takes it.

A figure for each point that is predicted, called as a run of the study calls it. Not: reading such files
(`ioassay.systems.library`), comparing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from ioassay.reports.compare import configuration
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.prediction.model import Predicted, Prediction, SeriesName
from ioassay.systems.amounts import spelled
from ioassay.text.slugs import slug, unique
from ioassay.text.units import format_bytes
from ioassay.version import __version__

_SOURCE = "prediction"
"""The short name of the only source."""

_LONGEST_NAME = 60


def text(prediction: Prediction) -> str:
    study = prediction.study
    system = {
        "name": slug(f"{prediction.configuration}-{study.name}", "prediction", _LONGEST_NAME),
        "title": f"{study.title}, predicted for {prediction.title or prediction.configuration}",
        "predicts": study.name,
        "sources": {_SOURCE: {"title": f"ioassay size predict, version {__version__}"}},
        "settings": _settings(prediction),
        "figures": list(_figures(prediction)),
    }
    heading = "# A prediction, written by `ioassay size predict --save`. Every key: docs/reference/systems.md.\n"
    return heading + yaml.safe_dump(system, sort_keys=False, allow_unicode=True, width=120)


def _settings(prediction: Prediction) -> dict[str, list[dict[str, str]]]:
    asked = configuration.study_facts(prediction.study)
    groups = {configuration.OF_RUN: [{"what": what, "value": value, "at": _SOURCE} for what, value in asked.items()]}
    assumed = [
        {"what": f"assumed {assumption.name}", "value": f"{formulas.brief(assumption)}. {why}", "at": _SOURCE}
        for assumption, why in prediction.assumptions
    ]
    return {**groups, "prediction": assumed} if assumed else groups


def _figures(prediction: Prediction) -> Iterator[dict[str, Any]]:
    taken: set[str] = set()
    for name, points in prediction.series:
        for point in points:
            if point.value is not None:
                words = f"{name.title} c{point.spot.clients} r{point.spot.job.ranks}"
                yield {"id": unique(slug(words, "figure", _LONGEST_NAME), taken), **_figure(name, point, point.value)}


def _figure(name: SeriesName, point: Predicted, value: Value) -> dict[str, Any]:
    job = point.spot.job
    fields = {
        "test": name.test,
        "tool": "ioassay",
        "operation": name.operation,
        "layout": job.layout,
        "order": job.order,
        "transfer": format_bytes(job.transfer_bytes) if job.transfer_bytes else None,
        "total": format_bytes(job.file_set_bytes) if job.file_set_bytes else None,
        "files": job.files,
        "clients": point.spot.clients,
        "threads": job.ranks,
        "value": spelled(value.nominal, value.dimension),
        "low": spelled(float(value.interval.low), value.dimension),
        "high": spelled(float(value.interval.high), value.dimension),
        "at": _SOURCE,
        "note": " ".join(point.notes),
    }
    return {key: value for key, value in fields.items() if value}
