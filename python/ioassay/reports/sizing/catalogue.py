"""What a catalogue of hardware has, as a report: components with their figures and sources. Not: reading one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.document import Block, Column, Document, Section, Table, Text
from ioassay.reports.sizing import numbers, wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Origin, Value
from ioassay.sizing.catalogue import GROUPS, Catalogue, Entry
from ioassay.sizing.components import Brick, Component, MetadataModule
from ioassay.sizing.names import noun
from ioassay.sizing.quantities import Quantity
from ioassay.systems.amounts import MONEY
from ioassay.version import __version__

if TYPE_CHECKING:
    import polars as pl

CATALOGUE_REPORT_VERSION = 1

_TITLES = {"file_systems": "File systems", "metadata": "Metadata modules"}


@dataclass(frozen=True)
class CatalogueReport:
    """All components, or those with `names`. Its table has a row for each figure."""

    catalogue: Catalogue
    names: Sequence[str] = ()

    def document(self, *, with_figures: bool) -> Document:
        """A table for each kind of component, then every figure with its source."""
        figures = [_figures(entry.name, values) for entry, values in self._known() if values]
        return Document(
            "Catalogue of storage hardware",
            [*self._by_kind(), Section("Figures and their sources", figures, "figures")],
            question="Which components can a configuration name, and where do their figures come from?",
            footer=f"Written by ioassay {__version__}.",
        )

    def terminal(self) -> Sequence[Block]:
        """Components by kind; of a few that are named, their figures with sources as well."""
        figures = [_figures(entry.name, values) for entry, values in self._known()] if self.names else []
        return [*self._by_kind(), *figures]

    def data(self) -> Mapping[str, Any]:
        """`version`, and `components` with all their figures in base units."""
        return {
            "version": CATALOGUE_REPORT_VERSION,
            "components": {
                entry.name: {
                    "kind": _kind(entry.component),
                    "title": entry.component.title,
                    **_counts(entry.component),
                    "figures": {
                        key: {**numbers.named({key: value}), **_origin(value)} for key, value in values.items()
                    },
                }
                for entry, values in self._known()
            },
        }

    def table(self) -> pl.DataFrame:
        """A row per figure: component, kind, figure, value in `unit`, low, high, origin, source."""
        import polars as pl  # noqa: PLC0415  (half a second, which a terminal need not wait for)

        rows = [
            {
                "component": entry.name,
                "kind": _kind(entry.component),
                "figure": key,
                **numbers.interval(value),
                "unit": value.dimension.unit,
                **_origin(value),
            }
            for entry, values in self._known()
            for key, value in values.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _by_kind(self) -> Sequence[Block]:
        sections = []
        for group, kind in GROUPS.items():
            entries = [entry for entry in self.catalogue.all(kind) if self._has(entry)]
            sections.append(Section(_TITLES.get(group, wording.capital(group)), [self._table(entries)]))
        return sections

    def _has(self, entry: Entry) -> bool:
        return not self.names or entry.name in self.names

    def _known(self) -> Iterator[tuple[Entry, Mapping[str, Value]]]:
        for entry in self.catalogue.entries.values():
            if self._has(entry):
                yield entry, dict(_values(self.catalogue, entry))

    def _table(self, entries: Sequence[Entry]) -> Table:
        rows: list[list[Text]] = [
            [entry.name, entry.component.title, _summary(self.catalogue, entry)] for entry in entries
        ]
        return Table([Column("Name", wraps=False), Column("What it is"), Column("Figures")], rows)


def _kind(component: Component) -> str:
    return noun(type(component))


def _values(catalogue: Catalogue, entry: Entry) -> Iterator[tuple[str, Value]]:
    """Every figure of a component, those of what was measured of a whole brick included."""
    for key in type(entry.component).model_fields:
        if isinstance(getattr(entry.component, key), Quantity):
            value = catalogue.value(entry.name, key, key.replace("_", " "))
            if value is not None:
                yield key, value
    if isinstance(entry.component, Brick):
        for kind, measured in entry.component.measured.items():
            what = f"{wording.kind(kind)} rate"
            yield kind, catalogue.number(measured.rate, what, entry, (entry.name, kind))


def _summary(catalogue: Catalogue, entry: Entry) -> str:
    """What it is built of, how high it is, and its figures, in a line."""
    told = [f"{count} × {name}" for name, count in _parts(entry.component).items()]
    if entry.component.rack_units:
        told.append(f"{entry.component.rack_units} U")
    told += [
        f"{key.replace('_', ' ')} {value.written or formulas.brief(value)}" for key, value in _values(catalogue, entry)
    ]
    return ", ".join(told)


def _parts(component: Component) -> Mapping[str, int]:
    match component:
        case Brick():
            drives = {" or ".join(component.drives): component.drive_count}
            return {
                **drives,
                **component.enclosures,
                **component.controllers,
                **component.servers,
                **component.adapters,
            }
        case MetadataModule():
            return component.parts
        case _:
            return {}


def _counts(component: Component) -> dict[str, Any]:
    """Its parts and its whole numbers."""
    numbers_of = {
        key: value for key in type(component).model_fields if isinstance(value := getattr(component, key), int)
    }
    parts = dict(_parts(component))
    return {**numbers_of, **({"parts": parts} if parts else {})}


def _amount(value: Value) -> str:
    """With the currency of a price, which is no unit of its own."""
    return value.written if value.dimension == MONEY else formulas.amount(value)


def _figures(name: str, values: Mapping[str, Value]) -> Table:
    rows: list[list[Text]] = [[value.name, _amount(value), _source(value)] for value in values.values()]
    return Table([Column("Figure"), Column("Value", wraps=False), Column("Source")], rows, title=name)


def _source(value: Value) -> str:
    assert isinstance(value.origin, Origin)
    prefix = {"assumed": "Assumed: ", "measured": "Measured: "}.get(value.origin.kind, "")
    return f"{prefix}{value.origin.source}"


def _origin(value: Value) -> dict[str, str]:
    assert isinstance(value.origin, Origin)
    return {"origin": value.origin.kind, "source": value.origin.source}
