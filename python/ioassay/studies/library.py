"""The built-in studies."""

from __future__ import annotations

from ioassay.written.library import Library

STUDIES = Library("ioassay.studies", "study")

builtin_studies, find_study = STUDIES.sources, STUDIES.find
