"""What a comparison shows: for each series of the reference its ratios, which of them answer the question, sentences,
what was unlike and what is doubted.

Not: how it looks (`document`), sentences (`wording`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import get_args

from msgspec import Struct

from ioassay.analysis.compare import units
from ioassay.analysis.compare.ratios import Compared, Comparison, Ratio, compare, verdict
from ioassay.analysis.compare.subject import ConditionDifference, Curve, Point, Subject
from ioassay.analysis.intervals import WANTED
from ioassay.reports.compare import given_rates, training, wording
from ioassay.reports.compare.configuration import Difference, differences
from ioassay.reports.compare.given_rates import GivenPoint
from ioassay.reports.compare.wording import Remark
from ioassay.store.doubt_kinds import Effect, effect
from ioassay.text import format
from ioassay.text.prose import listed
from ioassay.text.rate_units import RateColumn, Unit


class Side(Struct, frozen=True):
    """A subject and the facts of its configuration (`configuration`)."""

    subject: Subject
    facts: Mapping[str, str]


class Line(Struct, frozen=True):
    """A row of a table of ratios, in words."""

    place: str
    other: str
    verdict: str
    """`wording.verdict_on`."""
    reference_rate: str
    reference_note: str
    """The position of a peak and the share of the ceiling; usually empty."""
    other_rate: str
    other_note: str
    ratio: str
    interval: str
    """`–` where there are too few repetitions."""
    differs: bool
    unlike: tuple[str, ...]
    """Condition differences of this point, as far as both sides state them."""


class SeriesPart(Struct, frozen=True):
    """A series of the reference with what all others did in it."""

    title: str
    units: Mapping[RateColumn, Unit]
    compared: tuple[tuple[Subject, Compared], ...]
    lines: tuple[Line, ...]
    answers: tuple[Line, ...]
    """The lines that answer by how much the others are faster or slower: of a sweep the peak, and the points where
    another subject is furthest ahead and furthest behind.
    """
    sentences: tuple[str, ...]
    predicted: tuple[str, ...]
    """The subset of `sentences` about predictions."""
    unlike: tuple[str, ...]
    """Condition differences, and points of one side only: sentences for each subject."""
    doubts: tuple[str, ...]
    """The doubts about each subject."""

    @property
    def is_swept(self) -> bool:
        """True if lines name the point of the sweep."""
        return any(compared.is_swept for _, compared in self.compared)


class DoubtRow(Struct, frozen=True):
    """A kind of doubt and where it is. `places` has a text for each subject; `–` for one without it."""

    kind: str
    places: tuple[str, ...]


class Content(Struct, frozen=True):
    """A comparison of all others with the first."""

    subjects: tuple[Subject, ...]
    comparisons: tuple[Comparison, ...]
    series: tuple[SeriesPart, ...]
    common_remarks: tuple[str, ...]
    """Remarks on every series, where there are several."""
    conditions: tuple[str, ...]
    """Condition differences, each with the series that it holds for."""
    doubts: tuple[DoubtRow, ...]
    not_compared: tuple[str, ...]
    given: tuple[GivenPoint, ...]
    """Points at a given rate or with pauses, which have no ratios."""
    differences: tuple[Difference, ...]

    @property
    def reference(self) -> Subject:
        """The subject that all others are divided by."""
        return self.subjects[0]

    @property
    def sentences(self) -> list[str]:
        """The verdict sentences of training and of all series."""
        return [*training.sentences(self.subjects), *(text for part in self.series for text in part.sentences)]

    @property
    def chance(self) -> list[str]:
        """How many differences are more than chance, a sentence for each subject that has any."""
        return [text for comparison in self.comparisons if (text := wording.chance(comparison))]

    @property
    def notes(self) -> list[str]:
        """Remarks on whole comparisons: `about_ratios`, conditions that differ in every series, series not compared."""
        return [*self.about_ratios, *(f"In every series: {text}" for text in self.common_remarks), *self.not_compared]

    @property
    def about_ratios(self) -> list[str]:
        """Which side is a prediction, and why there are no intervals."""
        few = [text for comparison in self.comparisons if (text := wording.why_no_intervals(comparison))]
        predictions = [subject.name for subject in self.subjects if subject.kind == "prediction"]
        remarks = [f"{name} is a prediction, not a measurement; in brackets its range." for name in predictions]
        return [*remarks, *few]

    @property
    def answer(self) -> list[str]:
        """Whether the others are faster or slower; the numbers stand in the table of `answers` below."""
        if len(self.series) < 2 or not self.sentences:
            return self.verdict
        overall = [text for comparison in self.comparisons if (text := wording.overall(comparison))]
        return [
            *training.sentences(self.subjects),
            *overall,
            *(text for part in self.series for text in part.predicted),
            *self.chance,
        ]

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
        others = listed([wording.subject_name(subject) for subject in self.subjects[1:]])
        return f"{others} against {wording.subject_name(self.reference)}"


def assemble(sides: Sequence[Side]) -> Content:
    """The comparison of two sides or more; the first is the reference."""
    subjects = tuple(side.subject for side in sides)
    comparisons = tuple(compare(subjects[0], other) for other in subjects[1:])
    all_matches = [_matches(curve, comparisons) for curve in subjects[0].curves]
    compared = [(curve, matches) for curve, matches in zip(subjects[0].curves, all_matches, strict=True) if matches]
    common = _common([[*_condition_remarks(matches), *_doubts(matches)] for _, matches in compared])
    unlike = {curve.title: list(_condition_remarks(matches)) for curve, matches in compared}
    return Content(
        subjects=subjects,
        comparisons=comparisons,
        series=tuple(_part(curve, matches, common) for curve, matches in compared),
        common_remarks=tuple(wording.sentences(common)),
        conditions=tuple(wording.sentences_by_series(unlike)),
        doubts=tuple(_doubt_rows(comparisons)),
        not_compared=tuple(text for comparison in comparisons for text in wording.not_compared(comparison)),
        given=tuple(given_rates.points(subjects)),
        differences=tuple(differences([side.facts for side in sides], [subject.kind == "run" for subject in subjects])),
    )


_Matches = Sequence[tuple[Comparison, Compared]]
"""The other subjects' series that match a series of the reference."""


def _matches(curve: Curve, comparisons: Sequence[Comparison]) -> _Matches:
    return [
        (comparison, compared)
        for comparison in comparisons
        for compared in comparison.series
        if compared.reference is curve
    ]


def _common(remarks: Sequence[Sequence[Remark]]) -> list[Remark]:
    """Remarks that hold for every series, in order: they are shown once for all."""
    if len(remarks) < 2:
        return []
    return [remark for remark in remarks[0] if all(remark in series_remarks for series_remarks in remarks)]


def _part(curve: Curve, matches: _Matches, common: Sequence[Remark]) -> SeriesPart:
    of_column = units.of_series([compared for _, compared in matches])
    lines = [
        (ratio, line)
        for comparison, compared in matches
        for ratio, line in _lines(comparison, compared, of_column[compared.column])
    ]
    lines.sort(key=_position(curve))
    telling = {id(ratio) for _, compared in matches for ratio in _answering(compared)}
    predicted = {
        id(compared): tuple(wording.predicted(compared, of_column[compared.column])) for _, compared in matches
    }
    return SeriesPart(
        title=curve.title,
        units=of_column,
        compared=tuple((comparison.other, compared) for comparison, compared in matches),
        lines=tuple(line for _, line in lines),
        answers=tuple(line for ratio, line in lines if id(ratio) in telling),
        sentences=tuple(
            text
            for comparison, compared in matches
            for text in (*wording.verdicts(comparison, compared), *predicted[id(compared)])
        ),
        predicted=tuple(text for _, compared in matches for text in predicted[id(compared)]),
        unlike=tuple(wording.sentences(remark for remark in _condition_remarks(matches) if remark not in common)),
        doubts=tuple(wording.sentences(remark for remark in _doubts(matches) if remark not in common)),
    )


def _condition_remarks(matches: _Matches) -> Iterator[Remark]:
    for comparison, compared in matches:
        yield from wording.condition_remarks(comparison, compared)


def _doubts(matches: _Matches) -> Iterator[Remark]:
    """Doubts about the reference once, then those about each other subject."""
    for comparison, compared in matches[:1]:
        yield from wording.doubts(comparison.reference, compared.reference.rates[compared.column], compared)
    for comparison, compared in matches:
        yield from wording.doubts(comparison.other, compared.other.rates[compared.column], compared)


def _position(curve: Curve) -> Callable[[tuple[Ratio, Line]], int]:
    """Points in the order of the reference's, all subjects of one together; then peaks, then sustained rates."""
    points = [id(point) for rates in curve.rates.values() for point in rates.points]

    def position(item: tuple[Ratio, Line]) -> int:
        ratio, line = item
        if line.place in wording.LEVELS:
            return len(points) + wording.LEVELS.index(line.place)
        return points.index(id(ratio.reference))

    return position


def _lines(comparison: Comparison, compared: Compared, unit: Unit) -> Iterator[tuple[Ratio, Line]]:
    for ratio in compared.points:
        yield ratio, _line(wording.point_name(ratio.reference, compared), comparison, compared, unit, ratio)
    if compared.is_swept:
        for level, level_ratio in zip(wording.LEVELS, (compared.peak, compared.sustained), strict=True):
            if level_ratio is not None:
                yield level_ratio, _line(level, comparison, compared, unit, level_ratio)


def _answering(compared: Compared) -> Sequence[Ratio]:
    """The ratios of `SeriesPart.answers`. A point at which both have their peak is shown as the peak."""
    peak = compared.peak
    if not compared.is_swept or peak is None:
        return compared.ratios
    series_verdict = verdict(compared)
    ends = [ratio for ratio in (series_verdict.fastest, series_verdict.slowest, series_verdict.last) if ratio]
    return [*(end for end in ends if (end.reference, end.other) != (peak.reference, peak.other)), peak]


def _line(place: str, comparison: Comparison, compared: Compared, unit: Unit, ratio: Ratio) -> Line:
    return Line(
        place=place,
        other=wording.subject_name(comparison.other),
        verdict=wording.verdict_on(ratio),
        reference_rate=_rate(compared, unit, ratio.reference),
        reference_note=_note(compared, ratio.reference, place),
        other_rate=_rate(compared, unit, ratio.other),
        other_note=_note(compared, ratio.other, place),
        ratio=wording.times(ratio.value),
        interval=format.ABSENT
        if ratio.interval is None
        else format.interval(
            wording.times(ratio.interval.low),
            wording.times(ratio.interval.high),
            is_range=ratio.interval.confidence < WANTED,
        ),
        differs=ratio.differs,
        unlike=tuple(
            wording.differs(difference, comparison.reference.name) for difference in _differences_shown(compared, ratio)
        ),
    )


def _differences_shown(compared: Compared, ratio: Ratio) -> Sequence[ConditionDifference]:
    """Condition differences, except the position of two peaks, which stands with the rates."""
    of_points = [difference for point in compared.points for difference in point.unlike]
    return [
        difference
        for difference in ratio.unlike
        if difference.is_stated and (not compared.points or difference in of_points)
    ]


def _rate(compared: Compared, unit: Unit, point: Point) -> str:
    """A rate; of a prediction also its range."""
    rate = wording.rate(compared, unit, point.median)
    return rate if point.band is None else f"{rate} ({wording.band(compared, unit, point.band)})"


def _note(compared: Compared, point: Point, place: str) -> str:
    """The position of a peak, and the share of the ceiling."""
    where = (
        f"at {wording.point_name(point, compared)}"
        if place == wording.PEAK and point.clients and point.band is None
        else ""
    )
    share = "" if point.ceiling_share is None else f"{format.share(point.ceiling_share)} of the ceiling"
    return ", ".join(filter(None, [where, share]))


def _doubt_rows(comparisons: Sequence[Comparison]) -> Iterator[DoubtRow]:
    """Doubts that change a conclusion come first, then the order of appearance."""
    reference = {
        id(compared.reference): (compared, compared.reference.rates[compared.column])
        for comparison in comparisons
        for compared in comparison.series
    }
    others = [
        [(compared, compared.other.rates[compared.column]) for compared in comparison.series]
        for comparison in comparisons
    ]
    places = [wording.doubted_places(measured) for measured in (list(reference.values()), *others)]
    kinds = dict.fromkeys(kind for place in places for kind in place)
    for kind in sorted(kinds, key=lambda kind: get_args(Effect).index(effect(kind))):
        yield DoubtRow(kind, tuple(place.get(kind, format.ABSENT) for place in places))
