"""Rates at the stonewall and at the finish, the ranks that finish last, and nodes that are always the slowest.

The rate at the stonewall is that of the storage while all ranks are at work; an application waits for the finish. Both
are right, and a measurement has both. Ranks with the least work at the stonewall finish last: in public runs of the
IO500 the finish took up to 7.8 times as long, and one rank had done 33,000 times the work of another.

A node that is the slowest of a phase more often than chance explains is slow, or the servers it uses are. The slowest
node has the least work per rank and time until its last rank ended: among nodes with the same work it is the last to
finish, among nodes that a stonewall stops together it has done the least. If nodes were equal, each would be the
slowest with the same probability, so the number of times follows the Poisson binomial distribution. This is tested over
all phases and over those of each operation, because a node may be slow only in writing. A node is reported if the
probability, times the number of nodes and tests (Bonferroni), is below `RARE`: of 200 runs with equal nodes, at most 2
report a slow one (`test_stragglers.py`).

Figures that an imported run does not state are `None`, and nodes are only named if ranks state them.

Not: the engine's doubt about ranks that finished at different times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from ioassay.analysis import rates
from ioassay.store.document import Operation
from ioassay.store.measurement import KEY, Measurement
from ioassay.text.rate_units import RateColumn

NAMED = 3
"""The most ranks to name."""

APART = 0.05
"""The least share by which a rank or node must be behind the median of its phase, or two rates must differ."""

RARE = 0.001
"""The probability by chance below which a slow node is reported."""


@dataclass(frozen=True)
class Rank:
    """A rank and its node, if known."""

    rank: int
    node: str | None


@dataclass(frozen=True)
class StonewalledMeasurement:
    """A measurement that reached a stonewall: both rates, and the last ranks. Times since the phase's first start."""

    place: Measurement
    column: RateColumn
    finish_ns: int
    finish_rate: float
    """In the unit of `column`, as is `stonewall_rate`."""
    stonewall_ns: int
    stonewall_rate: float
    least_operations: int | None
    """Operations of the rank with the least at the stonewall."""
    most_operations: int | None
    last: tuple[Rank, ...]
    """Ranks that finished behind the median, the last one first."""
    behind: tuple[Rank, ...]
    """Ranks that had done less than the median at the stonewall, the least first."""

    @property
    def stretch(self) -> float:
        """Time of the finish / time of the stonewall."""
        return self.finish_ns / self.stonewall_ns

    @property
    def imbalance(self) -> float | None:
        """Most / least operations of a rank at the stonewall.

        Infinite if a rank had done none, `None` if it is not stated or no rank had done any.
        """
        if not self.most_operations or self.least_operations is None:
            return None
        return self.most_operations / self.least_operations if self.least_operations else math.inf


@dataclass(frozen=True)
class SlowNode:
    """A node that was the slowest of more phases than chance explains."""

    node: str
    operations: tuple[Operation, ...]
    """Operations (of a job) in which it is slow. Empty: all operations of the run."""
    slowest_in: tuple[Measurement, ...]
    """A measurement of each such phase."""
    of: int
    """The number of phases with these operations in which it took part and nodes were not equally fast."""
    by_chance: float
    """The expected number of these in which it would be the slowest if all nodes were equal."""


def is_apart(stonewall_rate: float, finish_rate: float) -> bool:
    """True if the rates at the stonewall and at the finish differ enough to report both."""
    return abs(stonewall_rate - finish_rate) >= APART * finish_rate


def straggling(measurements: pl.DataFrame, ranks: pl.DataFrame) -> list[StonewalledMeasurement]:
    """Every valid measurement that reached a stonewall, in the order of `measurements`."""
    walled = measurements.filter("valid", pl.col("stonewall_ns") > 0, pl.col("duration_ns") > 0)
    end, done = pl.col("end_ns"), pl.col("stonewall_operations")
    last = _first(ranks.filter(end - end.median().over(KEY) >= APART * end.max().over(KEY)).sort(-end))
    behind = _first(ranks.filter(done <= (1 - APART) * done.median().over(KEY)).sort(done, "rank"))
    straggling_measurements = []
    for place, row in zip(rates.places(walled), walled.iter_rows(named=True), strict=True):
        column: RateColumn = "rate_bytes_per_s" if row["bytes"] else "rate_operations_per_s"
        finish_rate, stonewall_rate = row[column], row[f"stonewall_{column}"]
        if finish_rate is not None and stonewall_rate is not None:
            straggling_measurements.append(
                StonewalledMeasurement(
                    place=place,
                    column=column,
                    finish_ns=row["duration_ns"],
                    finish_rate=finish_rate,
                    stonewall_ns=row["stonewall_ns"],
                    stonewall_rate=stonewall_rate,
                    least_operations=row["stonewall_least_operations"],
                    most_operations=row["stonewall_most_operations"],
                    last=last.get(place, ()),
                    behind=behind.get(place, ()),
                )
            )
    return straggling_measurements


def slow_nodes(measurements: pl.DataFrame, ranks: pl.DataFrame) -> list[SlowNode]:
    """Nodes that are the slowest too often for chance, each in the operations that show it best; the clearest first."""
    phases = list(_uneven_jobs(measurements, ranks))
    phases_by_operations: dict[tuple[Operation, ...], list[_UnevenJob]] = {}
    for phase in phases:
        phases_by_operations.setdefault(phase.operations, []).append(phase)
    if len(phases_by_operations) > 1:
        phases_by_operations[()] = phases
    every = len(phases_by_operations) * len({node for phase in phases for node in phase.nodes})
    best: dict[str, tuple[float, SlowNode]] = {}
    for operations, phases_of_operations in phases_by_operations.items():
        for node in {phase.slowest for phase in phases_of_operations}:
            took_part = [1 / len(phase.nodes) for phase in phases_of_operations if node in phase.nodes]
            places = tuple(phase.place for phase in phases_of_operations if phase.slowest == node)
            chance = every * _at_least(len(places), took_part)
            if chance < RARE and (node not in best or chance < best[node][0]):
                best[node] = chance, SlowNode(node, operations, places, len(took_part), sum(took_part))
    return [slow_node for _, slow_node in sorted(best.values(), key=lambda pair: (pair[0], pair[1].node))]


def _first(ascending: pl.DataFrame) -> Mapping[Measurement, tuple[Rank, ...]]:
    """The first few ranks of each measurement."""
    few = ascending.group_by(*KEY, maintain_order=True).agg(pl.col("rank", "node").head(NAMED))
    return {
        place: tuple(Rank(rank, node) for rank, node in zip(*named, strict=True))
        for place, named in zip(rates.places(few), few.select("rank", "node").iter_rows(), strict=True)
    }


_JOB = ("case", "phase", "job")


@dataclass(frozen=True)
class _UnevenJob:
    """A job whose nodes were not equally fast. The operations of a job end together, so they count once."""

    place: Measurement
    operations: tuple[Operation, ...]
    nodes: list[str]
    slowest: str


def _uneven_jobs(measurements: pl.DataFrame, ranks: pl.DataFrame) -> Iterable[_UnevenJob]:
    """The jobs whose slowest node is behind the median, in the order of `measurements`.

    Leaves out walks, which ranks divide dynamically, nodes without work, and jobs whose nodes had different amounts of
    work, as in reading after a stonewall ended the write: nodes with more work may well be faster.
    """
    jobs = (
        measurements.filter("valid", pl.col("operation") != "find", pl.col("duration_ns") > 0)
        .group_by(*_JOB, maintain_order=True)
        .agg("operation", pl.col("stonewall_ns").is_not_null().any().alias("walled"))
    )
    # Ranks that do not report their operations, as in imported runs, count as having done the same.
    work, end = pl.col("operations").fill_null(1).sum(), pl.col("end_ns").max().clip(1)
    nodes = (
        ranks.drop_nulls(["end_ns", "node"])
        .join(jobs, on=list(_JOB))
        .filter(pl.col("walled") | (pl.col("operations").fill_null(1) > 0))
        .group_by(*_JOB, "node")
        .agg((work / pl.col("rank").n_unique()).alias("work"), end.alias("end"), pl.col("walled").first())
        .with_columns(speed=pl.col("work") / pl.col("end"))
        .sort("speed", "node")
        .group_by(*_JOB, maintain_order=True)
        .agg(
            "node",
            "speed",
            pl.col("speed").median().alias("middle"),
            (pl.col("walled").first() | _alike("work") | _alike("end")).alias("comparable"),
        )
    )
    slowest, next_slowest = (pl.col("speed").list.get(index, null_on_oob=True) for index in (0, 1))
    uneven_jobs = jobs.join(nodes, on=list(_JOB), maintain_order="left").filter(
        "comparable",
        # Two equally slow nodes have no slowest one.
        slowest < next_slowest,
        slowest <= (1 - APART) * pl.col("middle"),
    )
    for row in uneven_jobs.iter_rows(named=True):
        operations: tuple[Operation, ...] = tuple(row["operation"])
        place = Measurement.of(row | {"operation": operations[0]})
        yield _UnevenJob(place, operations, row["node"], row["node"][0])


def _alike(column: str) -> pl.Expr:
    return pl.col(column).min() >= (1 - APART) * pl.col(column).max()


def _at_least(times: int, chances: list[float]) -> float:
    """The probability that at least `times` of the independent events with these `chances` happen."""
    happened = [1.0]
    for chance in chances:
        happened = [
            here * (1 - chance) + before * chance
            for here, before in zip([*happened, 0.0], [0.0, *happened], strict=True)
        ]
    return sum(happened[times:])
