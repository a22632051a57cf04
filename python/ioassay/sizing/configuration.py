"""The keys of a file of configurations: which bricks, how many, and published numbers of them.

Not: what follows from it (`evaluate`), whether what is published follows (`published`).
"""

from __future__ import annotations

from typing import Literal, Self

from ioassay.sizing.components import Count, Counts, RateKind, Scaling
from ioassay.sizing.quantities import LinkRate
from ioassay.systems.amounts import Amount, parse_amount
from ioassay.systems.model import At, Document, Qualifier
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Identifier, Prose, Size

StatedKind = Literal[RateKind, "write_and_read", "raw", "protected", "usable", "price", "drives", "rack_units"]
"""The published numbers of a configuration. `raw` are all drives, `protected` is what redundancy leaves of them, which
vendors call formatted, and `usable` what `df` shows. `write_and_read`: one number for both."""


class BrickCount(Part):
    """So many bricks of a kind."""

    brick: Identifier = Field(description="Its name in the catalogue.")
    count: Count = Field(description="How many.")
    drive: Identifier | None = Field(default=None, description="Which drive, where the brick takes several.")


class Clients(Part):
    """The nodes that use the storage."""

    count: Count = Field(description="How many nodes.")
    link: LinkRate = Field(description="What connects each of them.")


class StatedNumber(Part):
    """A published number of a configuration, to be compared with the arithmetic."""

    what: StatedKind = Field(
        description="What it is of. `protected` is what redundancy leaves of `raw`, which vendors call formatted; "
        "`usable` what `df` shows."
    )
    value: Prose = Field(description="The number and its unit as printed: `1.5PB`. Of a price a plain number.")
    unit: Prose | None = Field(default=None, description="What the source says of the unit elsewhere.")
    qualifier: Qualifier = Field(default="exact", description="How the source qualifies it.")
    relative_to: Identifier | None = Field(
        default=None, description="Of a price: the configuration of this file whose price is 1."
    )
    at: At = Field(description="Where it is printed.")
    note: Prose | None = Field(default=None, description="What else a reader must know.")

    @property
    def amount(self) -> Amount:
        """The number in its unit."""
        return parse_amount(self.value, self.unit)

    @model_validator(mode="after")
    def _has_a_value(self) -> Self:
        parse_amount(self.value, self.unit)
        if (self.relative_to is not None) != (self.what == "price"):
            raise ValueError(f"is of {quoted(self.what)}; give `relative_to` with `price`, and only there")
        return self


class Configuration(Part):
    """The parts to buy: bricks, metadata modules, switches, racks."""

    title: Prose | None = Field(default=None, description="What it is, in a line.")
    bricks: list[BrickCount] = Field(min_length=1, description="Bricks. Several kinds share the data.")
    metadata: Counts = Field(default={}, description="Metadata modules, by name: how many.")
    switches: Counts = Field(default={}, description="Switches, by name: how many.")
    rack: Identifier = Field(default="rack-42u", description="The racks, by name in the catalogue.")
    clients: Clients | None = Field(default=None, description="The clients; without them they limit nothing.")
    scaling: Scaling | None = Field(
        default=None, description="What several bricks do together, where their catalogue does not say it."
    )
    request: Size | None = Field(
        default=None, description="Bytes of a write as RAID gets it; without it writes are full stripes."
    )
    stated: list[StatedNumber] = Field(default=[], description="What is published of it.")


class ConfigurationFile(Part):
    """Configurations, alike in what they are built of."""

    name: Identifier = Field(description="What the file is called.")
    title: Prose = Field(description="What it is about.")
    catalogues: list[Prose] = Field(
        default=[], description="Your own catalogues besides the built-in one: paths relative to this file."
    )
    sources: dict[Identifier, Document] = Field(default={}, description="Where it is published, under short names.")
    configurations: dict[Identifier, Configuration] = Field(min_length=1, description="The configurations.")
