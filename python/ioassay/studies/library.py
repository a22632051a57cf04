"""The built-in studies."""

from __future__ import annotations

from ioassay.yaml_models.library import Library

STUDIES = Library("ioassay.studies", "study")

builtin_studies, find_study = STUDIES.sources, STUDIES.find
