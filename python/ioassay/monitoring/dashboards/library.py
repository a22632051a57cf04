"""The dashboards' files in the package, for a data source. Not: their contents, saving them."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final, Literal, TypeAlias, get_args

from ioassay.errors import UsageError

Source = Literal["elasticsearch", "opensearch", "prometheus"]
"""The kinds of data sources."""
SOURCES: Final[tuple[Source, ...]] = get_args(Source)

Json: TypeAlias = dict[str, Any]
"""A dashboard in Grafana's format."""

NAMES: Final = ("cluster", "node", "job", "file-system")
"""The names of the dashboards."""

SOURCE_VARIABLE: Final = "source"
"""The variable for the data source, in all dashboards."""


def file_name(name: str, source: Source) -> str:
    return f"{name}-{source}.json"


def source_named(text: str) -> Source:
    """The kind of data source of that name. Raises `UsageError`."""
    source_of_name = next((source for source in SOURCES if source == text), None)
    if source_of_name is None:
        raise UsageError(f"There are no dashboards for {text}.", f"Use one of {', '.join(SOURCES)}.")
    return source_of_name


def text(name: str, source: Source) -> str:
    """A dashboard as JSON. Raises `UsageError` for an unknown one."""
    if name not in NAMES:
        raise UsageError(f"There is no dashboard {name}.", f"Use one of {', '.join(NAMES)}.")
    files = resources.files("ioassay.monitoring.dashboards") / "json"
    return (files / file_name(name, source)).read_text()


def dashboard(name: str, source: Source, source_uid: str | None = None) -> Json:
    """A dashboard that initially uses the data source with that UID. Raises `UsageError` for an unknown one."""
    fields: Json = json.loads(text(name, source))
    if source_uid is not None:
        for variable in fields["templating"]["list"]:
            if variable["name"] == SOURCE_VARIABLE:
                variable["current"] = {"selected": True, "text": source_uid, "value": source_uid}
    return fields
