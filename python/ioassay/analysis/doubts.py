"""The doubts of a run, grouped by kind, with a mark for each kind to set beside the numbers it concerns.

Not: raising a doubt (the engine does), wording one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

import polars as pl

from ioassay.results.schema import KEY, Measurement


@dataclass(frozen=True)
class DoubtGroup:
    """All doubts of one kind. `places` holds (measurement, message), in the order of the doubts."""

    mark: str
    kind: str
    invalidates: bool
    remedies: tuple[str, ...]
    places: tuple[tuple[Measurement, str], ...]


@dataclass(frozen=True)
class Doubts:
    """All doubts of a run: first the kinds that make a number invalid, then the most frequent."""

    groups: tuple[DoubtGroup, ...]
    measurements: int
    marks_at: Mapping[Measurement, frozenset[str]]
    """The marks of each measurement that has any: looked up for every row and point of a report."""

    def marks(self, places: Iterable[Measurement]) -> tuple[str, ...]:
        """The marks of all doubts about any of these measurements, in the order of the groups."""
        found = frozenset().union(*(self.marks_at.get(place, frozenset()) for place in places))
        return tuple(group.mark for group in self.groups if group.mark in found)


def grouped(doubts: pl.DataFrame, measurements: pl.DataFrame) -> Doubts:
    """Groups the rows of `doubts`; `measurements` only tells how many there are in all."""
    kinds = (
        doubts.group_by("kind")
        .agg(pl.col("invalidates").any(), pl.len().alias("count"))
        .sort(["invalidates", "count", "kind"], descending=[True, True, False])
    )
    groups = []
    for at, (kind, invalidates, _) in enumerate(kinds.iter_rows()):
        rows = doubts.filter(pl.col("kind") == kind)
        groups.append(
            DoubtGroup(
                mark=_mark(at),
                kind=kind,
                invalidates=invalidates,
                remedies=tuple(rows["remedy"].unique(maintain_order=True)),
                places=tuple(zip(map(Measurement.of, rows.iter_rows(named=True)), rows["message"], strict=True)),
            )
        )
    marks_at: defaultdict[Measurement, set[str]] = defaultdict(set)
    for group in groups:
        for place, _ in group.places:
            marks_at[place].add(group.mark)
    return Doubts(
        groups=tuple(groups),
        measurements=measurements.height,
        marks_at={place: frozenset(marks) for place, marks in marks_at.items()},
    )


def kinds(doubts: pl.DataFrame, places: Iterable[Measurement]) -> tuple[str, ...]:
    """The kinds of all doubts about any of these measurements, in the order of the alphabet."""
    wanted = frozenset(places)
    rows = doubts.select("kind", *KEY).iter_rows()
    return tuple(sorted({kind for kind, *place in rows if tuple(place) in wanted}))


def _mark(at: int) -> str:
    """a, b, … z, aa, ab, …"""
    mark = ascii_lowercase[at % 26]
    return mark if at < 26 else _mark(at // 26 - 1) + mark
