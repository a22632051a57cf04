"""Cases with their measurements, as read from other tools' results. `None`: the file does not say.

Names and units are those of the tables (`schema`). Not: reading a file, making a run directory (`stored`).
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
from ioassay.store.document import Operation, UtilisationDefinition

ImporterDoubt = Literal[
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
"""The doubts that only importers raise. Doubts that the engine raises too have the engine's names."""

OpenSibling = Callable[[str], Source | None]
"""Opens the file with this name in the directory of the file that is read; `None` if it cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Rank:
    """The times and amounts of one rank in a phase."""

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


def ranks(entries: Sequence[Rank]) -> pl.DataFrame | None:
    """The ranks as in `Measurement.each`."""
    names = [column.name for column in fields(Rank)]
    columns = {name: [getattr(rank, name) for rank in entries] for name in names}
    return pl.DataFrame(columns, schema={name: schema.RANKS[name] for name in names}) if entries else None


@dataclass(frozen=True, kw_only=True)
class TrainedRank:
    """The steps of an accelerator in an epoch, as the columns of `schema.TRAINING`."""

    rank: int
    node: str | None
    steps: int
    samples: int | None
    asked_compute_ns: int | None
    compute_ns: int
    wait_ns: int
    first_batch_ns: int
    first_step_ns: int
    last_step_ns: int
    first_compute_ns: int


@dataclass(frozen=True, kw_only=True)
class Training:
    """An epoch of training."""

    goal: float | None
    """The utilisation that is asked for, from 0 to 1."""
    printed: Mapping[UtilisationDefinition, float]
    """Utilisation as printed, from 0 to 1."""
    each: Sequence[TrainedRank] = ()
    """All accelerators; none where their files are missing."""


@dataclass(frozen=True, kw_only=True)
class Stonewall:
    """Totals of a phase at its stonewall; rates are as printed."""

    at_ns: int | None = None
    bytes: int | None = None
    operations: int | None = None
    least_operations: int | None = None
    most_operations: int | None = None
    rate_bytes_per_s: float | None = None
    rate_operations_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class FirstFinished:
    """Totals of a phase when its first rank finished."""

    at_ns: int
    bytes: int | None = None
    operations: int | None = None
    rate_bytes_per_s: float | None = None
    rate_operations_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Summarised:
    """Statistics printed beside a mean, in the unit of the rate: of repetitions that were not printed one by one,
    of ranks, or of both.
    """

    repetitions: int
    """The number of repetitions in the mean."""
    lowest: float
    highest: float
    standard_deviation: float | None
    """Of repetitions, not of ranks."""


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
    """A histogram: the number of operations that took from `lowest_ns` to `highest_ns`; all columns have one length."""

    lowest_ns: Sequence[int]
    highest_ns: Sequence[int]
    count: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A reason not to believe a number, as in the table of doubts."""

    kind: DoubtKind | ImporterDoubt
    message: str
    remedy: str
    invalidates: bool = False
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One measurement: a phase's operation, and the line that it was read from.

    Rates that the tool printed are kept as printed; those that it did not print follow from amount and duration.
    """

    file: Path
    line: int
    phase: str
    operation: Operation
    job: str | None = None
    """`None`: the phase's only job, with the phase's name."""
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
    """Amounts of each rank: columns of `schema.RANKS`, without those of its key."""
    samples: Samples | None = None
    latencies: Latencies | None = None
    training: Training | None = None
    """Of an epoch that trains."""
    doubts: Sequence[Doubt] = ()


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of a test that distinguishes its results."""

    name: str
    value: str


def nonempty_settings(values: Mapping[str, str | None]) -> list[Setting]:
    """The settings that have a value."""
    return [Setting(name=name, value=value) for name, value in values.items() if value]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One execution of one configuration. Cases with equal `settings` are points of one sweep; those with equal
    clients, ranks and groups as well are repetitions.
    """

    tool_version: str | None
    """As printed."""
    settings: Sequence[Setting]
    amount: str
    """The work of a rank, in words: it may differ within a sweep, but not between repetitions."""
    clients: int | None
    ranks: int | None
    measured: Sequence[Measurement]
    groups: int | None = None
    """Number of files or objects shared by groups of ranks, for tools that sweep it."""
    target: str | None = None
    command: str = ""
    facts: Sequence[Setting] = ()
    """Where and how it was measured; facts do not distinguish results."""
    started_unix_ns: int | None = None
    ended_unix_ns: int | None = None
