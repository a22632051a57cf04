"""Step 5: the number of ranks per node with the best score, bandwidth and metadata together.

The rank counts are measured in rounds, each count once in a round, in an order that turns, so that a drift of the
system meets all of them. The one with the highest median leads. Another one is worse where the interval of its ratio to
the leader lies below 1, over the rounds that both were in; it does not differ significantly where the interval has
settled or the most rounds were measured. Both end its comparison. Where the leader is the smallest or the largest of
those that were measured, its next neighbour joins, until the leader has one on each side or none is left.

It begins with the result of step 4 and both of its neighbours: metadata may want more or fewer ranks than bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from ioassay.analysis import stop_rule
from ioassay.analysis.intervals import Interval
from ioassay.tuning.sweep import pairs
from ioassay.tuning.sweep.pairs import Pair

FEWEST_ROUNDS = 4
"""Before a rank count is given up, as in step 4."""

FEWEST_OF_ANSWER = 3
"""Valid scores of the best rank count, where nothing is compared with it; fewer have no interval."""

MOST_INVALID = 3
"""Invalid runs after which nothing more is expected of a rank count, where they are more than the valid ones."""

Round = Mapping[int, float | None]
"""The score of each rank count that was measured; `None`: not valid."""

Standing = Literal["leads", "worse", "no difference", "open", "failed"]


@dataclass(frozen=True)
class Limits:
    """When a comparison ends."""

    precision: float
    """The half-width of the ratio's interval at which it has settled, as a share of the ratio."""
    most_rounds: int


@dataclass(frozen=True)
class Candidate:
    """A rank count and how it stands."""

    ranks: int
    scores: Sequence[float]
    standing: Standing
    ratio: Interval | None = None
    """Its score by the leader's, over the rounds that both were in; `None` of the leader, and of too few rounds."""


@dataclass(frozen=True)
class Balance:
    """The state of step 5."""

    candidates: Sequence[Candidate]
    """By rank count."""
    best: int | None
    """The rank count that leads; `None` while there is no valid score."""
    to_measure: Sequence[int]
    """In this order in the next round; none: it is decided."""

    @property
    def alike(self) -> list[int]:
        """Rank counts that do not differ significantly from the best."""
        return [candidate.ranks for candidate in self.candidates if candidate.standing == "no difference"]


def balance(rounds: Sequence[Round], optimum: int, counts: Sequence[int], limits: Limits) -> Balance:
    """How the rank counts stand. `counts`: those that may be tried, ascending; `optimum`: the one of step 4."""
    candidates = sorted(
        {*_around(optimum, counts), *(ranks for scores_of_round in rounds for ranks in scores_of_round)}
    )
    while True:
        state = _balance_of(rounds, candidates, limits)
        if state.best is None or any(candidate.standing == "open" for candidate in state.candidates):
            return state
        if not (more := _neighbours(state.best, candidates, counts)):
            return state
        candidates = sorted({*candidates, *more})


def _around(ranks: int, counts: Sequence[int]) -> list[int]:
    index = counts.index(ranks)
    return list(counts[max(0, index - 1) : index + 2])


def _neighbours(best: int, measured: Sequence[int], counts: Sequence[int]) -> list[int]:
    """The next rank count beyond an end of those found, where the best is at that end."""
    return [ranks for ranks in _around(best, counts) if ranks not in measured] if best in counts else []


def _balance_of(rounds: Sequence[Round], measured: Sequence[int], limits: Limits) -> Balance:
    scores = {
        ranks: [score for scores_of_round in rounds if (score := scores_of_round.get(ranks))] for ranks in measured
    }
    known = [ranks for ranks in measured if scores[ranks] and not _has_failed(rounds, ranks)]
    best = max(known, key=lambda ranks: median(scores[ranks]), default=None)
    candidates = [_candidate(rounds, ranks, best, scores[ranks], limits) for ranks in measured]
    wanted = [candidate.ranks for candidate in candidates if candidate.standing == "open"]
    if wanted and best is not None and best not in wanted:
        wanted = sorted([*wanted, best])
    return Balance(candidates, best, _rotated(wanted, len(rounds)))


def _rotated(ranks: Sequence[int], turns: int) -> list[int]:
    start = turns % len(ranks) if ranks else 0
    return [*ranks[start:], *ranks[:start]]


def _candidate(
    rounds: Sequence[Round], ranks: int, best: int | None, scores: Sequence[float], limits: Limits
) -> Candidate:
    if _has_failed(rounds, ranks):
        return Candidate(ranks, scores, "failed")
    if best is None:
        return Candidate(ranks, scores, "open")
    if ranks == best:
        return Candidate(ranks, scores, "leads" if len(scores) >= min(FEWEST_OF_ANSWER, limits.most_rounds) else "open")
    both = [
        Pair(today=leading, point=score)
        for scores_of_round in rounds
        if (leading := scores_of_round.get(best)) is not None
        and (score := scores_of_round.get(ranks)) is not None
        and leading
        and score
    ]
    return Candidate(ranks, scores, _standing(both, limits), pairs.gain(both))


def _has_failed(rounds: Sequence[Round], ranks: int) -> bool:
    """Whether it cannot be measured: several invalid runs, and more than valid ones."""
    invalid = sum(ranks in scores_of_round and not scores_of_round[ranks] for scores_of_round in rounds)
    return invalid >= MOST_INVALID and 2 * invalid > sum(ranks in scores_of_round for scores_of_round in rounds)


def _standing(both: Sequence[Pair], limits: Limits) -> Standing:
    if len(both) < min(FEWEST_ROUNDS, limits.most_rounds):
        return "open"
    ratio = pairs.gain(both)
    if ratio is not None and ratio.high < 1:
        return "worse"
    ratios = [pair.point / pair.today for pair in both]
    is_settled = stop_rule.half_width(ratios) <= limits.precision * fmean(ratios)
    return "no difference" if is_settled or len(both) >= limits.most_rounds else "open"
