"""The comparison of published numbers with the arithmetic, as types.

Not: finding any of it (`check`), the words for it (`reports.sizing.published`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ioassay.sizing.arithmetic import Value
from ioassay.sizing.configuration import StatedNumber
from ioassay.sizing.model import BrickChoice
from ioassay.systems.amounts import Interval
from ioassay.systems.printed import Rounding

Base = Literal["decimal", "binary", "thousands", "of 1024", "millions"]
"""The base of a prefix, of `PB`: 1000 TB; 1024 TiB; 1000 TiB; 1024 TB; 1000 × 1000 GiB. From the likeliest on, except
that what is printed comes first."""

Basis = Literal["as stated", "before file system", "raw", "usable"]
"""The capacity that was counted. `before file system`: without its overhead."""

Verdict = Literal["as printed", "otherwise", "does not follow", "not recomputed"]
"""`otherwise`: only with another unit, basis or rounding than is printed. `not recomputed`: see `Figure.why`."""


PartName = Literal["drive", "group", "brick"]
"""A group is what one set of parity protects: a RAID array, a storage target."""


class RoundedPart(NamedTuple):
    """The capacity of a part, which was rounded before it was multiplied."""

    part: PartName
    decimals: int
    in_printed_unit: bool = False
    """True if it was rounded in the unit that is printed of the whole, and not in the one in which it is 1 or more."""


class Neighbour(NamedTuple):
    """Another printed number, multiplied as the configurations differ."""

    configuration: str
    printed: str
    ratio: str
    """`3/2`: 6 TB drives in place of 4 TB drives."""


@dataclass(frozen=True)
class Reading:
    """A way in which a printed number can be meant."""

    base: Base
    basis: Basis = "as stated"
    rounding: Rounding = "nearest"
    prefix: int = 0
    """How many steps of 1000 or 1024 the printed prefix is too small: 1 for `GB` that must be TB."""
    bits: Literal["", "bits", "bytes"] = ""
    """Where bits and bytes were confused: what is meant."""
    part: RoundedPart | None = None
    neighbour: Neighbour | None = None

    @property
    def is_unit_alone(self) -> bool:
        """True if it says no more than what the unit is, with numbers rounded to the nearest."""
        return self == Reading(self.base)


class Label(NamedTuple):
    """A printed unit, taken apart."""

    power: int
    """The exponent of 1000 or 1024: 5 for `PB`, 0 without a prefix."""
    base: Literal["decimal", "binary"]
    """Binary for `PiB`, and for `PB` of which the source says elsewhere that it counts in 1024s."""
    suffix: str
    """The unit after the prefix: `B`, `B/s`, `IOPS`."""


@dataclass(frozen=True)
class Trial:
    """A printed number, held against the arithmetic in one reading."""

    reading: Reading
    recomputed: Value
    """In base units."""
    number: Interval
    """The same in the unit of the reading: what the source would have had to round."""
    agrees: bool
    off: float
    """`number` less the printed one, as a share of the printed one: 0.1 for 1.54 against 1.4."""
    weight: int
    """How much it assumes; 0 means nothing beyond what is printed."""


@dataclass(frozen=True)
class Figure:
    """A published number of a configuration."""

    configuration: str
    stated: StatedNumber
    label: Label
    arithmetic: Value | None
    trials: tuple[Trial, ...]
    """The agreeing readings first, from the fewest assumptions; then the others, from the nearest."""
    why: str = ""
    """Without arithmetic: why there is none."""

    @property
    def agreeing(self) -> tuple[Trial, ...]:
        """The readings that agree, from the least that must be assumed."""
        return tuple(trial for trial in self.trials if trial.agrees)

    @property
    def verdict(self) -> Verdict:
        """Whether the number follows by itself, without the others."""
        if self.arithmetic is None:
            return "not recomputed"
        if not self.agreeing:
            return "does not follow"
        return "as printed" if self.agreeing[0].weight == 0 else "otherwise"

    def trial(self, reading: Reading) -> Trial | None:
        """How one reading does; `None` where it makes no sense of this number."""
        return next((trial for trial in self.trials if trial.reading == reading), None)


@dataclass(frozen=True)
class Shared:
    """A reading for several numbers."""

    reading: Reading
    agreeing: tuple[Figure, ...]
    contradicting: tuple[Figure, ...]
    weight: int
    """The most that it assumes of any of them."""


@dataclass(frozen=True)
class Loss:
    """A unit for several numbers, if a share of usable capacity is taken by something that the arithmetic has not."""

    reading: Reading
    left: Interval
    """The share that is left, of 1; the `high` end is not among them."""
    weight: int


UnitKind = Literal["capacities", "data rates", "operation rates"]


@dataclass(frozen=True)
class UnitFinding:
    """Numbers with units of one kind, which a reader expects to be meant alike: all capacities in `…B`, for example."""

    kind: UnitKind
    label: Literal["decimal", "binary"]
    figures: tuple[Figure, ...]
    units: tuple[Shared, ...]
    """The possible units, by the number of figures that agree, then by their assumptions."""
    others: tuple[Shared, ...]
    """Readings that assume more than a unit, and with which all figures agree; from the least that must be assumed."""
    losses: tuple[Loss, ...]
    """Units with which all figures agree if the same share of usable capacity is lost; from the least that must be
    assumed."""

    @property
    def best(self) -> Shared:
        """The unit with which most figures agree."""
        return self.units[0]

    @property
    def outcome(self) -> Literal["as printed", "one unit", "one reading", "contradiction"]:
        """`one unit`: another than is printed. `one reading`: no unit alone, but one that assumes more."""
        if not self.best.contradicting:
            return "as printed" if self.best.weight == 0 else "one unit"
        return "one reading" if self.others or self.losses else "contradiction"


@dataclass(frozen=True)
class NeededRate:
    """The rate of one brick that a printed rate of a configuration needs."""

    figure: Figure
    value: Value


@dataclass(frozen=True)
class RateFinding:
    """Rates of several configurations of one brick, of which not all can be true."""

    brick: str
    """Its name in the catalogue; with any of its drives, as far as these do not change the rate."""
    of_brick: Value
    """The rate of one, by the catalogue."""
    common: Interval
    """The rate of one if as many of the printed rates as possible are true, in base units."""
    agreeing: tuple[NeededRate, ...]
    contradicting: tuple[NeededRate, ...]


@dataclass(frozen=True)
class RepeatedNumber:
    """The same thing, stated with numbers of which no two can be the same, in any unit that also fits the rest."""

    figures: tuple[Figure, ...]


Measure = Literal["whole", "usable", "write", "drive", "rack unit"]
"""The possible meanings of a price: the whole configuration, usable capacity, write rate, a drive, a rack unit."""


Scope = Literal["listed", "bricks"]
"""The parts that are paid for: everything that the file lists, or bricks alone."""


@dataclass(frozen=True)
class BrickRatio:
    """The price of a brick by one printed price alone, if only bricks are paid for."""

    figure: Figure
    brick: BrickChoice
    reference: BrickChoice
    value: Value
    """The price of one `brick` in those of one `reference`."""


@dataclass(frozen=True)
class WholePrice:
    """The price of the whole configuration by a printed price, if that is per something."""

    figure: Figure
    times: float
    """How many times as much of that the configuration has as the reference."""
    price: float
    """The price of the whole configuration, in prices of the whole reference, if what is printed is exact."""


@dataclass(frozen=True)
class ContainedBrick:
    """A brick that has all parts of another and more, and so cannot cost less."""

    brick: BrickChoice
    within: BrickChoice
    """The smaller one."""
    further: Mapping[str, int]
    """The parts that only the larger one has, by name in the catalogue."""


@dataclass(frozen=True)
class ImpliedPrice:
    """The price of a thing, in prices of one brick (`PriceFinding.unit`)."""

    what: str
    of: BrickChoice | None
    """The brick whose price it is; `None` of parts, modules and whatever is not listed."""
    low: float
    high: float | None
    """`None`: nothing bounds it."""
    exact: float | None
    """The price if the printed ones are exact; `None` where they leave a range, or contradict each other then."""


@dataclass(frozen=True)
class PriceHypothesis:
    """Something that all relative prices may be relative to, and whether component prices exist that agree."""

    measure: Measure
    scope: Scope
    common_in: tuple[str, ...]
    """The references in whose tables all configurations must contain something that the file does not list."""
    is_possible: bool
    same_as_whole: int
    """In how many of the statements it says the same as the price of the whole, as both configurations have as much."""
    wholes: tuple[WholePrice, ...]
    ratios: tuple[BrickRatio, ...]
    implied: tuple[ImpliedPrice, ...]
    """Only of a possible one."""
    conflict: tuple[Figure, ...]
    """Only of an impossible one: a smallest set of statements that cannot hold together."""
    contained: ContainedBrick | None
    """Only of an impossible one: a brick that would cost less than another one that it contains."""


@dataclass(frozen=True)
class PriceFinding:
    """The possible references of a file's relative prices."""

    figures: tuple[Figure, ...]
    unit: BrickChoice
    """The brick in whose price all others are expressed."""
    hypotheses: tuple[PriceHypothesis, ...]
    """Possible ones first, from the least that must be assumed."""
    assumptions: tuple[str, ...]
    """The assumptions of all of them, as sentences."""

    @property
    def possible(self) -> tuple[PriceHypothesis, ...]:
        """The hypotheses with which all statements can be true."""
        return tuple(hypothesis for hypothesis in self.hypotheses if hypothesis.is_possible)


@dataclass(frozen=True)
class Published:
    """The statements of a file of configurations, compared with the arithmetic."""

    figures: tuple[Figure, ...]
    """All that is stated, in the order of the file."""
    units: tuple[UnitFinding, ...]
    rates: tuple[RateFinding, ...]
    """Only where not all rates can be true."""
    repeated: tuple[RepeatedNumber, ...]
    prices: PriceFinding | None
    """`None` without relative prices."""

    @staticmethod
    def nothing() -> Published:
        """Where nothing is stated."""
        return Published((), (), (), (), None)

    def units_of(self, figure: Figure) -> UnitFinding | None:
        """The finding about its unit; `None` of a count or a price."""
        return next((unit for unit in self.units if any(figure is other for other in unit.figures)), None)

    @property
    def unfounded(self) -> tuple[Figure, ...]:
        """The numbers with which no reading agrees."""
        return tuple(figure for figure in self.figures if figure.verdict == "does not follow")

    @property
    def is_consistent(self) -> bool:
        """True if everything follows as printed; then there is nothing to report."""
        follows = all(figure.verdict in ("as printed", "not recomputed") for figure in self.figures)
        whole = self.prices is None or any(
            hypothesis.measure == "whole" and hypothesis.scope == "listed" and not hypothesis.common_in
            for hypothesis in self.prices.possible
        )
        return follows and whole and not (self.rates or self.repeated)
