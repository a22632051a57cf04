"""Rows of Markdown tables, in the form in which the documentation has them: they can be copied as they are."""

from __future__ import annotations


def head(*columns: str) -> None:
    """Print the head of a table."""
    row(*columns)
    print("|" + " --- |" * len(columns))


def row(*cells: str) -> None:
    """Print a row."""
    print("| " + " | ".join(cells) + " |", flush=True)


def whole(share: float) -> str:
    """A share as a percentage without decimals."""
    return f"{share * 100:.0f} %"


def percent(share: float) -> str:
    """A share as a percentage: with one decimal below 10 %, none above and of 0."""
    rounded = round(share * 100, 1) or 0.0
    return f"{rounded:.1f} %".replace("-", "−") if 0 < abs(rounded) < 10 else whole(rounded / 100)
