"""Measures as PromQL, over the series of the sinks for Prometheus."""

from __future__ import annotations

from typing import Final

from ioassay.monitoring.dashboards.measures import (
    CLASS_GROUP,
    KINDS,
    TOP,
    Measure,
    Variable,
    field_of,
    restrictions,
)

COUNTED: Final = ("alert", "in_flight")
"""Kinds for which only the number of documents is stored."""

_ENDINGS: Final = {"amount": "_total", "greatest": "_max", "level": ""}


def metric(kind: str, field: str | None) -> str:
    """The name of the series of a field; `None`: of the number of documents."""
    if field is None:
        return f"ioassay_{kind}_total"
    return f"ioassay_{kind}_{field}{_ENDINGS[field_of(kind, field).kind]}"


def over_time(measure: Measure, variables: tuple[Variable, ...]) -> str:
    """The measure over the displayed time."""
    number = _number(measure, measure.field, variables, "$__rate_interval")
    if measure.per is not None:
        number += f" / ({_number(measure, measure.per, variables, '$__rate_interval')} > 0)"
    if measure.scale != 1:
        number = f"({number}) * {measure.scale:g}"
    return f"topk({TOP}, {number})" if set(measure.by) - {"class", CLASS_GROUP} else number


def total(measure: Measure, variables: tuple[Variable, ...]) -> str:
    """The sum over the displayed time."""
    selected = _selected(measure, measure.field, variables)
    return f"topk({TOP}, {_added(measure, f'increase({selected}[$__range])')} > 0)"


def alerts(measure: Measure, variables: tuple[Variable, ...]) -> str:
    """The times at which something was counted, for annotations."""
    return f"{_number(measure, measure.field, variables, '$__rate_interval')} > 0"


def values(variable: Variable, variables: tuple[Variable, ...]) -> str:
    """The query for the values of a variable."""
    names = [metric(kind, _example(kind)) for kind in variable.kinds]
    conditions = [_chosen(outer) for outer in variables if outer.label in variable.within]
    if len(names) > 1:
        alternatives = "|".join(names)
        conditions.insert(0, f'__name__=~"{alternatives}"')
    name = names[0] if len(names) == 1 else ""
    return f"label_values({name}{{{','.join(conditions)}}}, {variable.label})"


def _example(kind: str) -> str | None:
    if kind in COUNTED:
        return None
    preferred_kinds = ("level", "amount")
    return next(
        field.name for kind_of_field in preferred_kinds for field in KINDS[kind].fields if field.kind == kind_of_field
    )


def _chosen(variable: Variable) -> str:
    comparison = "=" if variable.only_one else "=~"
    return f'{variable.label}{comparison}"${variable.label}"'


def _selected(measure: Measure, field: str | None, variables: tuple[Variable, ...]) -> str:
    conditions = [_chosen(variable) for variable in restrictions(measure.kind, variables)]
    conditions += [f'{label}="{value}"' for label, value in measure.where]
    if measure.shown_groups:
        groups = "|".join(measure.shown_groups)
        conditions.append(f'class=~"{groups}"')
    return f"{metric(measure.kind, field)}{{{','.join(conditions)}}}"


def _added(measure: Measure, expression: str) -> str:
    return _aggregated("max" if measure.meaning == "greatest" else "sum", measure, expression)


def _aggregated(aggregation: str, measure: Measure, expression: str) -> str:
    labels = ["class" if label == CLASS_GROUP else label for label in measure.by]
    return f"{aggregation} by ({', '.join(labels)}) ({expression})" if labels else f"{aggregation}({expression})"


def _number(measure: Measure, field: str | None, variables: tuple[Variable, ...], window: str) -> str:
    if field is None and measure.kind not in COUNTED:
        return _aggregated("count", measure, _selected(measure, _example(measure.kind), variables))
    selected = _selected(measure, field, variables)
    kind = "amount" if field is None else field_of(measure.kind, field).kind
    if kind == "amount":
        return _added(measure, f"rate({selected}[{window}])")
    return _added(measure, selected if kind == "level" else f"max_over_time({selected}[{window}])")
