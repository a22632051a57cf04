"""How a study empties caches before a workload reads: its `cold-cache` step, from the text that a run keeps.

Not: whether they were empty (the engine measures what is resident, and doubts what was not).
"""

from __future__ import annotations

import json
from typing import Any

from ioassay.results.document import StudyEntry
from ioassay.yaml_models.source import SourceError, parse_source, plain

NONE = "nothing"
"""What is done before a read where a study has no such step."""


def cold_cache(study: StudyEntry, workload: str) -> str | None:
    """The methods of the workload's first cold-cache step in their order: `drop-caches, fadvise`, or `NONE`.

    `None` where the run has no study's text, as front ends and imported runs, and where that text is no study.
    """
    try:
        tree = plain(parse_source(study.text, "study.yaml", "study").tree)
    except SourceError:
        return None
    steps = _entry(_entry(_entry(tree, "workloads"), workload), "steps") or _entry(tree, "steps")
    if not isinstance(steps, list):
        return None
    found = (step["cold-cache"] for step in steps if isinstance(step, dict) and "cold-cache" in step)
    return next((_words(_resolved(methods, study.settings)) for methods in found), NONE)


def _entry(tree: object, key: str) -> Any:
    return tree.get(key) if isinstance(tree, dict) else None


def _resolved(value: Any, settings: dict[str, Any]) -> Any:
    """`${name}` with the value that the setting had."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return settings.get(value[2:-1], value)
    return value


def _words(methods: Any) -> str:
    if isinstance(methods, str):
        return methods
    if isinstance(methods, list) and all(isinstance(method, str) for method in methods):
        return ", ".join(methods)
    return json.dumps(methods, sort_keys=True)
