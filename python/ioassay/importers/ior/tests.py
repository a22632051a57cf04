"""An execution of IOR, in whatever format: its tests, with a row for each iteration and a summary.

Not: reading a format, making cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ioassay.importers.numbers import Printed

Access = Literal["write", "read"]

ACCESSES: Mapping[str, Access] = {"write": "write", "read": "read"}
"""IOR's names; its `remove` moves nothing."""


@dataclass(frozen=True)
class StonewallTotals:
    """IOR's message at a stonewall: transfers of the slowest and the fastest rank, mean MiB of a rank."""

    least: int
    most: int
    at_s: float | None
    mean_mib: float | None


@dataclass(frozen=True)
class Row:
    """An iteration of an access. Rates are in MiB/s, times in seconds."""

    line: int
    access: Access
    iteration: int
    rate: Printed
    total: Printed | None
    """From the first open to the last close; `None` if IOR did not print this column, as in 2.10.0.1."""
    moved_bytes: int | None = None
    stonewall: StonewallTotals | None = None
    parts: Sequence[Printed] = ()
    """The times of opening, transfers and closing; empty if the format has no such columns."""


@dataclass(frozen=True)
class Summary:
    """Statistics over all iterations of an access, in MiB/s and seconds, with the exact values beside them."""

    line: int
    highest: Printed
    lowest: Printed
    mean: Printed
    deviation: Printed
    seconds: Printed
    exact: Mapping[str, str]
    """By IOR's names: `#Tasks`, `tPN`, `reps`, `segcnt`, `blksiz`, `xsize`, `Stonewall(s)`, `Stonewall(MiB)`."""


@dataclass
class Test:
    """A test of an execution. `options` are printed before it begins, by IOR's names."""

    number: int
    line: int
    options: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    summaries: dict[Access, Summary] = field(default_factory=dict)
    block_bytes: int | None = None
    transfer_bytes: int | None = None
    tasks: int | None = None


@dataclass
class Execution:
    line: int
    version: str | None
    options: dict[str, str] = field(default_factory=dict)
    """Options of all tests, and `began`, `ended`, `command`, `machine`."""
    tests: list[Test] = field(default_factory=list)
