"""`tune-io500.json`: the steps of tuning the IO500 with what each decided, and every measurement with its run.

Not: what the measurements say (`tuning.io500`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioassay.store.doubt_kinds import voids_comparison
from ioassay.store.experiment_document import ExperimentDocument, ExperimentMeasurement
from ioassay.store.kinds import TUNE_IO500
from ioassay.store.stored_types import Amount, Component, Count, StoredModel

Io500Stage = Literal["ior-easy", "balance"]
"""`ior-easy`: one rank count against the next one, in pairs. `balance`: all phases at several counts, in rounds."""


class SystemFact(StoredModel):
    """A fact about the system, known before anything is measured."""

    name: str
    value: str
    source: str = Field(description="Where it comes from: an option, a file of the snapshot, a command.")


class CeilingEntry(StoredModel):
    """The highest rates that theory allows, of all nodes together."""

    write_bytes_per_s: Amount
    read_bytes_per_s: Amount
    source: str


class StripingSetting(StoredModel):
    """A setting of the target directory, as `ioassay tune apply` names it."""

    name: str
    value: str


class StripingEntry(StoredModel):
    """How files are to be striped."""

    applies: bool = Field(description="The target is a Lustre directory.")
    why: str
    settings: list[StripingSetting] = Field(default_factory=list)
    command: str | None = Field(default=None, description="The same by hand.")
    progressive_command: str | None = Field(
        default=None, description="A progressive layout instead, in which small files keep one stripe."
    )
    notes: list[str] = Field(default_factory=list)
    journal: str | None = Field(
        default=None, description="The journal of the settings, where the procedure has set them; they stay set."
    )


class NodesEntry(StoredModel):
    """How many nodes take part."""

    nodes: Count
    available: Count
    storage_targets: Count
    storage_targets_source: str
    why: str


class Io500Measurement(ExperimentMeasurement):
    """One run at one rank count. Rates and scores are `None` where they were not measured or are not valid."""

    stage: Io500Stage
    step: Count = Field(description="Of `ior-easy` the larger rank count of the pair, else 0.")
    turn: Count = Field(description="The pair of `ior-easy`, the round of `balance`, from 0.")
    ranks: Count = Field(description="Of each node.")
    write_bytes_per_s: Amount | None = Field(default=None, description="Of ior-easy.")
    read_bytes_per_s: Amount | None = Field(default=None, description="Of ior-easy.")
    score: Amount | None = None
    bandwidth: Amount | None = Field(default=None, description="GiB/s")
    metadata: Amount | None = Field(default=None, description="kIOPS")
    phases: dict[str, Amount] = Field(default_factory=dict, description="Scores by phase, in GiB/s or kIOPS.")
    doubts: dict[str, str] = Field(
        default_factory=dict, description="The kinds of doubts about its phases, each with its remedy."
    )
    doubted_phases: dict[str, list[str]] = Field(
        default_factory=dict, description="By kind of doubt the phases that it concerns."
    )

    @property
    def void_doubts(self) -> list[str]:
        """The kinds of doubts with which it cannot be compared."""
        return [kind for kind in self.doubts if voids_comparison(kind)]


class TuneIo500Document(ExperimentDocument):
    """`tune-io500.json`."""

    kind: Literal["tune-io500"] = "tune-io500"
    version: int = TUNE_IO500.version
    tuning: Component = Field(description="Identifier, for example `20261122-020000-tune-io500-3f2a`.")
    directory: str = Field(description="The path of the target.")
    user_settings: list[str] = Field(
        default_factory=list, description="Those among the settings of the study that the user gave."
    )
    stonewall: str = Field(description="Of each write phase, as studies write it.")
    facts: list[SystemFact]
    ceiling: CeilingEntry | None
    ceiling_unknown: str = Field(default="", description="Why there is no ceiling.")
    striping: StripingEntry
    nodes: NodesEntry
    most_ranks: Count = Field(description="Ranks per node that are tried at most.")
    most_ranks_source: str
    most_turns: Count = Field(description="The most pairs or rounds of a comparison.")
    measurements: list[Io500Measurement] = Field(default_factory=list)
