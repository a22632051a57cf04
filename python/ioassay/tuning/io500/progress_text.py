"""Progress lines of the procedure: one when a pair or round begins, and one with what is known after it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ioassay.store.tune_io500_document import TuneIo500Document
from ioassay.text.rate_units import suited
from ioassay.text.units import format_count, format_number, format_rate
from ioassay.tuning.io500 import history
from ioassay.tuning.io500.history import Turn
from ioassay.tuning.sweep import pairs


def begins(document: TuneIo500Document, turns: Sequence[Turn]) -> str:
    """The line before measurements."""
    first = turns[0]
    counts = sorted(turn.ranks for turn in turns)
    if first.stage == "ior-easy":
        return (
            f"Step 4, ior-easy with {counts[0]} and {counts[-1]} ranks per node: pair {first.turn + 1} of at most "
            f"{document.most_turns}"
        )
    return (
        f"Step 5, IO500 with {_listed(counts)} {'rank' if counts == [1] else 'ranks'} per node: round {first.turn + 1}"
    )


def known(document: TuneIo500Document, turns: Sequence[Turn]) -> str:
    """The line after measurements, with the state that they lead to."""
    first = turns[0]
    counts = sorted(turn.ranks for turn in turns)
    if first.stage == "ior-easy":
        return f"  {_step(document, counts[0], counts[-1])}"
    scores = {
        ranks: [score for scores_of_round in history.rounds(document) if (score := scores_of_round.get(ranks))]
        for ranks in counts
    }
    texts = (
        f"{format_count(ranks, 'rank')} {format_number(median(known_scores))}"
        for ranks, known_scores in scores.items()
        if known_scores
    )
    return f"  score so far: {'; '.join(texts) or 'none'}"


def _step(document: TuneIo500Document, lower: int, higher: int) -> str:
    step = history.ramp_step(document, lower, higher)
    rates = (
        f"{format_count(ranks, 'rank')} {_rate(median(map(history.worth, measurements)))}"
        for ranks, measurements in ((lower, step.lower_rates), (higher, step.higher_rates))
        if measurements
    )
    gain = pairs.gain(step.pairs)
    interval = (
        f"; ratio {format_number(gain.estimate)}, interval {format_number(gain.low)} to {format_number(gain.high)}"
        if gain
        else ""
    )
    return f"{'; '.join(rates) or 'no valid rate yet'}{interval}"


def _rate(value: float) -> str:
    return format_rate(value, suited("rate_bytes_per_s", "write", [value]).name)


def _listed(counts: Sequence[int]) -> str:
    *before, last = map(str, counts)
    return f"{', '.join(before)} and {last}" if before else last
