"""Requirements as numbers, with the arithmetic that leads to them.

Not: what meets them (`problem`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import get_args

from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value, applied, difference, exactly, given, product, quotient, total
from ioassay.sizing.catalogue import number
from ioassay.sizing.components import IoKind, MetadataKind
from ioassay.sizing.models import accelerators_of, read_rate
from ioassay.sizing.rates.brick_io import over_link
from ioassay.sizing.rates.work import OPERATION, is_random
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.model import Need, in_tier
from ioassay.systems.amounts import BYTES, MONEY, SECONDS, Amount
from ioassay.text.units import format_count

DATA_KINDS = get_args(IoKind)
METADATA_KINDS = get_args(MetadataKind)
SEQUENTIAL = ("write", "read")


def needs(requirements: Requirements) -> tuple[Need, ...]:
    """The capacity and rates needed, then the limits; each key of `Need.what` at most once."""
    if requirements.tiers:
        needs = [need for tier in requirements.tiers for need in _needs_of_tier(requirements, tier)]
    else:
        needs = [*needs_of_clients(requirements)]
        if (usable := _usable(requirements)) is not None:
            needs.insert(0, Need("usable", usable))
    return (*needs, *_limits(requirements))


def needs_of_clients(requirements: Requirements) -> list[Need]:
    """The rates that clients get, whichever tier has the data."""
    rates = {kind: _required_rate(requirements, kind) for kind in (*DATA_KINDS, *METADATA_KINDS)}
    rates["write"] = _larger("required write rate", rates["write"], _checkpoint_rate(requirements))
    rates["read"] = _larger("required read rate", rates["read"], _accelerators_rate(requirements))
    return [Need(kind, value) for kind, value in rates.items() if value is not None]


def _needs_of_tier(requirements: Requirements, tier: str) -> Iterator[Need]:
    """The needs of one tier: its share of the work, and what moves from and to its neighbours."""
    names = list(requirements.tiers)
    position = names.index(tier)
    above, below = _tier_at(names, position - 1), _tier_at(names, position + 1)
    usable = _usable_of_tier(requirements, tier)
    if usable is not None:
        yield Need(in_tier(tier, "usable"), usable)
    takes_checkpoints = tier == requirements.checkpoint_tier
    for kind in (*DATA_KINDS, *METADATA_KINDS):
        name = f"required {kind.replace('_', ' ')} rate of {tier}"
        whole = _required_rate(requirements, kind)
        if kind == "read":
            whole = _larger("required read rate", whole, _accelerators_rate(requirements))
        rate = None if whole is None else _share(requirements, tier, kind, whole)
        moved: list[Value | None] = []
        if kind == "write":
            rate = _larger(
                f"write rate of clients to {tier}", rate, _checkpoint_rate(requirements) if takes_checkpoints else None
            )
            moved = [_down(requirements, above), _up(requirements, tier if below else None)]
        elif kind == "read":
            moved = [_down(requirements, tier if below else None), _up(requirements, above)]
        known = [value for value in (rate, *moved) if value is not None]
        if known:
            yield Need(in_tier(tier, kind), total(name, *known))


def _tier_at(names: Sequence[str], position: int) -> str | None:
    """The tier at a place in the order, if there is one."""
    return names[position] if 0 <= position < len(names) else None


def _share(requirements: Requirements, tier: str, kind: str, whole: Value) -> Value | None:
    """The part of a requirement that a tier takes; `None` where that is nothing."""
    shares: dict[str, Amount | None] = {
        name: getattr(share_of_tier, kind) for name, share_of_tier in requirements.tiers.items()
    }
    silent = [name for name, share in shares.items() if share is None]
    noun, of = f"{whole.name.removeprefix('required ')} of {tier}", f"{kind.replace('_', ' ')} share"
    own_share = shares[tier]
    if own_share is not None:
        share = given(f"{of} of {tier}", own_share)
    elif tier == silent[-1]:
        others = [
            given(f"{of} of {name}", other_share) for name, other_share in shares.items() if other_share is not None
        ]
        if not others:
            return whole.named(noun)
        share = difference(f"{of} of {tier}", exactly("whole", 1), *others)
    else:
        return None
    return product(noun, share, whole) if share.interval.nominal else None


def _usable_of_tier(requirements: Requirements, tier: str) -> Value | None:
    parts = []
    if requirements.usable is not None:
        beginning = given("usable capacity at the beginning", requirements.usable)
        data = _share(requirements, tier, "usable", _grown(requirements, beginning).named("usable capacity"))
        parts += [] if data is None else [data]
    held = requirements.checkpoints_held.get(tier, 0)
    if requirements.checkpoint is not None and held:
        size = given("size of a checkpoint", requirements.checkpoint.size)
        parts.append(product(f"checkpoints in {tier}", exactly("held there", held), size))
    return _capacity_to_hold(requirements, f"required usable capacity of {tier}", parts)


def _down(requirements: Requirements, tier: str | None) -> Value | None:
    """The rate of data from a tier down to the next one."""
    if tier is None:
        return None
    parts = []
    names, taking = list(requirements.tiers), requirements.checkpoint_tier
    if taking is not None and names.index(taking) <= names.index(tier):
        parts.append(_checkpoint_drain(requirements))
    if (drain := requirements.tiers[tier].drain) is not None:
        parts.append(given(f"other drain of {tier}", drain))
    return total(f"drain rate of {tier}", *parts) if parts else None


def _up(requirements: Requirements, tier: str | None) -> Value | None:
    """The rate of data up into a tier from the next one."""
    stage_in = None if tier is None else requirements.tiers[tier].stage_in
    return None if stage_in is None else given(f"stage-in of {tier}", stage_in)


def _checkpoint_drain(requirements: Requirements) -> Value:
    """The rate at which a checkpoint moves down before the next one needs its place."""
    checkpoint = requirements.checkpoint
    assert checkpoint is not None  # only then something takes it
    size = given("size of a checkpoint", checkpoint.size)
    if checkpoint.drained_in is not None:
        time = exactly("longest time of a drain", Fraction(checkpoint.drained_in), SECONDS)
    else:
        assert checkpoint.every is not None  # the model sees to it
        time = difference(
            "longest time of a drain",
            exactly("time between checkpoints", Fraction(checkpoint.every), SECONDS),
            exactly("longest time of a checkpoint", Fraction(checkpoint.longest), SECONDS),
            note="A checkpoint is drained before the next one begins.",
        )
    return quotient("drain rate of checkpoints", size, time)


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
    return _capacity_to_hold(requirements, "required usable capacity", parts)


def _capacity_to_hold(requirements: Requirements, name: str, parts: Sequence[Value]) -> Value | None:
    """The capacity that holds all of `parts` and is no fuller than it may be."""
    if not parts:
        return None
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
    if accelerators.read_each is not None:
        each = given("read rate of an accelerator", accelerators.read_each)
    else:
        assert accelerators.model is not None  # exactly one of them was checked
        goal = accelerators.utilisation
        utilisation = None if goal is None else given("utilisation", goal)
        each = read_rate(
            accelerators.model, accelerators.accelerator or accelerators_of(accelerators.model)[-1], utilisation
        )
    return product("read rate of the accelerators", exactly("accelerators", accelerators.count), each)


def _limits(requirements: Requirements) -> list[Need]:
    limits = requirements.limits
    needs = []
    if limits.racks is not None:
        needs.append(Need("racks", exactly("racks", limits.racks), is_most=True))
    if limits.power is not None:
        needs.append(Need("power", given("power", limits.power), is_most=True))
    if limits.weight_per_rack is not None:
        needs.append(Need("weight_per_rack", given("weight per rack", limits.weight_per_rack), is_most=True))
    if limits.budget is not None:
        needs.append(Need("budget", given("budget", limits.budget, MONEY), is_most=True))
    return needs


def clients_rates(requirements: Requirements) -> Mapping[str, Value]:
    """The rate of the links of all clients for each kind of I/O on data, in either direction; empty without clients."""
    clients = requirements.clients
    if clients is None:
        return {}
    link = number(clients.link, "link of a client", "link", {})
    together = product("rate of the clients", exactly("clients", clients.count), link)
    return {
        kind: over_link("rate of the clients", together, OPERATION if is_random(kind) else None) for kind in DATA_KINDS
    }


def _required_rate(requirements: Requirements, kind: str) -> Value | None:
    wish: Amount | None = getattr(requirements, kind)
    return None if wish is None else given(f"required {kind.replace('_', ' ')} rate", wish)


def _larger(name: str, *values: Value | None) -> Value | None:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return known[0].named(name) if known else None
    text = "the larger of both"
    return applied(name, max, *known, text=text, dimension=known[0].dimension)
