"""A storage device with a known optimum, for sweeps: a rate for each point of its parameters, with drift and noise.

It stands in for settings and runs alike: `switch` sets parameters, `run` gives what a run of the study would say. The
same seed gives the same noise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from ioassay.execution.interruption import Interruption
from ioassay.store.loaded import LoadedRun
from ioassay.store.moments import now
from ioassay.store.states import RunState
from ioassay.store.sweep_document import ObjectiveEntry, ParameterEntry, SweepDocument
from ioassay.testing.builder import RunBuilder

_RATE = 1e9

Response = Callable[[Mapping[str, str]], float]
"""The rate of writes in bytes/s under a value of each parameter."""


@dataclass
class ArtificialDevice:
    """The device. `noise` is the standard deviation of a measurement as a share of the rate, `drift` what it loses with
    each measurement.
    """

    response: Response
    today: Mapping[str, str]
    noise: float = 0.03
    drift: float = 0.0
    seed: int = 1
    values: dict[str, str] = field(default_factory=dict)
    measured: list[dict[str, str]] = field(default_factory=list)
    """The values in force in each run."""
    fail: Callable[[int], RunState | None] = lambda number: None
    """By the number of the run, from 0: how it ends instead of `complete`."""
    leftovers: list[str] = field(default_factory=list)
    """The files that every run leaves on the target."""

    def __post_init__(self) -> None:
        self.values = dict(self.today)
        self._chance = random.Random(self.seed)
        self._run = RunBuilder().workload("io").clients(1).rates("io", "write", 1, _RATE).build()

    def switch(self, values: Mapping[str, str]) -> None:
        """Puts values in force."""
        self.values |= values

    def drifted(self) -> list[str]:
        """The settings that changed by themselves: none."""
        return []

    def run(self, out: Path, settings: Sequence[str], interruption: Interruption) -> LoadedRun:
        """A run under the values in force, of which `settings` (`KEY=VALUE`) change some."""
        in_force = self.values | dict(setting.split("=", 1) for setting in settings)
        number = len(self.measured)
        self.measured.append(in_force)
        rate = self.response(in_force) * (1 - self.drift) ** number
        rate *= math.exp(self._chance.gauss(0, self.noise))
        changed = {"state": self.fail(number) or "complete", "leftovers": self.leftovers}
        document = self._run.document.model_copy(update=changed)
        factor = pl.when(operation="write").then(rate / _RATE).otherwise(1.0)
        measurements = self._run.measurements.with_columns(pl.col("^rate_.*_per_s$") * factor)
        return replace(self._run, document=document, measurements=measurements)


def sweep_document(
    parameters: Mapping[str, Sequence[str]], today: Mapping[str, str], **changed: object
) -> SweepDocument:
    """A sweep over settings that has measured nothing."""
    entries = [
        ParameterEntry(name=name, setting=f"sys:{name}", values=list(values), today=today[name])
        for name, values in parameters.items()
    ]
    document = SweepDocument(
        sweep="20260202-024000-sweep",
        started=now(),
        study="tune",
        target="/mnt/store",
        title="Sweep of an artificial device",
        command=["ioassay", "tune", "sweep"],
        ioassay_version="0.1.0",
        objective=ObjectiveEntry(phase="write"),
        parameters=entries,
        trials=30,
        precision=0.05,
        most_pairs=10,
        seed=1,
    )
    return document.model_copy(update=changed)
