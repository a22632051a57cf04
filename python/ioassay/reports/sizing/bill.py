"""The bill of materials as a table, with its totals, and for other programs. Not: counting (`ioassay.sizing.bill`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from ioassay.reports.document import Block, Bullets, Column, Span, Table, Text, changes, numbers
from ioassay.reports.sizing import numbers as data_numbers
from ioassay.reports.sizing import wording
from ioassay.sizing import formulas
from ioassay.sizing.bill import Bill, BillLine, Takes

_NOUNS: dict[Takes, str] = {"rack_units": "Rack units", "power": "Power", "weight": "Weight", "price": "Price"}


def blocks(bill: Bill) -> list[Block]:
    """The table of all parts, and what all of them take."""
    return [_table(bill), Bullets(list(_totals(bill)))]


def _table(bill: Bill) -> Table:
    shown = [what for what in get_args(Takes) if any(what in line.each for line in bill.lines)]
    priced = "price" in shown
    columns = [
        Column("Part", wraps=False),
        Column("What it is"),
        *numbers("Count"),
        *(Column(_NOUNS[what], is_number=True) for what in shown if what != "price"),
        *(numbers("Price each", "Price together") if priced else []),
    ]
    rows: list[list[Text]] = []
    for line in bill.lines:
        name = f"{'· ' if line.within else ''}{line.name}"
        row: list[Text] = [name, f"{wording.capital(line.kind)}: {line.title}", f"{line.count.nominal:,.0f}"]
        row += [_taken(line, what) for what in shown if what != "price"]
        if priced:
            row += [_each(line), _taken(line, "price")]
        rows.append(row)
    groups = [line.within or line.name for line in bill.lines]
    return Table(columns, rows, caption="Bill of materials", rules=changes(groups), density="dense")


def _each(line: BillLine) -> Text:
    price = line.each.get("price")
    if price is None:
        return "unknown" if "price" in line.counted else ""
    return (f"{formulas.brief(price)} {line.currency}", Span(line.price_date or "", "below"))


def _taken(line: BillLine, what: Takes) -> Text:
    """Of all of them together; empty where it is counted elsewhere."""
    if what not in line.counted:
        return ""
    value = line.together(what)
    if value is None:
        return "unknown"
    return f"{formulas.brief(value)} {line.currency}" if what == "price" else formulas.brief(value)


def _totals(bill: Bill) -> Iterator[Text]:
    nothing = []
    for what in get_args(Takes):
        currencies = bill.currencies if what == "price" else (None,)
        known = [
            f"{formulas.brief(value)} {currency or ''}".rstrip()
            for currency in currencies
            if (value := bill.total(what, currency)) is not None
        ]
        unknown = bill.unknown(what)
        noun = _NOUNS[what].lower()
        if known and unknown:
            yield f"{_NOUNS[what]}: {wording.listed(known)} without {wording.listed(unknown)}, whose {noun} is unknown."
        elif known:
            yield f"{_NOUNS[what]}: {wording.listed(known)}."
        elif unknown:
            nothing.append(noun)
    if nothing:
        yield f"{wording.capital(wording.listed(nothing))}: unknown; the catalogue does not say."


def data(bill: Bill) -> dict[str, Any]:
    """A row per part, and the totals as far as they are known."""
    return {
        "parts": [
            {
                "name": line.name,
                "kind": line.kind,
                "title": line.title,
                "within": line.within or None,
                "count": int(line.count.nominal),
                "each": data_numbers.named(line.each),
                "together": data_numbers.named({what: line.together(what) for what in get_args(Takes)}),
                "currency": line.currency,
                "price_date": line.price_date,
            }
            for line in bill.lines
        ],
        "totals": data_numbers.named(
            {what: bill.total(what) for what in get_args(Takes) if what != "price"}
            | {f"price_{one}": bill.total("price", one) for one in bill.currencies}
        ),
        "unknown": {what: list(unknown) for what in get_args(Takes) if (unknown := bill.unknown(what))},
    }
