"""The measurements of a sweep: the pairs of each point, by stage and trial. A function of the document alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import get_args

from ioassay.analysis.intervals import Interval
from ioassay.analysis.spread import Spread
from ioassay.store.doubt_kinds import voids_comparison
from ioassay.store.sweep_document import ConstraintEntry, Side, Stage, SweepDocument, SweepMeasurement
from ioassay.text.units import format_duration
from ioassay.tuning.sweep import pairs
from ioassay.tuning.sweep.objective import is_latency
from ioassay.tuning.sweep.pairs import Pair

Values = Mapping[str, str | None]
"""A value for each parameter; `None`: as the study has it."""

MOST_INVALID = 3
"""Invalid measurements of one side of a trial after which nothing more is expected of it."""


@dataclass(frozen=True)
class Trial:
    """A point that was measured beside today's settings, or beside the best point less one parameter."""

    stage: Stage
    number: int
    values: Values
    """The values of the point."""
    today: Values
    """The values that it is compared with."""
    measurements: Sequence[SweepMeasurement]
    document: SweepDocument

    @property
    def pairs(self) -> list[Pair]:
        """The pairs of which both sides count, as gains: of a latency the inverse."""
        return [
            Pair(_objective_to_maximise(self.document, today), _objective_to_maximise(self.document, point))
            for today, point in self._complete_pairs
            if today.counts and point.counts
        ]

    @property
    def _complete_pairs(self) -> list[tuple[SweepMeasurement, SweepMeasurement]]:
        sides: dict[int, dict[Side, SweepMeasurement]] = {}
        for measurement in self.measurements:
            sides.setdefault(measurement.pair, {})[measurement.side] = measurement
        return [(pair["today"], pair["point"]) for pair in sides.values() if len(pair) == 2]

    @property
    def next_pair(self) -> int:
        """The number of the pair to measure next: a pair that was interrupted is measured again whole."""
        return max((measurement.pair + 1 for measurement in self.measurements), default=0)

    @property
    def gain(self) -> Interval | None:
        """By what factor the point is better; `None` for fewer than three valid pairs."""
        return pairs.gain(self.pairs)

    @property
    def estimate(self) -> float | None:
        """The factor as far as it is known, of however few pairs."""
        known = self.pairs
        if not known:
            return None
        return median(pair.point for pair in known) / median(pair.today for pair in known)

    def invalid(self, side: Side) -> list[SweepMeasurement]:
        """The measurements of a side that do not count."""
        return [measurement for measurement in self.measurements if measurement.side == side and not measurement.counts]

    @property
    def is_void(self) -> bool:
        """Whether doubts that void a comparison leave too few pairs, or a constraint without a judgement."""
        if self.gain is None:
            return any(measurement.objective and measurement.void_doubts for measurement in self.measurements)
        constraints = range(len(self.document.constraints))
        return any(self._void_in_constraint(index) and not self._can_judge(index) for index in constraints)

    def _can_judge(self, index: int) -> bool:
        return all(self._limited(index, side) for side in get_args(Side))

    @property
    def is_hopeless(self) -> bool:
        """Whether the point cannot be measured: no valid measurement after several."""
        return len(self.invalid("point")) >= MOST_INVALID and not self.pairs

    def side(self, side: Side) -> list[SweepMeasurement]:
        """The measurements of a side that count, of whole pairs."""
        return [pair[side == "point"] for pair in self._complete_pairs if pair[0].counts and pair[1].counts]

    def objective(self, side: Side) -> Spread:
        """The valid values of a side, in the unit of the objective."""
        return Spread([measurement.objective for measurement in self.side(side) if measurement.objective])

    @property
    def broken(self) -> list[str]:
        """The constraints that the point breaks, each as a sentence."""
        if not self.pairs:
            return []
        broken = (
            self._broken_constraint(index, constraint) for index, constraint in enumerate(self.document.constraints)
        )
        return [sentence for sentence in broken if sentence]

    def _broken_constraint(self, index: int, constraint: ConstraintEntry) -> str:
        now, then = (self._limited(index, side) for side in ("today", "point"))
        name = f"{constraint.workload} {constraint.phase}" if constraint.workload else constraint.phase
        if (not then or not now) and (kinds := self._void_in_constraint(index)):
            return f"{name} carries doubts ({', '.join(kinds)}), so its constraint cannot be judged"
        if not then or not now:
            return f"{name} was not measured, so its constraint cannot be judged"
        if is_latency(constraint):
            limit = constraint.most_ns or 0
            if median(then) <= limit:
                return ""
            latency = format_duration(round(median(then)))
            return f"{constraint.measure} latency of {name} is {latency}, above {format_duration(limit)}"
        share = median(then) / median(now)
        least = constraint.least_share or 0.0
        return "" if share >= least else f"{name} falls to {share:.0%} of today's rate, below {least:.0%}"

    def _limited(self, index: int, side: Side) -> list[float]:
        values = (
            measurement.constraints[index]
            if index < len(measurement.constraints) and not _void_doubts(measurement, index)
            else None
            for measurement in self.side(side)
        )
        return [value for value in values if value is not None]

    def _void_in_constraint(self, index: int) -> list[str]:
        kinds = (
            kind
            for side in get_args(Side)
            for measurement in self.side(side)
            for kind in _void_doubts(measurement, index)
        )
        return list(dict.fromkeys(kinds))


def _void_doubts(measurement: SweepMeasurement, constraint: int) -> list[str]:
    """The kinds of doubts with which what a constraint limits cannot be judged."""
    known = measurement.doubts_of_constraints
    return [kind for kind in (known[constraint] if constraint < len(known) else {}) if voids_comparison(kind)]


def _objective_to_maximise(document: SweepDocument, measurement: SweepMeasurement) -> float:
    """The objective so that more is better."""
    value = measurement.objective or 0.0
    return 1 / value if is_latency(document.objective) else value


def trials(document: SweepDocument, stage: Stage) -> list[Trial]:
    """The trials of a stage in the order in which they were begun."""
    numbers = dict.fromkeys(measurement.trial for measurement in document.measurements if measurement.stage == stage)
    return [_trial(document, stage, number) for number in numbers]


def _trial(document: SweepDocument, stage: Stage, number: int) -> Trial:
    measurements = [
        measurement
        for measurement in document.measurements
        if measurement.stage == stage and measurement.trial == number
    ]
    today = next((measurement.values for measurement in measurements if measurement.side == "today"), todays(document))
    return Trial(stage, number, measurements[0].point, today, measurements, document)


def todays(document: SweepDocument) -> dict[str, str | None]:
    """The values before the sweep."""
    return {parameter.name: parameter.today for parameter in document.parameters}


def best(document: SweepDocument) -> Trial | None:
    """The trial of the search that gained most and breaks no constraint; `None` where none gained anything."""
    known = [(trial.estimate, trial) for trial in trials(document, "search") if len(trial.pairs) >= pairs.FEWEST]
    gained = [
        (estimate, -trial.number, trial) for estimate, trial in known if estimate and estimate > 1 and not trial.broken
    ]
    return max(gained)[2] if gained else None
