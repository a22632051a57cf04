"""Requirements as numbers, with the arithmetic that leads to them.

Not: what meets them (`problem`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import get_args

from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value, applied, exactly, given, product, quotient, total
from ioassay.sizing.catalogue import number
from ioassay.sizing.components import IoKind, MetadataKind
from ioassay.sizing.rates.brick_io import over_link
from ioassay.sizing.rates.work import OPERATION, is_random
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.model import Need
from ioassay.systems.amounts import BYTES, MONEY, SECONDS, Amount
from ioassay.units import format_count

DATA_KINDS = get_args(IoKind)
METADATA_KINDS = get_args(MetadataKind)
SEQUENTIAL = ("write", "read")


def needs(requirements: Requirements) -> tuple[Need, ...]:
    """What must be held and done, then what must not be exceeded; each key of `Need.what` at most once."""
    rates = {kind: _wished(requirements, kind) for kind in (*DATA_KINDS, *METADATA_KINDS)}
    rates["write"] = _larger("required write rate", rates["write"], _checkpoint_rate(requirements))
    rates["read"] = _larger("required read rate", rates["read"], _accelerators_rate(requirements))
    found = {"usable": _usable(requirements), **rates}
    return (*(Need(what, value) for what, value in found.items() if value is not None), *_limits(requirements))


def _usable(requirements: Requirements) -> Value | None:
    """Data after the years of growth and the checkpoints that are kept beside them, over how full it may become.

    Checkpoints neither grow nor are they part of `usable`, which is what there is to begin with.
    """
    parts = []
    if requirements.usable is not None:
        parts.append(_grown(requirements, given("usable capacity at the beginning", requirements.usable)))
    if (checkpoint := requirements.checkpoint) is not None:
        kept, size = exactly("kept checkpoints", checkpoint.kept), given("size of a checkpoint", checkpoint.size)
        parts.append(product("kept checkpoints", kept, size))
    if not parts:
        return None
    name = "required usable capacity"
    held = total(name, *parts)
    if requirements.fill is None:
        return held
    return quotient(name, held.named("data"), given("share that may be filled", requirements.fill))


def _grown(requirements: Requirements, beginning: Value) -> Value:
    growth = requirements.growth
    if growth is None:
        return beginning
    return applied(
        f"usable capacity after {format_count(growth.years, 'year')}",
        lambda size, share, years: size * (1 + share) ** int(years),
        beginning,
        given("growth per year", growth.per_year),
        exactly("years", growth.years),
        text=f"{formulas.brief(beginning)} × (1 + {growth.per_year.text})^{growth.years}",
        dimension=BYTES,
    )


def _checkpoint_rate(requirements: Requirements) -> Value | None:
    checkpoint = requirements.checkpoint
    if checkpoint is None:
        return None
    longest = exactly("longest time of a checkpoint", Fraction(checkpoint.longest), SECONDS)
    return quotient("write rate of checkpoints", given("size of a checkpoint", checkpoint.size), longest)


def _accelerators_rate(requirements: Requirements) -> Value | None:
    accelerators = requirements.accelerators
    if accelerators is None:
        return None
    each = given("read rate of an accelerator", accelerators.read_each)
    return product("read rate of the accelerators", exactly("accelerators", accelerators.count), each)


def _limits(requirements: Requirements) -> list[Need]:
    limits = requirements.limits
    found = []
    if limits.racks is not None:
        found.append(Need("racks", exactly("racks", limits.racks), is_most=True))
    if limits.power is not None:
        found.append(Need("power", given("power", limits.power), is_most=True))
    if limits.weight_per_rack is not None:
        found.append(Need("weight_per_rack", given("weight per rack", limits.weight_per_rack), is_most=True))
    if limits.budget is not None:
        found.append(Need("budget", given("budget", limits.budget, MONEY), is_most=True))
    return found


def clients_rates(requirements: Requirements) -> Mapping[str, Value]:
    """What the links of all clients carry of each kind of I/O on data, in either direction; empty without clients."""
    clients = requirements.clients
    if clients is None:
        return {}
    link = number(clients.link, "link of a client", "link", {})
    together = product("rate of the clients", exactly("clients", clients.count), link)
    return {
        kind: over_link("rate of the clients", together, OPERATION if is_random(kind) else None) for kind in DATA_KINDS
    }


def _wished(requirements: Requirements, kind: str) -> Value | None:
    wish: Amount | None = getattr(requirements, kind)
    return None if wish is None else given(f"required {kind.replace('_', ' ')} rate", wish)


def _larger(name: str, *values: Value | None) -> Value | None:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return known[0].named(name) if known else None
    text = "the larger of both"
    return applied(name, max, *known, text=text, dimension=known[0].dimension)
