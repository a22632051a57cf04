"""Names of what is built in, without reading the files: completions have no time for that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

_SUFFIX = ".yaml"

STUDIES = "ioassay.studies"
SYSTEMS = "ioassay.systems"
LABS = "ioassay.lab"
CONFIGURATIONS = "ioassay.sizing.configurations"


def names(package: str) -> list[str]:
    """The names of built-in documents of a package, as they are typed, in alphabetical order."""
    place = files("ioassay").joinpath(*package.split(".")[1:], "builtin")
    return sorted(file.name.removesuffix(_SUFFIX) for file in place.iterdir() if file.name.endswith(_SUFFIX))


def study_documents(study: str) -> Iterator[dict[str, Any]]:
    """The keys of a study, built in or at a path, then those of the one that it extends, and so on, as they stand.

    What cannot be read has none, and studies that extend each other in a circle come once.
    """
    seen: set[str] = set()
    while study not in seen:
        seen.add(study)
        document = _document(study)
        yield document
        base = document.get("extends")
        if not isinstance(base, str):
            return
        # A path is relative to the file that names it.
        study = os.path.abspath(Path(study).parent / base) if _is_path(base) else base


def _document(study: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415

    place = Path(study) if _is_path(study) else files("ioassay").joinpath("studies", "builtin", f"{study}{_SUFFIX}")
    try:
        document = yaml.load(place.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return document if isinstance(document, dict) else {}


def _is_path(study: str) -> bool:
    return "/" in study or study.endswith((_SUFFIX, ".yml"))
