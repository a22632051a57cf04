"""A run that has every kind of finding: what went wrong in it is written over a run of `RunBuilder`.

python -m ioassay.testing.faulty_run          # prints its findings
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from ioassay.analysis.findings import RunFacts, findings
from ioassay.store.loaded import LoadedRun
from ioassay.store.watch_document import WatchedHost
from ioassay.store.watched import Watch
from ioassay.testing.builder import RunBuilder
from ioassay.testing.watched import HostSecond, watched

CLIENTS = (1, 2, 4, 8)
SECOND = 10**9


def faulty_run() -> LoadedRun:
    """Six repetitions of four workloads over up to 8 clients, a rank on each, with samples of 0.1 s.

    Writes of `rising` still gain at 8 clients, from repetitions that scatter widely. Those of `uneven` collapse with 4,
    and their last repetitions are outliers. Reads of `falling` slow down gradually, its writes suddenly. Writes of
    `stopping` stall, its reads fluctuate, and a stonewall came to its writes long before the finish. Node `client03` is
    always the last to finish. Reads of `uneven` spend half of their time opening files.

    Four servers were watched. Their disks write twice what the clients write, but for `uneven`: of that, they write
    most when the phase is over. Reads of `rising` come from memory, those of `falling` from one server, and the link of
    a client is full in reads of `stopping`.
    """
    builder = RunBuilder().clients(*CLIENTS).repetitions(6)
    for name in ("rising", "uneven", "falling", "stopping"):
        builder.workload(name, write=0.25e9, read=0.25e9)
    for number, clients in enumerate(CLIENTS):
        builder.rates("rising", "write", clients, *(clients * rate * 1e8 for rate in (1.0, 1.02, 0.98, 1.2, 0.8, 1.01)))
        collapsed = 0.1 if clients == 4 else 1.0
        builder.rates("uneven", "write", clients, *(collapsed * (number + 1) * rate for rate in _SCATTER))
    run = _in_turn(builder.build())
    ends = pl.when(pl.col("node") == "client03").then(pl.col("end_ns").max().over("case", "phase") * 1.2)
    return LoadedRun(
        document=run.document,
        measurements=_walled(run.measurements),
        ranks=run.ranks.with_columns(
            ends.otherwise("end_ns").cast(pl.Int64).alias("end_ns"),
            pl.when(_of("uneven", "read")).then(pl.col("end_ns") // 2).otherwise("open_ns").alias("open_ns"),
            pl.when(_of("stopping", "write")).then(2 + 71 * pl.col("rank")).alias("stonewall_operations"),
        ),
        samples=_drifting(run.samples),
        latencies=run.latencies,
        first_bytes=run.first_bytes,
        training=run.training,
        kv_cache=run.kv_cache,
        checkpoints=run.checkpoints,
        doubts=run.doubts,
        sources=run.sources,
        watch=_watched(run),
    )


_SCATTER = (1.00e8, 1.01e8, 0.99e8, 1.005e8, 0.995e8, 0.5e8)


def _in_turn(run: LoadedRun) -> LoadedRun:
    """The same with phases that follow each other, `_PAUSE_S` apart."""
    lasting = pl.col("duration_ns").cum_sum().shift(fill_value=0) + _PAUSE_S * SECOND * pl.int_range(pl.len())
    started = pl.col("started_unix_ns").first() // SECOND * SECOND + lasting
    return replace(run, measurements=run.measurements.with_columns(started.alias("started_unix_ns")))


_PAUSE_S = 12
_SERVERS = ("oss1", "oss2", "oss3", "oss4")


def _watched(run: LoadedRun) -> Watch:
    """The reports of the agents on the servers and on a client."""
    hosts = [WatchedHost(name=name, role="server", file=f"{name}.jsonl") for name in _SERVERS]
    link = WatchedHost(name="client01", role="client", file="client01.jsonl", link_bits_per_s=10**9)
    moved: dict[tuple[str, int], HostSecond] = {}
    for row in run.measurements.iter_rows(named=True):
        workload, phase = row["case"].split("-")[0], row["phase"]
        first, seconds = row["started_unix_ns"] // SECOND, -(-row["duration_ns"] // SECOND)
        for offset in range(seconds + _PAUSE_S):
            share = 1 / seconds if offset < seconds else 0.0
            for server in _SERVERS:
                amount = int(row["bytes"] * share / len(_SERVERS))
                if workload == "uneven" and phase == "write":
                    late = 1 / 8 if seconds <= offset < seconds + 8 else 0.0
                    amount = int(row["bytes"] / len(_SERVERS) * (0.2 * share + 0.8 * late))
                elif phase == "write":
                    amount *= 2
                elif workload == "rising":
                    amount //= 10
                elif workload == "falling":
                    amount = amount * 3 if server == "oss1" else amount // 3
                wrote = phase == "write"
                moved[server, first + offset] = HostSecond(
                    server, first + offset, read=0 if wrote else amount, write=amount if wrote else 0
                )
            full = workload == "stopping" and phase == "read" and offset < seconds
            moved["client01", first + offset] = HostSecond(
                "client01", first + offset, received=118_000_000 if full else 1_000_000
            )
    return watched([*hosts, link], moved.values())


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


if __name__ == "__main__":
    for finding in findings(RunFacts(faulty_run())):
        print(f"{finding.severity}, {finding.kind}: {finding.message.text} Remedy: {finding.message.remedy}")
