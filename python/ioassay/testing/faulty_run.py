"""A run that has every kind of finding: what went wrong in it is written over a run of `RunBuilder`."""

from __future__ import annotations

import polars as pl

from ioassay.results.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder

CLIENTS = (1, 2, 4, 8)
SECOND = 10**9


def faulty_run() -> LoadedRun:
    """Six repetitions of four workloads over up to 8 clients, a rank on each, with samples of 0.1 s.

    Writes of `rising` still gain at 8 clients, from repetitions that scatter widely. Those of `uneven` collapse with 4,
    and their last repetitions are outliers. Reads of `falling` slow down gradually, its writes suddenly. Writes of
    `stopping` stall, its reads fluctuate, and a stonewall came to its writes long before the finish. Node `client03` is
    always the last to finish.
    """
    builder = RunBuilder().clients(*CLIENTS).repetitions(6)
    for name in ("rising", "uneven", "falling", "stopping"):
        builder.workload(name, write=0.25e9, read=0.25e9)
    for at, clients in enumerate(CLIENTS):
        builder.rates("rising", "write", clients, *(clients * rate * 1e8 for rate in (1.0, 1.02, 0.98, 1.2, 0.8, 1.01)))
        collapsed = 0.1 if clients == 4 else 1.0
        builder.rates("uneven", "write", clients, *(collapsed * (at + 1) * rate for rate in _SCATTER))
    run = builder.build()
    ends = pl.when(pl.col("node") == "client03").then(pl.col("end_ns").max().over("case", "phase") * 1.2)
    return LoadedRun(
        document=run.document,
        measurements=_walled(run.measurements),
        ranks=run.ranks.with_columns(
            ends.otherwise("end_ns").cast(pl.Int64).alias("end_ns"),
            pl.when(_of("stopping", "write")).then(2 + 71 * pl.col("rank")).alias("stonewall_operations"),
        ),
        samples=_drifting(run.samples),
        latencies=run.latencies,
        doubts=run.doubts,
        sources=run.sources,
    )


_SCATTER = (1.00e8, 1.01e8, 0.99e8, 1.005e8, 0.995e8, 0.5e8)


def _of(workload: str, phase: str) -> pl.Expr:
    return pl.col("case").str.starts_with(workload) & (pl.col("phase") == phase)


def _drifting(samples: pl.LazyFrame) -> pl.LazyFrame:
    share = (pl.col("sample") + 1) / (pl.col("sample").max().over("case", "phase") + 1)

    factor = (
        pl.when(_of("falling", "read"))
        .then(1 - 0.6 * share)
        .when(_of("falling", "write") & (share > 0.5))
        .then(0.4)
        .when(_of("stopping", "write") & share.is_between(0.3, 0.5))
        .then(0.0)
        .when(_of("stopping", "read") & (pl.col("sample") % 3 == 0))
        .then(0.3)
        .otherwise(1.0)
    )
    return samples.with_columns((pl.col(name) * factor).cast(pl.Int64).alias(name) for name in ("bytes", "operations"))


def _walled(measurements: pl.DataFrame) -> pl.DataFrame:
    """A stonewall at a third of the time, when two thirds were done."""
    wall = {
        "stonewall_ns": pl.col("duration_ns") // 3,
        "stonewall_bytes": pl.col("bytes") * 2 // 3,
        "stonewall_operations": pl.col("operations") * 2 // 3,
        "stonewall_least_operations": pl.lit(2),
        "stonewall_most_operations": pl.lit(499),
        "stonewall_rate_bytes_per_s": 2 * pl.col("rate_bytes_per_s"),
        "stonewall_rate_operations_per_s": 2 * pl.col("rate_operations_per_s"),
    }
    return measurements.with_columns(
        pl.when(_of("stopping", "write")).then(value).cast(measurements.schema[name]).alias(name)
        for name, value in wall.items()
    )
