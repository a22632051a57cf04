"""What a file of requirements can say: what the storage must hold and do, and what it may take.

Not: which configurations meet it (`search`).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ioassay.sizing.components import Count, CountOrZero, Scaling
from ioassay.sizing.configuration import Clients
from ioassay.systems.amounts import (
    BYTES,
    BYTES_PER_S,
    KILOGRAMS,
    NUMBER,
    OPERATIONS_PER_S,
    WATTS,
    Amount,
    Dimension,
    parse_amount,
)
from ioassay.systems.model import Document
from ioassay.units import parse_count, parse_duration_ns
from ioassay.yaml_models import values
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Identifier, Kind, Part, Prose, Size, between, parsed

Condition = Literal["healthy", "rebuilding", "failed_over"]
"""`rebuilding`: a drive of every brick is being rebuilt. `failed_over`: a server of every brick that has several is
down."""


MOST_RACKS = 1000
MOST_YEARS = 100


def _wished(dimension: Dimension, example: str, *, least: float = 1e-9, most: float = math.inf) -> object:
    """A number with its unit, from `least` to `most` in base units."""

    def parse(text: str) -> Amount:
        amount = parse_amount(text)
        if amount.dimension != dimension:
            raise ValueError(f"{quoted(text)} has the wrong unit; write for example {example}")
        if not least <= amount.base <= most:
            raise ValueError(
                f"{quoted(text)} is too {'low' if amount.base < least else 'high'}; write for example {example}"
            )
        return amount

    return parsed(parse)


def _seconds(text: str) -> float:
    seconds = parse_duration_ns(text) / 1e9
    if seconds == 0:
        raise ValueError(f"{quoted(text)} is no time; write for example 10min")
    return seconds


Bytes = Annotated[Amount, _wished(BYTES, "2PiB or 2PB"), Kind("`2PiB`, `2PB`")]
BytesPerS = Annotated[Amount, _wished(BYTES_PER_S, "36GB/s"), Kind("`36GB/s`")]
OperationsPerS = Annotated[Amount, _wished(OPERATIONS_PER_S, "50 kIOPS"), Kind("`50 kIOPS`, `20K ops/s`")]
SharePerYear = Annotated[Amount, _wished(NUMBER, "30%", least=0, most=10), Kind("`30%`")]
ShareOfAll = Annotated[Amount, _wished(NUMBER, "80%", most=1), Kind("`80%`")]
Watts = Annotated[Amount, _wished(WATTS, "20kW", least=0), Kind("`20kW`")]
Kilograms = Annotated[Amount, _wished(KILOGRAMS, "900kg", least=0), Kind("`900kg`")]
Money = Annotated[Amount, _wished(NUMBER, "1200000", least=0), Kind("number")]
Seconds = Annotated[float, parsed(_seconds), Kind("duration")]
Years = Annotated[int, between(parse_count, 1, MOST_YEARS), Kind("whole number")]
Racks = Annotated[int, between(parse_count, 1, MOST_RACKS), Kind("whole number")]


class Growth(Part):
    """How data grow."""

    per_year: SharePerYear = Field(description="What is added in a year, of what there is then: `30%`.")
    years: Years = Field(description="How long the storage must hold them without an extension.")


class Accelerators(Part):
    """Accelerators (GPUs) that must not wait for data."""

    count: values.Count = Field(description="How many.")
    read_each: BytesPerS = Field(description="What each of them reads.")


class Checkpoint(Part):
    """A job's state, written as a whole."""

    size: Bytes = Field(description="Its size: of all nodes together, often their memory.")
    longest: Seconds = Field(description="How long the writing may take.")
    kept: Count = Field(default=1, description="How many are kept at a time.")
    failures_every: Seconds | None = Field(
        default=None,
        description="Mean time between failures of the machine that writes it, such as `24h`: how often to write one "
        "follows from it.",
    )


class Survives(Part):
    """What may fail without loss of data or service."""

    drives: CountOrZero = Field(default=1, description="Drives of a group at a time.")
    servers: CountOrZero = Field(default=0, description="Servers of a brick at a time.")
    enclosures: CountOrZero = Field(default=0, description="Enclosures of a brick at a time.")


class Limits(Part):
    """What the storage may take."""

    racks: Racks | None = Field(default=None, description="Racks.")
    rack: Identifier = Field(default="rack-42u", description="Which, by name in the catalogue.")
    power: Watts | None = Field(default=None, description="Electrical power.")
    weight_per_rack: Kilograms | None = Field(default=None, description="Weight of a rack with all that is in it.")
    budget: Money | None = Field(default=None, description="Money, in `currency`.")
    currency: Identifier | None = Field(default=None, description="Of the budget, and which prices count.")


class Requirements(Part):
    """What storage must hold and do."""

    name: Identifier = Field(description="What they are called.")
    title: Prose | None = Field(default=None, description="What it is for.")
    catalogues: list[Prose] = Field(
        default=[], description="Your own catalogues besides the built-in one: paths relative to this file."
    )
    sources: dict[Identifier, Document] = Field(default={}, description="Where figures are printed, under short names.")
    usable: Bytes | None = Field(default=None, description="What `df` must show, at the beginning.")
    growth: Growth | None = Field(default=None, description="How that grows.")
    fill: ShareOfAll | None = Field(default=None, description="How full it may become at most, such as `80%`.")
    write: BytesPerS | None = Field(default=None, description="Sequential writes.")
    read: BytesPerS | None = Field(default=None, description="Sequential reads.")
    random_write: OperationsPerS | None = Field(default=None, description="Random writes of 4 KiB.")
    random_read: OperationsPerS | None = Field(default=None, description="Random reads of 4 KiB.")
    create: OperationsPerS | None = Field(default=None, description="Creations of files.")
    stat: OperationsPerS | None = Field(default=None, description="Queries of attributes.")
    read_files: OperationsPerS | None = Field(default=None, description="Opening, reading and closing of empty files.")
    remove: OperationsPerS | None = Field(default=None, description="Removals of files.")
    accelerators: Accelerators | None = Field(default=None, description="Accelerators to be fed.")
    checkpoint: Checkpoint | None = Field(default=None, description="A checkpoint.")
    survives: Survives = Field(default=Survives(), description="What may fail.")
    rates_hold: Condition = Field(default="healthy", description="In which condition the rates must hold.")
    clients: Clients | None = Field(default=None, description="The clients, whose links are a limit too.")
    request: Size | None = Field(
        default=None, description="Bytes of a write as RAID gets it; without it writes are full stripes."
    )
    limits: Limits = Field(default=Limits(), description="What it may take.")
    bricks: list[Identifier] = Field(default=[], description="Only these bricks.")
    metadata: list[Identifier] = Field(default=[], description="Only these metadata modules.")
    switches: list[Identifier] = Field(default=[], description="Only these switches.")
    kinds: Count = Field(default=1, description="How many kinds of data bricks may be mixed.")
    scaling: Scaling | None = Field(
        default=None, description="What several bricks do together, where their catalogue does not say it."
    )

    @model_validator(mode="after")
    def _requires_something(self) -> Self:
        wanted = (self.usable, self.write, self.read, self.random_write, self.random_read, self.accelerators)
        if not any((*wanted, self.checkpoint, self.create, self.stat, self.read_files, self.remove)):
            raise ValueError("requires nothing; add what the storage must hold or do, such as `usable: 2PiB`")
        if self.growth is not None and self.usable is None:
            raise ValueError("grows from nothing; add `usable`")
        if self.limits.budget is not None and self.limits.currency is None:
            raise ValueError("has a budget without a currency; add `currency` to `limits`")
        return self
