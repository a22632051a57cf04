"""What bricks, metadata modules and whole configurations do: the lowest ceiling on the path of each kind of I/O.

Not: what they hold (`capacity`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from ioassay.sizing.arithmetic import exactly, lowest, product
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, IoKind, MetadataKind
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.model import BrickChoice, BrickSize, Ceiling, ModuleSize, Rate, Rates
from ioassay.sizing.requirements import Condition


def brick_rates(
    catalogue: Catalogue, choice: BrickChoice, condition: Condition = "healthy", request_bytes: int | None = None
) -> Mapping[IoKind, Rate]:
    """What one brick does. `request_bytes` is the size of writes that reach RAID; `None` means full stripes."""
    brick = catalogue.find(choice.brick, Brick)
    found: dict[IoKind, Rate] = {}
    for kind in get_args(IoKind):
        ceilings = []
        each = catalogue.value(choice.drive, kind, f"{kind} rate of a drive")
        if each is not None:
            drives = exactly("data drives", brick.redundancy.groups * brick.redundancy.data)
            ceilings.append(Ceiling("drives", product(f"{kind} rate of the drives", drives, each)))
        measured = brick.measured.get(kind)
        if measured is not None:
            value = catalogue.number(
                measured.rate, f"{kind} rate of a brick", catalogue.entries[choice.brick], (choice.brick, kind)
            )
            ceilings.append(Ceiling(measured.limited_by or "brick as measured", value))
        if ceilings:
            found[kind] = Rate(kind, lowest(f"{kind} rate", *(one.value for one in ceilings)), tuple(ceilings))
    return found


def module_rates(catalogue: Catalogue, module: str) -> Mapping[MetadataKind, Rate]:
    """What one metadata module does."""
    found: dict[MetadataKind, Rate] = {}
    for kind in get_args(MetadataKind):
        value = catalogue.value(module, kind, f"{kind} rate of a metadata module")
        if value is not None:
            found[kind] = Rate(kind, value, (Ceiling("metadata modules", value),))
    return found


def configuration_rates(
    catalogue: Catalogue,
    configuration: Configuration,
    bricks: Mapping[BrickChoice, BrickSize],
    modules: Mapping[str, ModuleSize],
    condition: Condition = "healthy",
) -> Rates:
    """What all bricks and modules of a configuration do together, up to the clients."""
    rates: dict[str, Rate] = {}
    for choice, brick in bricks.items():
        counted = next(one for one in configuration.bricks if one.brick == choice.brick)
        for kind, rate in brick.rates[condition].items():
            count = exactly("bricks", counted.count)
            ceilings = tuple(Ceiling(one.place, product(one.place, count, one.value)) for one in rate.ceilings)
            rates[kind] = Rate(kind, lowest(f"{kind} rate", *(one.value for one in ceilings)), ceilings)
    return rates  # type: ignore[return-value]
