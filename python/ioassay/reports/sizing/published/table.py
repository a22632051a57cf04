"""Every published number beside the arithmetic, as a table. Not: what all of them say together."""

from __future__ import annotations

from ioassay.reports.document import Column, Span, Table, Text
from ioassay.reports.sizing.published.prices import price_agrees_as
from ioassay.reports.sizing.published.readings import as_printed, deviation, fit, judged, what
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Formula, Value
from ioassay.sizing.published.model import Figure, Published, Trial
from ioassay.text.format import ABSENT

_MOST_SHOWN = 2
"""Readings that are named of a number that does not fit the others."""


def table(published: Published) -> Table:
    """A row for each number, in the order of the file."""
    columns = [
        Column("Configuration", merges=True),
        Column("Stated", wraps=False),
        Column("Place"),
        Column("Arithmetic"),
        Column("Agrees as"),
    ]
    rows: list[list[Text]] = [
        [
            figure.configuration,
            f"{what(figure)} {_printed(figure)}",
            Span(str(figure.stated.at), "faint"),
            ABSENT if figure.arithmetic is None else _arithmetic(figure.arithmetic),
            _agrees_as(published, figure),
        ]
        for figure in published.figures
    ]
    return Table(columns, rows, density="wide")


def step(value: Value) -> str:
    """The arithmetic of the limiting number: `6 bricks × 4.5 GB/s`; empty for a single brick."""
    while isinstance(value.origin, Formula) and value.origin.rule == "lowest":
        value = min(value.origin.operands, key=lambda operand: operand.interval.nominal)
    text = formulas.formula(value).removeprefix("1 brick × ")
    return "" if text == formulas.brief(value) else text


def _printed(figure: Figure) -> str:
    """The printed number, with remarks of the source on its unit."""
    stated = figure.stated
    return f"{stated.value} ({stated.unit})" if stated.unit else stated.value


def _arithmetic(value: Value) -> Text:
    computed = step(value)
    return (formulas.amount(value), Span(computed, "below")) if computed else formulas.amount(value)


def _agrees_as(published: Published, figure: Figure) -> Text:
    if figure.stated.what == "price":
        return price_agrees_as(published.prices, figure)
    if figure.arithmetic is None:
        return Span(figure.why, "not judged")
    trial, printed = judged(published, figure), as_printed(figure)
    if not trial.agrees:
        fits = [fit(trial, figure) for trial in figure.agreeing[:_MOST_SHOWN]]
        alternative = f"by itself it fits {' or '.join(fits)}" if fits else "nothing fits"
        return Span(f"not {_difference(trial, figure)}", "failed"), Span(f"; {alternative}", "faint")
    agrees = Span(fit(trial, figure), "passed" if trial.weight == 0 else "warning")
    if trial is printed:
        return agrees
    other = f"also {fit(printed, figure)}" if printed.agrees else f"not {_difference(printed, figure)}"
    return agrees, Span(f"; {other}", "faint")


def _difference(trial: Trial, figure: Figure) -> str:
    """`PiB: 2.045, 2.6 % less than printed`."""
    than = " than" if trial.off < 1 else " as"
    return f"{fit(trial, figure)}, {deviation(trial)}{than} printed"
