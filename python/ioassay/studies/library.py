"""The built-in studies, and those in files; each with all that it takes from the study that it extends."""

from __future__ import annotations

from ioassay.studies.extends import extended
from ioassay.yaml_models.library import Library
from ioassay.yaml_models.source import Source

STUDIES = Library("ioassay.studies", "study")
"""As they are written, whatever they extend."""


def builtin_studies() -> dict[str, Source]:
    """All of them, by name."""
    return {name: extended(source, STUDIES) for name, source in STUDIES.sources().items()}


def find_study(name_or_path: str) -> Source:
    """The built-in study of that name, else the file at that path. Raises `UsageError`, `SourceError`."""
    return extended(STUDIES.find(name_or_path), STUDIES)
