"""Configurations: built-in ones as published, and files of one's own.

Not: what such a file can say (`sizing.configuration`).
"""

from __future__ import annotations

from pathlib import Path

from ioassay.errors import UsageError
from ioassay.sizing.catalogue import Catalogue, load_beside
from ioassay.sizing.configuration import Configuration, ConfigurationFile
from ioassay.sizing.configurations.names import unresolved
from ioassay.yaml_models.library import Library
from ioassay.yaml_models.source import SourceError, nearest, quoted
from ioassay.yaml_models.validate import validate

LIBRARY = Library("ioassay.sizing.configurations", "configuration")


def read(name_or_path: str) -> tuple[ConfigurationFile, Catalogue]:
    """The file of that name or path, with the catalogue that it asks for.

    Raises `UsageError` for an unknown name, `SourceError` with every problem of a file.
    """
    source = LIBRARY.find(name_or_path)
    file = validate(ConfigurationFile, source.tree)
    folder = Path(name_or_path).parent
    catalogue = load_beside(source, file.catalogues, folder)
    if problems := list(unresolved(file, source, catalogue)):
        raise SourceError(problems)
    configurations = {
        name: configuration
        if configuration.scaling is None
        else configuration.model_copy(update={"scaling": configuration.scaling.with_runs_in(folder)})
        for name, configuration in file.configurations.items()
    }
    return file.model_copy(update={"configurations": configurations}), catalogue


def choose(file: ConfigurationFile, name: str | None) -> tuple[str, Configuration]:
    """The configuration of that name; without one the only one. Raises `UsageError` that says which there are."""
    known = list(file.configurations)
    if name is None and len(known) > 1:
        raise UsageError(
            f"{file.name} has {len(known)} configurations.", f"Add --configuration with one of {', '.join(known)}."
        )
    chosen = name or known[0]
    if chosen not in known:
        raise UsageError(
            f"{file.name} has no configuration {quoted(chosen)}: {nearest(chosen, known)}",
            f"It has {', '.join(known)}.",
        )
    return chosen, file.configurations[chosen]


def builtin_files() -> dict[str, ConfigurationFile]:
    """All built-in files, by name."""
    return {name: validate(ConfigurationFile, source.tree) for name, source in LIBRARY.sources().items()}
