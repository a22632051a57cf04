"""Stored runs in Python: the tables of many runs as one frame each, summaries, and figures.

For notebooks and scripts. The columns are those of `ioassay.store.schema` and `ioassay.reports.run.tables`, with the
run's path before them. Not: new estimates (`ioassay.analysis`), documents (`ioassay.reports`).
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.compare import measured_run
from ioassay.analysis.derived_doubts import doubted
from ioassay.errors import UsageError
from ioassay.frames.figures import Figures
from ioassay.reports.compare import configuration, data
from ioassay.reports.compare.content import Side, assemble
from ioassay.reports.run import tables
from ioassay.store import index
from ioassay.store.loaded import LoadedRun
from ioassay.store.run_directory import is_run, load
from ioassay.store.short_names import short
from ioassay.text.rate_units import RateColumn
from ioassay.text.units import format_count

RUN = "run"
"""The first column of every frame: the path of the run's directory, as it was found."""


@dataclass(frozen=True, repr=False)
class Runs:
    """Runs by the paths of their directories, in the order in which they were found."""

    by_path: Mapping[str, LoadedRun]

    def __len__(self) -> int:
        return len(self.by_path)

    def __repr__(self) -> str:
        return f"{format_count(len(self), 'run')}: {', '.join(self.by_path)}"

    @property
    def overview(self) -> pl.DataFrame:
        """A row for each run: study, target, started, state, cases, measurements, how many of these are valid."""
        return pl.DataFrame(
            [
                {
                    RUN: path,
                    "study": run.document.study.name,
                    "target": run.document.where,
                    "started": run.document.started,
                    "state": run.document.state,
                    "cases": len(run.document.cases),
                    "measurements": run.measurements.height,
                    "valid": run.measurements["valid"].sum(),
                }
                for path, run in self.by_path.items()
            ]
        )

    @property
    def figures(self) -> Figures:
        """Figures of all runs: `figures.rate("write")`, `latencies`, `timeline`, `of_studies`."""
        return Figures(dict(zip(short(list(self.by_path)), self.by_path.values(), strict=True)))

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
    def first_bytes(self) -> pl.DataFrame:
        """A row for each bucket of the histogram of times to the first byte of reads."""
        return self._joined({path: run.first_bytes for path, run in self.by_path.items()})

    @cached_property
    def training(self) -> pl.DataFrame:
        """A row for each accelerator in each epoch."""
        return self._joined({path: run.training for path, run in self.by_path.items()})

    @cached_property
    def kv_cache(self) -> pl.DataFrame:
        """A row for each inference server in each phase that answers requests with a key-value cache."""
        return self._joined({path: run.kv_cache for path, run in self.by_path.items()})

    @cached_property
    def checkpoints(self) -> pl.DataFrame:
        """A row for each generation of a checkpoint of each rank."""
        return self._joined({path: run.checkpoints for path, run in self.by_path.items()})

    @cached_property
    def sources(self) -> pl.DataFrame:
        """The file and line of each imported measurement."""
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

    def peaks_and_sustained(self) -> pl.DataFrame:
        """A row for each series that a study asks for (`ioassay.reports.run.tables.peaks_and_sustained`)."""
        return self._each(tables.peaks_and_sustained)

    def latency_percentiles(self) -> pl.DataFrame:
        """A row for each point of each sweep, in nanoseconds (`ioassay.reports.run.tables.latency_percentiles`)."""
        return self._each(tables.latency_percentiles)

    def findings(self) -> pl.DataFrame:
        """A row for each finding: run, severity, kind, sentence, and on how many measurements it rests."""
        return self._each(tables.findings)

    def watched_phases(self) -> pl.DataFrame:
        """A row for each phase of runs that were watched (`ioassay.reports.run.tables.watched_phases`)."""
        return self._each(tables.watched_phases)

    def watched_hosts(self) -> pl.DataFrame:
        """A row for each phase and host that was watched (`ioassay.reports.run.tables.watched_hosts`)."""
        return self._each(tables.watched_hosts)

    def watched(self) -> pl.DataFrame:
        """Everything that agents reported, a row for each value (`ioassay.reports.run.tables.watched`)."""
        return self._each(tables.watched)

    def ratios(self) -> pl.DataFrame:
        """All other runs divided by the first, a row for each point, peak and sustained rate, with the interval of each
        ratio and which conditions differed: what `ioassay compare --format csv` writes.

        Raises `UsageError` for one run alone.
        """
        if len(self) < 2:
            raise UsageError("There is only one run to compare.", "Load two or more; the first is the reference.")
        names = short(list(self.by_path))
        return data.table(
            assemble(
                [
                    Side(measured_run.subject(run, name), configuration.run_facts(run.document))
                    for name, run in zip(names, self.by_path.values(), strict=True)
                ]
            )
        )

    def _each(self, table: Callable[[LoadedRun], pl.DataFrame]) -> pl.DataFrame:
        return self._joined({path: table(run) for path, run in self.by_path.items()})

    def _joined(self, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(frame.select(pl.lit(path).alias(RUN), pl.all()) for path, frame in frames.items())


def load_runs(*patterns: str | Path) -> Runs:
    """The runs whose directories match `patterns`, shell patterns as `runs/*`; what else matches is passed over. A path
    without a pattern, as `runs`, may also be a folder: that stands for all runs below it, the oldest first.

    Raises `UsageError` when nothing that matches a pattern is a run, or when a run is damaged.
    """
    loaded: dict[str, LoadedRun] = {}
    for pattern in map(str, patterns):
        matching = sorted(glob.glob(pattern, recursive=True))
        if not glob.has_magic(pattern):
            matching = [str(run) for run in index.runs(map(Path, matching))]
        run_paths = [path for path in matching if is_run(Path(path))]
        if not run_paths:
            raise UsageError(f"No run directory matches {pattern}.", "Use the directories of runs.")
        loaded |= {path: doubted(load(Path(path))) for path in run_paths if path not in loaded}
    return Runs(loaded)
