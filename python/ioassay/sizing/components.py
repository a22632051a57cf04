"""The keys of a catalogue for components and the bricks that are built of them: each once, with its meaning.

Not: where catalogues are (`catalogue`), what follows from them (`capacity`, `rates`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from ioassay.sizing.quantities import (
    Capacity,
    LinkRate,
    OperationRate,
    Overhead,
    Power,
    Price,
    Rate,
    Share,
    Tally,
    Throughput,
    Weight,
)
from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S, Dimension
from ioassay.systems.model import At, Document
from ioassay.text import units
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.values import Identifier, Kind, Prose, Size, between

IoKind = Literal["write", "read", "random_write", "random_read"]
"""Kinds of I/O on data. The first two are sequential and count bytes, the others are of 4 KiB and count operations."""

RANDOM_BYTES = 4096
"""The size of an operation of `random_write` and `random_read`."""


MetadataKind = Literal["create", "stat", "read_files", "remove"]
"""Kinds of operations on empty files. `read_files` opens, reads and closes."""

RateKind = Literal[IoKind, MetadataKind]


def dimension_of(kind: str) -> Dimension:
    """The unit of rates of a kind, a `RateKind`, for each second: bytes of sequential I/O, else operations."""
    return BYTES_PER_S if kind in ("write", "read") else OPERATIONS_PER_S


Layout = Literal[
    "none", "mirror", "raid10", "raid5", "raid6", "raidz1", "raidz2", "raidz3", "draid1", "draid2", "draid3", "erasure"
]


LARGEST_COUNT = 100_000
"""More than any system has of anything; beyond it answers take minutes."""

Count = Annotated[int, between(units.parse_count, 1, LARGEST_COUNT), Kind("whole number")]
CountOrZero = Annotated[int, between(units.parse_count, 0, LARGEST_COUNT), Kind("whole number")]


class Component(Part):
    """The keys of all components."""

    title: Prose = Field(description="What it is, in a line.")
    at: At | None = Field(default=None, description="Where its hardware is described.")
    assumed: Prose | None = Field(default=None, description="Why its counts are as they are, where no source has them.")
    rack_units: Count | None = Field(
        default=None, description="Height in a rack; of a brick or module instead of its parts'."
    )
    power: Power | None = Field(
        default=None, description="Electrical power at most; of a brick or module instead of its parts'."
    )
    weight: Weight | None = Field(default=None, description="Weight; of a brick or module instead of its parts'.")
    price: Price | None = Field(default=None, description="Price; of a brick or module instead of its parts'.")


class Drive(Component):
    """A disk, an SSD or an NVMe device."""

    media: Literal["hdd", "ssd", "nvme"] = Field(description="What kind of drive.")
    capacity: Capacity = Field(description="Its size, in decimal units as vendors print it.")
    write: Throughput | None = Field(default=None, description="Sequential write rate.")
    read: Throughput | None = Field(default=None, description="Sequential read rate.")
    random_write: OperationRate | None = Field(default=None, description="Random writes of 4 KiB.")
    random_read: OperationRate | None = Field(default=None, description="Random reads of 4 KiB.")
    annual_failure_rate: Share | None = Field(default=None, description="Share of drives that fail in a year.")
    read_error_every: Capacity | None = Field(
        default=None,
        description="Bytes read per unreadable sector: `125TB` for one in 10^15 bits.",
    )


class Enclosure(Component):
    """A box of drives."""

    slots: Count = Field(description="Drives that it takes.")
    link: LinkRate | None = Field(
        default=None,
        description="All lanes between it and its RAID controller or server; without it they limit nothing.",
    )


class Controller(Component):
    """A RAID controller, or a pair of them that take over for each other."""

    units: Count = Field(
        default=1, description="Controllers of a pair or group; one of them may fail if there are more."
    )
    write: Throughput | None = Field(default=None, description="Sequential writes of full stripes, all units together.")
    read: Throughput | None = Field(default=None, description="Sequential reads, all units together.")
    random_write: OperationRate | None = Field(default=None, description="Random writes of 4 KiB, all units together.")
    random_read: OperationRate | None = Field(default=None, description="Random reads of 4 KiB, all units together.")
    ports: Count | None = Field(default=None, description="Host ports.")
    link: LinkRate | None = Field(default=None, description="A host port, all its lanes.")


class Adapter(Component):
    """A SAS adapter (HBA) or a network adapter (NIC, HCA)."""

    side: Literal["storage", "network"] = Field(description="Which way it leads from the server.")
    ports: Count = Field(default=1, description="Ports in use.")
    link: LinkRate = Field(description="A port, as it is sold: `56Gbit/s`.")
    encoding: Share | None = Field(
        default=None, description="The share of it that line encoding leaves: `64/66` is 97%."
    )
    pcie: LinkRate | None = Field(default=None, description="Its slot, all lanes.")


class Server(Component):
    """A server of a brick."""

    memory: Size | None = Field(default=None, description="Memory: what is cached there was not measured on drives.")
    write: Throughput | None = Field(default=None, description="The most that it was seen to write.")
    read: Throughput | None = Field(default=None, description="The most that it was seen to read.")


class Switch(Component):
    """A network switch."""

    ports: Count = Field(description="Ports.")
    link: LinkRate = Field(description="A port.")


class Rack(Component):
    """A rack."""

    units: Count = Field(description="Its height in rack units.")
    most_power: Power | None = Field(default=None, description="What it may draw.")
    most_weight: Weight | None = Field(default=None, description="What it may carry.")


class FileSystem(Component):
    """The overhead of a file system on the bytes that it is made on."""

    overhead: Overhead | None = Field(
        default=None, description="What it takes for itself; without it, what is known of the file system of this name."
    )
    also: list[Prose] = Field(default=[], description="What else it is called, for those who look for it.")
    largest_target: Capacity | None = Field(
        default=None,
        description="The largest group or pool on which it is supported; bricks of larger ones are left out.",
    )
    most_targets: Tally | None = Field(
        default=None, description="How many of them one file system takes, such as object storage targets of Lustre."
    )
    most_stripes: Tally | None = Field(default=None, description="Over how many targets one file can be striped.")


class Redundancy(Part):
    """How drives protect each other: equal groups, each with its parity."""

    layout: Layout = Field(description="The method. `erasure`: pieces on different drives or nodes.")
    data: Count = Field(
        default=1, description="Data drives (pieces) of a group; of dRAID data in a stripe; of a mirror 1."
    )
    parity: Count | None = Field(default=None, description="Parity drives of a group; of a mirror its further copies.")
    groups: Count = Field(description="Groups of a brick.")
    spares: CountOrZero = Field(
        default=0, description="Drives of a brick that wait for others to fail; with `children`, of a group."
    )
    children: Count | None = Field(
        default=None,
        description="Of dRAID, and of erasure codes whose stripes are spread over more drives than they have pieces: "
        "the drives of a group, spares included.",
    )
    spread_over: Literal["enclosures", "servers"] | None = Field(
        default=None,
        description="The drives of each stripe are distributed evenly over these; without it each group lies within "
        "one enclosure, if it fits.",
    )
    chunk: Size | None = Field(default=None, description="Bytes on a drive before the next follows (segment, strip).")
    record: Size | None = Field(default=None, description="Of raidz and dRAID: the record size; padding depends on it.")
    sector: Size | None = Field(
        default=None, description="Of raidz and dRAID: 1 << ashift; `4k` where it is not given."
    )


Counts = dict[Identifier, Count]
"""How many of each component, by its name in the catalogue."""


MOST_POINTS = 100
"""The most points of a kind of I/O in a scaling; a law is fitted to them many times."""


class ScalingPoint(Part):
    """The rate of a number of bricks together."""

    count: Count = Field(description="How many bricks or modules.")
    rate: Rate = Field(description="What they did together.")


class Scaling(Part):
    """The rate of several bricks together, from that of one."""

    by: Literal["linear", "table", "law"] = Field(
        description="`linear`: so many times as much, because you say so. `table`: measured multiples, nothing beyond "
        "them. `law`: the Universal Scalability Law, fitted to measured points."
    )
    because: Prose | None = Field(default=None, description="Why `linear`.")
    points: dict[RateKind, list[ScalingPoint]] = Field(default={}, description="What was measured, for each kind.")

    def with_runs_in(self, folder: Path) -> Self:
        """The same, and the paths of its runs are absolute; those written were relative to `folder`."""
        points = {
            kind: [point.model_copy(update={"rate": point.rate.with_run_in(folder)}) for point in several]
            for kind, several in self.points.items()
        }
        return self.model_copy(update={"points": points})

    @model_validator(mode="after")
    def _rests_on_something(self) -> Self:
        if self.by == "linear" and (self.because is None or self.points):
            raise ValueError("is linear without a reason, or with points; give `because`, and no `points`")
        if self.by != "linear" and not self.points:
            raise ValueError("has no points; add what was measured, or scale `linear` and say why")
        for kind, points in self.points.items():
            counts = [point.count for point in points]
            if not 1 <= len(counts) <= MOST_POINTS:
                raise ValueError(f"has {len(counts)} points of {kind}; give 1 to {MOST_POINTS}")
            if len(set(counts)) < len(counts):
                raise ValueError(f"has several points of {kind} with the same count; keep one of each")
        return self


Place = Literal[
    "drives",
    "links of the enclosures",
    "RAID controllers",
    "host ports of the RAID controllers",
    "SAS adapters",
    "servers",
    "network adapters",
]
"""A place on the path of an I/O within a brick, from the drives to the network."""


class MeasuredRate(Part):
    """The measured rate of a whole brick."""

    rate: Rate = Field(description="The rate.")
    limited_by: Place | None = Field(
        default=None,
        description="What the measurement shows to have limited it. While a server is down, the rate falls if that was "
        "on the server's side, or is not known.",
    )


_SOFTWARE = (
    "What makes bricks and metadata modules one storage system: `lustre`, `gpfs`, `beegfs`, `onefs`, `nfs`. Those of "
    "different software are never combined; without it, it goes with any."
)


class Brick(Component):
    """A unit that is bought and added as a whole: drives, what holds and protects them, and servers."""

    drives: list[Identifier] = Field(min_length=1, description="The drive; of several, each makes a brick of its own.")
    drive_count: Count = Field(description="Drives of a brick.")
    redundancy: Redundancy = Field(description="How they protect each other.")
    software: Identifier | None = Field(default=None, description=_SOFTWARE)
    file_system: Identifier | None = Field(default=None, description="The file system on each group or pool.")
    enclosures: Counts = Field(default={}, description="Enclosures, the first nearest to the controllers.")
    controllers: Counts = Field(default={}, description="RAID controllers.")
    adapters: Counts = Field(default={}, description="Adapters of all its servers together.")
    servers: Counts = Field(default={}, description="Servers. With two or more, others take over for one.")
    measured: dict[IoKind, MeasuredRate] = Field(default={}, description="What the whole brick was measured to do.")
    scaling: Scaling | None = Field(default=None, description="What several of them do together.")


class MetadataModule(Component):
    """A unit that serves metadata: names, attributes, locks."""

    software: Identifier | None = Field(default=None, description=_SOFTWARE)
    parts: Counts = Field(default={}, description="Enclosures, drives, servers and adapters that it is built of.")
    create: OperationRate | None = Field(default=None, description="Creations of empty files.")
    stat: OperationRate | None = Field(default=None, description="Queries of attributes.")
    read_files: OperationRate | None = Field(default=None, description="Opening, reading and closing of empty files.")
    remove: OperationRate | None = Field(default=None, description="Removals.")
    scaling: Scaling | None = Field(default=None, description="What several of them do together.")


class CatalogueFile(Part):
    """Components, and where their figures come from."""

    name: Identifier = Field(description="What the catalogue is called.")
    title: Prose = Field(description="What is in it.")
    sources: dict[Identifier, Document] = Field(default={}, description="Where figures are printed, under short names.")
    drives: dict[Identifier, Drive] = Field(default={}, description="Drives.")
    enclosures: dict[Identifier, Enclosure] = Field(default={}, description="Enclosures.")
    controllers: dict[Identifier, Controller] = Field(default={}, description="RAID controllers.")
    adapters: dict[Identifier, Adapter] = Field(default={}, description="Adapters.")
    servers: dict[Identifier, Server] = Field(default={}, description="Servers.")
    switches: dict[Identifier, Switch] = Field(default={}, description="Switches.")
    racks: dict[Identifier, Rack] = Field(default={}, description="Racks.")
    file_systems: dict[Identifier, FileSystem] = Field(default={}, description="File systems.")
    bricks: dict[Identifier, Brick] = Field(default={}, description="Bricks.")
    metadata: dict[Identifier, MetadataModule] = Field(default={}, description="Metadata modules.")
