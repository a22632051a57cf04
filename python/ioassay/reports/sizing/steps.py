"""The arithmetic as tables: every step in order, what it begins with, and what was assumed.

Not: which values there are (`ioassay.sizing.evaluate`), a step in words (`ioassay.sizing.formulas`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioassay.reports.document import Block, Column, Paragraph, Span, Table, Text
from ioassay.reports.sizing import wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Formula, Origin, Value, derivation
from ioassay.sizing.bill import bill
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.model import Size
from ioassay.text.prose import listed


def tables(named: Mapping[str, Sequence[Value]], shown_before: Sequence[Value] = ()) -> list[Table]:
    """A table under each title, with each step of its values on a line of its own, numbered through all tables.

    A step that several of them share stands in the first. Those of `shown_before` are left out.
    """
    known = set(_lines(shown_before))
    steps = []
    number = 1
    for title, values in named.items():
        lines = [line for line in _lines(values) if line not in known]
        known.update(lines)
        rows: list[list[Text]] = [[f"{index}", line] for index, line in enumerate(lines, start=number)]
        number += len(rows)
        steps.append(Table([Column("", is_number=True), Column("Step")], rows, title=title))
    return steps


def _lines(values: Sequence[Value]) -> Sequence[Text]:
    """Each step once, even if its number has several names."""
    return list(dict.fromkeys(map(_step, filter(_is_informative, derivation(*values).steps))))


def _is_informative(value: Value) -> bool:
    """False for the minimum of a single number."""
    return not (isinstance(value.origin, Formula) and value.origin.rule == "lowest" and len(value.origin.operands) == 1)


def _step(value: Value) -> Text:
    origin = value.origin
    source = origin.source if isinstance(origin, Formula) else ""
    remarks = " ".join(filter(None, [value.note, f"[{source}]" if source else ""]))
    return (formulas.line(value), Span(f". {remarks}", "faint")) if remarks else formulas.line(value)


def inputs(values: Sequence[Value], title: str) -> Table:
    """Published and measured numbers, each with its source. Counts that are given stand in the steps."""
    rows: list[list[Text]] = []
    for value in derivation(*values).inputs:
        assert isinstance(value.origin, Origin)
        if value.origin.kind in ("published", "measured"):
            row: list[Text] = [value.name, _as_written(value), _source(value, value.origin)]
            if row not in rows:
                rows.append(row)
    return Table([Column("Figure"), Column("Value", wraps=False), Column("Source")], rows, title=title)


def _as_written(value: Value) -> str:
    return value.written or wording.amount(value)


def _source(value: Value, origin: Origin) -> Text:
    source = f"Measured: {origin.source}" if origin.kind == "measured" else origin.source
    return (source, Span(f". {value.note}", "faint")) if value.note else source


def assumptions(catalogue: Catalogue, sizes: Sequence[Size], values: Sequence[Value]) -> Table:
    """Each assumption once, with its reason: figures first, then components whose counts are assumed."""
    assumed: dict[tuple[str, str], list[str]] = {}
    for value, reason in derivation(*values).assumptions:
        assumed.setdefault((_as_written(value), reason), []).append(value.name)
    for name in components(catalogue, sizes):
        if why := catalogue.entries[name].component.assumed:
            assumed.setdefault(("its counts", why), []).append(name)
    rows: list[list[Text]] = [
        [listed(list(dict.fromkeys(names))), value, reason] for (value, reason), names in assumed.items()
    ]
    return Table([Column("Assumed"), Column("Value", wraps=False), Column("Why")], rows, "What was assumed, and why")


def components(catalogue: Catalogue, sizes: Sequence[Size]) -> Iterator[str]:
    """The names of all that the configurations are built of, each once."""
    names = (line.name for size in sizes for line in bill(catalogue, size.configuration, racks=1).lines)
    yield from dict.fromkeys(names)


def of_size(size: Size) -> list[Value]:
    """The values of a size whose arithmetic is shown."""
    rates = [rate.value for known in size.rates.values() for rate in known.values()]
    taken = [value for value in (size.rack_units, size.power, size.weight, size.price) if value is not None]
    return [*_capacity_values(size), *rates, *taken]


def scaling(sizes: Sequence[Size]) -> list[str]:
    """Sentences on scaling, each once."""
    return list(dict.fromkeys(sentence for size in sizes if (sentence := wording.scaling(size))))


def of_everything(size: Size) -> list[Block]:
    """The whole arithmetic of a size: capacity, rates, and rates while parts fail."""
    healthy = size.rates["healthy"]
    degraded = {
        f"{wording.head(kind)}, {wording.CONDITIONS[condition].lower()}": [rate.value]
        for condition, rates in size.rates.items()
        for kind, rate in rates.items()
        if condition != "healthy"
    }
    return [
        *tables(_capacity(size)),
        *tables({f"{wording.head(kind)}, step by step": [rate.value] for kind, rate in healthy.items()}),
        *tables(degraded, [rate.value for rate in healthy.values()]),
        inputs(of_size(size), "Figures that it begins with"),
    ]


def of_limits(size: Size) -> list[Block]:
    """The arithmetic of the capacity and of what limits each kind of I/O; not of what would carry more."""
    limits = {
        f"{wording.head(kind)}, step by step to its limit": [rate.limit.value]
        for kind, rate in size.rates["healthy"].items()
    }
    values = [*_capacity_values(size), *(value for values in limits.values() for value in values)]
    return [
        *tables(_capacity(size)),
        *tables(limits),
        inputs(values, "Figures that it begins with"),
        Paragraph(Span("--format md shows the steps of all other places on the path, and while parts fail.", "faint")),
    ]


def _capacity(size: Size) -> dict[str, Sequence[Value]]:
    return {"Capacity, step by step": _capacity_values(size)}


def _capacity_values(size: Size) -> list[Value]:
    return [size.capacity.raw, size.capacity.protected, size.capacity.usable]
