"""The doubts of a run, grouped by kind, with a weight for each kind and a mark to set beside the numbers it concerns.

The weight says where a reader meets a doubt. It follows from what the kind does to a number
(`ioassay.store.doubt_kinds`) and from what it concerns: what would stand beside nearly every number says nothing
of any of them, and is said once.

Not: raising a doubt (the engine does), wording one (`ioassay.store.doubt_kinds`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase
from typing import Literal, NamedTuple

import polars as pl

from ioassay.store.doubt_kinds import effect
from ioassay.store.measurement import KEY, Measurement

Weight = Literal["decisive", "common", "minor"]
"""`decisive`: it changes a conclusion, and stands in words beside each number that it changes. `common`: it holds for
the numbers alike, and is said once. `minor`: the limits list it.
"""

ALIKE = 0.8
"""The share of the measurements with the same operations from which on a doubt holds for them alike."""

ENOUGH = 0.5
"""The share of the measurements of a number from which on a doubt about them is about the number. Numbers are medians:
fewer than half of the repetitions cannot move one out of the range of the others.
"""

SCHEDULING_NS = 10_000_000
"""A rank that finishes this much after another may only have waited for a processor: time slices take milliseconds."""


class Place(NamedTuple):
    """A measurement that a doubt concerns, with what is said of it there."""

    measurement: Measurement
    message: str
    evidence: str
    """JSON object, fields as in the protocol's `Reason`."""

    @property
    def is_of_scheduling(self) -> bool:
        """True of ranks that finished apart by less than waiting for a processor explains, however short the phase."""
        spread = json.loads(self.evidence or "{}").get("spread_ns")
        return isinstance(spread, int) and spread < SCHEDULING_NS


@dataclass(frozen=True)
class DoubtGroup:
    """All doubts of one kind. `places` are in the order of the doubts."""

    mark: str
    kind: str
    invalidates: bool
    weight: Weight
    operations: tuple[str, ...]
    """Of the measurements that it concerns, ascending."""
    of: int
    """Measurements of the run with these operations, those that it concerns among them."""
    remedies: tuple[str, ...]
    places: tuple[Place, ...]

    @cached_property
    def place_of(self) -> Mapping[Measurement, Place]:
        """The first place of each measurement that it concerns."""
        return {place.measurement: place for place in reversed(self.places)}

    @cached_property
    def telling(self) -> Mapping[Measurement, Place]:
        """Those of them that say something of the storage."""
        return {measurement: place for measurement, place in self.place_of.items() if not place.is_of_scheduling}


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

    def weighing(self, weight: Weight) -> tuple[DoubtGroup, ...]:
        """The groups of this weight."""
        return tuple(group for group in self.groups if group.weight == weight)

    def decisive(self, places: Iterable[Measurement]) -> tuple[tuple[DoubtGroup, tuple[Place, ...]], ...]:
        """The groups that change what a number says which rests on these measurements, each with those it concerns:
        at least half of them (`ENOUGH`), unless it makes them invalid.
        """
        wanted = tuple(dict.fromkeys(places))
        found = (
            (group, tuple(group.telling[one] for one in wanted if one in group.telling))
            for group in self.weighing("decisive")
        )
        return tuple(
            (group, concerned)
            for group, concerned in found
            if concerned and (group.invalidates or len(concerned) >= ENOUGH * len(wanted))
        )


def grouped(doubts: pl.DataFrame, measurements: pl.DataFrame) -> Doubts:
    """Groups the rows of `doubts`; of `measurements` only their key counts, and how many there are."""
    series = measurements.group_by("operation").agg(
        pl.len().alias("count"), pl.struct("workload", "phase", "job").n_unique().alias("series")
    )
    has = {operation: (count, several) for operation, count, several in series.iter_rows()}
    kinds = (
        doubts.group_by("kind")
        .agg(pl.col("invalidates").any(), pl.len().alias("count"))
        .sort(["invalidates", "count", "kind"], descending=[True, True, False])
    )
    groups = []
    for index, (kind, invalidates, _) in enumerate(kinds.iter_rows()):
        rows = doubts.filter(pl.col("kind") == kind)
        operations = tuple(rows["operation"].unique().sort())
        of, series_of = (sum(has.get(operation, (0, 0))[which] for operation in operations) for which in (0, 1))
        concerned = rows.select(*KEY).n_unique()
        is_alike = series_of > 1 and concerned >= ALIKE * of
        places = tuple(map(Place, map(Measurement.of, rows.iter_rows(named=True)), rows["message"], rows["evidence"]))
        groups.append(
            DoubtGroup(
                mark=_mark(index),
                kind=kind,
                invalidates=invalidates,
                weight=_weight(
                    kind,
                    invalidates=invalidates,
                    is_alike=is_alike,
                    is_of_scheduling=all(place.is_of_scheduling for place in places),
                ),
                operations=operations,
                of=of,
                remedies=tuple(rows["remedy"].unique(maintain_order=True)),
                places=places,
            )
        )
    marks_at: defaultdict[Measurement, set[str]] = defaultdict(set)
    for group in groups:
        for place in group.places:
            marks_at[place.measurement].add(group.mark)
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


def _weight(kind: str, *, invalidates: bool, is_alike: bool, is_of_scheduling: bool) -> Weight:
    """`is_alike`: it concerns nearly all numbers that it can, and more than one series of them."""
    if invalidates:
        return "decisive"
    if is_of_scheduling:
        return "minor"
    match effect(kind):
        case "condition":
            return "common"
        case "conclusion":
            return "common" if is_alike else "decisive"
        case "detail":
            return "minor"


def _mark(at: int) -> str:
    """a, b, … z, aa, ab, …"""
    mark = ascii_lowercase[at % 26]
    return mark if at < 26 else _mark(at // 26 - 1) + mark
