"""The bill of materials as a table, with its totals, and for other programs. Not: counting (`ioassay.sizing.bill`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from ioassay.reports.document import Block, Bullets, Column, Notes, Table, Text, changes, numbers
from ioassay.reports.sizing import numbers as data_numbers
from ioassay.reports.sizing import wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.bill import Bill, BillLine, Takes
from ioassay.text.prose import listed

_NOUNS: dict[Takes, str] = {"rack_units": "Rack units", "power": "Power", "weight": "Weight", "price": "Price"}


def blocks(bill: Bill) -> list[Block]:
    """The table of all parts, and what all of them take."""
    return [_table(bill), Bullets(list(_totals(bill))), Notes(_dates(bill))]


def _table(bill: Bill) -> Table:
    shown = [what for what in get_args(Takes) if any(what in line.each for line in bill.lines)]
    priced = "price" in shown
    # A single currency stands in the heads, and leaves room for what the parts are.
    currency = bill.currencies[0] if len(bill.currencies) == 1 else ""
    money = f" ({currency})" if currency else ""
    columns = [
        Column("Part", wraps=False),
        Column("What it is"),
        *numbers("Count"),
        *(Column(_NOUNS[what], is_number=True) for what in shown if what != "price"),
        *(numbers(f"Each{money}", f"Together{money}") if priced else []),
    ]
    rows: list[list[Text]] = []
    for line in bill.lines:
        name = f"{'· ' if line.within else ''}{line.name}"
        row: list[Text] = [name, f"{wording.capital(line.kind)}: {line.title}", f"{line.count.nominal:,.0f}"]
        row += [_taken(line, what) for what in shown if what != "price"]
        if priced:
            row += [_price(line, line.each.get("price"), currency), _price(line, line.together("price"), currency)]
        rows.append(row)
    groups = [line.within or line.name for line in bill.lines]
    return Table(columns, rows, caption="Bill of materials", rules=changes(groups), density="dense")


def _price(line: BillLine, price: Value | None, currency: str) -> str:
    """Empty where it is counted elsewhere and unknown here; without the currency where that stands in the head."""
    if price is None:
        return "unknown" if "price" in line.counted else ""
    return formulas.brief(price) if currency else f"{formulas.brief(price)} {line.currency}"


def _taken(line: BillLine, what: Takes) -> str:
    """The amount for all items of a line together; empty where it is counted in another line."""
    value = line.together(what)
    if value is None:
        return "unknown" if what in line.counted else ""
    return formulas.brief(value)


def _dates(bill: Bill) -> list[str]:
    """The dates of the prices, as a sentence."""
    dates = sorted({line.price_date for line in bill.lines if line.price_date is not None})
    return [f"Prices of {listed(dates)}, without tax."] if dates else []


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
            yield f"{_NOUNS[what]}: {listed(known)}; unknown for {listed(unknown)}."
        elif known:
            yield f"{_NOUNS[what]}: {listed(known)}."
        elif unknown:
            nothing.append(noun)
    if nothing:
        yield f"{wording.capital(listed(nothing))}: unknown; the catalogue does not say."


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
                "each": data_numbers.named({what: line.each.get(what) for what in get_args(Takes)}),
                "together": data_numbers.named({what: line.together(what) for what in get_args(Takes)}),
                "currency": line.currency,
                "price_date": line.price_date,
            }
            for line in bill.lines
        ],
        "totals": data_numbers.named(
            {what: bill.total(what) for what in get_args(Takes) if what != "price"}
            | {f"price_{currency}": bill.total("price", currency) for currency in bill.currencies}
        ),
        "unknown": {what: list(unknown) for what in get_args(Takes) if (unknown := bill.unknown(what))},
    }
