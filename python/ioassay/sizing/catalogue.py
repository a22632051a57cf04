"""Built-in and own catalogues together: components by name, and their figures as numbers with an origin.

Not: what can be written in one (`components`), what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TypeVar

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Origin, Value
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
    Rack,
    Server,
    Switch,
)
from ioassay.sizing.names import known_systems, matching, noun, suggestion, unresolved
from ioassay.sizing.quantities import Quantity
from ioassay.systems.amounts import Interval
from ioassay.systems.model import Document, Place
from ioassay.systems.printed import standing_for
from ioassay.yaml_models.library import Library
from ioassay.yaml_models.source import Source, SourceError, locate, nearest, printable, quoted
from ioassay.yaml_models.validate import validate

LIBRARY = Library("ioassay.sizing", "catalogue")

GROUPS: dict[str, type[Component]] = {
    "drives": Drive,
    "enclosures": Enclosure,
    "controllers": Controller,
    "adapters": Adapter,
    "servers": Server,
    "switches": Switch,
    "racks": Rack,
    "file_systems": FileSystem,
    "bricks": Brick,
    "metadata": MetadataModule,
}
"""The keys of a catalogue that hold components."""

Kind = TypeVar("Kind", bound=Component)


@dataclass(frozen=True)
class Entry:
    """A component, and the file that has it."""

    name: str
    component: Component
    sources: Mapping[str, Document]
    folder: Path | None
    """The folder to which paths of its runs are relative; `None` of built-in ones, which have none."""
    text: str
    """The whole file."""

    @property
    def described_in(self) -> str:
        """The document that describes its hardware, with the lines; empty where none does."""
        return "" if self.component.at is None else _cited(self.component.at, self.sources)


@dataclass(frozen=True)
class Catalogue:
    """Components of all kinds by their names, which are unique among all of them."""

    entries: Mapping[str, Entry]
    changed: Mapping[tuple[str, str], float]
    """By component and figure: the factor by which to multiply a figure, to see what it moves."""

    def find(self, name: str, kind: type[Kind]) -> Kind:
        """The component of that name and kind. Raises `UsageError` that says which there are."""
        entry = self.entries.get(name)
        if entry is not None and isinstance(entry.component, kind):
            return entry.component
        known = {other.name: other.component for other in self.all(kind)}
        raise UsageError(
            f"There is no {noun(kind)} {quoted(name)}: {suggestion(name, known) or nearest(name, known)}",
            "`ioassay size catalogue` lists them. Add your own with `catalogues: [./mine.yaml]`.",
        )

    def entry(self, name: str) -> Entry:
        """The component of that name, of whatever kind. Raises `UsageError` that says which is nearest."""
        if (named := self.entries.get(name)) is not None:
            return named
        # They are too many to list.
        close = suggestion(name, {other: entry.component for other, entry in self.entries.items()})
        which = "." if close is None else f": {close}"
        raise UsageError(f"There is no component {quoted(name)}{which}", "`ioassay size catalogue` lists them all.")

    def named(self, word: str) -> list[Entry]:
        """The components of any kind that a name, a word of names or a pattern stands for.
        Raises `UsageError` that says which is nearest.
        """
        names = matching(word, self.entries)
        return [self.entries[name] for name in names] or [self.entry(word)]

    def all(self, kind: type[Component]) -> Iterator[Entry]:
        """Every component of a kind."""
        return (entry for entry in self.entries.values() if isinstance(entry.component, kind))

    def value(self, name: str, key: str, what: str) -> Value | None:
        """The figure `key` of the component `name` as a number called `what`; `None` where it has none."""
        entry = self.entries[name]
        quantity = getattr(entry.component, key)
        return None if quantity is None else self.number(quantity, what, entry, (name, key))

    def number(self, quantity: Quantity, what: str, entry: Entry, figure: tuple[str, str]) -> Value:
        """A quantity anywhere in a component as a number called `what`; `figure` is how `changed` names it."""
        value = number(quantity, what, figure[1], entry.sources, entry.folder)
        factor = self.changed.get(figure)
        return value if factor is None else replace(value, interval=_scaled(value.interval, factor), written="")

    def with_changed(self, name: str, key: str, factor: float) -> Catalogue:
        """The catalogue with one figure multiplied by `factor`."""
        return replace(self, changed={**self.changed, (name, key): factor})


def load(own_paths: Sequence[Path] = ()) -> Catalogue:
    """The built-in catalogues and `own`. Raises `SourceError` with every problem of a file.

    Components of one of `own` may be built of those of another.
    """
    sources = [(LIBRARY.find(str(path) if "/" in str(path) else f"./{path}"), path.parent) for path in own_paths]
    return Catalogue(_with_files(_builtin(), sources), {})


def load_beside(source: Source, paths: Sequence[str], folder: Path) -> Catalogue:
    """The built-in catalogues and those at `paths`, which the `catalogues` of a file in `folder` names.

    Raises `SourceError` with the line of each that is not there, or with every problem of one that is.
    """
    missing = [
        locate(source.tree, ["catalogues", index]).problem(
            f"there is no file {quoted(path)} in {printable(str(folder))}", "write its path relative to this file"
        )
        for index, path in enumerate(paths)
        if not (folder / path).is_file()
    ]
    if missing:
        raise SourceError(missing)
    return load([folder / path for path in paths])


@cache
def _builtin() -> Mapping[str, Entry]:
    return _with_files({}, [(source, None) for source in LIBRARY.sources().values()])


def _with_files(known: Mapping[str, Entry], sources: Sequence[tuple[Source, Path | None]]) -> Mapping[str, Entry]:
    """`known` and what the files have."""
    entries = dict(known)
    files = [(validate(CatalogueFile, source.tree), source) for source, _ in sources]
    for (file, source), (_, folder) in zip(files, sources, strict=True):
        entries |= _entries(file, source, folder, entries)
    for file, source in files:
        if problems := list(unresolved(file, source, {name: entry.component for name, entry in entries.items()})):
            raise SourceError(problems)
    return entries


def _entries(
    file: CatalogueFile, source: Source, folder: Path | None, known: Mapping[str, Entry]
) -> Mapping[str, Entry]:
    entries: dict[str, Entry] = {}
    problems = []
    for group in GROUPS:
        for name, component in getattr(file, group).items():
            origin = locate(source.tree, [group, name])
            if name in known or name in entries:
                problems.append(origin.problem(f"{quoted(name)} is already in the catalogue", "call it differently"))
            entries[name] = Entry(name, component, file.sources, folder, source.text)
    if problems:
        raise SourceError(problems)
    return entries


def number(
    quantity: Quantity, what: str, kind: str, sources: Mapping[str, Document], folder: Path | None = None
) -> Value:
    """A quantity of any file as a number called `what`; `kind` is the kind of rate that a run is asked for.

    `sources` are those of the file, `folder` is what the paths of its runs are relative to. Raises `UsageError` for a
    figure or a run that does not exist.
    """
    if quantity.run is not None:
        from ioassay.sizing.runs import measured_rate  # noqa: PLC0415  (few catalogues have runs, which take a second)

        return measured_rate(quantity, what, kind, folder)
    if quantity.figure is not None:
        system, id = quantity.figure
        known = known_systems().get(system)
        figure = known.figure(id) if known else None
        if figure is None:
            raise UsageError(
                f"No published system has the figure {quoted(f'{system}/{id}')}.", "See `ioassay systems`."
            )
        amount, origin = figure.amount, Origin("published", f"{system}, {figure.at}")
        interval = standing_for(amount, figure.qualifier)
        return Value(what, interval, amount.dimension, origin, amount.text, quantity.note or "")
    amount_written = quantity.amount
    assert amount_written is not None  # the model sees to it
    exact = quantity.IS_NOMINAL
    interval = amount_written.exact if exact else standing_for(amount_written, quantity.qualifier)
    if quantity.at is not None:
        origin = Origin("published", _cited(quantity.at, sources))
    else:
        origin = Origin("assumed", quantity.assumed or "")
    return Value(what, interval, amount_written.dimension, origin, amount_written.text, quantity.note or "")


def _cited(printed: Place, sources: Mapping[str, Document]) -> str:
    document = sources.get(printed.source)
    title = document.title if document else printed.source
    lines = str(printed).removeprefix(printed.source).removeprefix(":")
    return f"{title}, line{'s' if ',' in lines or '-' in lines else ''} {lines}" if lines else title


def _scaled(interval: Interval, factor: float) -> Interval:
    return interval.scaled(Fraction(factor).limit_denominator(1000))
