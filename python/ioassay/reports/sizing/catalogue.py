"""A catalogue of hardware as a report: components with their figures and sources. Not: reading one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports import Report
from ioassay.reports.document import Block, Column, Document, Paragraph, Section, Table, Text
from ioassay.reports.sizing import numbers, wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Origin, Value
from ioassay.sizing.catalogue import GROUPS, Catalogue, Entry
from ioassay.sizing.components import Brick, Component, MetadataModule
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.names import noun
from ioassay.sizing.parts import standing
from ioassay.sizing.quantities import Quantity
from ioassay.systems.amounts import MONEY
from ioassay.version import __version__

if TYPE_CHECKING:
    import polars as pl

CATALOGUE_REPORT_VERSION = 1

_TITLES = {"file_systems": "File systems", "metadata": "Metadata modules"}

_OVERVIEW: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "drives": {
        "capacity": ("Size", 0),
        "write": ("Write", 0),
        "read": ("Read", 0),
        "random_read": ("4 KiB reads", 0),
        "power": ("Power", 1),
    },
    "enclosures": {"slots": ("Drives", 0), "rack_units": ("U", 0), "link": ("Link", 0)},
    "controllers": {"write": ("Write", 0), "read": ("Read", 0), "link": ("Port", 1)},
    "adapters": {"ports": ("Ports", 0), "link": ("Link", 0)},
    "servers": {"rack_units": ("U", 0), "power": ("Power", 1)},
    "switches": {"ports": ("Ports", 0), "link": ("Link", 0), "rack_units": ("U", 0), "power": ("Power", 1)},
    "racks": {"units": ("U", 0), "most_power": ("Power", 1), "most_weight": ("Load", 2)},
    "file_systems": {"overhead": ("Takes", 0)},
    "bricks": {
        "drive_count": ("Drives", 0),
        "write": ("Write", 0),
        "read": ("Read", 0),
        "rack_units": ("U", 1),
        "power": ("Power", 2),
        "price": ("Price", 1),
    },
    "metadata": {"create": ("Create", 0), "stat": ("Stat", 0), "remove": ("Remove", 1)},
}
"""Columns of the list of all components: keys with their head, and the order in which a narrow terminal drops them."""

_READING = (
    "* is assumed, not published. Rates that a brick lacks here follow from its parts. "
    "`ioassay size catalogue NAME` shows what a component is built of, and the source of every figure."
)


@dataclass(frozen=True)
class CatalogueReport(Report[Catalogue]):
    """All components, or those with `names`. The table has a row for each figure."""

    content: Catalogue
    names: Sequence[str] = ()

    def document(self, *, with_figures: bool) -> Document:
        """A table for each kind of component, then every figure with its source."""
        figures = [_figures(entry, values) for entry, values in self._known() if values]
        return Document(
            "Catalogue of storage hardware",
            [*self._by_kind(), Section("Figures and their sources", figures, "figures")],
            question="Which components can a configuration name, and where do their figures come from?",
            footer=f"Written by ioassay {__version__}.",
        )

    def terminal(self) -> Sequence[Block]:
        """Components by kind, in short; of those that are named, what they are built of and every source."""
        if self.names:
            return [*self._by_kind(), *(_figures(entry, values) for entry, values in self._known())]
        sections = [
            Section(_title(group), [self._overview(group, entries)])
            for group, kind in GROUPS.items()
            if (entries := list(self.content.all(kind)))
        ]
        return [*sections, Paragraph(_READING)]

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
            entries = [entry for entry in self.content.all(kind) if self._has(entry)]
            sections.append(Section(_title(group), [self._table(entries)]))
        return sections

    def _overview(self, group: str, entries: Sequence[Entry]) -> Table:
        """The figures of components of a kind, in columns; a figure that none of them has is left out."""
        cells = {key: [self._cell(entry, key) for entry in entries] for key in _OVERVIEW[group]}
        shown = {key: column for key, column in cells.items() if any(column)}
        heads = [_OVERVIEW[group][key] for key in shown]
        columns = [Column(head, is_number=True, wraps=False, leaves=leaves) for head, leaves in heads]
        # the names of drives and bricks say what they are
        title = Column("What it is", leaves=3 if group in ("drives", "bricks") else 0)
        rows: list[list[Text]] = [
            [entry.name, *(column[index] for column in shown.values()), entry.component.title]
            for index, entry in enumerate(entries)
        ]
        return Table([Column("Name", wraps=False), *columns, title], rows)

    def _cell(self, entry: Entry, key: str) -> str:
        component = entry.component
        if key == "rack_units":
            name = BrickChoice(entry.name, component.drives[0]) if isinstance(component, Brick) else entry.name
            return str(sum(units for _, units in standing(self.content, name)) or "")
        if isinstance(component, Brick) and key in component.measured:
            value: Value | None = self.content.number(component.measured[key].rate, key, entry, (entry.name, key))
        elif isinstance(number := getattr(component, key, None), int):
            return str(number)
        else:
            value = None if number is None else self.content.value(entry.name, key, key)
        if value is None:
            return ""
        assert isinstance(value.origin, Origin)
        # sizes and links keep their usual names: a port of 400 Gbit/s is not listed as 50 GB/s
        text = value.written if key in ("capacity", "link") else formulas.brief(value)
        return f"{text}{'*' * (value.origin.kind == 'assumed')}"

    def _has(self, entry: Entry) -> bool:
        return not self.names or entry.name in self.names

    def _known(self) -> Iterator[tuple[Entry, Mapping[str, Value]]]:
        for entry in self.content.entries.values():
            if self._has(entry):
                yield entry, dict(_values(self.content, entry))

    def _table(self, entries: Sequence[Entry]) -> Table:
        rows: list[list[Text]] = [
            [entry.name, entry.component.title, _summary(self.content, entry)] for entry in entries
        ]
        return Table([Column("Name", wraps=False), Column("What it is"), Column("Figures")], rows)


def _title(group: str) -> str:
    return _TITLES.get(group, wording.capital(group))


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
    """The parts, the height and the figures of a component, in a line."""
    facts = [f"{count} × {name}" for name, count in _parts(entry.component).items()]
    if entry.component.rack_units:
        facts.append(f"{entry.component.rack_units} U")
    facts += [
        f"{key.replace('_', ' ')} {value.written or formulas.brief(value)}" for key, value in _values(catalogue, entry)
    ]
    return ", ".join(facts)


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
    """The parts and whole numbers of a component."""
    numbers_of = {
        key: value for key in type(component).model_fields if isinstance(value := getattr(component, key), int)
    }
    parts = dict(_parts(component))
    return {**numbers_of, **({"parts": parts} if parts else {})}


def _amount(value: Value) -> str:
    """The amount, a price with its currency."""
    return value.written if value.dimension == MONEY else formulas.amount(value)


def _figures(entry: Entry, values: Mapping[str, Value]) -> Table:
    """The description of a component, then each of its figures with its source."""
    described = [f"Published: {entry.described_in}."] if entry.described_in else []
    assumed = [f"Assumed: {entry.component.assumed}"] if entry.component.assumed else []
    rows: list[list[Text]] = [[value.name, _amount(value), _source(value)] for value in values.values()]
    if described or assumed:
        rows.insert(0, ["what it is", "", " ".join(described + assumed)])
    return Table([Column("Figure"), Column("Value", wraps=False), Column("Source")], rows, title=entry.name)


def _source(value: Value) -> str:
    assert isinstance(value.origin, Origin)
    return f"{wording.capital(value.origin.kind)}: {value.origin.source}"


def _origin(value: Value) -> dict[str, str]:
    assert isinstance(value.origin, Origin)
    return {"origin": value.origin.kind, "source": value.origin.source}
