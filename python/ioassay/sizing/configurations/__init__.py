"""Configurations: built-in ones as published, and files of one's own.

Not: what such a file can say (`sizing.configuration`).
"""

from __future__ import annotations

from pathlib import Path

from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.yaml_models.library import Library
from ioassay.yaml_models.validate import validate

LIBRARY = Library("ioassay.sizing.configurations", "configuration")


def read(name_or_path: str) -> tuple[ConfigurationFile, Catalogue]:
    """The file of that name or path, with the catalogue that it asks for.

    Raises `UsageError` for an unknown name, `SourceError` with every problem of a file.
    """
    source = LIBRARY.find(name_or_path)
    file = validate(ConfigurationFile, source.tree)
    folder = Path(name_or_path).parent
    return file, load([folder / path for path in file.catalogues])
