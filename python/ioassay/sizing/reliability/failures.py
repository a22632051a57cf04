"""How often drives of a configuration fail, and how likely data are lost by it.

Not: how likely that is for given rates (`chain`), how long a rebuild takes (`rebuild`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ioassay.errors import UsageError
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value, applied, exactly, product, total
from ioassay.sizing.capacity.redundancy import Geometry, geometry
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Drive
from ioassay.sizing.model import BrickChoice, Size
from ioassay.sizing.parts import choice_of
from ioassay.sizing.reliability import chain
from ioassay.sizing.reliability.rebuild import ASSUMPTIONS, Assumptions, Rebuild, rebuild
from ioassay.systems.amounts import NUMBER, SECONDS
from ioassay.text.units import format_count, format_share

YEAR = exactly("a year", 365 * 86400, SECONDS)

NEEDED = ("write", "read", "annual_failure_rate", "read_error_every")
"""Figures of a drive, by their keys in a catalogue, without which something is not said."""

_CHAIN = (
    "Markov chain over the drives that are down: Chen, Lee, Gibson, Katz, Patterson, RAID: High-Performance, Reliable "
    "Secondary Storage, ACM Computing Surveys, 1994; Angus, On computing MTBF for a k-out-of-n:G repairable system, "
    "IEEE Transactions on Reliability, 1988"
)

LIMITS = (
    "Drives fail independently and at a constant rate. Drives of one batch, of one enclosure or of one age do not: "
    "then losses are likelier.",
    "Nothing but drives fails: no enclosure, no controller, no firmware, no person.",
    "Rebuilds restore whole drives, as if the file system were full, and only the drives limit them.",
    "Drives are as fast all over as the catalogue says; disks are slower on inner tracks.",
    "Unreadable sectors are as frequent as stated for the drive, and no scrub finds them before a rebuild does.",
)
"""The assumptions behind the chances, as sentences."""


@dataclass(frozen=True)
class Loss:
    """The chance that data are lost."""

    during_rebuild: Value
    """The chance of a group, from the failure of one drive until all its drives are up again."""
    of_group: Value
    """The chance of a group, within a year."""
    of_all: Value
    """The chance of any group of the bricks, within a year."""


@dataclass(frozen=True)
class BrickFailures:
    """Drive failures of all bricks of a kind together."""

    choice: BrickChoice
    protection: Geometry
    """The groups of a brick, each of which is lost as a whole."""
    rebuild: Rebuild | None
    """`None` where the catalogue has no rates of the drive."""
    per_year: Value | None
    """Drives that fail. `None` where the catalogue has no annual failure rate of the drive."""
    rebuilding: Value | None
    """The share of time in which at least one drive is being rebuilt."""
    loss: Loss | None
    """By more drives of a group down at a time than it has parity."""
    loss_or_unreadable: Loss | None
    """By that, or by a sector that a rebuild without redundancy cannot read: often only a file is lost. `None` also
    where the catalogue does not say how often sectors are unreadable, and where there is no redundancy."""
    missing: tuple[str, ...]
    """The figures of `NEEDED` that the catalogue lacks for the drive."""


@dataclass(frozen=True)
class DriveFailures:
    """Drive failures of a configuration. What cannot be said of one of its kinds of bricks is `None`."""

    bricks: Mapping[BrickChoice, BrickFailures]
    per_year: Value | None
    rebuilding: Value | None
    loss: Value | None
    """The chance that any group loses more drives than it has parity, within a year."""
    loss_or_unreadable: Value | None
    """The chance of that or of an unreadable sector in a rebuild without redundancy, within a year."""

    @property
    def values(self) -> tuple[Value, ...]:
        """The known values of all bricks together."""
        return tuple(filter(None, (self.per_year, self.rebuilding, self.loss, self.loss_or_unreadable)))


def drive_failures(catalogue: Catalogue, size: Size, assumptions: Assumptions = ASSUMPTIONS) -> DriveFailures:
    """The effects of failing drives on a configuration. Raises `UsageError` for a failure rate that none can have."""
    counts = {choice_of(catalogue, brick): brick.count for brick in size.configuration.bricks}
    bricks = {choice: _brick_failures(catalogue, choice, count, assumptions) for choice, count in counts.items()}
    kinds = list(bricks.values())
    return DriveFailures(
        bricks=bricks,
        per_year=_combined("drives that fail in a year", [kind.per_year for kind in kinds], total),
        rebuilding=_combined("share of time with a rebuild", [kind.rebuilding for kind in kinds], _any),
        loss=_combined("chance to lose a group in a year", [_of_all(kind.loss) for kind in kinds], _any),
        loss_or_unreadable=_combined(
            "chance to lose a group or a sector in a year", [_of_all(kind.loss_or_unreadable) for kind in kinds], _any
        ),
    )


def _of_all(loss: Loss | None) -> Value | None:
    return None if loss is None else loss.of_all


def _brick_failures(catalogue: Catalogue, choice: BrickChoice, count: int, assumptions: Assumptions) -> BrickFailures:
    brick = catalogue.find(choice.brick, Brick)
    group = geometry(catalogue, choice.brick).lost_together
    drives = product("drives", exactly("bricks", count), exactly("drives of a brick", brick.drive_count))
    groups = product("groups", exactly("bricks", count), exactly("groups of a brick", group.groups))
    between, rebuilt = _between_failures(catalogue, choice), rebuild(catalogue, choice, group, assumptions)
    rebuilding = lost = lost_or_unreadable = None
    if between is not None and rebuilt is not None:
        rebuilding = _rebuilding(drives, between, rebuilt.time)
        lost = _loss(group, groups, between, rebuilt.exposed)
        unreadable = _unreadable(catalogue, choice, group)
        if unreadable is not None:
            lost_or_unreadable = _loss(group, groups, between, rebuilt.exposed, unreadable)
    drive = catalogue.find(choice.drive, Drive)
    return BrickFailures(
        choice=choice,
        protection=group,
        rebuild=rebuilt,
        per_year=None if between is None else _per_year(drives, between),
        rebuilding=rebuilding,
        loss=lost,
        loss_or_unreadable=lost_or_unreadable,
        missing=tuple(key for key in NEEDED if getattr(drive, key) is None),
    )


def _between_failures(catalogue: Catalogue, choice: BrickChoice) -> Value | None:
    """The mean time between failures of a drive, 1/λ, from the share of drives that fail in a year."""
    share = catalogue.value(choice.drive, "annual_failure_rate", "annual failure rate of a drive")
    if share is None:
        return None
    if share.interval.high >= 1 or share.interval.low <= 0:
        raise UsageError(
            f"The annual failure rate of {choice.drive} is {share.written}.",
            "Write the share of drives that fail in a year, between 0 and 100 %, such as `1.5%`.",
        )
    return applied(
        "mean time between failures of a drive",
        lambda share, year: Fraction(-float(year) / math.log1p(-share)),
        share,
        YEAR,
        text=f"−a year ÷ ln(1 − {formulas.brief(share)})",
        dimension=SECONDS,
        falling=(0,),
        source="exponential law: the same share of the drives left fails in every year",
    )


def _unreadable(catalogue: Catalogue, choice: BrickChoice, group: Geometry) -> Value | None:
    """The chance that a rebuild without redundancy meets an unreadable sector.

    In a declustered group only stripes that have lost `parity` pieces are read without redundancy: of those of one
    failed drive the share whose other pieces lie on the others too (Holland, Gibson, 1992).
    """
    bytes_per_error = catalogue.value(choice.drive, "read_error_every", "bytes read per unreadable sector")
    capacity = catalogue.value(choice.drive, "capacity", "capacity of a drive")
    if bytes_per_error is None or capacity is None or group.parity == 0:
        return None
    critical = [capacity, exactly("drives that are read", group.data)]
    if group.is_declustered and group.parity > 1:
        others = range(1, group.parity)
        share = math.prod(Fraction(group.width - failed, group.drives - failed) for failed in others)
        critical.append(exactly("share of stripes without redundancy", share))
    read = product("bytes that a rebuild without redundancy reads", *critical)
    return applied(
        "chance of an unreadable sector in it",
        lambda read, bytes_per_error: Fraction(-math.expm1(-read / bytes_per_error)),
        read,
        bytes_per_error,
        text=f"1 − exp(−{formulas.brief(read)} ÷ {formulas.brief(bytes_per_error)} per unreadable sector)",
        dimension=NUMBER,
        falling=(1,),
        source="Chen, Lee, Gibson, Katz, Patterson, 1994, on uncorrectable bit errors",
    )


def _per_year(drives: Value, between: Value) -> Value:
    return applied(
        "drives that fail in a year",
        lambda drives, between: drives * YEAR.interval.nominal / between,
        drives,
        between,
        text=f"{formulas.counted(drives)} × a year ÷ {formulas.brief(between)} between failures of one",
        dimension=NUMBER,
        falling=(1,),
    )


def _loss(group: Geometry, groups: Value, between: Value, exposed: Value, unreadable: Value | None = None) -> Loss:
    operands = [
        exactly("drives of a group", group.drives),
        exactly("parity of a group", group.parity),
        between,
        exposed,
        *([unreadable] if unreadable else []),
    ]
    what = "a group or a sector" if unreadable else "a group"
    model = (
        f"Markov chain of {format_count(group.drives, 'drive')}, of which {group.parity or 'none'} may be down; "
        f"each fails every {formulas.brief(between)} and is down for {formulas.brief(exposed)}"
    )
    if unreadable:
        model += f"; {format_share(unreadable.nominal)} of rebuilds without redundancy meet an unreadable sector"

    def of(drives: Fraction, parity: Fraction, between: Fraction, exposed: Fraction, *q: Fraction) -> chain.Group:
        return chain.Group(int(drives), int(parity), float(1 / between), float(1 / exposed), *map(float, q))

    during = applied(
        f"chance to lose {what} during a rebuild",
        lambda *numbers: Fraction(chain.loss_during_rebuild(of(*numbers))),
        *operands,
        text=f"{model}; from one failure until all are up",
        dimension=NUMBER,
        falling=(1, 2),
        source=_CHAIN,
    )
    of_group = applied(
        f"chance to lose {what} in a year, of one group",
        lambda *numbers: Fraction(chain.loss_within(of(*numbers), YEAR.nominal)),
        *operands,
        text=f"{model}; within a year",
        dimension=NUMBER,
        falling=(1, 2),
        source=_CHAIN,
    )
    of_all = applied(
        f"chance to lose {what} in a year, of all groups",
        lambda chance, groups: _at_least_one([chance] * int(groups)),
        of_group,
        groups,
        text=f"1 − (1 − chance of one group) ^ {formulas.counted(groups)}",
        dimension=NUMBER,
    )
    return Loss(during, of_group, of_all)


def _rebuilding(drives: Value, between: Value, time: Value) -> Value:
    """The share of time in which not all of several independent drives are up, each down for T ÷ (T + 1/λ)."""
    return applied(
        "share of time with a rebuild",
        lambda drives, between, time: Fraction(-math.expm1(-float(drives) * math.log1p(time / between))),
        drives,
        between,
        time,
        text=f"1 − (1 + {formulas.brief(time)} ÷ {formulas.brief(between)}) ^ −{formulas.brief(drives)}",
        dimension=NUMBER,
        falling=(1,),
    )


def _any(name: str, *chances: Value) -> Value:
    return applied(
        name,
        lambda *numbers: _at_least_one(numbers),
        *chances,
        text="1 − product of (1 − chance) over kinds of bricks",
        dimension=NUMBER,
    )


def _at_least_one(chances: Sequence[Fraction]) -> Fraction:
    """The chance that at least one of several independent things happens, precise also where it is tiny."""
    if any(chance >= 1 for chance in chances):
        return Fraction(1)
    return Fraction(-math.expm1(math.fsum(math.log1p(-chance) for chance in chances)))


def _combined(name: str, values: Sequence[Value | None], add: Callable[..., Value]) -> Value | None:
    """The value of all kinds of bricks; `None` where one of them is unknown."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return known[0].named(name) if len(known) == 1 else add(name, *known)
