"""Times that follow from a size, and what failing drives mean, as sections of a report.

Not: computing them (`ioassay.sizing.times`, `ioassay.sizing.reliability`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from ioassay.reports.document import Bullets, Column, Notes, Section, Span, Table, Text
from ioassay.reports.sizing.wording import capital
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value, derivation
from ioassay.sizing.model import Size
from ioassay.sizing.reliability.failures import LIMITS, BrickFailures, DriveFailures
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.times import of_size, write_rate
from ioassay.systems.amounts import BYTES, NUMBER, SECONDS
from ioassay.text.prose import listed

_RAREST = 1e-12
"""A chance below it says nothing any more: other causes are far likelier."""

_LARGE = ((1e9, " billion"), (1e6, " million"), (1.0, ""))

_FIGURES = {
    "write": "write rate",
    "read": "read rate",
    "annual_failure_rate": "annual failure rate",
    "read_error_every": "rate of unreadable sectors",
}
"""Figures of a drive in words, by their keys in a catalogue."""

_REBUILDS, _FAILURES, _LOSS, _SECTORS = "its rebuild time", "failing drives", "the chance of loss", "unreadable sectors"
_NEEDED_FOR = {
    "write": (_REBUILDS, _LOSS),
    "read": (_REBUILDS, _LOSS),
    "annual_failure_rate": (_FAILURES, _LOSS),
    "read_error_every": (_SECTORS,),
}
"""Results that need each figure of a drive."""

NumberFormat = Callable[[Value], Text]
"""Formats a number for a table."""


def times(size: Size, requirements: Requirements | None = None, tier: str = "") -> Section:
    """The time to fill it, the bytes of a stonewalled phase, and the times that `requirements` ask for.

    Of the assumptions those that capacity and rates do not rest on already.
    """
    values = of_size(size, requirements, tier)
    rows = [_row(value, _percent if value.dimension == NUMBER else _amount) for value in values]
    shown = set(
        _assumed([size.capacity.usable, *(rate.value for rates in size.rates.values() for rate in rates.values())])
    )
    assumed = [assumption for assumption in _assumed(values) if assumption not in shown]
    unknown = "" if write_rate(size) else "The write rate is unknown, so no time to write anything is given."
    return Section("Times", [_table(rows), Notes([*filter(None, [unknown]), *assumed])])


def failures(drive_failures: DriveFailures) -> Section:
    """Rebuild times, drives that fail, the chance of loss, and all that these assume."""
    kinds = list(drive_failures.bricks.values())
    tables = {kind.choice.name if len(kinds) > 1 else "": list(_of_bricks(kind)) for kind in kinds}
    if len(kinds) > 1:
        tables["All bricks together"] = list(_of_all(drive_failures))
    values = [value for rows in tables.values() for value, _ in rows]
    return Section(
        "Drive failures",
        [
            *(_table([_row(*row) for row in rows], title) for title, rows in tables.items()),
            Notes([_missing(kind) for kind in kinds if kind.missing]),
            Bullets([*LIMITS, *_assumed(values)] if values else []),
        ],
    )


def _of_bricks(brick_failures: BrickFailures) -> Iterator[tuple[Value, NumberFormat]]:
    """The known values of bricks of a kind, each with its format."""
    if brick_failures.rebuild is not None and brick_failures.protection.parity > 0:
        yield brick_failures.rebuild.time, formulas.brief
        if brick_failures.rebuild.exposed.nominal > brick_failures.rebuild.time.nominal:
            yield brick_failures.rebuild.exposed, formulas.brief
    if brick_failures.per_year is not None:
        yield brick_failures.per_year, _count
    if brick_failures.rebuilding is not None and brick_failures.protection.parity > 0:
        yield brick_failures.rebuilding, _percent
    for loss in (brick_failures.loss, brick_failures.loss_or_unreadable):
        if loss is not None:
            if brick_failures.protection.parity > 0:
                yield loss.during_rebuild, _odds_between
            yield loss.of_group, _odds_between
            yield loss.of_all, _odds_between


def _of_all(drive_failures: DriveFailures) -> Iterator[tuple[Value, NumberFormat]]:
    rows: list[tuple[Value | None, NumberFormat]] = [
        (drive_failures.per_year, _count),
        (drive_failures.rebuilding, _percent),
        (drive_failures.loss, _odds_between),
        (drive_failures.loss_or_unreadable, _odds_between),
    ]
    yield from ((value, shown) for value, shown in rows if value is not None)


def _table(rows: Sequence[Sequence[Text]], title: str = "") -> Table:
    return Table([Column("What"), Column("Value", wraps=False), Column("How")], rows, title=title)


def _row(value: Value, shown: NumberFormat) -> list[Text]:
    return [capital(value.name), shown(value), formulas.formula(value)]


def _amount(value: Value) -> Text:
    """Bytes in both kinds of units; no time at all in words."""
    if value.dimension == SECONDS and value.nominal == 0:
        return "at once"
    return formulas.amount(value) if value.dimension == BYTES else formulas.brief(value)


def _percent(value: Value) -> Text:
    return f"{_two_digits(100 * value.nominal)} %"


def _count(value: Value) -> Text:
    return _two_digits(value.nominal)


def _odds_between(value: Value) -> Text:
    """A chance, and below it the chances between which the figures leave it, where that is more than rounding."""
    low, nominal, high = (odds(float(end)).partition(" (")[0] for end in value.interval)
    return odds(value.nominal) if low == nominal == high else (odds(value.nominal), Span(f"{low} to {high}", "below"))


def odds(chance: float) -> str:
    """A chance to two significant digits: `25 %`, `1 in 120 (0.83 %)`, `1 in 9.8 million`."""
    if chance >= 0.1:
        return f"{_two_digits(100 * chance)} %"
    if chance < _RAREST:
        return "less than 1 in 1,000 billion"
    one_in = float(f"{1 / chance:.1e}")
    factor, word = next(scale for scale in _LARGE if one_in >= scale[0])
    number = one_in / factor
    percent = f" ({_two_digits(100 * chance)} %)" if chance >= 1e-6 else ""
    return f"1 in {f'{number:,.0f}' if number >= 10 else f'{number:.1f}'}{word}{percent}"


def _two_digits(number: float) -> str:
    """Two significant digits without an exponent."""
    return f"{Decimal(f'{number:.1e}').normalize():f}"


def _missing(bricks: BrickFailures) -> str:
    """Figures of a drive that the catalogue lacks, and what the report leaves out because of that."""
    unsaid = list(dict.fromkeys(topic for key in bricks.missing for topic in _NEEDED_FOR[key]))
    lacks = listed([_FIGURES[key] for key in bricks.missing], "or")
    keys = listed([f"`{key}`" for key in bricks.missing])
    return (
        f"The catalogue has no {lacks} of {bricks.choice.drive}, so the report leaves out {listed(unsaid, 'or')}. "
        f"Add {keys} to the drive in a catalogue of your own."
    )


def _assumed(values: Sequence[Value]) -> list[str]:
    """Every assumption of these values with its reason."""
    return [
        f"{capital(value.name)}: {value.written or formulas.brief(value)}. {reason}"
        for value, reason in derivation(*values).assumptions
    ]
