"""The answer of a sweep: which point is best, its significant gain, and which parameters bring it.

A function of the document. Gains are factors: 1.5 is half as much again; of a latency, two thirds of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ioassay.analysis import intervals
from ioassay.analysis.intervals import Interval
from ioassay.analysis.spread import Spread
from ioassay.store.sweep_document import PointValue, Side, SweepDocument
from ioassay.tuning.sweep.objective import is_latency
from ioassay.tuning.sweep.trials import Trial, best, todays, trials

Verdict = Literal["better", "no difference", "worse", "nothing better", "withheld", "unfinished"]
"""`better`, `worse` and `no difference`: of the best point, by fresh pairs. `nothing better`: no point of the search
gained anything, so none was measured again. `withheld`: too few measurements count, because of doubts that void a
comparison.
"""


@dataclass(frozen=True)
class Contribution:
    """The gain by one parameter of the best point: the best point against itself without it."""

    name: str
    today: str | None
    value: str | None
    gain: Interval | None
    pairs: int

    @property
    def matters(self) -> bool | None:
        """Whether it brings a significant gain; `None` where too little was measured."""
        return None if self.gain is None else self.gain.low > 1


@dataclass(frozen=True)
class StudyPoint:
    """A point of the study's own sweep, before and after."""

    coordinates: PointValue
    today: Spread
    point: Spread
    gain: Interval | None


@dataclass(frozen=True)
class Answer:
    """The answer of a sweep."""

    document: SweepDocument
    trials: Sequence[Trial]
    """All of the search, in the order in which they were tried."""
    best: Trial | None
    """The best of the search."""
    confirmed: Trial | None
    """The best, measured again."""
    verdict: Verdict
    contributions: Sequence[Contribution]
    points: Sequence[StudyPoint]

    @property
    def void_doubts(self) -> dict[str, int]:
        """The kinds of doubts that void a comparison, each with the number of measurements that carry it."""
        kinds = (
            kind
            for measurement in self.document.measurements
            if measurement.objective
            for kind in measurement.void_doubts_of_all
        )
        return dict(Counter(kinds).most_common())

    @property
    def remedies(self) -> list[str]:
        """Changes that give the next sweep an answer."""
        measured = self.document.measurements
        known = {kind: remedy for measurement in measured for kind, remedy in measurement.void_doubts_of_all.items()}
        return list(dict.fromkeys(known[kind] for kind in self.void_doubts))

    @property
    def recommended(self) -> dict[str, str]:
        """The values to set: those of the best point that differ from today's and are not known to bring nothing."""
        if self.verdict != "better" or self.confirmed is None:
            return {}
        idle = {contribution.name for contribution in self.contributions if contribution.matters is False}
        today = todays(self.document)
        return {
            name: value
            for name, value in self.confirmed.values.items()
            if value is not None and value != today[name] and name not in idle
        }


def answer(document: SweepDocument) -> Answer:
    """The answer so far."""
    confirmed = next(iter(trials(document, "confirmation")), None)
    chosen = best(document)
    reported = confirmed if confirmed is not None and confirmed.pairs else chosen
    return Answer(
        document=document,
        trials=trials(document, "search"),
        best=chosen,
        confirmed=confirmed,
        verdict=_verdict(document, chosen, confirmed),
        contributions=_contributions(document),
        points=_points(reported) if reported is not None else [],
    )


def _verdict(document: SweepDocument, best: Trial | None, confirmed: Trial | None) -> Verdict:
    gain = confirmed.gain if confirmed is not None else None
    if gain is None:
        reported_trials = (
            [confirmed] if confirmed is not None else [] if best is not None else trials(document, "search")
        )
        if any(trial.is_void for trial in reported_trials):
            return "withheld"
        return "nothing better" if document.state == "complete" and best is None else "unfinished"
    if gain.low > 1:
        return "better"
    return "worse" if gain.high < 1 else "no difference"


def _contributions(document: SweepDocument) -> list[Contribution]:
    effects = []
    for trial in trials(document, "contribution"):
        name = next(name for name, value in trial.values.items() if value != trial.today.get(name))
        effects.append(Contribution(name, trial.today[name], trial.values[name], trial.gain, len(trial.pairs)))
    return sorted(effects, key=lambda effect: -(effect.gain.estimate if effect.gain else 0.0))


def _points(trial: Trial) -> list[StudyPoint]:
    sides = {side: _by_point(trial, side) for side in ("today", "point")}
    points = []
    for key, (coordinates, today) in sides["today"].items():
        if key in sides["point"]:
            after = sides["point"][key][1]
            ratio = intervals.of_ratio(today, after) if is_latency(trial.document.objective) else None
            gain = ratio or intervals.of_ratio(after, today)
            points.append(StudyPoint(coordinates, Spread(today), Spread(after), gain))
    return points


_Key = tuple[object, ...]


def _by_point(trial: Trial, side: Side) -> dict[_Key, tuple[PointValue, list[float]]]:
    values_by_key: dict[_Key, tuple[PointValue, list[float]]] = {}
    for measurement in trial.side(side):
        for point in measurement.points:
            key = tuple(point.model_dump(exclude={"value"}).values())
            values_by_key.setdefault(key, (point, []))[1].append(point.value)
    return values_by_key
