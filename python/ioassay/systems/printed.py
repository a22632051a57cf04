"""Whether a printed number can be the one that was computed: the checker of claims, of stated sizes and of prices.

The rule of rounding. A printed number stands for all that rounds to it (`amounts`), and these intervals are what is
computed with. Counts and nominal sizes that a text names by itself (60 drives of 4TB) are exact; figures are not. What
words add, to a claim and to the figures that it rests on:

    exact       the number's own rounding, no more
    about       `ABOUT` of it more, on both sides
    almost      from `ALMOST` below up to it, and not beyond
    up-to       the largest of the points is the number claimed; of a figure nothing
    at-least    no less than the number claimed; of a figure nothing

Not: what is computed (`claims`, `sizing.published.readings`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from ioassay.systems.amounts import Amount, Interval
from ioassay.systems.model import Qualifier

ABOUT = Fraction(5, 100)
ALMOST = Fraction(10, 100)

Rounding = Literal["nearest", "down", "up"]
"""How the text came by its last digit. `down`: the digits beyond it were cut off."""


def standing_for(amount: Amount, qualifier: Qualifier) -> Interval:
    """The range of a printed number, with what the word before it adds; in base units."""
    match qualifier:
        case "about":
            return amount.rounded.widened(ABOUT)
        case "almost":
            most = amount.exact.nominal
            return Interval(most * (1 - ALMOST), most, most)
        case "exact" | "up-to" | "at-least":
            return amount.rounded


def agrees(amount: Amount, qualifier: Qualifier, computed: Interval, rounding: Rounding = "nearest") -> bool:
    """Whether `computed`, in base units, can have been printed as `amount`.

    A text that cuts off digits has also cut off those of the measured parts, which then are what they print or more.
    """
    printed, digit = amount.exact.nominal, 2 * amount.half * amount.factor
    match rounding:
        case "down":
            high = 2 * computed.high - computed.nominal
            return computed.nominal < printed + digit and (high > printed or high == computed.nominal == printed)
        case "up":
            low = 2 * computed.low - computed.nominal
            return low <= printed and computed.nominal > printed - digit
        case "nearest" if qualifier == "at-least":
            return computed.high >= amount.rounded.low
        case "nearest":
            return standing_for(amount, qualifier).meets(computed)
