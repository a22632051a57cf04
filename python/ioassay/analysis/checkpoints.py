"""What checkpoints cost training: how long it stands still for each generation, and which rank is last.

    stall            from when ranks stop computing until they go on: when all have saved or read their files. Of
                     ranks that differ, the longest.
    rate             bytes of all ranks / time of the slowest rank's own files
    share of stalls  stalls / time from the start of the phase to the end of the last generation, where ranks compute in
                     between

Not here: distributions of stalls, which are the latencies of the operation `checkpoint`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

import polars as pl

from ioassay.store.loaded import LoadedRun

_NS_PER_S = 1e9


@dataclass(frozen=True)
class Generation:
    """A generation that all ranks saved or restored. Times in nanoseconds."""

    number: int
    """In its case, from 0."""
    bytes: int
    """Of all ranks."""
    stall_ns: int
    slowest_ns: int
    """Time of the slowest rank's own files."""
    slowest_rank: int
    slowest_node: str
    median_ns: int
    """Time of the own files of half of the ranks that have any, at most."""
    fsync_ns: int
    """Of the slowest rank's time, in fsync."""
    fill_ns: int
    """Of the slowest rank's time, in making or comparing bytes."""

    @property
    def bytes_per_s(self) -> float:
        """Rate of all bytes over the slowest rank's time."""
        return self.bytes * _NS_PER_S / max(1, self.slowest_ns)

    @property
    def fsync_share(self) -> float:
        """Share of the slowest rank's time in fsync."""
        return self.fsync_ns / max(1, self.slowest_ns)


@dataclass(frozen=True)
class Checkpointing:
    """The generations of a phase."""

    case: str
    phase: str
    is_save: bool
    """False: they were restored."""
    is_valid: bool
    ranks: int
    generations: list[Generation]
    """At least one, in their order."""
    training_ns: int
    """Time from the start of the phase to the end of the last generation."""
    cached_bytes: int | None
    """Bytes in the page cache before a restore; `None` if not measured, and of saves."""

    @property
    def bytes(self) -> int:
        """Bytes of a generation."""
        return self.generations[0].bytes

    @property
    def stall_ns(self) -> float:
        """Median of the generations."""
        return median(generation.stall_ns for generation in self.generations)

    @property
    def longest(self) -> Generation:
        """The generation with the longest stall."""
        return max(self.generations, key=lambda generation: generation.stall_ns)

    @property
    def bytes_per_s(self) -> float:
        """Median rate of the generations."""
        return median(generation.bytes_per_s for generation in self.generations)

    @property
    def stall_share(self) -> float:
        """Share of the time that went into stalls."""
        return sum(generation.stall_ns for generation in self.generations) / max(1, self.training_ns)

    @property
    def last_rank(self) -> tuple[int, str, int]:
        """The rank that was slowest most often, its node, and in how many generations."""
        slowest = Counter((generation.slowest_rank, generation.slowest_node) for generation in self.generations)
        ((rank, node), times), *_ = slowest.most_common(1)
        return rank, node, times

    @property
    def cached_share(self) -> float | None:
        """Share of what was restored that was in the page cache before."""
        read_bytes = sum(generation.bytes for generation in self.generations)
        return None if self.cached_bytes is None else min(1.0, self.cached_bytes / max(1, read_bytes))


def checkpoints(run: LoadedRun) -> list[Checkpointing]:
    """Each phase that saved or restored generations, in the order of the run."""
    moved = {
        (row["case"], row["phase"], row["job"]): row
        for row in run.measurements.filter(pl.col("operation").is_in(["write", "read"])).iter_rows(named=True)
    }
    phases = []
    for (case, phase, job), rows in run.checkpoints.group_by("case", "phase", "job", maintain_order=True):
        transfers = moved.get((case, phase, job))
        is_save = transfers is not None and transfers["operation"] == "write"
        ends = rows.select((pl.col("begin_ns") + pl.col("stall_ns")).max()).item()
        phases.append(
            Checkpointing(
                case=str(case),
                phase=str(phase),
                is_save=is_save,
                is_valid=transfers is not None and transfers["valid"],
                ranks=rows["rank"].n_unique(),
                generations=[
                    _generation(int(str(number)), of_generation)
                    for (number,), of_generation in rows.sort("generation").group_by("generation", maintain_order=True)
                ],
                training_ns=int(ends),
                cached_bytes=None if is_save or transfers is None else transfers["resident_bytes_before"],
            )
        )
    return phases


def _generation(number: int, ranks: pl.DataFrame) -> Generation:
    slowest = ranks.row(int(ranks["own_ns"].arg_max() or 0), named=True)
    own_ns = ranks.filter(pl.col("bytes") > 0)["own_ns"].to_list()
    return Generation(
        number=number,
        bytes=int(ranks["bytes"].sum()),
        stall_ns=max(ranks["stall_ns"].to_list()),
        slowest_ns=slowest["own_ns"],
        slowest_rank=slowest["rank"],
        slowest_node=slowest["node"],
        median_ns=int(median(own_ns)) if own_ns else 0,
        fsync_ns=slowest["fsync_ns"],
        fill_ns=slowest["fill_ns"],
    )
