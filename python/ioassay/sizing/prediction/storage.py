"""The inputs of a prediction from a configuration: rates without clients, how far it divides, a client's link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from ioassay.sizing.arithmetic import Value, exactly
from ioassay.sizing.catalogue import Catalogue, number
from ioassay.sizing.components import Brick, Drive, IoKind, MetadataKind, MetadataModule, Redundancy, Server
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Rates
from ioassay.sizing.names import known_systems
from ioassay.sizing.parts import choice_of
from ioassay.sizing.quantities import Quantity
from ioassay.systems.model import Document

Curve = tuple[tuple[int, Value], ...]
"""Ranks, ascending, and the rate of each."""


@dataclass(frozen=True)
class Storage:
    """A configuration, as a prediction sees it."""

    rates: Rates
    """The rates of a healthy system, up to the network; without the links of clients."""
    link: Value | None
    """The rate of one client's link, in bytes/s; `None` where the configuration has no clients."""
    clients: int | None
    """How many there are."""
    groups: Value
    """The groups of drives that protect each other: a stripe lies in one of them."""
    drives: Value
    are_disks: bool
    """All drives are disks, which serve one request at a time."""
    stripe_bytes: int | None
    """Data of the largest full stripe or record, or what the configuration says that RAID gets; `None` where it is
    unknown, or nothing is striped."""
    memory_bytes: int | None
    """The memory of all servers together; `None` where the catalogue does not state that of one."""
    metadata_processes: Mapping[MetadataKind, int]
    """How many the rates of metadata were published of, as far as it is known."""
    curves: Mapping[IoKind, Curve]
    """The measured rates of one brick by the number of ranks, where a run is attached to it and all are alike."""


def storage(catalogue: Catalogue, name: str, configuration: Configuration, sources: Mapping[str, Document]) -> Storage:
    """The inputs from `configuration`; `sources` are those of its file. Raises `UsageError` as `evaluate` does."""
    clients = configuration.clients
    bricks = [(catalogue.find(brick.brick, Brick), brick.count) for brick in configuration.bricks]
    choices = [choice_of(catalogue, brick) for brick in configuration.bricks]
    stripes = [stripe for brick, _ in bricks if (stripe := _stripe_bytes(brick.redundancy))]
    return Storage(
        rates=evaluate(catalogue, name, configuration.model_copy(update={"clients": None})).rates["healthy"],
        link=number(clients.link, "link of a client", "link", sources) if clients else None,
        clients=clients.count if clients else None,
        groups=exactly("groups of drives", sum(count * brick.redundancy.groups for brick, count in bricks)),
        drives=exactly("drives", sum(count * brick.drive_count for brick, count in bricks)),
        are_disks=all(catalogue.find(choice.drive, Drive).media == "hdd" for choice in choices),
        stripe_bytes=configuration.request or max(stripes, default=None),
        memory_bytes=_memory_bytes(catalogue, bricks),
        metadata_processes=_metadata_processes(catalogue, configuration),
        curves=_curves(catalogue, configuration),
    )


def _curves(catalogue: Catalogue, configuration: Configuration) -> dict[IoKind, Curve]:
    if len(configuration.bricks) != 1:
        return {}
    name = configuration.bricks[0].brick
    runs = {
        kind: measured.rate
        for kind, measured in catalogue.find(name, Brick).measured.items()
        if measured.rate.run is not None
    }
    if not runs:
        return {}
    from ioassay.sizing.runs import measured_by_ranks  # noqa: PLC0415  (few catalogues have runs, which take a second)

    folder = catalogue.entries[name].folder
    return {kind: measured_by_ranks(quantity, kind, folder) for kind, quantity in runs.items()}


def _stripe_bytes(redundancy: Redundancy) -> int | None:
    match redundancy.layout:
        case "raid5" | "raid6" | "erasure":
            return redundancy.chunk * redundancy.data if redundancy.chunk else None
        case "raidz1" | "raidz2" | "raidz3" | "draid1" | "draid2" | "draid3":
            return redundancy.record
        case _:
            return None


def _memory_bytes(catalogue: Catalogue, bricks: list[tuple[Brick, int]]) -> int | None:
    memories = [
        (catalogue.find(server, Server).memory, number_of * count)
        for brick, count in bricks
        for server, number_of in brick.servers.items()
    ]
    known = [memory * count for memory, count in memories if memory is not None]
    return sum(known) if known and len(known) == len(memories) else None


def _metadata_processes(catalogue: Catalogue, configuration: Configuration) -> dict[MetadataKind, int]:
    """The number of processes for a single kind of module: each module was published with so many."""
    if len(configuration.metadata) != 1:
        return {}
    ((name, count),) = configuration.metadata.items()
    module = catalogue.find(name, MetadataModule)
    kinds: tuple[MetadataKind, ...] = get_args(MetadataKind)
    processes: dict[MetadataKind, int] = {}
    for kind in kinds:
        quantity: Quantity | None = getattr(module, kind)
        if quantity is not None and quantity.figure is not None:
            system, id = quantity.figure
            figure = known_systems()[system].figure(id)
            if figure is not None and figure.threads is not None:
                processes[kind] = figure.threads * count
    return processes
