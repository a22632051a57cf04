"""What a plan asks of a phase at a given rate, in words. Not: which phases these are (`analysis.given_rates`)."""

from __future__ import annotations

from ioassay.analysis.given_rates import GivenRate
from ioassay.analysis.names import noun
from ioassay.text import format
from ioassay.text.rate_units import Unit


def asked(one: GivenRate, unit: Unit) -> str:
    """The rate, else the pause between operations, else `ABSENT`."""
    return pauses(one) or format.ABSENT if one.given_per_s is None else rate(one, unit, one.given_per_s)


def pauses(one: GivenRate) -> str:
    """`pauses of 1.00 ms`; empty without them."""
    return "" if one.think_ns is None else f"pauses of {format.duration(one.think_ns)}"


def rate(one: GivenRate, unit: Unit, per_s: float) -> str:
    """A rate of the phase."""
    return format.rate_in(unit.name, per_s, noun(one.point["operation"]))
