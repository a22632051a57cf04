"""The rates of bricks, metadata modules and whole configurations: the lowest ceiling on the path of each kind of I/O.

    groups      drives that protect each other
    raid_writes full stripes, read-modify-write, reconstruct-write
    work        what drives do for each byte or operation that is asked for
    degraded    what is left while a drive is rebuilt or a server is down
    brick_io    a brick and the kind of I/O that it does
    drives      drives, and what RAID asks of them
    enclosures  links of enclosures
    hosts       RAID controllers, SAS adapters, servers, network adapters
    path        all ceilings of a brick
    scaling     what several of them do together
    together    several bricks, also of several kinds
    network     switches and clients
    names       what rates are called

Not: what they hold (`capacity`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from ioassay.sizing.arithmetic import lowest
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import IoKind, MetadataKind, RateKind
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.model import BrickChoice, BrickSize, Ceiling, ModuleSize, Rate, Rates
from ioassay.sizing.parts import choice_of
from ioassay.sizing.rates.names import rate_name
from ioassay.sizing.rates.network import network_ceilings
from ioassay.sizing.rates.path import brick_ceilings
from ioassay.sizing.rates.scaling import multiple, words
from ioassay.sizing.rates.together import Alike, alike, note, together
from ioassay.sizing.rates.work import OPERATION, is_random
from ioassay.sizing.requirements import Condition

__all__ = ["brick_rates", "configuration_rates", "module_rates", "multiple", "rate_name", "scaling_used"]


def brick_rates(
    catalogue: Catalogue, choice: BrickChoice, condition: Condition = "healthy", request_bytes: int | None = None
) -> Mapping[IoKind, Rate]:
    """The rates of one brick. `request_bytes` is the size of writes that reach RAID; `None` means full stripes.

    Empty where it does nothing in that condition (`degraded`). Raises `UsageError` for what the catalogue does not
    have, and for a figure in the wrong unit.
    """
    ceilings = {kind: brick_ceilings(catalogue, choice, kind, condition, request_bytes) for kind in get_args(IoKind)}
    return {kind: _rate(kind, several) for kind, several in ceilings.items() if several}


def module_rates(catalogue: Catalogue, module: str) -> Mapping[MetadataKind, Rate]:
    """The rates of one metadata module, as measured or published: they are not computed from its parts."""
    values = {
        kind: catalogue.value(module, kind, f"{rate_name(kind)} of a metadata module")
        for kind in get_args(MetadataKind)
    }
    return {
        kind: Rate(kind, value, (Ceiling("metadata modules", value),))
        for kind, value in values.items()
        if value is not None
    }


def configuration_rates(
    catalogue: Catalogue,
    configuration: Configuration,
    bricks: Mapping[BrickChoice, BrickSize],
    modules: Mapping[str, ModuleSize],
    condition: Condition = "healthy",
) -> Rates:
    """The rates of all bricks and modules of a configuration together, up to the clients.

    Metadata modules have no network of their own here, and the same rates in each condition, which is that of bricks.
    Raises `UsageError` where there are several bricks or modules and nothing says how they scale, or a table of
    measured multiples ends before, and where the switches have too few ports.
    """
    data, metadata = _bricks(catalogue, configuration), _modules(catalogue, configuration)
    chosen = [bricks[choice_of(catalogue, counted)] for counted in configuration.bricks]
    rates: dict[RateKind, Rate] = {}
    for kind in get_args(IoKind):
        limits = together(
            kind,
            [(alike_bricks, size.rates[condition].get(kind)) for alike_bricks, size in zip(data, chosen, strict=True)],
        )
        if limits:
            unit = OPERATION if is_random(kind) else None
            limits += network_ceilings(catalogue, configuration, rate_name(kind), unit)
            rates[kind] = _rate(kind, limits, note(data))
    for kind in get_args(MetadataKind):
        if limits := together(
            kind, [(alike_modules, modules[alike_modules.name].rates.get(kind)) for alike_modules in metadata]
        ):
            rates[kind] = _rate(kind, limits, note(metadata))
    return rates


def scaling_used(catalogue: Catalogue, configuration: Configuration) -> str:
    """The law that takes one brick to many, as a clause: `linear, because …`; where there is one only, that.

    Raises `UsageError` where nothing says it.
    """
    clauses: dict[str, list[str]] = {}
    for alike_ones in (_bricks(catalogue, configuration), _modules(catalogue, configuration)):
        if sum(alike_bricks.count for alike_bricks in alike_ones) > 1:
            for alike_bricks in alike_ones:
                assert alike_bricks.scaled is not None  # `alike` sees to it
                clauses.setdefault(words(alike_bricks.scaled.scaling), []).append(alike_bricks.name)
    if len(clauses) < 2:
        return next(iter(clauses), "none, there is one brick")
    return "; ".join(f"{' and '.join(names)}: {clause}" for clause, names in clauses.items())


def _bricks(catalogue: Catalogue, configuration: Configuration) -> list[Alike]:
    counts = [
        (f"{brick.brick} with {brick.drive}" if brick.drive else brick.brick, brick.brick, brick.count)
        for brick in configuration.bricks
    ]
    return alike(catalogue, counts, "bricks", configuration.scaling)


def _modules(catalogue: Catalogue, configuration: Configuration) -> list[Alike]:
    counts = [(name, name, count) for name, count in configuration.metadata.items()]
    return alike(catalogue, counts, "metadata modules", configuration.scaling)


def _rate(kind: RateKind, ceilings: Sequence[Ceiling], note: str = "") -> Rate:
    if len(ceilings) == 1:
        return Rate(
            kind, replace(ceilings[0].value, name=rate_name(kind), note=note or ceilings[0].value.note), tuple(ceilings)
        )
    return Rate(kind, lowest(rate_name(kind), *(ceiling.value for ceiling in ceilings), note=note), tuple(ceilings))
