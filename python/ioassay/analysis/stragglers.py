"""The rate at the stonewall and at the finish, the ranks that lie between the two, and the nodes that are always last.

A stonewall stops the clock for what the storage gives while all are at work; the finish is what an application waits
for. Both are right, and a measurement has both. Between them lie the ranks that had done least when the stonewall came:
in public runs of the IO500 the finish took up to 7.8 times as long, and one rank had done 33,000 times the work of
another.

A node that is the last to finish more often than chance lets it is slow itself, or what serves it. Of nodes that are
alike each is last with the same probability; that one is as often last as it was, by chance, has the probability of the
Poisson binomial distribution, times the number of nodes, since the worst of all was looked for. It is told below `RARE`
(`test_stragglers.py`: of 200 runs of nodes that are alike, at most 2 have a slow one).

What an imported run does not tell is `None` here, and a node is only named where ranks have one.

Not: the doubt about ranks that finished apart (the engine's).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.doubts import Place
from ioassay.analysis.rate_units import RateColumn
from ioassay.results.schema import KEY

NAMED = 3
"""So many ranks are named at most, and no more than half of them."""

APART = 0.05
"""The share of its duration by which the nodes of a phase finish apart, at least, so that the last one counts."""

RARE = 0.001
"""The probability, by chance, of what is told of a node."""


@dataclass(frozen=True)
class Rank:
    """A rank and the node that it ran on, where that is known."""

    rank: int
    node: str | None


@dataclass(frozen=True)
class Straggling:
    """A measurement that a stonewall came to: both rates, and who was behind. Times since the phase's first start."""

    place: Place
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
    """The ranks that finished last, the last one first."""
    behind: tuple[Rank, ...]
    """The ranks that had done least at the stonewall, the least first."""

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
    """A node that finished last in more phases than chance lets it."""

    node: str
    last_in: tuple[Place, ...]
    of: int
    """Phases in which it took part with others and in which the nodes finished apart."""
    by_chance: float
    """In how many of these it would have been last if all nodes were alike."""


def straggling(measurements: pl.DataFrame, ranks: pl.DataFrame) -> list[Straggling]:
    """Every valid measurement that a stonewall came to, in the order of `measurements`."""
    walled = measurements.filter("valid", pl.col("stonewall_ns") > 0, pl.col("duration_ns") > 0)
    last = _ranks(ranks.drop_nulls("end_ns").sort("end_ns", descending=True))
    behind = _ranks(ranks.drop_nulls("stonewall_operations").sort("stonewall_operations", "rank"))
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
    """The nodes that finish last too often for chance, over all valid measurements; the most conspicuous first."""
    phases = _ends_apart(measurements, ranks)
    took_part: dict[str, list[float]] = {}
    last_in: dict[str, list[Place]] = {}
    for place, nodes, last in phases:
        for node in nodes:
            took_part.setdefault(node, []).append(1 / len(nodes))
        last_in.setdefault(last, []).append(place)
    chances = {node: _at_least(len(places), took_part[node]) * len(took_part) for node, places in last_in.items()}
    return [
        SlowNode(node, tuple(last_in[node]), len(took_part[node]), sum(took_part[node]))
        for node, chance in sorted(chances.items(), key=lambda pair: (pair[1], pair[0]))
        if chance < RARE
    ]


def _ranks(ascending: pl.DataFrame) -> Mapping[Place, tuple[Rank, ...]]:
    """The first few ranks of each measurement, and no more than half of them: of two ranks only one is behind."""
    few = ascending.group_by(*KEY, maintain_order=True).agg(pl.col("rank", "node").head((pl.len() // 2).clip(1, NAMED)))
    return {
        place: tuple(Rank(rank, node) for rank, node in zip(*named, strict=True))
        for place, named in zip(rates.places(few), few.select("rank", "node").iter_rows(), strict=True)
    }


def _ends_apart(measurements: pl.DataFrame, ranks: pl.DataFrame) -> Iterable[tuple[Place, list[str], str]]:
    """(measurement, its nodes, the last to finish) of those whose nodes finished apart, in their order."""
    nodes = (
        ranks.drop_nulls(["end_ns", "node"])
        .group_by(*KEY, "node")
        .agg(pl.col("end_ns").max())
        .sort("end_ns", "node")
        .group_by(*KEY, maintain_order=True)
        .agg(pl.col("node"), pl.col("end_ns").last().alias("last"), pl.col("end_ns").median().alias("middle"))
    )
    apart = (pl.col("last") - pl.col("middle")) / pl.col("duration_ns") >= APART
    found = (
        measurements.filter("valid", pl.col("duration_ns") > 0)
        .join(nodes, on=list(KEY), how="inner", maintain_order="left")
        .filter(pl.col("node").list.len() > 1, apart)
    )
    for place, row in zip(rates.places(found), found.iter_rows(named=True), strict=True):
        names: list[str] = row["node"]
        yield place, names, names[-1]


def _at_least(times: int, chances: list[float]) -> float:
    """The probability that at least `times` of independent events with these `chances` happen."""
    happened = [1.0]
    for chance in chances:
        happened = [
            here * (1 - chance) + before * chance
            for here, before in zip([*happened, 0.0], [0.0, *happened], strict=True)
        ]
    return sum(happened[times:])
