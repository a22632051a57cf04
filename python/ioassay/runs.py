"""Stored runs in Python: the tables of many runs as one frame each.

For notebooks and scripts; the columns are those of `ioassay.results.schema`, with the run's path before them. Not: new
estimates (`ioassay.analysis`), documents (`ioassay.reports`).
"""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.findings import Facts, findings
from ioassay.analysis.rate_units import RateColumn
from ioassay.errors import UsageError
from ioassay.reports.findings import Sentences
from ioassay.reports.names import Names
from ioassay.results.loaded import LoadedRun
from ioassay.results.run_directory import is_run, load

RUN = "run"
"""The first column of every frame: the path of the run's directory, as it was found."""


@dataclass(frozen=True)
class Runs:
    """Runs by the paths of their directories, in the order in which they were found."""

    by_path: Mapping[str, LoadedRun]

    def __len__(self) -> int:
        return len(self.by_path)

    @cached_property
    def measurements(self) -> pl.DataFrame:
        """A row for each measurement."""
        return self._joined({path: run.measurements for path, run in self.by_path.items()})

    @cached_property
    def ranks(self) -> pl.DataFrame:
        """A row for each rank of each measurement."""
        return self._joined({path: run.ranks for path, run in self.by_path.items()})

    @cached_property
    def doubts(self) -> pl.DataFrame:
        """A row for each doubt about each measurement."""
        return self._joined({path: run.doubts for path, run in self.by_path.items()})

    @cached_property
    def latencies(self) -> pl.DataFrame:
        """A row for each bucket of each measurement's histogram."""
        return self._joined({path: run.latencies for path, run in self.by_path.items()})

    @cached_property
    def sources(self) -> pl.DataFrame:
        """Where each imported measurement was read."""
        return self._joined({path: run.sources for path, run in self.by_path.items()})

    @property
    def samples(self) -> pl.LazyFrame:
        """A row for each sample of each rank; they are millions, so aggregate before you collect."""
        return pl.concat(run.samples.select(pl.lit(path).alias(RUN), pl.all()) for path, run in self.by_path.items())

    def medians(self, column: RateColumn = "rate_bytes_per_s") -> pl.DataFrame:
        """A row for each point of each sweep: the median of its valid repetitions with its interval, in bytes/s or
        operations/s (`ioassay.analysis.rates.medians`).
        """
        return self._joined(
            {path: rates.medians(rates.points(run.measurements), column) for path, run in self.by_path.items()}
        )

    def findings(self) -> pl.DataFrame:
        """A row for each finding: run, weight, kind, sentence, and on how many measurements it rests."""
        rows = [
            (path, one.weight, one.kind, sentences.of(one.evidence, one.rests_on[0]).text, len(one.rests_on))
            for path, run in self.by_path.items()
            for sentences in [Sentences(run.document, Names(run.document))]
            for one in findings(Facts(run))
        ]
        columns = {RUN: pl.String, "weight": pl.String, "kind": pl.String, "sentence": pl.String, "rests_on": pl.Int64}
        return pl.DataFrame(rows, schema=columns, orient="row")

    def _joined(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(frame.select(pl.lit(path).alias(RUN), pl.all()) for path, frame in frames.items())


def load_runs(*patterns: str | Path) -> Runs:
    """The runs whose directories match `patterns`, shell patterns as `runs/*`; what else matches is passed over.

    Raises `UsageError` when nothing that matches a pattern is a run, or when a run is damaged.
    """
    found: dict[str, LoadedRun] = {}
    for pattern in patterns:
        own = [path for path in sorted(glob.glob(str(pattern), recursive=True)) if is_run(Path(path))]
        if not own:
            raise UsageError(f"Nothing that matches {pattern} is a run directory.", "Name the directories of runs.")
        found |= {path: load(Path(path)) for path in own if path not in found}
    return Runs(found)
