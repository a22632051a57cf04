"""The common fields of documents of experiments: how one was begun, how it ended, and a run per measurement.

A document is rewritten after each measurement, so whatever ends an experiment, what was measured is kept and `--resume`
goes on from there. The runs lie beside it in `runs/`, each a run directory like any other. Not: what is tried, and what
was measured (`sweep_document`, `tune_io500_document`).
"""

from __future__ import annotations

from pydantic import Field

from ioassay.store.states import ExperimentState
from ioassay.store.stored_types import Amount, Component, Moment, StoredModel

RUNS = "runs"
"""The directory with the runs of an experiment."""


class ExperimentMeasurement(StoredModel):
    """One run."""

    run: Component = Field(description="Its directory in `runs`.")
    started: Moment
    why_invalid: str | None = None


class ExperimentDocument(StoredModel):
    """The fields of an experiment's document with which every run of it is started."""

    kind: str
    version: int
    state: ExperimentState = "running"
    started: Moment
    target: str = Field(description="As `ioassay run` takes it; of a lab's storage its name: `lab:NAME/STORAGE`.")
    ended: Moment | None = None
    reason: str | None = Field(default=None, description="Why it failed or was interrupted.")
    command: list[str]
    ioassay_version: str
    scale: str | None = None
    study_settings: list[str] = Field(default_factory=list, description="`KEY=VALUE` each, in every run.")
    launcher: str = "local"
    hosts: list[str] = Field(default_factory=list)
    launcher_options: list[str] = Field(default_factory=list)
    clients: str | None = Field(default=None, description="Whose hosts are the nodes: `lab:NAME`.")
    precision: Amount = Field(description="Half-width at which a comparison has settled, as a share.")
