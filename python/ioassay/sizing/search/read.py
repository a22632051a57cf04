"""Reads a file of requirements. Not: what such a file can say (`sizing.requirements`)."""

from __future__ import annotations

from pathlib import Path

from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.requirements import Requirements
from ioassay.yaml_models.source import read_source
from ioassay.yaml_models.validate import validate


def read(path: Path) -> tuple[Requirements, Catalogue]:
    """The requirements in a file, with the catalogue that it asks for. Raises `SourceError` with every problem."""
    requirements = validate(Requirements, read_source(path, "requirements file").tree)
    return requirements, load([path.parent / own for own in requirements.catalogues])
