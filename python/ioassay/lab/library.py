"""The built-in labs, and how a lab is found by what was typed."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from ioassay.lab.model import Lab
from ioassay.yaml_models.library import Library
from ioassay.yaml_models.source import Entries, Node, Origin, Source, Text
from ioassay.yaml_models.validate import validate

LABS = Library("ioassay.lab", "lab")


def changed(source: Source, keys: Mapping[str, str]) -> Source:
    """The source with top-level keys replaced by command-line options of the same name."""
    typed: dict[str, Node] = {key: Text(value, Origin(f"--{key}")) for key, value in keys.items()}
    origins = {key: Origin(f"--{key}") for key in keys}
    tree = Entries(source.tree.entries | typed, source.tree.origins | origins, source.tree.origin)
    return structs.replace(source, tree=tree)


def read(source: Source) -> Lab:
    """The lab in a source. Raises `SourceError` with every problem."""
    return validate(Lab, source.tree)
