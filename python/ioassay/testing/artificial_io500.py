"""A made-up storage system for tuning the IO500: rates for each number of ranks per node, with drift and noise.

The same seed gives the same noise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ioassay.analysis.io500 import STANDARD, geometric_mean
from ioassay.execution.interruption import Interruption
from ioassay.store.tune_io500_document import (
    CeilingEntry,
    Io500Stage,
    NodesEntry,
    StripingEntry,
    SystemFact,
    TuneIo500Document,
)
from ioassay.tuning.io500.measurement import Finished, Observed

GB = 1e9

Curve = Callable[[int], float]
"""A rate by ranks per node."""


def saturating(most: float, half: float) -> Curve:
    """Approaches `most`, of which `half` ranks have half."""
    return lambda ranks: most * ranks / (ranks + half)


def peaked(most: float, best_ranks: int) -> Curve:
    """Rises in proportion up to `at` ranks, and falls as steeply beyond."""
    return lambda ranks: most * min(ranks / best_ranks, best_ranks / ranks)


def flat(rate: float) -> Curve:
    """The same for any number of ranks."""
    return lambda ranks: rate


@dataclass
class ArtificialSystem:
    """The system. `noise` is the standard deviation of a rate as a share of it, `drift` what a run costs later ones."""

    bandwidth: Curve
    """The bandwidth of ior-easy, in bytes per second; ior-hard has a quarter."""
    metadata: Curve
    """Operations per second of every metadata phase."""
    noise: float = 0.02
    drift: float = 0.0
    seed: int = 1
    why_invalid: Callable[[Io500Stage, int], str | None] = lambda stage, ranks: None
    interrupts_after: int | None = None
    """The number of runs after which a signal ends one."""
    measured: list[tuple[Io500Stage, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def run(self, stage: Io500Stage, ranks: int, out: Path, interruption: Interruption) -> Finished:
        """A run with so many ranks per node."""
        if self.interrupts_after is not None and len(self.measured) >= self.interrupts_after:
            return Finished(Observed(), is_interrupted=True)
        slower = (1 - self.drift) ** len(self.measured)
        self.measured.append((stage, ranks))
        if why := self.why_invalid(stage, ranks):
            return Finished(Observed(why_invalid=why))
        write, read = (self._noisy(self.bandwidth(ranks) * slower) for _ in range(2))
        if stage == "ior-easy":
            return Finished(Observed(write, read))
        easy, hard = self.bandwidth(ranks) / 2**30, self.bandwidth(ranks) / 4 / 2**30
        phases = {
            rule.phase: self._noisy(
                slower
                * (self.metadata(ranks) / 1000 if rule.group == "metadata" else hard if "hard" in rule.phase else easy)
            )
            for rule in STANDARD
        }
        bandwidth, metadata = (
            geometric_mean(phases[rule.phase] for rule in STANDARD if rule.group == group)
            for group in ("bandwidth", "metadata")
        )
        return Finished(Observed(write, read, math.sqrt(bandwidth * metadata), bandwidth, metadata, phases))

    def _noisy(self, value: float) -> float:
        return value * math.exp(self._chance.gauss(0, self.noise))


def tune_document(ceiling: float | None = None, **changed: Any) -> TuneIo500Document:
    """A procedure that has measured nothing, on one node with up to 64 ranks."""
    ceiling_entry = (
        CeilingEntry(write_bytes_per_s=ceiling, read_bytes_per_s=ceiling, source="--theory") if ceiling else None
    )
    document = TuneIo500Document(
        tuning="20260202-024000-tune-io500-0001",
        started="2026-02-02T02:40:00+00:00",
        target="/mnt/store",
        directory="/mnt/store",
        command=["ioassay", "tune", "io500", "--target", "/mnt/store"],
        ioassay_version="0.1.0",
        stonewall="10s",
        study_settings=["stonewall=10s"],
        facts=[SystemFact(name="Processors per node", value="64", source="this node")],
        ceiling=ceiling_entry,
        ceiling_unknown="" if ceiling else "no --theory was given",
        striping=StripingEntry(
            applies=False, why="the target is xfs; only directories of Lustre have a striping to set"
        ),
        nodes=NodesEntry(
            nodes=1,
            available=1,
            storage_targets=1,
            storage_targets_source="assumed: one local file system",
            why="as many as storage targets",
        ),
        most_ranks=64,
        most_ranks_source="processors of a node",
        precision=0.05,
        most_turns=8,
    )
    return document.model_copy(update=changed)
