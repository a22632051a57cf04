"""Configurations for other programs, as a JSON document and a table: base units, unrounded, units in the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ioassay.reports.sizing import bill as bill_table
from ioassay.reports.sizing import file_system_limits, numbers, racks, steps, survival
from ioassay.reports.sizing.explanation.explained import Content
from ioassay.reports.sizing.published import data as published_data
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.bill import bill
from ioassay.sizing.model import Size

if TYPE_CHECKING:
    import polars as pl

SIZE_REPORT_VERSION = 1


def data(content: Content) -> dict[str, Any]:
    """`version`, `name`, `title`, and `configurations` with all that follows, every step and the bill of materials.

    `published` has what the file states, and as what it agrees with the arithmetic.
    """
    file, catalogue = content.file, content.catalogue
    return {
        "version": SIZE_REPORT_VERSION,
        "name": file.name,
        "title": file.title,
        "configurations": [
            {
                **size(explanation.size),
                "racks": racks.data(explanation.racks),
                "bill_of_materials": bill_table.data(
                    bill(catalogue, explanation.size.configuration, len(explanation.racks))
                ),
                "survives": survival.data(catalogue, explanation.size),
                "limits_of_file_systems": file_system_limits.data(catalogue, explanation.size),
                "times_and_failures": [{"name": value.name, **numbers.number(value)} for value in explanation.times],
                "arithmetic": numbers.arithmetic([*steps.of_size(explanation.size), *explanation.times]),
            }
            for explanation in content.explained
        ],
        "published": published_data.data(content.published),
    }


def size(of: Size) -> dict[str, Any]:
    """The results of a configuration, in every condition."""
    return {
        "name": of.name,
        "title": of.configuration.title,
        "bricks": [
            {"brick": choice.brick, "drive": choice.drive, "count": counted.count}
            for counted, choice in zip(of.configuration.bricks, of.bricks, strict=True)
        ],
        "metadata": dict(of.configuration.metadata),
        "switches": dict(of.configuration.switches),
        **numbers.named(resources(of)),
        "currency": of.currency,
        "scaling": of.scaling,
        "rates": {
            condition: {kind: numbers.rate(rate) for kind, rate in rates.items()}
            for condition, rates in of.rates.items()
        },
    }


def resources(of: Size) -> Mapping[str, Value | None]:
    """Capacities and what they take."""
    return {
        "raw": of.capacity.raw,
        "protected": of.capacity.protected,
        "usable": of.capacity.usable,
        "rack_units": of.rack_units,
        "power": of.power,
        "weight": of.weight,
        "price": of.price,
    }


def table(content: Content) -> pl.DataFrame:
    """A row per configuration: capacities, healthy rates with what limits them, and what it takes."""
    rows = [
        {"configuration": explanation.size.name, **row(explanation.size), "racks": len(explanation.racks) or None}
        for explanation in content.explained
    ]
    import polars as pl  # noqa: PLC0415  (half a second, which a terminal need not wait for)

    return pl.DataFrame(rows, infer_schema_length=None)


def row(of: Size) -> dict[str, Any]:
    """The nominal numbers of a size."""
    document: dict[str, Any] = {
        numbers.key(name, value): value.nominal for name, value in resources(of).items() if value is not None
    }
    for kind, rate in of.rates["healthy"].items():
        document |= {numbers.key(kind, rate.value): rate.value.nominal, f"{kind}_limited_by": rate.limit.place}
    return {**document, "currency": of.currency}
