"""`run.json`: what was asked, where, when, by what, and how it ended.

Fields are added freely; `version` rises when an old reader would misread a new document.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ioassay.units import RateUnit

RUN_VERSION = 1

RunState = Literal["running", "complete", "failed", "interrupted"]
CaseState = Literal["pending", "running", "complete", "failed", "interrupted"]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PhaseEntry(_Document):
    """A timed phase of a case, as the report needs it."""

    name: str = Field(description="Name of the phase, unique in the case, for example `write`.")
    operation: Literal["write", "read"]
    ior: str = Field(description="The equivalent IOR command line.")


class CaseEntry(_Document):
    """One point of the sweep, fully resolved. The plan that the engine got lies in `logs/CASE/plan.json`."""

    id: str = Field(description="Unique in the run; names its folder under `logs/`.")
    workload: str = Field(description="Name of the workload in the study.")
    clients: int
    ranks_per_client: int
    repetition: int = Field(description="1, 2, …")
    layout: Literal["N-N", "N-1"]
    order: Literal["sequential", "random", "random-with-replacement"]
    transfer_bytes: int
    block_bytes: int
    segments: int
    file_set_bytes: int = Field(description="Size of all its files together.")
    written_bytes: int = Field(description="What all its write phases together write.")
    phases: list[PhaseEntry]
    state: CaseState = "pending"
    error: str | None = Field(default=None, description="Why it failed, as a sentence with the remedy.")


class FigureEntry(_Document):
    """A figure that the study asks for: a rate against clients."""

    title: str
    workloads: list[str] = Field(description="One line each.")
    operation: Literal["write", "read"]
    unit: RateUnit


class SummaryRow(_Document):
    """A row of the peak and sustained table."""

    label: str
    workload: str
    unit: RateUnit


class Criterion(_Document):
    """A criterion that the study is judged by. See `ioassay.analysis.acceptance` for the measures."""

    measure: str
    of: str = Field(description="Name of a workload, or `all`.")
    operation: Literal["write", "read", "all"]
    at_most: float | None = None
    at_least: float | None = None
    unit: str = Field(description="Unit of the limit: `bytes/s`, `operations/s`, `s`, `1`.")
    because: str


class WorkloadEntry(_Document):
    """A workload's name and title."""

    name: str
    title: str


class StudyEntry(_Document):
    """The study as it was run."""

    name: str
    title: str
    question: str
    source: str | None
    scale: str | None
    settings: dict[str, Any] = Field(description="Every setting with the value it had.")
    text: str = Field(description="The study's YAML, as read.")
    method: list[str] = Field(description="The method in sentences, written from the resolved study.")
    workloads: list[WorkloadEntry]
    figures: list[FigureEntry]
    summary: list[SummaryRow]
    acceptance: list[Criterion]


class RunDocument(_Document):
    """`run.json`."""

    version: int = RUN_VERSION
    run: str = Field(description="Identifier of the run.")
    study: StudyEntry
    cases: list[CaseEntry] = Field(description="In the order in which they run.")
    target: str
    launcher: str
    command: list[str] = Field(description="The command line that started the run.")
    ioassay_version: str
    engine_version: str | None = None
    environment: list[dict[str, Any]] = Field(
        default_factory=list, description="Every node, as the engine describes it (contract: Environment)."
    )
    state: RunState = "running"
    started: str = Field(description="ISO 8601, UTC.")
    ended: str | None = None
    leftovers: list[str] = Field(default_factory=list, description="Paths on the target that could not be removed.")
