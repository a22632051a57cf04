"""What a comparison shows: for each series of the reference a table of ratios, sentences, and what was unlike.

Not: how it looks (`document`), sentences (`wording`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ioassay.analysis.compare import units
from ioassay.analysis.compare.ratios import Compared, Comparison, Ratio, compare
from ioassay.analysis.compare.subject import Curve, Point, Subject
from ioassay.analysis.rate_units import RateColumn, Unit
from ioassay.prose import listed
from ioassay.reports import format
from ioassay.reports.compare import given_rates, wording
from ioassay.reports.compare.configuration import Difference, differences
from ioassay.reports.compare.given_rates import GivenPoint
from ioassay.reports.compare.wording import Remark


@dataclass(frozen=True)
class Side:
    """A subject and the facts of its configuration (`configuration`)."""

    subject: Subject
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Line:
    """A row of a table of ratios, in words."""

    at: str
    other: str
    reference_rate: str
    other_rate: str
    ratio: str
    interval: str
    """`–` where there are too few repetitions."""
    differs: bool


@dataclass(frozen=True)
class SeriesPart:
    """A series of the reference with what all others did in it."""

    title: str
    units: Mapping[RateColumn, Unit]
    compared: tuple[tuple[Subject, Compared], ...]
    lines: tuple[Line, ...]
    sentences: tuple[str, ...]
    unlike: tuple[str, ...]
    """What differs in how it was measured, and what only one side measured: sentences for each subject."""
    doubts: tuple[str, ...]
    """What is doubted, of each subject."""


@dataclass(frozen=True)
class Content:
    """A comparison of all others with the first."""

    subjects: tuple[Subject, ...]
    comparisons: tuple[Comparison, ...]
    series: tuple[SeriesPart, ...]
    throughout: tuple[str, ...]
    """Remarks on every series, where there are several."""
    alone: tuple[str, ...]
    given: tuple[GivenPoint, ...]
    """What was measured at a given rate or with pauses, of which there are no ratios."""
    differences: tuple[Difference, ...]

    @property
    def reference(self) -> Subject:
        """What all others are divided by."""
        return self.subjects[0]

    @property
    def sentences(self) -> list[str]:
        """What can be told of all series."""
        return [text for part in self.series for text in part.sentences]

    @property
    def chance(self) -> list[str]:
        """How many of the differences are more than chance, a sentence for each of the others where there is one."""
        return [text for one in self.comparisons if (text := wording.chance(one))]

    @property
    def notes(self) -> list[str]:
        """What holds for whole comparisons: which side is no measurement, why there are no intervals, what was unlike
        throughout, what is alone.
        """
        few = [text for one in self.comparisons if (text := wording.few(one))]
        predictions = [subject.name for subject in self.subjects if subject.kind == "prediction"]
        told = [f"{name} is a prediction, not a measurement; in brackets its range." for name in predictions]
        return [*told, *few, *(f"In every series: {text}" for text in self.throughout), *self.alone]

    @property
    def verdict(self) -> list[str]:
        """The sentences and how much of them may be chance, or why there is none."""
        if self.sentences:
            return [*self.sentences, *self.chance]
        if not self.series:
            return ["No matching measurements, so there are no ratios."]
        return ["No ratio has a confidence interval, so there is no verdict."]

    @property
    def title(self) -> str:
        """`b and c against a`."""
        others = listed([wording.named(subject) for subject in self.subjects[1:]])
        return f"{others} against {wording.named(self.reference)}"


def assemble(sides: Sequence[Side]) -> Content:
    """The comparison of two sides or more; the first is the reference."""
    subjects = tuple(side.subject for side in sides)
    comparisons = tuple(compare(subjects[0], other) for other in subjects[1:])
    found = [_found(curve, comparisons) for curve in subjects[0].curves]
    compared = [(curve, own) for curve, own in zip(subjects[0].curves, found, strict=True) if own]
    common = _common([[*_unlike(own), *_doubts(own)] for _, own in compared])
    return Content(
        subjects=subjects,
        comparisons=comparisons,
        series=tuple(_part(curve, own, common) for curve, own in compared),
        throughout=tuple(wording.sentences(common)),
        alone=tuple(text for comparison in comparisons for text in wording.alone(comparison)),
        given=tuple(given_rates.points(subjects)),
        differences=tuple(differences([side.facts for side in sides], [subject.kind == "run" for subject in subjects])),
    )


_Found = Sequence[tuple[Comparison, Compared]]
"""What the others did in a series of the reference."""


def _found(curve: Curve, comparisons: Sequence[Comparison]) -> _Found:
    return [(comparison, one) for comparison in comparisons for one in comparison.series if one.reference is curve]


def _common(remarks: Sequence[Sequence[Remark]]) -> list[Remark]:
    """What is said of every series, in its order: it need not be said of each."""
    if len(remarks) < 2:
        return []
    return [remark for remark in remarks[0] if all(remark in own for own in remarks)]


def _part(curve: Curve, found: _Found, common: Sequence[Remark]) -> SeriesPart:
    of_column = units.of_series([one for _, one in found])
    lines = [
        (ratio, line)
        for comparison, one in found
        for ratio, line in _lines(comparison.other, one, of_column[one.column])
    ]
    return SeriesPart(
        title=curve.title,
        units=of_column,
        compared=tuple((comparison.other, one) for comparison, one in found),
        lines=tuple(line for _, line in sorted(lines, key=_position(curve))),
        sentences=tuple(
            text
            for comparison, one in found
            for text in (*wording.verdicts(comparison, one), *wording.predicted(one, of_column[one.column]))
        ),
        unlike=tuple(wording.sentences(remark for remark in _unlike(found) if remark not in common)),
        doubts=tuple(wording.sentences(remark for remark in _doubts(found) if remark not in common)),
    )


def _unlike(found: _Found) -> Iterator[Remark]:
    for comparison, one in found:
        yield from wording.unlike(comparison, one)


def _doubts(found: _Found) -> Iterator[Remark]:
    """Those about the reference once, then those about the others."""
    for comparison, one in found[:1]:
        yield from wording.doubts(comparison.reference, one.reference.rates[one.column], one)
    for comparison, one in found:
        yield from wording.doubts(comparison.other, one.other.rates[one.column], one)


def _position(curve: Curve) -> Callable[[tuple[Ratio, Line]], int]:
    """Points in the order of the reference's, all subjects of one together; then peaks, then sustained rates."""
    points = [id(point) for rates in curve.rates.values() for point in rates.points]

    def position(item: tuple[Ratio, Line]) -> int:
        ratio, line = item
        if line.at in wording.LEVELS:
            return len(points) + wording.LEVELS.index(line.at)
        return points.index(id(ratio.reference))

    return position


def _lines(other: Subject, one: Compared, unit: Unit) -> Iterator[tuple[Ratio, Line]]:
    for ratio in one.points:
        yield ratio, _line(wording.at(ratio.reference, one), other, one, unit, ratio)
    if one.is_swept:
        for level, level_ratio in zip(wording.LEVELS, (one.peak, one.sustained), strict=True):
            if level_ratio is not None:
                yield level_ratio, _line(level, other, one, unit, level_ratio)


def _line(at: str, other: Subject, one: Compared, unit: Unit, ratio: Ratio) -> Line:
    return Line(
        at=at,
        other=wording.named(other),
        reference_rate=_rate(one, unit, ratio.reference, at),
        other_rate=_rate(one, unit, ratio.other, at),
        ratio=wording.times(ratio.value),
        interval=format.ABSENT
        if ratio.interval is None
        else format.interval(
            wording.times(ratio.interval.low), wording.times(ratio.interval.high), ratio.interval.confidence
        ),
        differs=ratio.differs,
    )


def _rate(one: Compared, unit: Unit, point: Point, at: str) -> str:
    """A rate; of a peak also where it was, of either its share of the ceiling; of a prediction its range."""
    if point.band is not None:
        return f"{wording.rate(one, unit, point.median)} ({wording.band(one, unit, point.band)})"
    notes = [f"at {wording.at(point, one)}" if at == wording.PEAK and point.clients else ""]
    notes.append("" if point.ceiling_share is None else f"{format.share(point.ceiling_share)} of the ceiling")
    return ", ".join([wording.rate(one, unit, point.median), *filter(None, notes)])
