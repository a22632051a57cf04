"""Utilisation of accelerators in training, with rates and waits of each epoch.

    utilisation      computing / time, both of one accelerator; time runs from the start of the epoch, before the first
                     request, to the end of its last step. The mean of all accelerators.
    DLIO repository  (computing - computing of the first step) / (time - time of the first step): DLIO since its
                     release 2.0.0 leaves out the first step of each block, here of each epoch, and measures computing
    DLIO release     (steps - 1) × nominal computing of a step / (time - time of the first step): DLIO 2.0.0 takes the
                     time that the computation was to last

Neither of DLIO's values includes the wait for the first batch. None of them is a result of MLPerf Storage.

Imported results of DLIO have the value that it printed, whose time runs to the end of a block, beyond the last step,
and ours from the times of all steps in the ranks' own files, in which the release has the nominal computing.
Evaluations between epochs have rows of their own and no part in the answer.

Not here: how many accelerators storage feeds (`feeding`), finding what limits an epoch beyond these shares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from ioassay.store import schema
from ioassay.store.document import UTILISATION_GOAL, CaseEntry, JobEntry, Operation
from ioassay.store.loaded import LoadedRun
from ioassay.text.units import format_share

Limit = Literal["processors", "storage"]

_NS_PER_S = 1e9

BUSY = 0.9
"""Share of the time above which loader threads count as always busy, and share of that on a processor above which they
wait for processors and not for storage."""


LOADER_BOUND = "loader-bound"
"""The doubt about an epoch that misses its goal because of the clients' processors."""


@dataclass(frozen=True)
class Epoch:
    """An epoch of a case. Shares are from 0 to 1, times in nanoseconds."""

    phase: str
    job: str
    is_evaluation: bool
    """Of the model, between epochs of training."""
    is_valid: bool
    steps: int
    """For each accelerator."""
    samples: int
    """Sum of all accelerators."""
    utilisation: float
    lowest_utilisation: float
    """Utilisation of the accelerator that waited most."""
    lowest_rank: int
    lowest_node: str
    dlio_repository: float | None
    """`None` for a single step, and of an imported result that was not computed so."""
    dlio_release: float | None
    duration_ns: int
    """From the start to the end of the last step of any accelerator."""
    asked_bytes: int
    read_bytes: int | None
    """Bytes that were actually read: more than requested if reads are aligned. `None`: another tool did not count
    them.
    """
    cached_bytes: int | None
    """Bytes of the dataset in the page cache before the epoch; `None` if not measured."""
    first_batch_ns: int
    """Until all accelerators had their first batch."""
    wait_ns: float
    """Mean of all steps."""
    loader_threads: int
    """For each accelerator."""
    loader_busy_ns: int
    loader_processor_ns: int
    loader_busy_share: float | None
    """Share of their time in which loader threads loaded; `None`, of another tool: unknown."""
    goal: float
    """Utilisation at which its accelerators are fed."""
    batch: int | None
    """Samples of a step; `None`: unknown."""
    asked_compute_ns: int | None
    """Nominal computing of a step; `None`: unknown."""

    @property
    def samples_per_s(self) -> float:
        """Samples of all accelerators together."""
        return self.samples * _NS_PER_S / max(1, self.duration_ns)

    @property
    def read_bytes_per_s(self) -> float | None:
        """Rate of the bytes that were actually read."""
        return None if self.read_bytes is None else self.read_bytes * _NS_PER_S / max(1, self.duration_ns)

    @property
    def cached_share(self) -> float | None:
        """Share of the read bytes that was in the page cache before."""
        if self.cached_bytes is None or self.read_bytes is None:
            return None
        return min(1.0, self.cached_bytes / max(1, self.read_bytes))

    @property
    def loader_processor_share(self) -> float | None:
        """Share of the loading time in which loader threads were on a processor."""
        if self.loader_busy_share is None:
            return None
        return min(1.0, self.loader_processor_ns / max(1, self.loader_busy_ns))

    @property
    def limit(self) -> Limit | None:
        """What limits it where loader threads loaded nearly all the time: `processors` if they were on one nearly all
        that time, so that faster storage would not help; `None` where they were idle at times.
        """
        if self.loader_busy_share is None or self.loader_busy_share < BUSY:
            return None
        return "processors" if (self.loader_processor_share or 0) >= BUSY else "storage"


@dataclass(frozen=True)
class Training:
    """A case that trains."""

    case: str
    accelerators: int
    epochs: list[Epoch]
    """With evaluations, in the order in which they ran."""

    @property
    def trained(self) -> list[Epoch]:
        """The epochs of training; where there are none, the evaluations."""
        return [epoch for epoch in self.epochs if not epoch.is_evaluation] or self.epochs

    @property
    def is_valid(self) -> bool:
        """True if all its epochs are."""
        return all(epoch.is_valid for epoch in self.epochs)

    @property
    def worst_epoch(self) -> Epoch:
        """The epoch that is furthest below its goal, or least above it."""
        return min(self.trained, key=lambda epoch: epoch.utilisation - epoch.goal)


def training(run: LoadedRun) -> list[Training]:
    """The epochs of each case that trains, in the order of the run."""
    return trainings(run.document.cases, run.measurements, run.training)


def trainings(cases: Iterable[CaseEntry], measurements: pl.DataFrame, epochs: pl.DataFrame) -> list[Training]:
    """The same of tables of a run: `epochs` is its table `training`, which may have some of the cases alone."""
    reads = {
        (row["case"], row["phase"], row["job"]): row
        for row in measurements.filter(pl.col("operation") == "read").iter_rows(named=True)
    }
    entries = {case.id: case for case in cases}
    return [
        Training(
            str(case),
            of_case["rank"].n_unique(),
            [
                _epoch(entries[str(case)].job(str(phase), str(job)), str(phase), ranks, reads.get((case, phase, job)))
                for (phase, job), ranks in of_case.group_by("phase", "job", maintain_order=True)
            ],
        )
        for (case,), of_case in epochs.group_by("case", maintain_order=True)
    ]


def doubted(run: LoadedRun) -> LoadedRun:
    """The run with a doubt about each epoch that misses its goal because loader threads waited for processors: it says
    nothing about the storage.
    """
    rows = [
        _loader_bound(of_case.case, epoch, operation)
        for of_case in ([] if run.training.is_empty() else training(run))
        for epoch in of_case.trained
        if epoch.limit == "processors" and epoch.utilisation < epoch.goal
        for operation in ("read", "step")
    ]
    return replace(run, doubts=pl.concat([run.doubts, pl.DataFrame(rows, schema=schema.DOUBTS)])) if rows else run


def _loader_bound(case: str, epoch: Epoch, operation: Operation) -> dict[str, Any]:
    evidence = {
        "utilisation": epoch.utilisation,
        "goal": epoch.goal,
        "loader_threads": epoch.loader_threads,
        "loader_busy_share": epoch.loader_busy_share,
        "loader_processor_share": epoch.loader_processor_share,
    }
    busy, on_processor = (
        format_share(share or 0.0) for share in (epoch.loader_busy_share, epoch.loader_processor_share)
    )
    return {
        "case": case,
        "phase": epoch.phase,
        "job": epoch.job,
        "operation": operation,
        "kind": LOADER_BOUND,
        "invalidates": False,
        "message": f"loader threads loaded for {busy} of the time, and were on a processor for {on_processor} of that: "
        f"processors limit the utilisation of {format_share(epoch.utilisation)}, faster storage would not raise it",
        "remedy": "use more clients; where processors are idle, more `loader_threads`",
        "evidence": json.dumps(evidence, sort_keys=True, separators=(",", ":")),
    }


def _epoch(job: JobEntry, phase: str, ranks: pl.DataFrame, read: dict[str, Any] | None) -> Epoch:
    time = pl.col("last_step_ns").clip(lower_bound=1)
    utilisation = pl.col("compute_ns") / time
    rest_ns = (pl.col("last_step_ns") - pl.col("first_step_ns")).clip(lower_bound=1)
    each = ranks.with_columns(
        utilisation.alias("utilisation"),
        ((pl.col("compute_ns") - pl.col("first_compute_ns")) / rest_ns).alias("repository"),
        ((pl.col("steps") - 1) * pl.col("asked_compute_ns") / rest_ns).alias("release"),
        # Without loader threads, the rank itself loads.
        (pl.col("loader_busy_ns") / (time * pl.col("loader_threads").clip(lower_bound=1))).alias("busy"),
    )
    printed = job.printed_utilisation
    lowest = each.row(int(each["utilisation"].arg_min() or 0), named=True)
    several = _whole(each["steps"].min()) > 1
    repository, release = (_mean(each[column]) if several else None for column in ("repository", "release"))
    return Epoch(
        phase=phase,
        job=job.name,
        is_evaluation=bool(each["evaluation"].any()),
        is_valid=bool(read and read["valid"]),
        steps=_whole(each["steps"].max()),
        samples=int(each["samples"].sum()),
        utilisation=_mean(each["utilisation"]),
        lowest_utilisation=lowest["utilisation"],
        lowest_rank=lowest["rank"],
        lowest_node=lowest["node"],
        dlio_repository=printed.get("DLIO repository") if printed is not None else repository,
        dlio_release=printed.get("DLIO release") if printed is not None else release,
        duration_ns=_whole(each["last_step_ns"].max()),
        asked_bytes=int(each["asked_bytes"].sum()),
        read_bytes=None if printed is not None else read["bytes"] if read else 0,
        cached_bytes=read["resident_bytes_before"] if read else None,
        first_batch_ns=_whole(each["first_batch_ns"].max()),
        wait_ns=int(each["wait_ns"].sum()) / max(1, int(each["steps"].sum())),
        loader_threads=_whole(each["loader_threads"].max()),
        loader_busy_ns=int(each["loader_busy_ns"].sum()),
        loader_processor_ns=int(each["loader_processor_ns"].sum()),
        loader_busy_share=None if printed is not None else _mean(each["busy"]),
        batch=round(lowest["samples"] / lowest["steps"]) if lowest["samples"] and lowest["steps"] else None,
        asked_compute_ns=lowest["asked_compute_ns"],
        goal=UTILISATION_GOAL if job.utilisation_goal is None else job.utilisation_goal,
    )


def _whole(number: object) -> int:
    """The maximum or minimum of a column as an integer; 0 for an empty column."""
    return number if isinstance(number, int) else 0


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else 0.0
