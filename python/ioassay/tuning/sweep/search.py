"""The choice of the next point of the parameters.

A grid that fits the budget is tried whole. Of a larger one, Optuna's tree-structured Parzen estimator chooses (Bergstra
et al., *Algorithms for Hyper-Parameter Optimization*, NIPS 2011), after the points that the rules suggest. Values are
ordered, so the estimator knows that 256 lies between 128 and 512.

A search is a function of its seed and of the results given to it, so a resumed sweep gives it all results again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

Point = tuple[int, ...]
"""A place in the list of values of each parameter."""

_DUPLICATES = 20
"""How often the estimator may name points that are known before one is drawn instead."""

_RANDOM_TRIALS = 5
"""Trials before the estimator has enough to go by. Its default of 10 is a third of a usual budget."""

_INFEASIBLE = -math.log(4)
"""The value, to the estimator, of a point that breaks a constraint: a quarter of today's. Worse would hide all else."""


@dataclass
class Search:
    """Names points until all are tried or `trials` are. `sizes`: how many values each parameter has.

    Raises `CannotRun` where the estimator is needed and not installed.
    """

    sizes: Sequence[int]
    trials: int
    today: Point | None
    """Today's values, where all of them are in the lists: the point that needs no trial."""
    suggested: Sequence[Point] = ()
    """The points that rules suggest, the most promising first."""
    seed: int = 1
    _known: dict[Point, float] = field(default_factory=dict)
    _asked: Trial | None = None
    _study: Study | None = None

    def __post_init__(self) -> None:
        if not self.is_grid and find_spec("optuna") is None:
            raise CannotRun(
                f"Optuna is not installed; it chooses which {self.trials} of {self.points} points to try.",
                f"pip install 'ioassay[tune]'; or try every point: --trials {self.points}.",
            )

    @property
    def is_grid(self) -> bool:
        """Whether every point is tried."""
        return self.points <= self.trials

    @property
    def points(self) -> int:
        """How many points there are to try."""
        return math.prod(self.sizes) - (self.today is not None)

    def ask(self) -> Point | None:
        """The next point; `None` where the budget is spent or no point is left."""
        if len(self._known) >= min(self.trials, self.points):
            return None
        first = next((point for point in self.suggested if self._is_new(point)), None)
        if first is not None:
            return first
        return self._next_of_grid() if self.is_grid else self._next_of_estimator()

    def tell(self, point: Point, gain: float | None, *, is_allowed: bool = True) -> None:
        """Give the result of a point: its gain over today's settings. `None`: it could not be measured."""
        worth = math.log(gain) if gain and is_allowed else _INFEASIBLE
        self._known[point] = worth
        if self.is_grid:
            return
        if self._asked is not None and self._point_of_trial(self._asked) == point:
            self._optuna().tell(self._asked, worth)
            self._asked = None
        else:
            self._add(point, worth)

    def _is_new(self, point: Point) -> bool:
        return point not in self._known and point != self.today

    def _next_of_grid(self) -> Point:
        """In random order, so that what changes with time does not look like what changes along an axis."""
        grid = list(product(*map(range, self.sizes)))
        random.Random(self.seed).shuffle(grid)
        return next(point for point in grid if self._is_new(point))

    def _next_of_estimator(self) -> Point:
        study = self._optuna()
        for _ in range(_DUPLICATES):
            trial = study.ask()
            point = self._point_of_trial(trial)
            if self._is_new(point):
                self._asked = trial
                return point
            study.tell(trial, self._known.get(point, 0.0))  # today's settings are known to gain nothing
        return self._random_point()

    def _random_point(self) -> Point:
        chance = random.Random(f"{self.seed} {len(self._known)}")
        while True:
            point = tuple(chance.randrange(size) for size in self.sizes)
            if self._is_new(point):
                return point

    def _optuna(self) -> Study:
        if self._study is None:
            import optuna  # noqa: PLC0415  (a second, and grids need none)

            optuna.logging.set_verbosity(optuna.logging.WARNING)
            sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=_RANDOM_TRIALS, multivariate=True)
            self._study = optuna.create_study(direction="maximize", sampler=sampler)
            if self.today is not None:
                self._add(self.today, 0.0)
        return self._study

    def _add(self, point: Point, worth: float) -> None:
        self._optuna().add_trial(self._frozen(point, worth))

    def _frozen(self, point: Point, worth: float) -> FrozenTrial:
        from optuna.distributions import IntDistribution  # noqa: PLC0415
        from optuna.trial import create_trial  # noqa: PLC0415

        names = [str(index) for index in range(len(self.sizes))]
        return create_trial(
            params=dict(zip(names, point, strict=True)),
            distributions={name: IntDistribution(0, size - 1) for name, size in zip(names, self.sizes, strict=True)},
            value=worth,
        )

    def _point_of_trial(self, trial: Trial) -> Point:
        """The point of a trial; the first time it is asked, the estimator chooses it."""
        return tuple(trial.suggest_int(str(index), 0, size - 1) for index, size in enumerate(self.sizes))


def suggestions(values: Sequence[Sequence[str]], today: Sequence[str], known: Mapping[int, str]) -> list[Point]:
    """The points that follow from rules: all that they recommend at once, then each recommendation alone.

    `known`: by parameter, the value that a rule recommends; the nearest of the list is taken, of numbers by ratio. The
    other parameters keep today's value, or have the one of the list that is nearest to it.
    """
    base = [_nearest(candidates, value) for candidates, value in zip(values, today, strict=True)]
    wanted = {index: _nearest(values[index], value) for index, value in known.items()}
    if not wanted:
        return []
    together = tuple(wanted.get(index, place) for index, place in enumerate(base))
    alone = [
        tuple(place if position == index else base[position] for position in range(len(base)))
        for index, place in wanted.items()
    ]
    return list(dict.fromkeys([together, *alone]))


def _nearest(values: Sequence[str], wanted: str) -> int:
    """The place of the value that is `wanted`, or nearest to it; the first where nothing is near."""
    if wanted in values:
        return values.index(wanted)
    try:
        target = float(wanted)
        return min(range(len(values)), key=lambda index: abs(math.log((float(values[index]) + 1) / (target + 1))))
    except ValueError:
        return 0
