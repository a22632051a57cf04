"""Processes that do the same work, and their imbalances: the ranks of a job, otherwise workers of a process.

All processes that a launcher started as one rank count together: its shell, the program, and its children. Workers have
the same parent and the same command, and there is a time at which all of them run.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis.profile.totals import IO_NS, known_sum
from ioassay.profiles.model import Profile

MEASURES = ("read_bytes", "written_bytes", "io_ns")


@dataclass(frozen=True)
class Imbalance:
    """The imbalance of peers in one of `MEASURES`."""

    peers: str
    """`rank`, or the command and the parent of workers."""
    count: int
    measure: str
    least: int
    median: float
    most: int
    most_process: int
    """The number of the process with the most, or the first process of that rank."""
    most_name: str
    """`rank 3`, `process 4711`."""
    most_run_ns: int
    """Run time of that process, or of that rank from the begin of its first process to the end of its last."""

    @property
    def share(self) -> float:
        """The difference of most and least, as a share of most."""
        return 1 - self.least / self.most if self.most else 0.0


def peers(profile: Profile) -> pl.DataFrame:
    """A row for each peer with at least one other: group, name, process, read_bytes, written_bytes, io_ns, run_ns.
    Those of `MEASURES` that a source does not know for each process are null.
    """
    run_ns = pl.col("end_unix_ns").max() - pl.col("begin_unix_ns").min()
    known = profile.processes.with_columns(IO_NS).filter(pl.any_horizontal(pl.col(MEASURES).is_not_null()))
    ranks = known.filter(pl.col("rank").is_not_null())
    if ranks["rank"].n_unique() > 1:
        peer_rows = (
            ranks.sort("io_ns", descending=True)
            .group_by("rank", maintain_order=True)
            .agg(pl.col("process").first(), *map(known_sum, MEASURES), run_ns=run_ns)
            .with_columns(group=pl.lit("rank"), name=pl.format("rank {}", "rank"))
        )
    else:
        family = ("node", "parent_pid", "command")
        together = pl.col("begin_unix_ns").max().over(family) < pl.col("end_unix_ns").min().over(family)
        peer_rows = known.filter(pl.len().over(family) > 1).filter(together)
        peer_rows = peer_rows.with_columns(
            run_ns=pl.col("end_unix_ns") - pl.col("begin_unix_ns"),
            group=pl.coalesce(pl.format("{} ({})", "command", "parent_pid"), "command"),
            name=pl.format("process {}", pl.coalesce("pid", "process")),
        )
    columns = ("group", "name", "process", *MEASURES, "run_ns")
    return peer_rows.select(columns).filter(pl.len().over("group") > 1).sort("group", "process")


def imbalances(profile: Profile) -> list[Imbalance]:
    """The imbalances of each group of peers, in each known measure."""
    return [
        Imbalance(
            str(group),
            members.height,
            measure,
            int(values.min()),  # type: ignore[arg-type]
            float(values.median()),  # type: ignore[arg-type]
            int(values.max()),  # type: ignore[arg-type]
            members["process"][most],
            members["name"][most],
            members["run_ns"][most],
        )
        for (group,), members in peers(profile).group_by("group", maintain_order=True)
        for measure in MEASURES
        if not (values := members[measure]).has_nulls() and values.sum() > 0 and (most := values.arg_max()) is not None
    ]
