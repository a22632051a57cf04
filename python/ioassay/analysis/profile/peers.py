"""Processes that do the same work, and how unequal they are: the ranks of a job, else workers of a process.

All processes that a launcher started as one rank count together: its shell, the program, and what that starts. Workers
have the same parent and the same command, and all of them run at the same time at some moment.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis.profile.totals import IO_NS, known_sum
from ioassay.profiles.model import Profile

MEASURES = ("read_bytes", "written_bytes", "io_ns")


@dataclass(frozen=True)
class Imbalance:
    """How unequal peers are in one of `MEASURES`."""

    peers: str
    """`rank`, or the command and the parent of workers."""
    count: int
    measure: str
    least: int
    median: float
    most: int
    most_process: int
    """The number of the process with most, or the first one of that rank."""
    most_name: str
    """`rank 3`, `process 4711`."""
    most_run_ns: int
    """How long that process ran, or that rank: from the beginning of its first process to the end of its last."""

    @property
    def share(self) -> float:
        """The difference of most and least, as a share of most."""
        return 1 - self.least / self.most if self.most else 0.0


def peers(profile: Profile) -> pl.DataFrame:
    """A row for each peer with at least one other: group, name, process, read_bytes, written_bytes, io_ns, run_ns. Of
    those of `MEASURES` that a source does not know of each process, there is null.
    """
    run_ns = pl.col("end_unix_ns").max() - pl.col("begin_unix_ns").min()
    known = profile.processes.with_columns(IO_NS).filter(pl.any_horizontal(pl.col(MEASURES).is_not_null()))
    ranks = known.filter(pl.col("rank").is_not_null())
    if ranks["rank"].n_unique() > 1:
        found = (
            ranks.sort("io_ns", descending=True)
            .group_by("rank", maintain_order=True)
            .agg(pl.col("process").first(), *map(known_sum, MEASURES), run_ns=run_ns)
            .with_columns(group=pl.lit("rank"), name=pl.format("rank {}", "rank"))
        )
    else:
        family = ("node", "parent_pid", "command")
        together = pl.col("begin_unix_ns").max().over(family) < pl.col("end_unix_ns").min().over(family)
        found = known.filter(pl.len().over(family) > 1).filter(together)
        found = found.with_columns(
            run_ns=pl.col("end_unix_ns") - pl.col("begin_unix_ns"),
            group=pl.coalesce(pl.format("{} ({})", "command", "parent_pid"), "command"),
            name=pl.format("process {}", pl.coalesce("pid", "process")),
        )
    columns = ("group", "name", "process", *MEASURES, "run_ns")
    return found.select(columns).filter(pl.len().over("group") > 1).sort("group", "process")


def imbalances(profile: Profile) -> list[Imbalance]:
    """How unequal the peers of each group are, in each measure that any of them has."""
    return [
        Imbalance(
            str(group),
            own.height,
            measure,
            int(values.min()),  # type: ignore[arg-type]
            float(values.median()),  # type: ignore[arg-type]
            int(values.max()),  # type: ignore[arg-type]
            own["process"][most],
            own["name"][most],
            own["run_ns"][most],
        )
        for (group,), own in peers(profile).group_by("group", maintain_order=True)
        for measure in MEASURES
        if not (values := own[measure]).has_nulls() and values.sum() > 0 and (most := values.arg_max()) is not None
    ]
