"""Numbers of a size for other programs: base units, unrounded, the unit in the name. Not: words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Origin, Value, derivation
from ioassay.sizing.model import Rate
from ioassay.systems.amounts import NUMBER, RACK_UNITS, WATTS, Dimension, Interval

_UNITS: Mapping[Dimension, str] = {
    NUMBER: "",
    WATTS: "watts",
    RACK_UNITS: "rack_units",
}
"""Units whose names differ from `Dimension.unit`."""


def key(name: str, value: Value) -> str:
    """The name of a number with its unit: `usable_bytes`; `price` and `rack_units` say theirs."""
    unit = _UNITS.get(value.dimension, value.dimension.unit.replace("/", "_per_"))
    return name if not unit or unit in (name, "money") else f"{name}_{unit}"


def interval(value: Value) -> dict[str, float]:
    """The number, and from where to where its digits leave it."""
    return ends(value.interval)


def ends(of: Interval) -> dict[str, float]:
    """Both ends of an interval, and the number in it that is meant."""
    return {"nominal": float(of.nominal), "low": float(of.low), "high": float(of.high)}


def named(values: Mapping[str, Value | None]) -> dict[str, Any]:
    """The known numbers, each under its name with its unit."""
    return {key(name, value): interval(value) for name, value in values.items() if value is not None}


def rate(of: Rate) -> dict[str, Any]:
    """A rate, what limits it, and what each place on the path would carry."""
    return {
        **named({"rate": of.value}),
        "limited_by": of.limit.place,
        "ceilings": [{"place": ceiling.place, **named({"rate": ceiling.value})} for ceiling in of.ceilings],
    }


def arithmetic(values: Sequence[Value]) -> dict[str, Any]:
    """Every step, and every number that the steps begin with, with its source."""
    derived = derivation(*values)
    return {
        "steps": [{"name": step.name, "step": formulas.line(step), **number(step)} for step in derived.steps],
        "inputs": [_input(value) for value in derived.inputs],
    }


def _input(value: Value) -> dict[str, Any]:
    assert isinstance(value.origin, Origin)
    return {"name": value.name, **number(value), "origin": value.origin.kind, "source": value.origin.source}


def number(value: Value) -> dict[str, Any]:
    """A number with its unit beside it, where its name does not say it."""
    return {**interval(value), "unit": value.dimension.unit}
