"""A sweep from its beginning, or from where it was interrupted, to its answer.

Three stages. The search tries points beside today's settings. The best of many is best partly by chance, so it is
measured again beside today's settings, and only these fresh pairs say what it brings. Then each parameter that it
changes goes back to today's value, one at a time: what is lost is its contribution.

What was measured is in the document, and everything here follows from it: to resume is to begin again. Not: how values
are set (`Switch`), how a run is done (`Runs`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ioassay.errors import CannotRun
from ioassay.execution.interruption import Interruption
from ioassay.store.loaded import LoadedRun
from ioassay.store.moments import now
from ioassay.store.sweep_directory import SweepDirectory
from ioassay.store.sweep_document import RefusedPoint, Side, Stage, SweepMeasurement
from ioassay.text.units import format_count, format_number
from ioassay.tuning.apply import Drifted
from ioassay.tuning.attempt import Interrupted, attempt, heed, keep, left_by
from ioassay.tuning.settings import CannotSet
from ioassay.tuning.sweep import objective, pairs
from ioassay.tuning.sweep.pairs import Precision
from ioassay.tuning.sweep.search import Point, Search, suggestions
from ioassay.tuning.sweep.trials import MOST_INVALID, Trial, Values, best, todays, trials

_FEWEST_OF_ANSWER = 5
"""Pairs behind every gain that is reported: 5 against 5 have an interval of at least 95 %, 3 against 3 of 90 %."""


class Switch(Protocol):
    """Puts values of settings in force on this node."""

    def switch(self, values: Mapping[str, str]) -> None:
        """Sets every setting, by the name of its parameter. Raises `CannotRun`."""

    def drifted(self) -> list[str]:
        """The settings that something else has changed since, each as a sentence."""


class Runs(Protocol):
    """Measures."""

    def run(self, out: Path, settings: Sequence[str], interruption: Interruption) -> LoadedRun:
        """Runs the study into a new directory. Raises `UsageError`, `CannotRun`."""


class Loop:
    """A sweep at work in a directory."""

    def __init__(
        self,
        directory: SweepDirectory,
        switch: Switch,
        runs: Runs,
        say: Callable[[str], None],
        interruption: Interruption,
    ) -> None:
        self._directory = directory
        self._document = directory.document
        self._switch = switch
        self._runs = runs
        self._say = say
        self._interruption = interruption
        self._today = todays(self._document)
        self._precision = Precision(self._document.precision, most=self._document.most_pairs)
        self._began = time.monotonic()

    def run(self) -> None:
        """Does what is left to do. The state is in the document then. Raises `CannotRun` where it cannot go on."""
        with attempt(self._directory, self._interruption):
            self._search()
            if (best_trial := best(self._document)) is not None:
                self._confirm(best_trial)

    def _search(self) -> None:
        search = self._prepared()
        for refused in self._document.refused:
            search.tell(self._point(refused.point), None)
        number = 0
        for trial in trials(self._document, "search"):
            number = max(number, trial.number + 1)
            self._try(search, trial)
            if self._is_void():
                return
        while not self._is_late() and (point := search.ask()) is not None:
            values = {
                parameter.name: parameter.values[index]
                for parameter, index in zip(self._document.parameters, point, strict=True)
            }
            self._say(f"Trial {number + 1} of {min(search.trials, search.points)}: {_values_text(values)}")
            trial = Trial("search", number, values, self._today, (), self._document)
            self._try(search, trial)
            if self._is_void():
                self._say("  the measurements carry doubts that void every comparison: the sweep ends here")
                return
            number += 1
        if self._document.refused and all(map(self._is_refused, trials(self._document, "search"))):
            raise CannotRun(f"No point could be set: {self._document.refused[0].why}")

    def _try(self, search: Search, trial: Trial) -> None:
        """Measures a point, unless a setting refuses its values: the next point may be taken."""
        if self._is_refused(trial):
            return
        try:
            self._report_to_search(search, self._finish(trial))
        except CannotSet as error:
            if isinstance(error, Drifted):
                raise
            self._document.refused.append(RefusedPoint(point=dict(trial.values), why=error.message))
            self._directory.save()
            self._say(f"  not taken: {error.message}")
            search.tell(self._point(trial.values), None)

    def _is_refused(self, trial: Trial) -> bool:
        return any(refusal.point == trial.values for refusal in self._document.refused)

    def _point(self, values: Values) -> Point:
        return tuple(parameter.values.index(values[parameter.name] or "") for parameter in self._document.parameters)

    def _is_void(self) -> bool:
        """Whether nothing of the search counts, because of doubts that the next points will carry too."""
        known = [trial for trial in trials(self._document, "search") if not self._is_refused(trial)]
        return bool(known) and all(trial.is_void for trial in known)

    def _prepared(self) -> Search:
        parameters = self._document.parameters
        values = [parameter.values for parameter in parameters]
        today = [parameter.today if parameter.today in parameter.values else None for parameter in parameters]
        places = [candidates.index(value) for candidates, value in zip(values, today, strict=True) if value is not None]
        known = {
            index: parameter.suggested for index, parameter in enumerate(parameters) if parameter.suggested is not None
        }
        return Search(
            sizes=[len(value) for value in values],
            trials=self._document.trials,
            today=tuple(places) if len(places) == len(parameters) else None,
            suggested=suggestions(values, [parameter.today or parameter.values[0] for parameter in parameters], known),
            seed=self._document.seed,
        )

    def _report_to_search(self, search: Search, trial: Trial) -> None:
        broken = trial.broken
        search.tell(self._point(trial.values), trial.estimate, is_allowed=not broken)
        for sentence in broken:
            self._say(f"  breaks a constraint: {sentence}")

    def _is_late(self) -> bool:
        limit = self._document.time_ns
        return limit is not None and (time.monotonic() - self._began) * 1e9 >= limit

    def _confirm(self, best: Trial) -> None:
        precision = replace(self._precision, fewest=_FEWEST_OF_ANSWER)
        self._say(f"Confirmation with fresh pairs: {_values_text(best.values)}")
        trial = self._resumed("confirmation", 0, best.values, self._today)
        confirmed = self._finish(trial, precision, is_answer=True)
        changed = [name for name, value in best.values.items() if value != self._today[name]]
        gain = confirmed.gain
        if len(changed) < 2 or gain is None or gain.low <= 1:
            return
        for number, name in enumerate(changed):
            self._say(f"Contribution of {name}: {best.values[name]} beside {self._today[name] or 'the study’s'}")
            without = {**best.values, name: self._today[name]}
            self._finish(self._resumed("contribution", number, best.values, without), precision, is_answer=True)

    def _resumed(self, stage: Stage, number: int, values: Values, today: Values) -> Trial:
        known = (trial for trial in trials(self._document, stage) if trial.number == number)
        return replace(next(known, Trial(stage, number, values, today, (), self._document)), values=values, today=today)

    def _finish(self, trial: Trial, precision: Precision | None = None, *, is_answer: bool = False) -> Trial:
        """Measures pairs until nothing more is to be known of the trial. Returns it with all of them."""
        precision = precision or self._precision
        while not self._is_given_up(trial):
            least = 0.0 if is_answer else self._relevant_gain(trial)
            if pairs.next_step(trial.pairs, precision, least) != "pair":
                break
            self._pair(trial)
            trial = self._resumed(trial.stage, trial.number, trial.values, trial.today)
            self._say_gain(trial)
        return trial

    def _relevant_gain(self, trial: Trial) -> float:
        """The gain below which a point need not be known better: what the best so far gains at least, and no loss."""
        leader = best(self._document)
        known = leader.gain if leader is not None and leader.number != trial.number else None
        return max(1.0, known.low) if known else 1.0

    def _is_given_up(self, trial: Trial) -> bool:
        """Whether the point gives no valid measurements. Raises `CannotRun` where today's give none."""
        invalid = trial.invalid("today")
        if len(invalid) >= MOST_INVALID and trial.is_void:
            return True
        if len(invalid) >= MOST_INVALID and not trial.pairs:
            raise CannotRun(
                f"{MOST_INVALID} measurements with today's settings are not valid: {invalid[-1].why_invalid}.",
                f"Look at {self._directory.run(invalid[-1].run)} with `ioassay report`.",
            )
        return trial.is_hopeless or trial.next_pair >= self._precision.most + MOST_INVALID

    def _pair(self, trial: Trial) -> None:
        sides: list[tuple[Side, Values]] = [("today", trial.today), ("point", trial.values)]
        number = trial.next_pair
        for side, values in sides if pairs.today_first(number) else reversed(sides):
            self._measure(trial, number, side, values)

    def _measure(self, trial: Trial, pair: int, side: Side, values: Values) -> None:
        heed(self._interruption)
        settings = {
            parameter.name: value
            for parameter in self._document.parameters
            if parameter.key is None and (value := values[parameter.name]) is not None
        }
        keys = [
            f"{parameter.key}={values[parameter.name]}"
            for parameter in self._document.parameters
            if parameter.key is not None and values[parameter.name] is not None
        ]
        self._switch.switch(settings)
        path = self._directory.new_run(f"{len(self._document.measurements) + 1:04}-{side}")
        started = now()
        run = self._runs.run(path, keys, self._interruption)
        drifted = self._switch.drifted()
        if run.document.state == "interrupted":
            raise Interrupted(left_by(path, run.document.leftovers))
        observed = objective.observe(run, self._document.objective)
        limited = [objective.observe(run, constraint) for constraint in self._document.constraints]
        why = "; ".join(drifted) or observed.why_invalid
        measurement = SweepMeasurement(
            run=path.name,
            stage=trial.stage,
            trial=trial.number,
            pair=pair,
            side=side,
            values=dict(values),
            point=dict(trial.values),
            started=started,
            objective=None if why else observed.value,
            points=list(observed.points),
            constraints=[measured.value for measured in limited],
            doubts_of_constraints=[dict(measured.doubts) for measured in limited],
            why_invalid=why or None,
            doubts=dict(observed.doubts),
        )
        keep(self._directory, measurement, run.document.leftovers, self._say)

    def _say_gain(self, trial: Trial) -> None:
        estimate, gain = trial.estimate, trial.gain
        if estimate is None:
            return
        known = f", {gain.name} {format_number(gain.low)} to {format_number(gain.high)}" if gain else ""
        self._say(f"  after {format_count(len(trial.pairs), 'pair')}: ×{format_number(estimate)}{known}")


def _values_text(values: Values) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)
