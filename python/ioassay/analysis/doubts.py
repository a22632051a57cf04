"""The doubts of a run, grouped by kind, with a weight for each kind and a mark for the affected numbers.

The weight decides where a report shows a doubt. It depends on the effect of the kind on a number
(`ioassay.store.doubt_kinds`) and on the affected measurements: a doubt about nearly all numbers is reported only once.

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
"""`decisive`: it changes a conclusion, and is written out beside each affected number. `common`: it affects the numbers
alike, and is reported once. `minor`: it is listed among the limits.
"""

ALIKE = 0.8
"""The share of the measurements with the same operations above which a doubt affects them alike."""

ENOUGH = 0.5
"""The share of a number's measurements above which a doubt affects the number. Numbers are medians: fewer than half of
the repetitions cannot move one out of the range of the others.
"""

SCHEDULING_NS = 10_000_000
"""Ranks that finish within this time of each other may have waited for a processor: time slices take milliseconds."""


class Place(NamedTuple):
    """A measurement that a doubt concerns, with its message and evidence."""

    measurement: Measurement
    message: str
    evidence: str
    """JSON object, fields as in the protocol's `Reason`."""

    @property
    def is_of_scheduling(self) -> bool:
        """True if waiting for a processor explains how far apart ranks finished, however short the phase."""
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
    """Operations of the measurements that it concerns, ascending."""
    of: int
    """Number of measurements of the run with these operations."""
    remedies: tuple[str, ...]
    places: tuple[Place, ...]

    @cached_property
    def place_of(self) -> Mapping[Measurement, Place]:
        """The first place of each measurement that it concerns."""
        return {place.measurement: place for place in reversed(self.places)}

    @cached_property
    def about_storage(self) -> Mapping[Measurement, Place]:
        """The places whose doubt is about the storage, not about the scheduling of processes."""
        return {measurement: place for measurement, place in self.place_of.items() if not place.is_of_scheduling}


@dataclass(frozen=True)
class Doubts:
    """All doubts of a run: first the kinds that invalidate a number, then the most frequent ones."""

    groups: tuple[DoubtGroup, ...]
    measurements: int
    marks_at: Mapping[Measurement, frozenset[str]]
    """The marks of each measurement with doubts, for fast lookup by every row and point of a report."""

    def marks(self, places: Iterable[Measurement]) -> tuple[str, ...]:
        """The marks of all doubts about any of these measurements, in the order of the groups."""
        marks = frozenset().union(*(self.marks_at.get(place, frozenset()) for place in places))
        return tuple(group.mark for group in self.groups if group.mark in marks)

    def weighing(self, weight: Weight) -> tuple[DoubtGroup, ...]:
        return tuple(group for group in self.groups if group.weight == weight)

    def decisive(self, places: Iterable[Measurement]) -> tuple[tuple[DoubtGroup, tuple[Place, ...]], ...]:
        """The groups that affect a number that rests on these measurements, each with its places among them: at least
        half of them (`ENOUGH`), unless it invalidates them.
        """
        wanted = tuple(dict.fromkeys(places))
        groups = (
            (
                group,
                tuple(group.about_storage[measurement] for measurement in wanted if measurement in group.about_storage),
            )
            for group in self.weighing("decisive")
        )
        return tuple(
            (group, concerned)
            for group, concerned in groups
            if concerned and (group.invalidates or len(concerned) >= ENOUGH * len(wanted))
        )


def grouped(doubts: pl.DataFrame, measurements: pl.DataFrame) -> Doubts:
    """Groups the rows of `doubts`; only the key columns of `measurements` are used."""
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
        affected, series_of = (sum(has.get(operation, (0, 0))[which] for operation in operations) for which in (0, 1))
        concerned = rows.select(*KEY).n_unique()
        is_alike = series_of > 1 and concerned >= ALIKE * affected
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
                of=affected,
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
    """The kinds of all doubts about any of these measurements, in alphabetical order."""
    wanted = frozenset(places)
    rows = doubts.select("kind", *KEY).iter_rows()
    return tuple(sorted({kind for kind, *place in rows if tuple(place) in wanted}))


def _weight(kind: str, *, invalidates: bool, is_alike: bool, is_of_scheduling: bool) -> Weight:
    """`is_alike`: it affects nearly all numbers that it can, in more than one series."""
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


def _mark(index: int) -> str:
    """a, b, … z, aa, ab, …"""
    mark = ascii_lowercase[index % 26]
    return mark if index < 26 else _mark(index // 26 - 1) + mark
