"""The dashboards as files that travel with the package, ready for a data source. Not: what is in them, saving them."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final, Literal, TypeAlias, get_args

from ioassay.errors import UsageError

Source = Literal["elasticsearch", "opensearch", "prometheus"]
"""Kinds of data sources."""
SOURCES: Final[tuple[Source, ...]] = get_args(Source)

Json: TypeAlias = dict[str, Any]
"""A dashboard as Grafana knows it."""

NAMES: Final = ("cluster", "node", "job", "file-system")
"""The dashboards."""

SOURCE_VARIABLE: Final = "source"
"""The variable of all dashboards by which users choose the data source."""


def file_name(name: str, source: Source) -> str:
    """The file of a dashboard."""
    return f"{name}-{source}.json"


def source_named(text: str) -> Source:
    """The kind of data source of that name. Raises `UsageError`."""
    found = next((source for source in SOURCES if source == text), None)
    if found is None:
        raise UsageError(f"There are no dashboards for {text}.", f"Use one of {', '.join(SOURCES)}.")
    return found


def text(name: str, source: Source) -> str:
    """A dashboard as JSON. Raises `UsageError` for one that does not exist."""
    if name not in NAMES:
        raise UsageError(f"There is no dashboard {name}.", f"Use one of {', '.join(NAMES)}.")
    files = resources.files("ioassay.monitoring.dashboards") / "json"
    return (files / file_name(name, source)).read_text()


def dashboard(name: str, source: Source, source_uid: str | None = None) -> Json:
    """A dashboard, which begins with the data source of that UID. Raises `UsageError` for one that does not exist."""
    whole: Json = json.loads(text(name, source))
    if source_uid is not None:
        for variable in whole["templating"]["list"]:
            if variable["name"] == SOURCE_VARIABLE:
                variable["current"] = {"selected": True, "text": source_uid, "value": source_uid}
    return whole
