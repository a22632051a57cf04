"""The ceilings of a brick for one kind of I/O, in the order of the path: from its drives to its network adapters.

A place has no ceiling where one of its components has no figure. Where neither the drives nor the brick have one, there
is no rate at all: what cables would carry says nothing of the disks behind them.

A measurement of the whole brick is a ceiling too, at the place that limited it. While a drive is rebuilt or a server is
down, one that was limited by what is now missing falls likewise, and so does one whose limit is unknown.

Not: what each place carries (`drives`, `enclosures`, `hosts`), several bricks (`together`).
"""

from __future__ import annotations

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Value, lowest, product
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, IoKind
from ioassay.sizing.failure_domains import survives
from ioassay.sizing.model import BrickChoice, Ceiling
from ioassay.sizing.rates.brick_io import BrickIo
from ioassay.sizing.rates.degraded import pace_of_rebuild, pace_without_server, servers_left
from ioassay.sizing.rates.drives import drive_ceilings
from ioassay.sizing.rates.enclosures import link_ceilings
from ioassay.sizing.rates.groups import groups_of
from ioassay.sizing.rates.hosts import SERVER_SIDE, host_ceilings
from ioassay.sizing.rates.work import is_random, work
from ioassay.sizing.requirements import Condition
from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S

_MEASURED = "brick as measured"


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
    drives = drive_ceilings(io)
    if not drives and kind not in brick.measured:
        return ()
    found = _with_measured(io, [*drives, *link_ceilings(io, drives), *host_ceilings(io)])
    _check_units(io, found)
    return tuple(found)


def _with_measured(io: BrickIo, hardware: list[Ceiling]) -> list[Ceiling]:
    """With what the whole brick was measured to do: at its place, or at the end."""
    measured = io.brick.measured.get(io.kind)
    if measured is None:
        return hardware
    name = f"{io.rate} of a brick as measured"
    entry = io.catalogue.entries[io.choice.brick]
    value = io.catalogue.number(measured.rate, name, entry, (io.choice.brick, io.kind))
    place = measured.limited_by or _MEASURED
    if io.pace is not None and place in (_MEASURED, "drives", io.work.place):
        value = product(f"{name}, degraded", io.pace, value)
    elif io.servers_left is not None and place in (_MEASURED, *SERVER_SIDE):
        value = product(f"{name}, failed over", io.servers_left, value)
    if all(one.place != place for one in hardware):
        return [*hardware, Ceiling(place, value)]
    return [_lower(one, value) if one.place == place else one for one in hardware]


def _lower(one: Ceiling, measured: Value) -> Ceiling:
    """The place as its parts are known and as it was measured; once where both are the same figure."""
    if one.value.interval == measured.interval:
        return Ceiling(one.place, measured)
    return Ceiling(one.place, lowest(one.value.name, one.value, measured))


def _check_units(io: BrickIo, found: list[Ceiling]) -> None:
    dimension = OPERATIONS_PER_S if is_random(io.kind) else BYTES_PER_S
    for one in found:
        if one.value.dimension != dimension:
            raise UsageError(
                f"{io.choice.name}: its {io.rate} at the {one.place} is in {one.value.dimension.unit}, "
                f"not in {dimension.unit}.",
                "Correct the figure in the catalogue.",
            )
