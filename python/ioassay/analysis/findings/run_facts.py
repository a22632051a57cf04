"""The estimates that several findings about a run need, computed once, and the names and units in their sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import polars as pl

from ioassay.analysis import drift, given_rates, rates, run_units, scalability
from ioassay.analysis.ceilings import DIRECTIONS
from ioassay.analysis.drift import Drift
from ioassay.analysis.names import Names, noun
from ioassay.analysis.run_units import RunUnits
from ioassay.analysis.scalability import Sweep
from ioassay.analysis.series import PREPARATION, Series
from ioassay.analysis.watch.phases import Activity, activity
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, Measurement
from ioassay.text import format
from ioassay.text.rate_units import RateColumn

_Item = TypeVar("_Item")


LEAST_BYTES = 64 << 20
"""In phases with less, other I/O dominates the servers' counters."""

Way = Literal["write", "read"]


@dataclass(frozen=True)
class WatchedPhase:
    """A measurement of data, with the activity of the watched hosts in its phase."""

    place: Measurement
    way: Way
    phase: Mapping[str, Any]
    """A row of `Activity.phases`."""

    @property
    def client_bytes(self) -> int:
        """Bytes that the clients moved."""
        moved: int = self.phase[f"{self.way}_bytes"]
        return moved

    @property
    def disk_bytes(self) -> float | None:
        """Bytes that the disks of the data moved in the same seconds; `None`: unknown."""
        moved: float | None = self.phase[f"disk_{self.way}_bytes"]
        return moved

    @property
    def late_bytes(self) -> float:
        """Bytes that these disks wrote after the end of a write phase."""
        return (self.phase["late_write_bytes"] or 0.0) if self.way == "write" else 0.0


@dataclass(frozen=True)
class RunFacts:
    """A run and the estimates that more than one kind of finding needs."""

    run: LoadedRun

    @cached_property
    def points(self) -> pl.DataFrame:
        return given_rates.throughput(self.run)

    @cached_property
    def names(self) -> Names:
        """The names of the run's workloads, cases and phases."""
        return Names(self.run.document)

    @cached_property
    def units(self) -> RunUnits:
        """The units in which the run's rates are printed."""
        points = rates.points(self.run.measurements)
        return run_units.of_run(run_units.fitted(self.run, points).document, points)

    def series_name(self, place: Measurement) -> str:
        """`Sequential N-N, write`."""
        case, *measured = place
        return f"{self.names.workload(self.names.entry(case).workload)}, {self.names.measurement(*measured)}"

    def rate(self, column: RateColumn, place: Measurement, rate: float) -> str:
        """A rate of a measurement's operation, in the unit of the run."""
        return format.rate_in(self.units.of(column, place.operation).name, rate, noun(place.operation))

    @cached_property
    def sweeps(self) -> list[Sweep]:
        return scalability.sweeps(self.run.document, self.points)

    @cached_property
    def drifts(self) -> list[Drift]:
        """The drift of every phase with enough samples, whose rate is that of the storage or one that was requested:
        users who think and accelerators that compute make pauses of their own.
        """
        with_pauses = given_rates.with_own_pauses(self.run)
        measured = self.run.measurements.join(with_pauses, on=list(KEY), how="anti", maintain_order="left")
        return drift.drifts(self.run.samples, measured)

    @cached_property
    def activity(self) -> Activity | None:
        """The activity of watched hosts in the phases."""
        return activity(self.run)

    def watched_phases(self) -> list[list[WatchedPhase]]:
        """The valid phases that moved at least `LEAST_BYTES` while hosts were watched, grouped by series; a phase that
        writes and reads has an entry for each.
        """
        if self.activity is None:
            return []
        phases = {(row["case"], row["phase"]): row for row in self.activity.phases.iter_rows(named=True)}
        watched = []
        for row in self.run.measurements.filter("valid").iter_rows(named=True):
            phase, to = phases.get((row["case"], row["phase"])), DIRECTIONS.get(row["operation"])
            way: Way = "write" if to == "to-servers" else "read"
            if phase is not None and to is not None and phase[f"{way}_bytes"] >= LEAST_BYTES:
                watched.append(WatchedPhase(Measurement.of(row), way, phase))
        return self.grouped(watched, lambda phase: phase.place)

    @cached_property
    def _series(self) -> dict[Measurement, tuple[str, Series]]:
        """The series of every planned measurement, in the order in which they run."""
        return {
            Measurement(case.id, phase.name, job.name, operation): (
                case.workload,
                Series(phase.name, job.name, operation),
            )
            for case in self.run.document.cases
            for phase in case.phases
            for job in phase.jobs
            for operation in job.operations
        }

    @cached_property
    def _positions(self) -> dict[tuple[str, Series], int]:
        return {series: index for index, series in enumerate(dict.fromkeys(self._series.values()))}

    def position(self, place: Measurement) -> int:
        """The index of its series in the study, in the order in which they run."""
        return self._positions[self._series[place]]

    def by_series(self) -> Iterable[tuple[pl.DataFrame, RateColumn]]:
        """The points of each series except preparation, and the quantity that its rates count."""
        points = self.points.filter(~pl.col("operation").is_in(PREPARATION))
        for series_points in points.partition_by("workload", "phase", "job", "operation", maintain_order=True):
            yield series_points, rates.column(self.run.document, series_points, series_points["workload"][0])

    def grouped(self, items: Iterable[_Item], place: Callable[[_Item], Measurement]) -> list[list[_Item]]:
        """The items grouped by series, order kept."""
        groups: dict[tuple[str, Series], list[_Item]] = {}
        for item in items:
            groups.setdefault(self._series[place(item)], []).append(item)
        return list(groups.values())


def affected(count: int, of: int, noun: str) -> str:
    """`3 of 24 phases are affected; this is the worst.`; empty if a finding is about one only."""
    if count == 1:
        return ""
    part = f"{count} of {of} {noun}s" if count < of else f"Both {noun}s" if of == 2 else f"All {of} {noun}s"
    return f"{part} are affected; this is the worst."
