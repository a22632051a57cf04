"""The arithmetic as tables: every step in order, what it begins with, and what was assumed.

Not: which values there are (`ioassay.sizing.evaluate`), a step in words (`ioassay.sizing.formulas`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioassay.reports.document import Block, Column, Span, Table, Text, changes
from ioassay.reports.sizing import wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Formula, Origin, Value, derivation
from ioassay.sizing.bill import bill
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.model import Size


def table(named: Mapping[str, Sequence[Value]], title: str, shown_before: Sequence[Value] = ()) -> Table:
    """Each step on a line of its own, numbered from 1, under the name of what it is for.

    Steps of `shown_before` are left out.
    """
    known = _lines(shown_before)
    used: dict[Text, list[str]] = {}  # several kinds of I/O share steps
    for name, values in named.items():
        for line in _lines(values):
            if line not in known:
                used.setdefault(line, []).append(name)
    rows: list[list[Text]] = [
        [f"{number}", wording.listed(names), line] for number, (line, names) in enumerate(used.items(), start=1)
    ]
    columns = [Column("", is_number=True), Column("For", merges=True, wraps=False), Column("Step")]
    if len(named) == 1:
        return Table([columns[0], columns[2]], [[row[0], row[2]] for row in rows], title=title)
    return Table(columns, rows, title=title, rules=changes(row[1] for row in rows))


def _lines(values: Sequence[Value]) -> Sequence[Text]:
    """Each step once; a number that goes by several names has one way."""
    return list(dict.fromkeys(map(_step, filter(_says_something, derivation(*values).steps))))


def _says_something(value: Value) -> bool:
    """Not so of the lowest of a single number."""
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
    return value.written or formulas.brief(value)


def _source(value: Value, origin: Origin) -> Text:
    told = f"Measured: {origin.source}" if origin.kind == "measured" else origin.source
    return (told, Span(f" {value.note}", "faint")) if value.note else told


def assumptions(catalogue: Catalogue, sizes: Sequence[Size], values: Sequence[Value]) -> Table:
    """Each assumption once, with its reason: figures first, then components whose counts are assumed."""
    rows: list[list[Text]] = []
    for value in derivation(*values).inputs:
        if isinstance(value.origin, Origin) and value.origin.kind == "assumed":
            row: list[Text] = [value.name, _as_written(value), value.origin.source]
            if row not in rows:
                rows.append(row)
    for name in components(catalogue, sizes):
        reason = catalogue.entries[name].component.assumed
        if reason:
            rows.append([name, "its parts and counts", reason])
    return Table([Column("Assumed"), Column("Value", wraps=False), Column("Why")], rows, "What was assumed, and why")


def components(catalogue: Catalogue, sizes: Sequence[Size]) -> Iterator[str]:
    """The names of all that the configurations are built of, each once."""
    names = (line.name for size in sizes for line in bill(catalogue, size.configuration, racks=1).lines)
    yield from dict.fromkeys(names)


def of_size(size: Size) -> list[Value]:
    """All values of a size whose arithmetic is shown."""
    capacity = size.capacity
    rates = [rate.value for known in size.rates.values() for rate in known.values()]
    taken = [value for value in (size.power, size.weight, size.price) if value is not None]
    return [capacity.raw, capacity.protected, capacity.usable, *rates, size.rack_units, *taken]


def scaling(sizes: Sequence[Size]) -> list[str]:
    """Sentences on scaling, each once."""
    return list(dict.fromkeys(told for size in sizes if (told := wording.scaling(size))))


def blocks_of(size: Size, *, with_failures: bool) -> list[Block]:
    """The arithmetic of a size: capacity and rates apart, then what is other `with_failures`."""
    capacity, healthy = size.capacity, size.rates["healthy"]
    degraded = {
        f"{wording.kind(kind)}, {wording.CONDITIONS[condition].lower()}": [rate.value]
        for condition, rates in size.rates.items()
        for kind, rate in rates.items()
        if with_failures and condition != "healthy"
    }
    return [
        table({"capacity": [capacity.raw, capacity.protected, capacity.usable]}, "Capacity, step by step"),
        table({wording.kind(one): [rate.value] for one, rate in healthy.items()}, "Rates, step by step"),
        table(degraded, "Rates while parts fail, step by step", [rate.value for rate in healthy.values()]),
        inputs(of_size(size), "Figures that it begins with"),
    ]
