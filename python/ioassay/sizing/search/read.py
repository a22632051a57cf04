"""Reads a file of requirements. Not: what such a file can say (`sizing.requirements`)."""

from __future__ import annotations

from pathlib import Path

from ioassay.sizing.catalogue import Catalogue, load_beside
from ioassay.sizing.configurations.names import resolved_requirements
from ioassay.sizing.requirements import Requirements
from ioassay.yaml_models.source import read_source
from ioassay.yaml_models.validate import validate


def read(path: Path) -> tuple[Requirements, Catalogue]:
    """The requirements in a file, with the catalogue that it asks for. Raises `SourceError` with every problem."""
    source = read_source(path, "requirements file")
    requirements = validate(Requirements, source.tree)
    catalogue = load_beside(source, requirements.catalogues, path.parent)
    requirements = resolved_requirements(requirements, source, catalogue)
    if requirements.scaling is not None:
        requirements = requirements.model_copy(update={"scaling": requirements.scaling.with_runs_in(path.parent)})
    return requirements, catalogue
