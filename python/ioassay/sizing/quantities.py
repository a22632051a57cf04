"""Figures as people write them in a catalogue, each with where it comes from, and as numbers with an origin.

Not: which figures a component has (`components`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Self

from ioassay.systems.amounts import (
    BYTES,
    BYTES_PER_S,
    KILOGRAMS,
    MONEY,
    NUMBER,
    OPERATIONS_PER_S,
    WATTS,
    Amount,
    Dimension,
    parse_amount,
)
from ioassay.systems.model import At, Qualifier
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Identifier, Kind, Prose, parsed


def _figure(text: str) -> tuple[str, str]:
    system, slash, figure = text.partition("/")
    if not slash or not system or not figure:
        raise ValueError(
            f"{quoted(text)} is not a figure of a system; write SYSTEM/FIGURE, as `ioassay systems` has it"
        )
    return system, figure


FigureName = Annotated[tuple[str, str], parsed(_figure), Kind("`SYSTEM/FIGURE`")]


class Quantity(Part):
    """A number with its unit and its source: printed, of a published system, of a stored run, or assumed."""

    DIMENSIONS: ClassVar[tuple[Dimension, ...]] = (NUMBER,)
    EXAMPLE: ClassVar[str] = "3"
    IS_NOMINAL: ClassVar[bool] = False
    """A size or a speed by definition, such as a drive of 4 TB: its digits leave nothing open."""
    MAY_BE_ZERO: ClassVar[bool] = False
    """Elsewhere 0 is a mistake, and would be divided by."""
    IS_COUNT: ClassVar[bool] = False
    """Other numbers without a unit are shares, at most 1."""

    value: Prose | None = Field(default=None, description="The number and its unit, as its source prints it: `4TB`.")
    unit: Prose | None = Field(
        default=None, description="What the source says of the unit elsewhere: `PiB` for `1PB` counted in 1024s."
    )
    qualifier: Qualifier = Field(default="exact", description="How the source qualifies it.")
    at: At | None = Field(default=None, description="Where it is printed: `paper:70`, a source of this file and lines.")
    figure: FigureName | None = Field(default=None, description="In place of `value` and `at`: a published figure.")
    run: Prose | None = Field(
        default=None, description="In place of `value` and `at`: a stored run that measured it, relative to this file."
    )
    workload: Identifier | None = Field(default=None, description="Which workload of the run.")
    assumed: Prose | None = Field(default=None, description="In place of `at`: why this number; no source has it.")
    note: Prose | None = Field(default=None, description="What else a reader must know, as a sentence.")

    @property
    def amount(self) -> Amount | None:
        """The number as written; `None` where it stands in a figure or a run."""
        return None if self.value is None else parse_amount(self.value, self.unit)

    def with_run_in(self, folder: Path) -> Self:
        """The same, and the path of its run, if it has one, is absolute; what is written is relative to `folder`."""
        return self if self.run is None else self.model_copy(update={"run": str((folder / self.run).absolute())})

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        origins = [self.at, self.assumed, self.figure, self.run]
        if sum(origin is not None for origin in origins) != 1:
            raise ValueError("needs one source; give `at`, `figure`, `run`, or `assumed` with the reason")
        if (self.value is None) == (self.at is not None or self.assumed is not None):
            raise ValueError("has its number twice or not at all; give `value` with `at` or `assumed`, and only there")
        if self.workload is not None and self.run is None:
            raise ValueError("has a workload but no run; add `run`, or remove `workload`")
        amount = self.amount
        if amount is not None and amount.dimension not in self.DIMENSIONS:
            raise ValueError(f"{quoted(amount.text)} has the wrong unit; write for example {self.EXAMPLE}")
        if amount is not None and amount.number == 0 and not self.MAY_BE_ZERO:
            raise ValueError(f"{quoted(amount.text)} is zero; write for example {self.EXAMPLE}")
        is_share = self.DIMENSIONS == (NUMBER,) and not self.IS_COUNT
        if amount is not None and is_share and amount.number * amount.factor > 1:
            raise ValueError(f"{quoted(amount.text)} is more than 100 %; write for example {self.EXAMPLE}")
        return self


class Capacity(Quantity):
    """Bytes that are so by definition, such as those of a drive."""

    DIMENSIONS, EXAMPLE, IS_NOMINAL = (BYTES,), "4TB", True


class Throughput(Quantity):
    """Bytes per second that something was measured or stated to do."""

    DIMENSIONS, EXAMPLE = (BYTES_PER_S,), "4.5GB/s"


class LinkRate(Quantity):
    """Bytes per second of a link, by its standard."""

    DIMENSIONS, EXAMPLE, IS_NOMINAL = (BYTES_PER_S,), "56Gbit/s", True


class OperationRate(Quantity):
    """Operations per second."""

    DIMENSIONS, EXAMPLE = (OPERATIONS_PER_S,), "150 IOPS"


class Rate(Quantity):
    """Bytes or operations per second."""

    DIMENSIONS, EXAMPLE = (BYTES_PER_S, OPERATIONS_PER_S), "4.5GB/s` or `20 kIOPS"


class Share(Quantity):
    """A share of 1."""

    EXAMPLE = "2%"


class Overhead(Share):
    """A share that something takes for itself, which may be nothing."""

    MAY_BE_ZERO = True


class Tally(Quantity):
    """A number of things."""

    EXAMPLE, IS_NOMINAL, IS_COUNT = "8150", True, True


class Power(Quantity):
    """Watts."""

    DIMENSIONS, EXAMPLE = (WATTS,), "750W"


class Weight(Quantity):
    """Kilograms."""

    DIMENSIONS, EXAMPLE = (KILOGRAMS,), "105kg"


class Price(Quantity):
    """The price of one, without tax, in the currency of the catalogue."""

    DIMENSIONS, EXAMPLE, IS_NOMINAL = (MONEY,), "12000", True

    currency: Identifier = Field(
        description="`EUR`, `USD`, …; `relative` where a source only says how prices compare. Prices of different "
        "currencies are never added up."
    )
    date: Prose = Field(description="When it was so, such as `2014-11`.")

    @property
    def amount(self) -> Amount | None:
        """The number as written, as money."""
        written = super().amount
        if written is None or written.dimension != NUMBER:
            return written
        return replace(written, text=f"{written.text} {self.currency}", dimension=MONEY)
