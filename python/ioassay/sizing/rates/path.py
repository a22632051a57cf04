"""The ceilings of a brick for one kind of I/O, in the order of the path: from its drives to its network adapters.

A place has no ceiling where one of its components has no figure. Where neither the drives nor the brick have one, there
is no rate at all: what cables would carry says nothing of the disks behind them.

A measurement of the whole brick is a ceiling too, at the place that limited it: the one that it names, else the lowest
if that is as high. It refutes what was computed lower, often random writes, which caches merge: such places are left
out. While a drive is rebuilt or a server is down, one that was limited by what is now missing falls likewise, and so
does one whose limit is unknown.

Not: what each place carries (`drives`, `enclosures`, `hosts`), several bricks (`together`).
"""

from __future__ import annotations

from dataclasses import replace

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Value, lowest, product
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, IoKind, dimension_of
from ioassay.sizing.failure_domains import survives
from ioassay.sizing.model import BrickChoice, Ceiling
from ioassay.sizing.rates.brick_io import BrickIo
from ioassay.sizing.rates.degraded import pace_of_rebuild, pace_without_server, servers_left
from ioassay.sizing.rates.drives import drive_ceilings
from ioassay.sizing.rates.enclosures import link_ceilings
from ioassay.sizing.rates.groups import groups_of
from ioassay.sizing.rates.hosts import SERVER_SIDE, host_ceilings
from ioassay.sizing.rates.work import work
from ioassay.sizing.requirements import Condition

_MEASURED = "brick as measured"
_ASSUMED = "brick as assumed"
"""Where nobody measured or published the rate of the whole brick."""


def brick_ceilings(
    catalogue: Catalogue, choice: BrickChoice, kind: IoKind, condition: Condition, request_bytes: int | None
) -> tuple[Ceiling, ...]:
    """Every ceiling that is known; none where the brick does no I/O in that condition, or where too little is known.

    Raises `UsageError` for a component that is not in the catalogue and for a figure in the wrong unit.
    """
    brick = catalogue.find(choice.brick, Brick)
    groups = groups_of(catalogue, choice)
    pace = left = None
    if condition == "rebuilding":
        if groups.parity == 0:
            return ()
        pace = pace_of_rebuild(groups, kind)
    if condition == "failed_over":
        if survives(catalogue, choice).servers.count == 0:
            return ()
        pace, left = pace_without_server(brick, groups, kind), servers_left(brick)
    io = BrickIo(catalogue, choice, brick, groups, kind, work(groups, kind, request_bytes), pace, left)
    ceilings = _hardware(io)
    if kind in brick.measured:
        ceilings = _with_measured(io, ceilings)
    elif not drive_ceilings(io):
        return ()
    return tuple(ceilings)


def _hardware(io: BrickIo) -> list[Ceiling]:
    drives = drive_ceilings(io)
    ceilings = [*drives, *link_ceilings(io, drives), *host_ceilings(io)]
    for ceiling in ceilings:
        _check_unit(io, ceiling)
    return ceilings


def _with_measured(io: BrickIo, hardware: list[Ceiling]) -> list[Ceiling]:
    """With what the whole brick was measured to do, healthy and with full stripes: at its place, or at the end."""
    measured = io.brick.measured[io.kind]
    whole = _MEASURED if measured.rate.assumed is None else _ASSUMED
    name = f"{io.rate} of a {whole}"
    entry = io.catalogue.entries[io.choice.brick]
    value = io.catalogue.number(measured.rate, name, entry, (io.choice.brick, io.kind))
    _check_unit(io, Ceiling(whole, value))
    healthy = replace(io, work=work(io.groups, io.kind, None), pace=None, servers_left=None)
    usual = _hardware(healthy)
    refuted = {ceiling.place for ceiling in usual if ceiling.value.interval.high < value.interval.low}
    place = (
        measured.limited_by or _place_of(value, [ceiling for ceiling in usual if ceiling.place not in refuted]) or whole
    )
    if io.pace is not None and place in (whole, "drives", healthy.work.place):
        value = product(f"{name}, degraded", io.pace, value)
    elif io.servers_left is not None and place in (whole, *SERVER_SIDE):
        value = product(f"{name}, failed over", io.servers_left, value)
    left = [ceiling for ceiling in hardware if ceiling.place not in refuted]
    if all(ceiling.place != place for ceiling in left):
        return [*left, Ceiling(place, value)]
    return [_lower(ceiling, value) if ceiling.place == place else ceiling for ceiling in left]


def _place_of(measured: Value, usual: list[Ceiling]) -> str | None:
    """The lowest of the usual ceilings, if the measurement is as high."""
    least = min(usual, key=lambda ceiling: ceiling.value.interval.nominal, default=None)
    return least.place if least and least.value.interval.meets(measured.interval) else None


def _lower(ceiling: Ceiling, measured: Value) -> Ceiling:
    """The place as its parts are known and as it was measured; once where both are the same figure."""
    if ceiling.value.interval == measured.interval:
        return Ceiling(ceiling.place, measured)
    return Ceiling(ceiling.place, lowest(ceiling.value.name, ceiling.value, measured))


def _check_unit(io: BrickIo, ceiling: Ceiling) -> None:
    dimension = dimension_of(io.kind)
    if ceiling.value.dimension != dimension:
        raise UsageError(
            f"{io.choice.name}: its {io.rate} at the {ceiling.place} is in {ceiling.value.dimension.unit}, "
            f"not in {dimension.unit}.",
            "Correct the figure in the catalogue.",
        )
