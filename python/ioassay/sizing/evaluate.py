"""A configuration → all that follows from it.

Not: how capacities (`capacity`) and rates (`rates`) are computed, times (`times`) and risks (`reliability`), choosing a
configuration (`search`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Value, exactly, product, total
from ioassay.sizing.capacity import brick_capacity
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Drive, MetadataModule
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.model import BrickChoice, BrickSize, Capacity, ModuleSize, Size
from ioassay.sizing.parts import Name, choice_of, currencies, parts_of, software_of, standing, whole_of
from ioassay.sizing.rates import brick_rates, configuration_rates, module_rates, scaling_used
from ioassay.sizing.requirements import Condition
from ioassay.systems.amounts import RACK_UNITS

_Key = Literal["power", "weight", "price"]


def evaluate(
    catalogue: Catalogue,
    name: str,
    configuration: Configuration,
    conditions: Sequence[Condition] = get_args(Condition),
) -> Size:
    """All that follows, rates in these conditions. Raises `UsageError` for what the catalogue does not have.

    Without conditions, bricks need not make one storage system: their joint rates are not computed.
    """
    counts = _counts(catalogue, configuration)
    if conditions:
        _refuse_other_software(catalogue, configuration)
    bricks = {choice: brick_size(catalogue, choice, configuration.request, conditions) for choice in counts}
    modules = {module: module_size(catalogue, module) for module in configuration.metadata}
    switches = configuration.switches

    def whole(key: _Key) -> Value | None:
        return _total_of_parts(
            key,
            [
                *((choice.brick, counts[choice], getattr(size, key)) for choice, size in bricks.items()),
                *((module, configuration.metadata[module], getattr(size, key)) for module, size in modules.items()),
                *(
                    (switch, count, catalogue.value(switch, key, f"{key} of {switch}"))
                    for switch, count in switches.items()
                ),
            ],
        )

    bought: list[Name] = [*counts, *configuration.metadata, *switches]
    used = {currency for part in bought for currency in currencies(catalogue, part)}
    heights = [
        *((choice.brick, counts[choice], size.rack_units) for choice, size in bricks.items()),
        *((module, configuration.metadata[module], size.rack_units) for module, size in modules.items()),
        *((switch, count, _height(catalogue, switch)) for switch, count in switches.items()),
    ]
    return Size(
        name=name,
        configuration=configuration,
        bricks=bricks,
        modules=modules,
        capacity=_capacity(counts, bricks),
        rates={
            condition: configuration_rates(catalogue, configuration, bricks, modules, condition)
            for condition in conditions
        },
        scaling=scaling_used(catalogue, configuration) if conditions else "",
        rack_units=_total_of_parts("rack units", heights),
        power=whole("power"),
        weight=whole("weight"),
        price=whole("price") if len(used) == 1 else None,
        currency=next(iter(used)) if len(used) == 1 else None,
    )


def _refuse_other_software(catalogue: Catalogue, configuration: Configuration) -> None:
    named: dict[str, str] = {}
    for name in (*(counted.brick for counted in configuration.bricks), *configuration.metadata):
        software = software_of(catalogue, name)
        if software is not None:
            named.setdefault(software, name)
    if len(named) > 1:
        (first_software, first), (second_software, second), *_ = named.items()
        raise UsageError(
            f"{first} is part of {first_software} and {second} of {second_software}; "
            "they do not make one storage system.",
            "Combine bricks and metadata modules of the same `software`.",
        )


def _counts(catalogue: Catalogue, configuration: Configuration) -> Mapping[BrickChoice, int]:
    counts: dict[BrickChoice, int] = {}
    for counted in configuration.bricks:
        choice = choice_of(catalogue, counted)
        if choice in counts:
            raise UsageError(f"{choice.name} is named twice.", "Write it once, with the sum of both counts.")
        counts[choice] = counted.count
    return counts


def brick_size(
    catalogue: Catalogue,
    choice: BrickChoice,
    request_bytes: int | None = None,
    conditions: Sequence[Condition] = get_args(Condition),
) -> BrickSize:
    """The capacity of one brick, its rates in these conditions, and the resources that it takes."""
    catalogue.find(choice.drive, Drive)
    parts = parts_of(catalogue, choice)
    return BrickSize(
        choice=choice,
        capacity=brick_capacity(catalogue, choice),
        rates={condition: brick_rates(catalogue, choice, condition, request_bytes) for condition in conditions},
        rack_units=_height(catalogue, choice),
        power=_sum(catalogue, "power", choice.brick, parts),
        weight=_sum(catalogue, "weight", choice.brick, parts),
        price=_sum(catalogue, "price", choice.brick, parts),
    )


def module_size(catalogue: Catalogue, name: str) -> ModuleSize:
    """The rates of one metadata module, and the resources that it takes."""
    catalogue.find(name, MetadataModule)
    parts = parts_of(catalogue, name)
    return ModuleSize(
        module=name,
        rates=module_rates(catalogue, name),
        rack_units=_height(catalogue, name),
        power=_sum(catalogue, "power", name, parts),
        weight=_sum(catalogue, "weight", name, parts),
        price=_sum(catalogue, "price", name, parts),
    )


def _capacity(counts: Mapping[BrickChoice, int], bricks: Mapping[BrickChoice, BrickSize]) -> Capacity:
    def added(what: str, values: Iterable[tuple[BrickChoice, Value]]) -> Value:
        return total(
            what,
            *(
                product(f"{what} of {choice.brick}", exactly("bricks", counts[choice]), value)
                for choice, value in values
            ),
        )

    return Capacity(
        raw=added("raw capacity", ((choice, size.capacity.raw) for choice, size in bricks.items())),
        protected=added("protected capacity", ((choice, size.capacity.protected) for choice, size in bricks.items())),
        usable=added("usable capacity", ((choice, size.capacity.usable) for choice, size in bricks.items())),
    )


def _height(catalogue: Catalogue, name: Name) -> Value | None:
    """The height of all boxes that stand in a rack; `None` where the height of one is unknown."""
    boxes = Counter(standing(catalogue, name))
    heights = [
        product(f"rack units of {box}", exactly(box, count), exactly(f"rack units of {box}", units, RACK_UNITS))
        for (box, units), count in boxes.items()
    ]
    return total(f"rack units of {whole_of(name)}", *heights) if heights else None


def _sum(catalogue: Catalogue, key: _Key, whole: str, parts: Mapping[str, int]) -> Value | None:
    """The amount of the whole as its catalogue states it, else of its parts; `None` where one of them is unknown."""
    figure = catalogue.value(whole, key, f"{key} of {whole}")
    if figure is not None:
        return figure
    values = [(name, n, catalogue.value(name, key, f"{key} of {name}")) for name, n in parts.items()]
    known = [product(f"{key} of {name}", exactly(name, n), value) for name, n, value in values if value is not None]
    return total(f"{key} of {whole}", *known) if known and len(known) == len(values) else None


def _total_of_parts(key: str, parts: Iterable[tuple[str, int, Value | None]]) -> Value | None:
    """The amount of all bricks, modules and switches together; `None` where one of them is unknown."""
    products = []
    for name, count, value in parts:
        if value is None:
            return None
        products.append(product(f"{key} of all {name}", exactly(name, count), value))
    return total(key, *products)
