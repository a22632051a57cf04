"""Names in files that must mean something: of components, of sources, of figures of published systems.

Not: what can be written in a catalogue (`components`), finding a component for a configuration (`catalogue`), names
that only configurations have (`configurations.names`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import get_args

from ioassay.sizing.components import (
    Adapter,
    Brick,
    CatalogueFile,
    Component,
    Controller,
    Drive,
    Enclosure,
    FileSystem,
    MetadataModule,
    RateKind,
    Server,
    dimension_of,
)
from ioassay.sizing.configuration import StatedNumber
from ioassay.sizing.quantities import Quantity, Rate
from ioassay.systems.amounts import Dimension
from ioassay.systems.library import builtin_systems
from ioassay.systems.model import Document
from ioassay.yaml_models.model import Part
from ioassay.yaml_models.source import Problem, Source, locate, near, nearest, quoted

Steps = list[str | int]
"""Keys and indices from the top of a file."""

_OF_BRICKS: Mapping[str, type[Component]] = {
    "drives": Drive,
    "file_system": FileSystem,
    "enclosures": Enclosure,
    "controllers": Controller,
    "adapters": Adapter,
    "servers": Server,
}
"""The keys of a brick that name components, and of which kind."""

known_systems = cache(builtin_systems)
"""The published systems by name: reading their files takes a while."""


def noun(kind: type[Component]) -> str:
    """The noun for a component of a kind in a sentence."""
    return {FileSystem: "file system", MetadataModule: "metadata module"}.get(kind, kind.__name__.lower())


def unresolved(file: CatalogueFile, source: Source, known: Mapping[str, Component]) -> Iterator[Problem]:
    """Every name and figure in a catalogue that means nothing.

    `known` are the components of all catalogues, those of the file included.
    """
    yield from unresolved_origins(file, source, file.sources)
    for path, part in parts(file, []):
        if isinstance(part, Brick):
            for key, kind in _OF_BRICKS.items():
                yield from unknown_components(getattr(part, key), kind, known, source, [*path, key])
        if isinstance(part, MetadataModule):
            yield from unknown_components(part.parts, Component, known, source, [*path, "parts"])


def unresolved_origins(file: Part, source: Source, sources: Mapping[str, Document]) -> Iterator[Problem]:
    """Every source and figure of a published system that a file names and that does not exist."""
    for path, part in parts(file, []):
        if (
            isinstance(part, Quantity | Component | StatedNumber)
            and part.at is not None
            and part.at.source not in sources
        ):
            wrong = f"the source {quoted(part.at.source)} is unknown"
            meant = (
                nearest(part.at.source, sources)
                if sources
                else "add it to `sources`, or write `assumed` with the reason"
            )
            yield locate(source.tree, [*path, "at"]).problem(wrong, meant)
        if isinstance(part, Quantity):
            yield from _wrong_figure(part, source, path)


def _wrong_figure(quantity: Quantity, source: Source, path: Steps) -> Iterator[Problem]:
    """An unknown figure of a published system, or a number with the unit of another kind of I/O."""
    amount = quantity.amount
    if quantity.figure is not None:
        name, id = quantity.figure
        system = known_systems().get(name)
        figure = None if system is None else system.figure(id)
        origin = locate(source.tree, [*path, "figure"])
        if system is None:
            yield origin.problem(f"the system {quoted(name)} is unknown", nearest(name, known_systems()))
        elif figure is None:
            yield origin.problem(
                f"{name} has no figure {quoted(id)}", nearest(id, [known.id for known in system.figures])
            )
        else:
            amount = figure.amount
    if amount is not None and amount.dimension not in (allowed := _dimensions(quantity, path)):
        needed = " or ".join(dimension.unit for dimension in allowed)
        yield locate(source.tree, path).problem(f"{quoted(amount.text)} is in {amount.dimension.unit}", f"use {needed}")


def _dimensions(quantity: Quantity, path: Steps) -> tuple[Dimension, ...]:
    """The dimensions of a rate: those of its kind of I/O, which is one of the keys that lead to it."""
    kinds = [str(step) for step in path if step in get_args(RateKind)]
    if not isinstance(quantity, Rate) or not kinds:
        return quantity.DIMENSIONS
    return (dimension_of(kinds[-1]),)


def unknown_components(
    written: str | list[str] | dict[str, int] | None,
    kind: type[Component],
    known: Mapping[str, Component],
    source: Source,
    path: Steps,
) -> Iterator[Problem]:
    """Every name in what is written at `path` that no component of that kind has."""
    for step, name in _names_with_steps(written):
        if not isinstance(known.get(name), kind):
            choice = {other: component for other, component in known.items() if isinstance(component, kind)}
            yield locate(source.tree, [*path, *step]).problem(*unmatched(name, kind, choice))


def suggestion(word: str, known: Mapping[str, Component]) -> str | None:
    """`did you mean X?` where a component is called like `word`, or is also called so; `None` where none is."""
    called = {
        _plain(other): name
        for name, component in known.items()
        if isinstance(component, FileSystem)
        for other in component.also
    }
    called |= {_plain(name): name for name in known}
    close = difflib.get_close_matches(_plain(word), called, n=1)
    close = close or [other for other in called if _plain(word) and other.startswith(_plain(word))]
    return f"did you mean `{called[close[0]]}`?" if close else None


def _plain(word: str) -> str:
    """Without what is written in several ways: `Storage Scale` and `storage-scale` are the same."""
    return re.sub("[^a-z0-9.]", "", word.lower())


def matching(word: str, known: Iterable[str]) -> list[str]:
    """The names that `word` stands for: itself, those that fit its `*`, or those of which it is a part between `-`."""
    names = list(known)
    if word in names:
        return [word]
    if "*" in word:
        pattern = re.compile(".*".join(map(re.escape, word.lower().split("*"))))
        return [name for name in names if pattern.fullmatch(name.lower())]
    return [name for name in names if f"-{word.lower()}-" in f"-{name.lower()}-"]


def unmatched(word: str, kind: type[Component], known: Mapping[str, Component]) -> tuple[str, str]:
    """The error about a word that stands for no component of a kind, and the likely meaning."""
    if "*" not in word:
        return f"there is no {noun(kind)} {quoted(word)}", suggestion(word, known) or nearest(word, known)
    words = dict.fromkeys(part for name in known for part in name.split("-"))
    close = near(word.replace("*", "").strip("-"), [*words, *known])
    return f"no {noun(kind)} matches {quoted(word)}", close or "`ioassay size catalogue` lists them"


def _names_with_steps(written: str | list[str] | dict[str, int] | None) -> Iterator[tuple[Steps, str]]:
    """Each name with the steps that lead to it."""
    match written:
        case str():
            yield [], written
        case list():
            for index, name in enumerate(written):
                yield [index], name
        case dict():
            for name in written:
                yield [name], name


def parts(value: object, path: Steps) -> Iterator[tuple[Steps, Part]]:
    """Every part of a document, with where it stands."""
    if isinstance(value, Part):
        yield path, value
        for key in type(value).model_fields:
            yield from parts(getattr(value, key), [*path, key])
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from parts(entry, [*path, key])
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from parts(item, [*path, index])
