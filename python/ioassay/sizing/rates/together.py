"""The rate of several bricks, or metadata modules: the sum over their kinds.

What hardware carries adds up: eight bricks have eight times the network adapters of one. What they do together is no
more than that, and where their scaling is not linear no more than it says of the lowest ceiling of one.

Kinds of bricks add up, each at its own limit: files are taken to be spread over them in proportion to their rates. A
kind of brick without a rate leaves that of the whole unknown, and so does a scaling that says nothing of the rate.

Not: how bricks scale (`scaling`), the network beyond them (`network`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import exactly, lowest, product, total
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, MetadataModule, RateKind, Scaling
from ioassay.sizing.model import Ceiling, Rate
from ioassay.sizing.rates.names import rate_name
from ioassay.sizing.rates.scaling import has_points, multiple
from ioassay.systems.model import Document

_IN_PROPORTION = "Files are taken to be spread over the kinds of bricks in proportion to their rates."


@dataclass(frozen=True)
class Scaled:
    """A scaling, and the file that has it."""

    scaling: Scaling
    sources: Mapping[str, Document]
    folder: Path | None


@dataclass(frozen=True)
class Alike:
    """Bricks of one kind, or metadata modules of one kind."""

    name: str
    noun: str
    """In the plural: `bricks`."""
    count: int
    scaled: Scaled | None
    """`None` where nothing says how they scale, which is right of a single one."""


def alike(
    catalogue: Catalogue, counts: Sequence[tuple[str, str, int]], noun: str, scaling: Scaling | None
) -> list[Alike]:
    """Bricks or modules with their scaling: that of their catalogue, else `scaling` of the configuration.

    `counts` are, for each kind, what it is called, its name in the catalogue, and how many. Raises `UsageError` where
    there are several in all and nothing says how they scale.
    """
    several = sum(count for _, _, count in counts) > 1
    alike = []
    for name, component, count in counts:
        entry = catalogue.entries[component]
        assert isinstance(entry.component, Brick | MetadataModule)
        own_scaling = entry.component.scaling
        scaled = (
            Scaled(own_scaling, entry.sources, entry.folder)
            if own_scaling
            else Scaled(scaling, {}, None)
            if scaling
            else None
        )
        if several and scaled is None:
            raise UsageError(
                f"Nothing says what several {noun} do together: {component} has no scaling.",
                "Add `scaling: {by: linear, because: …}`, or what was measured, to the configuration or the catalogue.",
            )
        alike.append(Alike(name, noun, count, scaled))
    return alike


def together(kind: RateKind, rates: Sequence[tuple[Alike, Rate | None]]) -> list[Ceiling]:
    """The ceilings of all of them together, the place of each as in those of one.

    Empty where the rate of one kind, or how it scales, is unknown. Raises `UsageError` where a table ends before.
    """
    known = [(parts, rate) for parts, rate in rates if rate is not None and _scales(parts, kind)]
    if not known or len(known) < len(rates):
        return []
    ceilings_of_each = [_all_alike(kind, parts, rate) for parts, rate in known]
    if len(ceilings_of_each) == 1:
        return ceilings_of_each[0]
    name = rate_name(kind)
    common = [
        ceiling.place
        for ceiling in ceilings_of_each[0]
        if all(_ceiling_at(others, ceiling.place) for others in ceilings_of_each[1:])
    ]
    sums = [
        Ceiling(
            place,
            total(
                f"{name} of the {place}",
                *(same.value for ceilings in ceilings_of_each if (same := _ceiling_at(ceilings, place)) is not None),
            ),
        )
        for place in common
    ]
    limits = [min(ceilings, key=lambda ceiling: ceiling.value.interval.nominal) for ceilings in ceilings_of_each]
    if len({limit.place for limit in limits}) == 1 and limits[0].place in common:
        return sums
    each = [
        lowest(f"{name} of all {parts.name}", *(ceiling.value for ceiling in ceilings))
        for (parts, _), ceilings in zip(known, ceilings_of_each, strict=True)
    ]
    place = " and ".join(f"{limit.place} of {parts.name}" for limit, (parts, _) in zip(limits, known, strict=True))
    return [*sums, Ceiling(place, total(f"{name} of all kinds", *each))]


def note(rates: Sequence[Alike]) -> str:
    """Notes for readers of a rate of all of them, as sentences."""
    linear = {
        rate.scaled.scaling.because
        for rate in rates
        if rate.count > 1 and rate.scaled is not None and rate.scaled.scaling.by == "linear"
    }
    sentences = [f"Scaled linearly: {because}" for because in sorted(filter(None, linear))]
    return " ".join([*sentences, *([_IN_PROPORTION] if len(rates) > 1 else [])])


def _scales(parts: Alike, kind: RateKind) -> bool:
    return parts.count == 1 or (parts.scaled is not None and has_points(parts.scaled.scaling, kind))


def _all_alike(kind: RateKind, parts: Alike, rate: Rate) -> list[Ceiling]:
    name, count = rate_name(kind), exactly(parts.noun, parts.count)
    ceilings = [
        Ceiling(ceiling.place, product(f"{name} of the {ceiling.place}", count, ceiling.value))
        for ceiling in rate.ceilings
    ]
    if parts.count == 1 or parts.scaled is None or parts.scaled.scaling.by == "linear":
        return ceilings
    times = multiple(parts.scaled.scaling, kind, parts.count, parts.scaled.sources, parts.scaled.folder)
    scaled = product(f"{name} as the {parts.noun} scale", times, rate.value)
    return [*ceilings, Ceiling(f"scaling over {parts.noun}", scaled)]


def _ceiling_at(ceilings: Sequence[Ceiling], place: str) -> Ceiling | None:
    return next((ceiling for ceiling in ceilings if ceiling.place == place), None)
