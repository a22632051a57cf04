"""`sweep.json`: an experiment with settings, what is to be tried, and every measurement with the run that holds it.

Not: what the measurements say (`tuning.sweep.answer`), settings that are in force (their journal: `tuning.journal`).
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from ioassay.store.doubt_kinds import voids_comparison
from ioassay.store.experiment_document import ExperimentDocument, ExperimentMeasurement
from ioassay.store.kinds import SWEEP
from ioassay.store.stored_types import Amount, Component, Count, StoredModel

Stage = Literal["search", "confirmation", "contribution"]
"""`confirmation`: the best point against today's settings, with fresh pairs. `contribution`: the best point against
itself with one parameter back at today's value.
"""

Side = Literal["today", "point"]
"""In a contribution, `today` is the best point with one parameter back at today's value."""

Measure = Literal["rate", "p50", "p90", "p99", "max", "score"]


class ParameterEntry(StoredModel):
    """A parameter and its values."""

    name: str
    setting: str | None = Field(default=None, description="A setting of the system, as `ioassay tune apply` names it.")
    key: str | None = Field(default=None, description="A setting of the study.")
    get: str | None = Field(default=None, description="The command that prints its value.")
    set: str | None = Field(default=None, description="The command that sets `{value}`.")
    values: list[str]
    today: str | None = Field(description="Its value before the sweep; `None`: of the study, as written.")
    suggested: str | None = Field(default=None, description="What a rule recommends.")
    rule: str | None = Field(default=None, description="The rule.")


class ObjectiveEntry(StoredModel):
    """The figure to improve."""

    phase: str | None = Field(description="A phase or an operation of the study; `None` of a score.")
    workload: str | None = None
    measure: Measure = "rate"


class ConstraintEntry(StoredModel):
    """A figure that must not become worse than a limit."""

    phase: str
    workload: str | None = None
    measure: Measure = "rate"
    least_share: Amount | None = Field(default=None, description="Of today's rate or score.")
    most_ns: Count | None = Field(default=None, description="Of a latency.")


PointUnit = Literal["B/s", "1/s", "ns"]


class PointValue(StoredModel):
    """The objective at one point of the study's own sweep."""

    workload: str
    phase: str
    operation: str
    clients: Count | None
    ranks: Count | None
    point: str = Field(description="The value of every swept axis, as a JSON object.")
    value: Amount
    unit: PointUnit


class SweepMeasurement(ExperimentMeasurement):
    """One run of the study under one set of values."""

    stage: Stage
    trial: Count = Field(description="The point of the search, or the parameter of a contribution, from 0.")
    pair: Count
    side: Side
    values: dict[str, str | None] = Field(description="The value of each parameter; `None`: as the study has it.")
    point: dict[str, str | None] = Field(description="The values of the trial's point, on both sides.")
    objective: Amount | None = Field(description="In the unit of the objective; `None`: not valid.")
    points: list[PointValue] = Field(default_factory=list)
    constraints: list[Amount | None] = Field(
        default_factory=list, description="What each constraint limits, in its own unit."
    )
    doubts: dict[str, str] = Field(
        default_factory=dict, description="The kinds of doubts about the objective, each with its remedy."
    )
    doubts_of_constraints: list[dict[str, str]] = Field(
        default_factory=list, description="The same of what each constraint limits."
    )

    @property
    def void_doubts(self) -> list[str]:
        """The kinds of doubts with which it says nothing about settings."""
        return [kind for kind in self.doubts if voids_comparison(kind)]

    @property
    def void_doubts_of_all(self) -> dict[str, str]:
        """The same of what constraints limit too, each with its remedy."""
        known = [self.doubts, *self.doubts_of_constraints]
        return {kind: remedy for doubts in known for kind, remedy in doubts.items() if voids_comparison(kind)}

    @property
    def counts(self) -> bool:
        """Whether its objective may be compared with another's."""
        return bool(self.objective) and not self.void_doubts


class RefusedPoint(StoredModel):
    """A point whose values a setting did not take, so that it was not measured."""

    point: dict[str, str | None] = Field(description="The value of each parameter.")
    why: str


class SweepDocument(ExperimentDocument):
    """`sweep.json`."""

    kind: Literal["sweep"] = "sweep"
    version: int = SWEEP.version
    sweep: Component = Field(description="Identifier, for example `20261122-020000-sweep`.")
    study: str
    title: str
    destroy_data: str | None = None
    objective: ObjectiveEntry
    constraints: list[ConstraintEntry] = Field(default_factory=list)
    parameters: list[ParameterEntry]
    trials: Count = Field(description="The most points that are tried.")
    time_ns: Count | None = Field(default=None, description="No further point is begun after this.")
    most_pairs: Count
    seed: Count
    notes: list[str] = Field(default_factory=list, description="Why it measures as it does.")
    journal: str | None = Field(default=None, description="The journal of the settings that it changes.")
    measurements: list[SweepMeasurement] = Field(default_factory=list)
    refused: list[RefusedPoint] = Field(default_factory=list)

    @property
    def points(self) -> int:
        """How many points the parameters have together."""
        return math.prod(len(parameter.values) for parameter in self.parameters)
