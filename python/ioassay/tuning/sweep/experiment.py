"""The request of a sweep, as YAML: every key once, with its meaning.

The command line says the same in options (`cli.tune.sweep`). Not: whether the settings exist, which values they have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from ioassay.store.sweep_document import Measure
from ioassay.text.units import parse_duration_ns, parse_share
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.source import read_source
from ioassay.yaml_models.validate import validate
from ioassay.yaml_models.values import Count, Identifier, Kind, Prose, parsed

Share = Annotated[float, parsed(parse_share), Kind("percentage, such as `95%`")]
Duration = Annotated[int, parsed(parse_duration_ns), Kind("duration, such as `2h`")]


class ParameterPart(Part):
    """A parameter: one of `setting`, `key`, or `get` with `set`, and its values."""

    setting: Prose | None = Field(
        default=None, description="A setting of this node, as `ioassay tune apply` names it: `block:sda/nr_requests`."
    )
    key: Identifier | None = Field(default=None, description="A setting of the study, as after `--set`.")
    get: Prose | None = Field(default=None, description="Command that prints the value. Run by `sh`.")
    set: Prose | None = Field(default=None, description="Command that sets it; `{value}` stands for the value.")
    values: list[Prose] = Field(min_length=1, description="The values to try, ascending where they have an order.")

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.get is None) != (self.set is None):
            raise ValueError("has one of `get` and `set`; write both, so that the value can be put back")
        if sum(name is not None for name in (self.setting, self.key, self.get)) != 1:
            raise ValueError("does not say what it is; write one of `setting`, `key`, or `get` with `set`")
        if len(set(self.values)) < len(self.values):
            raise ValueError("has a value twice; write each value once")
        return self


class ObjectivePart(Part):
    """The figure to improve."""

    phase: Identifier | None = Field(
        default=None, description="A phase of the study, or an operation such as `write`. Not for a score."
    )
    workload: Identifier | None = Field(default=None, description="Only this workload of the study.")
    measure: Measure = Field(
        default="rate",
        description="`rate`; a latency percentile (`p50`, `p90`, `p99`, `max`), which is to become smaller; or the "
        "`score` of the IO500.",
    )

    @model_validator(mode="after")
    def _has_a_phase(self) -> Self:
        if (self.measure == "score") == (self.phase is not None):
            wrong = "has a phase" if self.phase else "has no phase"
            raise ValueError(f"{wrong}; a score is of the whole run, and everything else of a phase")
        return self


class ConstraintPart(Part):
    """A figure that must not become worse than a limit."""

    phase: Identifier = Field(description="A phase of the study, or an operation such as `read`.")
    workload: Identifier | None = Field(default=None, description="Only this workload of the study.")
    measure: Literal["rate", "p50", "p90", "p99", "max"] = Field(default="rate", description="What is limited.")
    at_least: Share | None = Field(default=None, description="Of today's rate.")
    at_most: Duration | None = Field(default=None, description="Of a latency.")

    @model_validator(mode="after")
    def _has_its_limit(self) -> Self:
        limit = self.at_least if self.measure == "rate" else self.at_most
        if limit is None or None not in (self.at_least, self.at_most):
            raise ValueError("has no fitting limit; write `at_least: 95%` for a rate, `at_most: 20ms` for a latency")
        return self


class BudgetPart(Part):
    """When to stop."""

    trials: Count = Field(default=30, description="The most points that are tried. A smaller grid is tried whole.")
    time: Duration | None = Field(default=None, description="No further point is begun after this.")
    precision: Share = Field(
        default=0.05, description="A gain is measured until the half-width of its interval is at most this share of it."
    )
    pairs: Count = Field(default=10, ge=3, description="The most pairs of measurements of a point.")


class Experiment(Part):
    """An experiment."""

    name: Identifier = Field(description="Name of the experiment.")
    title: Prose | None = Field(default=None, description="What it is about, as a heading of the report.")
    study: Prose = Field(default="tune", description="What is measured: a built-in study or a YAML file.")
    scale: Identifier | None = Field(default=None, description="A scale of the study.")
    settings: dict[Identifier, Prose] = Field(default={}, description="Settings of the study, the same in every run.")
    parameters: dict[Identifier, ParameterPart] = Field(min_length=1, description="What is varied, by a name.")
    objective: ObjectivePart = Field(
        default=ObjectivePart(phase="write"), description="What is to become better. Default: the rate of writes."
    )
    constraints: list[ConstraintPart] = Field(default=[], description="What must not become worse.")
    budget: BudgetPart = Field(default=BudgetPart(), description="When to stop.")
    seed: Count = Field(default=1, description="Of the order of points, and of the search.")


def read(path: Path) -> Experiment:
    """The experiment in a file. Raises `SourceError` with every problem and its line."""
    return validate(Experiment, read_source(path, "experiment").tree)
