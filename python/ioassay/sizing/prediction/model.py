"""Predictions, as types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ioassay.sizing.arithmetic import Value, derivation
from ioassay.store.document import JobEntry, Operation, StudyEntry
from ioassay.store.point import AxisUnit


@dataclass(frozen=True)
class SeriesName:
    """The phase, job and operation that a study measures again at every point of a sweep."""

    test: str
    """Without the operation, as a comparison calls it: `Sequential 1 MiB`."""
    title: str
    """With it: `Sequential 1 MiB, write`."""
    operation: Operation


@dataclass(frozen=True)
class Spot:
    """An operation that a case times."""

    series: SeriesName
    clients: int
    taking_part: int
    """Clients that have ranks of this job."""
    job: JobEntry
    is_alone: bool
    """False where other jobs run beside it, or it mixes operations."""
    others: tuple[tuple[str, int | str, AxisUnit], ...]
    """Its values on the axes that the study sweeps besides clients and ranks, with their units."""

    @property
    def operation(self) -> Operation:
        return self.series.operation


Method = Literal["bounds", "curve", "modules"]
"""`bounds`: of a queueing network. `curve`: of a run that is attached to the brick. `modules`: of metadata modules."""


@dataclass(frozen=True)
class Predicted:
    """The expected rate at a spot."""

    spot: Spot
    value: Value | None
    """From the least to the most, nominally what is expected; bytes/s of sequential I/O, else operations/s. `None`
    where nothing is known that it could rest on."""
    limit: str = ""
    """The limit, as a noun."""
    method: Method | None = None
    """How it was predicted."""
    why_not: str = ""
    """Why there is no value, as a sentence."""
    notes: tuple[str, ...] = ()
    """Reasons why it may be wrong, as sentences."""


@dataclass(frozen=True)
class Prediction:
    """A study on a configuration."""

    study: StudyEntry
    configuration: str
    title: str
    """The title of the configuration; empty where it has none."""
    series: tuple[tuple[SeriesName, tuple[Predicted, ...]], ...]
    remarks: tuple[str, ...] = ()
    """Remarks on the whole prediction, as sentences."""

    @property
    def points(self) -> Iterator[Predicted]:
        """All of all series."""
        return (point for _, points in self.series for point in points)

    @property
    def assumptions(self) -> list[tuple[Value, str]]:
        """Every assumed number that it rests on, with the reason."""
        return derivation(*(point.value for point in self.points if point.value is not None)).assumptions
