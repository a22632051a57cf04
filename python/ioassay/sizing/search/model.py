"""The result of a search, as types. Not: searching."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ioassay.sizing.arithmetic import Value
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.model import Size
from ioassay.sizing.packing import PackedRack
from ioassay.sizing.requirements import Requirements

Cost = Literal["price", "rack units"]
"""The objective: money where every price is known in the currency asked for, else space."""


Verdict = Literal["best", "found", "impossible", "undecided"]
"""`best`: no configuration beats those found, which is proved. `found`: they meet all requirements, and better ones may
exist. `impossible`: it is proved that none meets them. `undecided`: there may be one or none."""


def in_tier(tier: str, kind: str) -> str:
    """The key of a need of a tier; where there are no tiers, which is the tier "", the key itself."""
    return f"{tier}/{kind}" if tier else kind


def tier_of(what: str) -> str:
    """The tier that a need is of; "" of what all have together."""
    return what.rpartition("/")[0]


def kind_of(what: str) -> str:
    """The key of a need without its tier."""
    return what.rpartition("/")[2]


@dataclass(frozen=True)
class Need:
    """A requirement as a number, with what makes it up: 36 GB/s of accelerators, 2 PiB after three years of growth."""

    what: str
    """The key of `Requirements` or `Limits`: `usable`, `write`, `racks`, `budget`; of a tier `flash/write`."""
    value: Value
    is_most: bool = False
    """True of limits, which must not be exceeded."""


@dataclass(frozen=True)
class Margin:
    """A need, and what a configuration has."""

    need: Need
    has: Value

    @property
    def share(self) -> float:
        """The ratio of its amount to the need; of a limit, the limit to the amount. Below 1: not met."""
        return (
            self.need.value.nominal / self.has.nominal
            if self.need.is_most
            else self.has.nominal / self.need.value.nominal
        )


@dataclass(frozen=True)
class Answer:
    """A configuration that meets all requirements, and that none beats in capacity, rates and cost together."""

    role: str
    """Why it is shown: `cheapest` (`smallest` without prices), `largest`, `fastest`, several of them joined by `and`,
    or `between`."""
    configuration: Configuration
    """All that is bought; of tiers without what only concerns rates."""
    size: Size
    """The evaluation of all together; with tiers without rates, which each tier has."""
    tiers: Mapping[str, Size]
    """The evaluation of each tier; empty where there are none."""
    margins: tuple[Margin, ...]
    racks: tuple[PackedRack, ...]
    cost: Value

    @property
    def parts(self) -> Mapping[str, Size]:
        """The evaluations with rates: each tier, or the whole under the name ""."""
        return self.tiers or {"": self.size}


@dataclass(frozen=True)
class Shortfall:
    """A requirement that cannot be met."""

    need: Need
    best: Value
    """The nearest that is possible: alone where `together` is empty, else with those met."""
    limited_by: str
    """The limiting part, as a noun with its number: `10 racks of 42 U`, `network links of 16 clients`."""
    together: tuple[Need, ...] = ()
    """The needs that contradict it: each of them can be met, and not all of them and this one."""


@dataclass(frozen=True)
class Movement:
    """How the answer moves when a figure is off."""

    figure: str
    """Which, as a noun: `write rate of md3460-controllers`, or `required write rate`."""
    value: Value
    factor: float
    """The factor of the change: 0.8 or 1.2."""
    before: tuple[tuple[str, int], ...]
    """Bricks and modules with their counts, in the first answer."""
    after: tuple[tuple[str, int], ...] | None
    """The same kinds with the counts that then meet the requirements; `None` where no count does."""
    cost: Value | None
    """The cost of `after`."""


@dataclass(frozen=True)
class Search:
    """The request of a search, and its result."""

    requirements: Requirements
    needs: tuple[Need, ...]
    cost: Cost
    currency: str | None
    candidates: int
    """Bricks with their drives that were considered, and how many of them another one beats in everything."""
    dominated: int
    answers: tuple[Answer, ...]
    """The cheapest first. Empty if the requirements cannot be met."""
    shortfalls: tuple[Shortfall, ...]
    movements: tuple[Movement, ...]
    """Effects of changed figures on the first answer; largest first."""
    unknown: tuple[str, ...]
    """Bricks that were left out because the catalogue does not say what is required of them, as sentences."""
    is_complete: bool
    """False where the time limit ended the search: the answers hold, and better ones may exist."""
    limit_s: float
    """The time limit, in seconds of processor time."""
    is_impossible: bool
    """Whether it is proved that nothing that is known well enough meets the requirements."""
    fragile: tuple[str, ...] = ()
    """Bricks that were left out because they do not survive what they must, as sentences."""
    beyond_limits: tuple[str, ...] = ()
    """Bricks that were left out because their file system is not supported so large, as sentences."""
    empty_tiers: tuple[str, ...] = ()
    """The tiers of which no brick can be considered."""
    cost_ends_at: Fraction | None = None
    """The cost up to which larger and faster configurations were searched, twice the cheapest; `None` where racks,
    power or budget are limited, which ends them.
    """

    @property
    def verdict(self) -> Verdict:
        """The outcome of the search, and whether it is proved."""
        if self.answers:
            return "best" if self.is_complete else "found"
        return "impossible" if self.is_impossible else "undecided"
