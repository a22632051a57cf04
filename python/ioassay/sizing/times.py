"""How long things take on a size: to fill it, to write a checkpoint, to grow full; and what a stonewalled phase writes.

All take the rates that were computed. Not: rebuilds and losses (`reliability`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Origin, Value, applied, assumed, exactly, given, lowest, product, quotient
from ioassay.sizing.model import Size
from ioassay.sizing.requirements import Checkpoint, Condition, Requirements
from ioassay.systems.amounts import NUMBER, SECONDS

YEAR_S = 365 * 86400

_DALY = (
    "Daly: A higher order estimate of the optimum checkpoint interval for restart dumps, Future Generation Computer "
    "Systems, 2006; Young: A first order approximation to the optimum checkpoint interval, Communications of the ACM, "
    "1974"
)

LEAD = assumed(
    "lead of the fastest rank over the average",
    Fraction(3, 2),
    NUMBER,
    "With wear-out every rank writes as much as the fastest; from this ratio on, reports of runs name stragglers.",
)
"""Without another one."""


IO500_STONEWALL = exactly(
    "stonewall of IO500's ior-easy", 300, SECONDS, Origin("published", "IO500, Submission Rules, version 2.0, rule 2.1")
)
"""The example where no other stonewall is given."""


def lasting(name: str, seconds: float) -> Value:
    """A time of the requirements, in seconds."""
    return exactly(name, Fraction(seconds), SECONDS)


def write_rate(size: Size, condition: Condition = "healthy") -> Value | None:
    """Sequential writes in a condition; `None` where no limit of them is known."""
    rate = size.rates[condition].get("write")
    return None if rate is None else rate.value


def time_to_fill(size: Size) -> Value | None:
    """How long it takes to write all usable bytes; `None` where the write rate is unknown."""
    rate = write_rate(size)
    return None if rate is None else quotient("time to fill", size.capacity.usable, rate)


_MEANWHILE: Mapping[Condition, str] = {
    "healthy": "",
    "rebuilding": " while drives are rebuilt",
    "failed_over": " with servers failed over",
}


def checkpoint_time(size: Size, state: Value, condition: Condition = "healthy") -> Value | None:
    """How long it takes to write `state`, in bytes; `None` where the write rate is unknown."""
    rate = write_rate(size, condition)
    return None if rate is None else quotient(f"time to write a checkpoint{_MEANWHILE[condition]}", state, rate)


@dataclass(frozen=True)
class CheckpointSchedule:
    """How often to write checkpoints on a machine that fails now and then, and what that costs."""

    every: Value
    """Computing time from one checkpoint to the next, with the least loss."""
    writing: Value
    """The share of time in which checkpoints are written."""
    lost: Value
    """The share of time that is lost: checkpoints, and what is computed again after failures."""


def checkpoint_schedule(written_in: Value, failures_every: Value) -> CheckpointSchedule:
    """The best schedule of checkpoints that take `written_in`, where failures come every `failures_every` on average.

    Both in seconds. Failures come at a constant rate, also while a checkpoint is written; the time
    that a restart takes is not included.
    """
    operands = (written_in, failures_every)
    meaning = f"δ = {formulas.brief(written_in)} to write one, M = {formulas.brief(failures_every)} between failures"
    return CheckpointSchedule(
        every=applied(
            "best time between checkpoints",
            lambda write, every: Fraction(_interval(write, every)),
            *operands,
            text=f"√(2·δ·M) × (1 + √(δ ÷ 2M) ÷ 3 + (δ ÷ 2M) ÷ 9) − δ, {meaning}",
            dimension=SECONDS,
            source=_DALY,
        ),
        writing=applied(
            "share of time spent on checkpoints",
            lambda write, every: Fraction(float(write) / (_interval(write, every) + float(write))),
            *operands,
            text=f"δ ÷ (τ + δ), {meaning}, τ between checkpoints",
            dimension=NUMBER,
            falling=(1,),
            source=_DALY,
        ),
        lost=applied(
            "share of time lost to failures and checkpoints",
            lambda write, every: Fraction(_lost_share(write, every)),
            *operands,
            text=f"1 − τ ÷ (M·(exp((τ + δ) ÷ M) − 1)), {meaning}, τ between checkpoints",
            dimension=NUMBER,
            falling=(1,),
            source=_DALY,
        ),
    )


def _interval(write: Fraction, every: Fraction) -> float:
    """Daly's estimate, in seconds."""
    half = float(write / (2 * every))
    if half >= 1:
        return float(every)
    return math.sqrt(2 * float(write * every)) * (1 + math.sqrt(half) / 3 + half / 9) - float(write)


def _lost_share(write: Fraction, every: Fraction) -> float:
    """Daly's complete model without restarts."""
    computing = _interval(write, every) / float(every)
    both = computing + float(write / every)
    # exp(x) - 1 with exp(x) taken out, because x may be thousands.
    return 1 - computing * math.exp(-both) / -math.expm1(-both)


def stonewall_space(size: Size, stonewall: Value, lead: Value = LEAD, planned: Value | None = None) -> Value | None:
    """The most that a write phase with a stonewall and wear-out writes, in bytes; `None` where the rate is unknown.

    `stonewall` in seconds; `planned` is the size of its files, beyond which nothing is written. What the clients'
    caches take in beyond the rate of the storage comes on top, up to their memory.
    """
    rate = write_rate(size)
    if rate is None:
        return None
    name = f"space for a write phase with a stonewall of {formulas.brief(stonewall)}"
    written = product(name, rate, stonewall, lead)
    return written if planned is None else lowest(written.name, written, planned)


def data_after(start: Value, per_year: Value, years: int) -> Value:
    """How much data there are after whole years: a share `per_year` is added each year."""
    return applied(
        f"data after {years} year{'' if years == 1 else 's'}",
        lambda start, growth, years: start * (1 + growth) ** int(years),
        start,
        per_year,
        exactly("years", years),
        text=f"{formulas.brief(start)} × (1 + {formulas.brief(per_year)}) ^ {years}",
        dimension=start.dimension,
    )


def fill_by_growth(size: Size, start: Value, per_year: Value, fill: Value | None = None) -> Value | None:
    """When growing data fill what is usable, or the share `fill` of it, in seconds from the beginning.

    `start` in bytes, `per_year` a share. `None` where data do not grow; 0 where they do not fit from the beginning.
    """
    if per_year.interval.low <= 0:
        return None
    usable = size.capacity.usable
    room = usable if fill is None else product("bytes that may be used", usable, fill)
    return applied(
        "time until it is full",
        lambda room, start, growth: Fraction(math.log(max(room / start, 1)) / math.log1p(growth) * YEAR_S),
        room,
        start,
        per_year,
        text=f"ln({formulas.brief(room)} ÷ {formulas.brief(start)}) ÷ ln(1 + {formulas.brief(per_year)}) years",
        dimension=SECONDS,
        falling=(1, 2),
    )


def of_size(size: Size, requirements: Requirements | None = None, tier: str = "") -> list[Value]:
    """All that can be said, each under a name of its own; with `requirements` also of checkpoints and growth.

    Of a tier: of checkpoints where they are written to it, and not of growth, of which it has a part.
    """
    values = [time_to_fill(size), stonewall_space(size, IO500_STONEWALL)]
    if requirements is not None:
        if requirements.checkpoint is not None and tier in ("", requirements.checkpoint_tier):
            values += _of_checkpoint(size, requirements.checkpoint)
        values += [] if tier else _of_growth(size, requirements)
    return [value for value in values if value is not None]


def _of_checkpoint(size: Size, checkpoint: Checkpoint) -> Iterator[Value | None]:
    state = given("size of a checkpoint", checkpoint.size)
    yield from (checkpoint_time(size, state, condition) for condition in get_args(Condition))
    healthy = checkpoint_time(size, state)
    if healthy is not None and checkpoint.failures_every is not None:
        between = lasting("mean time between failures of the machine", checkpoint.failures_every)
        schedule = checkpoint_schedule(healthy, between)
        yield from (schedule.every, schedule.writing, schedule.lost)


def _of_growth(size: Size, requirements: Requirements) -> Iterator[Value | None]:
    growth = requirements.growth
    if growth is None or requirements.usable is None:
        return
    start = given("data at the beginning", requirements.usable)
    per_year = given("growth in a year", growth.per_year)
    fill = None if requirements.fill is None else given("share that may be filled", requirements.fill)
    yield data_after(start, per_year, growth.years)
    yield fill_by_growth(size, start, per_year, fill)
