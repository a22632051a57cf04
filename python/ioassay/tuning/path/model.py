"""The path of an I/O: steps with their limits, and layers, which are steps with requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ioassay.text.node_sets import folded
from ioassay.text.units import format_bytes
from ioassay.tuning.path.parity import RaidWork, StripeWrite
from ioassay.tuning.path.requests import Request
from ioassay.tuning.system import Array

Kind = Literal[
    "application", "cache", "layout", "rpc", "server", "file system", "volume", "queue", "adapter", "raid", "disk"
]
"""The kind of a layer. `layout`: striping over servers. `volume`: multipath, LVM, MD and other stacked devices."""

Operation = Literal["write", "read"]


@dataclass(frozen=True)
class Transfer:
    """The I/O of the application, as far as it is known."""

    size_bytes: int | None = None
    """The size of each call. `None`: not known; the size of an RPC is taken, or else 1 MiB."""
    operation: Operation = "write"
    is_direct: bool = False
    """O_DIRECT: nothing joins requests in a page cache."""
    offset_bytes: int = 0
    """Where in the file the first one begins."""


@dataclass(frozen=True)
class Limit:
    """The most that a layer takes in one request, or the boundaries that no request crosses there."""

    size_bytes: int
    parameter: str
    """`max_sectors_kb`."""
    value: str
    """As the parameter is written: `512`."""
    reason: str
    """A clause that follows "because": "max_sectors_kb of sdb is 512"."""
    source: str
    """The file or command that says so, `/sys/block/sdb/queue/max_sectors_kb`, or "given by --raid"."""
    is_boundary: bool = False
    """Requests are cut at multiples of the size rather than counted from their start."""

    @property
    def text(self) -> str:
        """The parameter with its value: `max_sectors_kb 512`."""
        return f"{self.parameter} {self.value}"


@dataclass(frozen=True)
class Step:
    """A layer before anything goes through it: what it does to requests."""

    kind: Kind
    name: str
    """`block queue`."""
    subject: str = ""
    """The device, mount or target: `sdb`."""
    host: str = ""
    limits: tuple[Limit, ...] = ()
    ineffective_limits: tuple[Limit, ...] = ()
    """Limits that are larger than one of the next step that the kernel applies together with them."""
    best_bytes: int | None = None
    """The most that it takes where memory is contiguous, if that is more than `limits` say."""
    gathers_bytes: int = 0
    """Requests that follow one another are joined here, and this is as much as the layers below take at once."""
    joins_less: Limit | None = None
    """The setting that keeps it from joining as much as the layer below takes."""
    shift_bytes: int = 0
    """Where what lies above begins on this layer: the start of a partition, the offset of a RAID's data."""
    striping: Array | None = None
    """It spreads requests over members in chunks."""
    alignment_bytes: int | None = None
    """Boundaries that requests should begin at."""
    alignment_source: str = ""
    notes: tuple[str, ...] = ()

    @property
    def all_limits(self) -> tuple[Limit, ...]:
        """Limits, whether or not they come into effect."""
        return (*self.limits, *self.ineffective_limits)

    @property
    def capacity_bytes(self) -> int | None:
        """The most that it passes on in one request; `None` without a limit."""
        return min((limit.size_bytes for limit in self.limits), default=None)


@dataclass(frozen=True)
class Layer:
    """A layer with the requests that leave it."""

    step: Step
    arriving: tuple[Request, ...]
    requests: tuple[Request, ...]
    """The requests that leave it, in the order of the file."""
    split_into: int
    """The most requests that it makes of one that arrives; 1 where it splits none."""

    @property
    def name(self) -> str:
        """`block queue`."""
        return self.step.name

    @property
    def title(self) -> str:
        """The name as a sentence begins with it; file systems are written as they are."""
        return self.name if self.kind == "file system" else self.name[:1].upper() + self.name[1:]

    @property
    def kind(self) -> Kind:
        return self.step.kind

    @property
    def subject(self) -> str:
        """The device, mount or target."""
        return self.step.subject

    @cached_property
    def arriving_bytes(self) -> int:
        """The largest request that arrives."""
        return max((request.size_bytes for request in self.arriving), default=0)

    @cached_property
    def request_bytes(self) -> int:
        """The largest request that leaves."""
        return max((request.size_bytes for request in self.requests), default=0)

    @property
    def is_split(self) -> bool:
        """Whether a limit splits requests here; spreading them over members is none."""
        return self.split_into > 1 and any(limit.size_bytes < self.arriving_bytes for limit in self.step.limits)

    @property
    def is_spread(self) -> bool:
        """Whether requests are spread over several members here."""
        return self.step.striping is not None and self.split_into > 1

    @property
    def limits(self) -> list[Limit]:
        """The limits that a request exceeds here, the smallest first."""
        return self.exceeded_by(self.arriving_bytes)

    @property
    def limit(self) -> Limit | None:
        """The limit that causes the split."""
        return self.limits[0] if self.is_split and self.limits else None

    def exceeded_by(self, size_bytes: int) -> list[Limit]:
        """The limits that a request of this size would exceed, the smallest first."""
        return sorted(
            (limit for limit in self.step.limits if limit.size_bytes < size_bytes), key=lambda limit: limit.size_bytes
        )

    @property
    def source(self) -> str:
        """Where the size of its requests comes from."""
        if self.limit is not None:
            return self.limit.source
        if self.step.striping is not None and self.is_spread:
            return self.step.alignment_source
        smallest = min(self.step.limits, key=lambda limit: limit.size_bytes, default=None)
        if smallest is not None and smallest.size_bytes == self.request_bytes:
            return smallest.source
        return "computed"

    @property
    def alignment_bytes(self) -> int | None:
        """Boundaries that requests should begin at."""
        return self.step.alignment_bytes

    @cached_property
    def offset_bytes(self) -> int:
        """By how much the file's beginning misses these boundaries."""
        if not self.alignment_bytes or not self.arriving:
            return 0
        first = self.arriving[0]
        begin = first.address_bytes + self.step.shift_bytes - first.offset_bytes % self.alignment_bytes
        return begin % self.alignment_bytes

    @property
    def is_misaligned(self) -> bool:
        """Whether what lies above begins beside the boundaries of this layer."""
        return self.offset_bytes != 0

    @property
    def note(self) -> str:
        """Further facts about the layer, in sentences."""
        return " ".join(self.step.notes)


@dataclass(frozen=True)
class IoPath:
    """The way of requests from the application to the disk, for devices that are alike."""

    transfer: Transfer
    transfer_bytes: int
    assumption: str
    """A sentence on where `transfer_bytes` comes from; empty where it was given."""
    hosts: tuple[str, ...]
    devices: tuple[str, ...]
    """The devices with this path, those that file systems lie on; empty where the path ends at the network."""
    disks: tuple[str, ...]
    """The devices at its end, those that an adapter or controller serves; paths of multipath devices among them."""
    targets: tuple[str, ...]
    """The object storage targets or mount points on the devices."""
    volume_names: tuple[tuple[str, ...], ...]
    """The devices that are alike, for each layer that is a stacked device: `dm-0`, `md0`."""
    layers: tuple[Layer, ...]
    stripe_writes: tuple[StripeWrite, ...]
    """The work of the array for the requests that are shown; empty for reads, or without an array."""
    work: RaidWork | None
    """Its work for as many requests as it takes until the pattern repeats."""
    array: Array | None
    file_system_stripe_bytes: int | None
    """The stripe that the file system lays files out for; `None` where none is known."""
    unknown: tuple[str, ...]
    """Facts that could not be determined, in sentences."""
    alike_hosts: tuple[str, ...] = ()
    """All hosts with this path, of which `representative` is the first: clients, or else servers."""
    reads_alike: bool = False
    """Only of writes: whether reads meet the same limits, so that their path is not shown."""

    @property
    def size_bytes(self) -> int:
        """The part of the file that is shown."""
        last = max((request.end_bytes for layer in self.layers for request in layer.requests), default=0)
        return last - self.transfer.offset_bytes

    @property
    def first_split(self) -> Layer | None:
        """The first layer that splits requests because of a limit."""
        return next((layer for layer in self.layers if layer.is_split), None)

    @property
    def splits(self) -> list[Layer]:
        """The layers that split requests because of a limit."""
        return [layer for layer in self.layers if layer.is_split]

    def volumes(self, layer: Layer) -> tuple[str, ...]:
        """The devices of a layer that is a stacked device."""
        places = [layer for layer in self.layers if layer.kind == "volume"]
        return self.volume_names[places.index(layer)]

    def causes(self, split: Layer) -> list[Limit]:
        """All limits that would leave the same pieces: raising only one of them would not help."""
        return [limit for limit in self._limits_from(split) if limit.size_bytes == split.request_bytes]

    def next_limit(self, split: Layer) -> Limit | None:
        """The smallest limit that the unsplit request would exceed if `causes` were raised."""
        larger = [limit for limit in self._limits_from(split) if limit.size_bytes > split.request_bytes]
        return min(larger, key=lambda limit: limit.size_bytes, default=None)

    def _limits_from(self, split: Layer) -> list[Limit]:
        """From a layer on, up to the next that spreads requests, all limits that the unsplit request exceeds."""
        first = self.layers.index(split)
        # The queue and what serves it are limited together.
        first -= split.kind == "adapter"
        end = next(
            (place for place in range(first, len(self.layers)) if self.layers[place].is_spread), len(self.layers)
        )
        limits = [limit for layer in self.layers[first:end] for limit in layer.step.all_limits]
        return [limit for limit in limits if limit.size_bytes < split.arriving_bytes]

    @property
    def title(self) -> str:
        """Where the path leads."""
        hosts = folded(self.alike_hosts or (self.representative,))
        if not self.devices:
            return hosts
        where = hosts if len(self.hosts) == 1 else self.hosts[-1]
        return f"{named(self.devices)} on {where}"

    @property
    def representative(self) -> str:
        """The host that stands for those that are alike: the client, or a server alone."""
        return self.hosts[0]


MOST_NAMES = 3


def named(names: Sequence[str]) -> str:
    """Names of things that are alike: `sdb`, `sdb, sdc and sdd`, `sdb, sdc, … sdg (6 alike)`."""
    if len(names) <= MOST_NAMES:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))
    return f"{names[0]}, {names[1]}, … {names[-1]} ({len(names)} alike)"


def sizes(requests: Sequence[Request]) -> str:
    """Requests in words, by their sizes: `2 × 512 KiB`, `508 KiB + 4 KiB`, `4 KiB to 1 MiB`."""
    known = [request.size_bytes for request in requests]
    distinct = list(dict.fromkeys(known))
    if not known:
        return "none"
    if len(distinct) == 1:
        return format_bytes(known[0]) if len(known) == 1 else f"{len(known)} × {format_bytes(known[0])}"
    if len(distinct) <= 2:
        counted = [(f"{known.count(size)} × " if known.count(size) > 1 else "", size) for size in distinct]
        return " + ".join(f"{times}{format_bytes(size)}" for times, size in counted)
    return f"{len(known)} requests of {format_bytes(min(known))} to {format_bytes(max(known))}"
