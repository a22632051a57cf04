"""Series at a given rate or with pauses in a comparison: the rates requested and reached by each side, and latencies.

Their rate is the plan's, so they have no ratio. Not: which phases these are (`analysis.given_rates`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ioassay.analysis.compare import matching
from ioassay.analysis.compare.subject import Curve, Point, Subject
from ioassay.analysis.given_rates import GivenRate
from ioassay.reports import given_rates
from ioassay.reports.compare.wording import point_name_among, subject_name
from ioassay.reports.document import Column, Table, changes, numbers
from ioassay.text import format
from ioassay.text.rate_units import suited


@dataclass(frozen=True)
class GivenPoint:
    """A subject at a point. `series` and `place` are named as in the reference, where it has them."""

    series: str
    place: str
    subject: Subject
    given: GivenRate


def points(subjects: Sequence[Subject]) -> list[GivenPoint]:
    """Points of the reference (the first subject), each with its matches; then points that only others have."""
    reference, *others = subjects
    matched = {id(other): _matched(reference, other) for other in others}
    given_points: list[GivenPoint] = []
    for curve in reference.given:
        for point in _points(curve):
            same = [(other, partner) for other in others if (partner := matched[id(other)].get(id(point)))]
            given_points += _given_points(curve, point, [(reference, point), *same])
    for other in others:
        shown = {id(point) for point in matched[id(other)].values()}
        for curve in other.given:
            for point in _points(curve):
                if id(point) not in shown:
                    given_points += _given_points(curve, point, [(other, point)])
    return given_points


def _matched(reference: Subject, other: Subject) -> dict[int, Point]:
    """The other's points, by the identity of those of the reference."""
    pairs = matching.pairs(replace(reference, curves=reference.given), replace(other, curves=other.given))
    both = (matching.points(_points(pair.reference), _points(pair.other))[0] for pair in pairs)
    return {id(point): partner for point_pairs in both for point, partner in point_pairs}


def _points(curve: Curve) -> Sequence[Point]:
    return curve.rates[curve.column].points


def _given_points(curve: Curve, point: Point, sides: Sequence[tuple[Subject, Point]]) -> Iterator[GivenPoint]:
    where = point_name_among(point, _points(curve))
    return (GivenPoint(curve.title, where, subject, side.given) for subject, side in sides if side.given)


NOTE = "Here the study sets the rate or pauses, so there is no ratio: compare whether it was kept, and the latencies."


def table(given_points: Sequence[GivenPoint]) -> Table:
    """The table; empty without such points."""
    columns = [Column("Series", merges=True), Column("At", merges=True), Column("Of")]
    return Table(
        [*columns, *numbers("Requested", "Reached", "Median latency", "p99 latency")],
        [_row(given_point, given_points) for given_point in given_points],
        "At a given rate or with pauses: what was kept, and latencies",
        rules=changes(given_point.series for given_point in given_points),
    )


def _row(given_point: GivenPoint, given_points: Sequence[GivenPoint]) -> list[str]:
    given = given_point.given
    alike = [
        other.given
        for other in given_points
        if (other.series, other.given.column) == (given_point.series, given.column)
    ]  # one unit for all rates of a series
    rates = [rate for other in alike for rate in (other.kept_per_s, other.given_per_s) if rate is not None]
    unit = suited(given.column, given.point["operation"], rates)
    return [
        given_point.series,
        given_point.place,
        subject_name(given_point.subject),
        given_rates.asked(given, unit),
        given_rates.rate(given, unit, given.kept_per_s),
        format.duration(given.p50_ns),
        format.duration(given.p99_ns),
    ]
