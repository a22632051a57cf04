"""The directory of a sweep: `sweep.json` and the runs."""

from __future__ import annotations

from pathlib import Path

from ioassay.store.experiment_directory import ExperimentDirectory
from ioassay.store.kinds import SWEEP
from ioassay.store.sweep_document import SweepDocument


class SweepDirectory(ExperimentDirectory[SweepDocument]):
    """The directory of a sweep that this process writes to."""

    kind = SWEEP
    noun = "sweep"
    remedy = "Name the directory that `ioassay tune sweep` printed."


def read_sweep(path: Path) -> SweepDocument:
    """`sweep.json` of the directory `path`. Raises `UsageError` when there is none that this version reads."""
    return SweepDirectory.read(path)
