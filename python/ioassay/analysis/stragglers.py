"""The rate at the stonewall and at the finish, the ranks that lie between them, and the nodes that are always slowest.

A stonewall stops the clock for what the storage gives while all are at work; the finish is what an application waits
for. Both are right, and a measurement has both. Between them lie the ranks that had done least when the stonewall came:
in public runs of the IO500 the finish took up to 7.8 times as long, and one rank had done 33,000 times the work of
another.

A node that is the slowest of a phase more often than chance lets it is slow itself, or what serves it. The slowest has
the least work per rank over the time until its last rank ended: of nodes that do the same work it is the last to
finish, of nodes that a stonewall stops together the one that had done least. If nodes were alike, each would be the
slowest with the same probability, so how often one was follows the Poisson binomial distribution. That is looked at
over all phases and over those of each operation, since a node may be slow in writing alone. A node is reported where
the probability, times the number of nodes and of looks (Bonferroni), is below `RARE`: of 200 runs of nodes that are
alike, at most 2 have a slow one (`test_stragglers.py`).

What an imported run does not state is `None` here, and a node is only named where ranks have one.

Not: the doubt about ranks that finished apart (the engine's).
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
"""So many ranks are named at most."""

APART = 0.05
"""The share by which a rank or node is behind the median of its phase, or a rate differs, at least, to count."""

RARE = 0.001
"""The probability, by chance, of what is reported of a node."""


@dataclass(frozen=True)
class Rank:
    """A rank and the node that it ran on, where that is known."""

    rank: int
    node: str | None


@dataclass(frozen=True)
class Straggling:
    """A measurement that a stonewall came to: both rates, and who was behind. Times since the phase's first start."""

    place: Measurement
    column: RateColumn
    finish_ns: int
    finish_rate: float
    """In the unit of `column`, as the other."""
    stonewall_ns: int
    stonewall_rate: float
    least_operations: int | None
    """Of the rank that had done least at the stonewall."""
    most_operations: int | None
    last: tuple[Rank, ...]
    """Ranks that finished behind the median, the last one first."""
    behind: tuple[Rank, ...]
    """Ranks that had done less than the median at the stonewall, the least first."""

    @property
    def stretch(self) -> float:
        """How many times as long as until the stonewall it took until the finish."""
        return self.finish_ns / self.stonewall_ns

    @property
    def imbalance(self) -> float | None:
        """How many times the operations of the rank with least the one with most had done at the stonewall.

        Infinite where the one had done nothing, `None` where it is not told or nobody had done anything.
        """
        if not self.most_operations or self.least_operations is None:
            return None
        return self.most_operations / self.least_operations if self.least_operations else math.inf


@dataclass(frozen=True)
class SlowNode:
    """A node that was the slowest of more phases than chance lets it."""

    node: str
    operations: tuple[Operation, ...]
    """What it is slow in: the operations of a job. Empty: in all that the run does."""
    slowest_in: tuple[Measurement, ...]
    """A measurement of each such phase."""
    of: int
    """Phases with these operations in which it took part with others and in which the nodes were apart."""
    by_chance: float
    """In how many of these it would have been the slowest if all nodes were alike."""


def is_apart(stonewall_rate: float, finish_rate: float) -> bool:
    """True if the rate at a stonewall is worth saying beside that at the finish."""
    return abs(stonewall_rate - finish_rate) >= APART * finish_rate


def straggling(measurements: pl.DataFrame, ranks: pl.DataFrame) -> list[Straggling]:
    """Every valid measurement that a stonewall came to, in the order of `measurements`."""
    walled = measurements.filter("valid", pl.col("stonewall_ns") > 0, pl.col("duration_ns") > 0)
    end, done = pl.col("end_ns"), pl.col("stonewall_operations")
    last = _first(ranks.filter(end - end.median().over(KEY) >= APART * end.max().over(KEY)).sort(-end))
    behind = _first(ranks.filter(done <= (1 - APART) * done.median().over(KEY)).sort(done, "rank"))
    found = []
    for place, row in zip(rates.places(walled), walled.iter_rows(named=True), strict=True):
        column: RateColumn = "rate_bytes_per_s" if row["bytes"] else "rate_operations_per_s"
        finish_rate, stonewall_rate = row[column], row[f"stonewall_{column}"]
        if finish_rate is not None and stonewall_rate is not None:
            found.append(
                Straggling(
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
    return found


def slow_nodes(measurements: pl.DataFrame, ranks: pl.DataFrame) -> list[SlowNode]:
    """The nodes that are the slowest too often for chance, each in what shows it best; the most conspicuous first."""
    phases = list(_apart(measurements, ranks))
    looks: dict[tuple[Operation, ...], list[_Apart]] = {}
    for phase in phases:
        looks.setdefault(phase.operations, []).append(phase)
    if len(looks) > 1:
        looks[()] = phases
    every = len(looks) * len({node for phase in phases for node in phase.nodes})
    best: dict[str, tuple[float, SlowNode]] = {}
    for operations, own in looks.items():
        for node in {phase.slowest for phase in own}:
            took_part = [1 / len(phase.nodes) for phase in own if node in phase.nodes]
            places = tuple(phase.place for phase in own if phase.slowest == node)
            chance = every * _at_least(len(places), took_part)
            if chance < RARE and (node not in best or chance < best[node][0]):
                best[node] = chance, SlowNode(node, operations, places, len(took_part), sum(took_part))
    return [found for _, found in sorted(best.values(), key=lambda pair: (pair[0], pair[1].node))]


def _first(ascending: pl.DataFrame) -> Mapping[Measurement, tuple[Rank, ...]]:
    """The first few ranks of each measurement."""
    few = ascending.group_by(*KEY, maintain_order=True).agg(pl.col("rank", "node").head(NAMED))
    return {
        place: tuple(Rank(rank, node) for rank, node in zip(*named, strict=True))
        for place, named in zip(rates.places(few), few.select("rank", "node").iter_rows(), strict=True)
    }


_JOB = ("case", "phase", "job")


@dataclass(frozen=True)
class _Apart:
    """A job whose nodes were not equally fast. The operations of one job end together, so they count once."""

    place: Measurement
    operations: tuple[Operation, ...]
    nodes: list[str]
    slowest: str


def _apart(measurements: pl.DataFrame, ranks: pl.DataFrame) -> Iterable[_Apart]:
    """The jobs whose slowest node lies behind the median, in the order of `measurements`.

    Left out are walks, which ranks divide among themselves as it comes, nodes that had nothing to do, and jobs whose
    nodes had unlike amounts to do, as in reading what a stonewall let be written: who had more may well be faster.
    """
    jobs = (
        measurements.filter("valid", pl.col("operation") != "find", pl.col("duration_ns") > 0)
        .group_by(*_JOB, maintain_order=True)
        .agg("operation", pl.col("stonewall_ns").is_not_null().any().alias("walled"))
    )
    # Ranks that do not report how much they did, as imported ones, did the same.
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
    slowest, next_one = (pl.col("speed").list.get(at, null_on_oob=True) for at in (0, 1))
    found = jobs.join(nodes, on=list(_JOB), maintain_order="left").filter(
        "comparable",
        # Of two that are equally slow neither is the slowest.
        slowest < next_one,
        slowest <= (1 - APART) * pl.col("middle"),
    )
    for row in found.iter_rows(named=True):
        operations: tuple[Operation, ...] = tuple(row["operation"])
        place = Measurement.of(row | {"operation": operations[0]})
        yield _Apart(place, operations, row["node"], row["node"][0])


def _alike(column: str) -> pl.Expr:
    return pl.col(column).min() >= (1 - APART) * pl.col(column).max()


def _at_least(times: int, chances: list[float]) -> float:
    """The probability that at least `times` of independent events with these `chances` happen."""
    happened = [1.0]
    for chance in chances:
        happened = [
            here * (1 - chance) + before * chance
            for here, before in zip([*happened, 0.0], [0.0, *happened], strict=True)
        ]
    return sum(happened[times:])
