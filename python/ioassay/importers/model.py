"""What the readers of other tools' results give: cases with what was measured in them. `None`: the file does not tell.

The words and units are those of the tables (`schema`). Not: reading a file, making a run directory of it (`stored`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

import polars as pl

from ioassay.importers.source import Source
from ioassay.protocol.facts import DoubtKind
from ioassay.store import schema
from ioassay.store.document import Operation

OwnDoubt = Literal[
    "best-of-several",
    "counted-by-sender",
    "counters-reset",
    "datagrams-lost",
    "declared-invalid",
    "does-not-add-up",
    "errors-ignored",
    "hidden-short-write",
    "interrupted",
    "job-failed",
    "latencies-beyond-bins",
    "latencies-of-zero",
    "live-statistics",
    "may-be-cached",
    "mean-of-intervals",
    "mean-only",
    "nominal-size",
    "not-imported",
    "parent-sees-less",
    "ramp-measured",
    "ranks-missing",
    "score-hash",
    "test-failed",
    "time-limit-overrun",
    "totals-only",
    "unlike-jobs",
    "utilisation-goal-missed",
    "visited-more-than-created",
]
"""The doubts that only importers raise. Those that the engine raises too have its name."""

Beside = Callable[[str], Source | None]
"""Gives the file of this name in the directory of the one that is read, `None` where there is none to read."""


@dataclass(frozen=True, kw_only=True)
class Rank:
    """What one rank did in a phase."""

    rank: int
    node: str | None = None
    end_ns: int | None = None
    open_ns: int | None = None
    fill_ns: int | None = None
    transfer_ns: int | None = None
    close_ns: int | None = None
    bytes: int | None = None
    operations: int | None = None
    stonewall_bytes: int | None = None
    stonewall_operations: int | None = None


def ranks(each: Sequence[Rank]) -> pl.DataFrame | None:
    """What each rank did as `Measured` has it."""
    names = [entry.name for entry in fields(Rank)]
    columns = {name: [getattr(rank, name) for rank in each] for name in names}
    return pl.DataFrame(columns, schema={name: schema.RANKS[name] for name in names}) if each else None


@dataclass(frozen=True, kw_only=True)
class Stonewall:
    """Where a phase stood when its stonewall came. A rate that is printed stands beside what it follows from."""

    at_ns: int | None = None
    bytes: int | None = None
    operations: int | None = None
    least_operations: int | None = None
    most_operations: int | None = None
    rate_bytes_per_s: float | None = None
    rate_operations_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class FirstFinished:
    """Where a phase stood when its first rank was done."""

    at_ns: int
    bytes: int | None = None
    operations: int | None = None
    rate_bytes_per_s: float | None = None
    rate_operations_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Summarised:
    """What the tool printed beside a mean, in the unit of the rate: of repetitions of which it printed nothing else, or
    of ranks, or of both.
    """

    repetitions: int
    """How many the mean stands for."""
    lowest: float
    highest: float
    standard_deviation: float | None
    """Of repetitions alone."""


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Amounts per rank and interval, from the beginning of the phase. All columns have one length."""

    interval_ns: int
    rank: Sequence[int]
    sample: Sequence[int]
    bytes: Sequence[int]
    operations: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """How many operations took from `lowest_ns` to `highest_ns`; all columns have one length."""

    lowest_ns: Sequence[int]
    highest_ns: Sequence[int]
    count: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A reason not to believe a number, as in the table of doubts."""

    kind: DoubtKind | OwnDoubt
    message: str
    remedy: str
    invalidates: bool = False
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One measurement: a phase's operation, and the line that it was read from.

    Rates that the tool printed are kept as printed; those that it did not print follow from amount and duration.
    """

    file: Path
    line: int
    phase: str
    operation: Operation
    job: str | None = None
    """`None`: the only one, called as the phase."""
    layout: str = ""
    order: str = ""
    files: int | None = None
    transfer_bytes: int | None = None
    file_set_bytes: int | None = None
    """The size that was asked for; `None` where a stonewall decided it."""
    command: str = ""
    started_unix_ns: int | None = None
    ranks: int | None = None
    """`None`: those of the case."""
    bytes: int | None = None
    operations: int | None = None
    duration_ns: int | None = None
    rate_bytes_per_s: float | None = None
    rate_operations_per_s: float | None = None
    half_unit_per_s: float | None = None
    """Half the unit of the last digit of the rate that was printed, bytes or operations."""
    matched: int | None = None
    start_spread_ns: int | None = None
    finish_spread_ns: int | None = None
    stonewall: Stonewall | None = None
    first_finished: FirstFinished | None = None
    summarised: Summarised | None = None
    each: pl.DataFrame | None = None
    """What each rank did: any of the columns of `schema.RANKS`, but those of its key."""
    samples: Samples | None = None
    latencies: Latencies | None = None
    doubts: Sequence[Doubt] = ()


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Something that a test was told and that tells its results from others'."""

    name: str
    value: str


def told(values: Mapping[str, str | None]) -> list[Setting]:
    """Settings by their names, without those that nothing is reported of."""
    return [Setting(name=name, value=value) for name, value in values.items() if value]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One execution of one configuration. Cases that agree in `settings` are points of one sweep, and those that agree
    in clients, ranks and groups too are repetitions of one another.
    """

    tool_version: str | None
    """As the file tells it."""
    settings: Sequence[Setting]
    amount: str
    """What each rank does, in words: a sweep may hold it or not, but repetitions have the same."""
    clients: int | None
    ranks: int | None
    measured: Sequence[Measured]
    groups: int | None = None
    """Files or objects that the ranks share in groups, where a tool sweeps them."""
    target: str | None = None
    command: str = ""
    facts: Sequence[Setting] = ()
    """What else the file tells of where and how it was measured. It tells no results apart."""
    started_unix_ns: int | None = None
    ended_unix_ns: int | None = None
