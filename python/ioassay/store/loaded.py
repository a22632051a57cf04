"""A run, read: what everything that looks at results works on.

Not: reading it (`run_directory.load`), judging it (`ioassay.analysis`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from ioassay.store.document import RunDocument
    from ioassay.store.watched import Watch


@dataclass(frozen=True)
class LoadedRun:
    """A run directory in memory: `run.json` and the tables with the columns of `schema.py`.

    Samples stay on disk until they are asked for: a row per second and rank is millions. Aggregate, then collect.
    """

    document: RunDocument
    measurements: pl.DataFrame
    ranks: pl.DataFrame
    samples: pl.LazyFrame
    latencies: pl.DataFrame
    first_bytes: pl.DataFrame
    """As latencies, from the beginning of reads to their first byte; empty where no storage API knows it."""
    training: pl.DataFrame
    """The activity of each accelerator and its data loader in each epoch; empty where nothing trained."""
    kv_cache: pl.DataFrame
    """What each inference server did with its key-value cache; empty where nothing answered requests."""
    checkpoints: pl.DataFrame
    """Each generation of a checkpoint as each rank saved or restored it; empty where there were none."""
    doubts: pl.DataFrame
    sources: pl.DataFrame
    """Where imported measurements were read; empty for a run of our own."""
    watch: Watch | None = None
    """The reports of the agents on its hosts; `None` where it was not watched."""
