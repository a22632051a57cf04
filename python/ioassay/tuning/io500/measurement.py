"""One run of ior-easy or of the whole IO500, and its rates and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Protocol

import polars as pl

from ioassay.analysis import io500
from ioassay.execution.interruption import Interruption
from ioassay.store.loaded import LoadedRun
from ioassay.store.tune_io500_document import Io500Stage
from ioassay.tuning.sweep.objective import remedies, why_not_complete

STUDY = "io500"

WRITE, READ = "ior-easy-write", "ior-easy-read"
"""The phases of ior-easy."""


def ior_easy_study() -> str:
    """The path of the study with the phases of ior-easy alone."""
    return str(resources.files("ioassay.tuning.io500") / "ior-easy.yaml")


class Runs(Protocol):
    """Measures."""

    def run(self, stage: Io500Stage, ranks: int, out: Path, interruption: Interruption) -> Finished:
        """Runs the phases of a stage into a new directory. Raises `UsageError`, `CannotRun`."""


@dataclass(frozen=True)
class Observed:
    """The rates and scores of a run; `None` and why where they may not be used."""

    write_bytes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    score: float | None = None
    bandwidth: float | None = None
    metadata: float | None = None
    phases: dict[str, float] = field(default_factory=dict)
    why_invalid: str | None = None
    doubts: dict[str, str] = field(default_factory=dict)
    """The kinds of doubts about the phases, each with its remedy."""
    doubted_phases: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """A run that has ended."""

    observed: Observed
    is_interrupted: bool = False
    leftovers: Sequence[str] = ()
    """Files that it left on the target."""


def finished(run: LoadedRun, stage: Io500Stage) -> Finished:
    """The result of a run of a stage."""
    document = run.document
    return Finished(observe(run, stage), document.state == "interrupted", document.leftovers)


def observe(run: LoadedRun, stage: Io500Stage) -> Observed:
    """The measurement of a run of a stage."""
    if run.document.state != "complete":
        return Observed(why_invalid=why_not_complete(run))
    return replace(_measured(run, stage), doubts=remedies(run.doubts), doubted_phases=_doubted_phases(run))


def _measured(run: LoadedRun, stage: Io500Stage) -> Observed:
    write, read = _rate(run, WRITE), _rate(run, READ)
    if stage == "ior-easy":
        return Observed(write, read, why_invalid=None if write and read else _doubted(run, (WRITE, READ)))
    score = next((scored for scored in io500.scores(run) if scored.list == "standard"), None)
    if score is None:
        return Observed(write, read, why_invalid="nothing was measured")
    phases = {phase.rule.phase: phase.score for phase in score.phases if score.counts(phase)}
    if not score.total:
        lacking = [name for name, value in phases.items() if not value]
        return Observed(
            write,
            read,
            phases=phases,
            why_invalid=f"no valid {', '.join(lacking)}: {_doubted(run, lacking)}",
        )
    return Observed(write, read, score.total, score.bandwidth, score.metadata, phases)


def _doubted_phases(run: LoadedRun) -> dict[str, list[str]]:
    doubts: dict[str, list[str]] = {}
    for kind, phase in run.doubts.select("kind", "phase").unique(maintain_order=True).iter_rows():
        doubts.setdefault(kind, []).append(phase)
    return doubts


def _rate(run: LoadedRun, phase: str) -> float | None:
    """Bytes per second of a phase, where it is valid."""
    rows = run.measurements.filter(pl.col("valid"), phase=phase)
    rate = rows["rate_bytes_per_s"][0] if rows.height else None
    return float(rate) if rate else None


def _doubted(run: LoadedRun, phases: tuple[str, ...] | list[str]) -> str:
    invalidating = run.doubts.filter("invalidates", pl.col("phase").is_in(phases))
    return str(invalidating["message"][0]) if invalidating.height else "not every rank completed its work"
