"""Requested rates and pauses of phases, in words. Not: which phases have them (`analysis.given_rates`)."""

from __future__ import annotations

from ioassay.analysis.given_rates import GivenRate
from ioassay.analysis.names import noun
from ioassay.text import format
from ioassay.text.rate_units import Unit


def asked(given_rate: GivenRate, unit: Unit) -> str:
    """The rate, else the pause between operations, else `ABSENT`."""
    return (
        pauses(given_rate) or format.ABSENT
        if given_rate.given_per_s is None
        else rate(given_rate, unit, given_rate.given_per_s)
    )


def pauses(given_rate: GivenRate) -> str:
    """`pauses of 1.00 ms`; empty without them."""
    return "" if given_rate.think_ns is None else f"pauses of {format.duration(given_rate.think_ns)}"


def rate(given_rate: GivenRate, unit: Unit, per_s: float) -> str:
    """A rate of the phase."""
    return format.rate_in(unit.name, per_s, noun(given_rate.point["operation"]))
