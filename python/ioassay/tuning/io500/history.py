"""The state of steps 4 and 5, from the measurements of a document. Functions of the document alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from ioassay.store.tune_io500_document import Io500Measurement, Io500Stage, TuneIo500Document
from ioassay.tuning.io500.balance import MOST_INVALID, Balance, Limits, Round, balance
from ioassay.tuning.io500.ramp import Ramp, RampStep, Rates, ramp, rungs, verdict
from ioassay.tuning.sweep import pairs
from ioassay.tuning.sweep.pairs import Pair


@dataclass(frozen=True)
class Turn:
    """A run to be done next."""

    stage: Io500Stage
    step: int
    turn: int
    ranks: int


def rates(measurement: Io500Measurement) -> Rates | None:
    """The rates of ior-easy, where both are valid."""
    if measurement.write_bytes_per_s and measurement.read_bytes_per_s:
        return Rates(measurement.write_bytes_per_s, measurement.read_bytes_per_s)
    return None


def worth(measured: Rates) -> float:
    """The figure that the ramp compares: the geometric mean of write and read, as the score weighs them."""
    return sqrt(measured.write * measured.read)


def easy(document: TuneIo500Document) -> list[Io500Measurement]:
    """The measurements of step 4."""
    return [measurement for measurement in document.measurements if measurement.stage == "ior-easy"]


def easy_rates(document: TuneIo500Document, ranks: int) -> list[Rates]:
    """The valid rates of ior-easy at a rank count, in step 4."""
    return [known for measurement in easy(document) if measurement.ranks == ranks and (known := rates(measurement))]


def ramp_step(document: TuneIo500Document, lower: int, higher: int) -> RampStep:
    """The measurements of a step of the ramp so far."""
    measurements = [measurement for measurement in easy(document) if measurement.step == higher]
    known = _pairs(measurements, lower, higher)
    state = RampStep(
        lower,
        higher,
        known,
        easy_rates(document, lower),
        easy_rates(document, higher),
        verdict(known, document.most_turns),
    )
    invalid = [
        measurement for measurement in measurements if measurement.ranks == higher and rates(measurement) is None
    ]
    others_are_valid = any(measurement.ranks == lower and rates(measurement) for measurement in measurements)
    if others_are_valid and len(invalid) >= MOST_INVALID and len(invalid) > len(known):
        return replace(state, failed=invalid[-1].why_invalid or "not valid")
    return state


def _pairs(measurements: Sequence[Io500Measurement], lower: int, higher: int) -> list[Pair]:
    turns: dict[int, dict[int, Rates]] = {}
    for measurement in measurements:
        if (known := rates(measurement)) is not None:
            turns.setdefault(measurement.turn, {})[measurement.ranks] = known
    return [
        Pair(today=worth(turn[lower]), point=worth(turn[higher]))
        for turn in turns.values()
        if lower in turn and higher in turn
    ]


def ramp_of(document: TuneIo500Document) -> Ramp:
    """The state of step 4."""
    return ramp(
        lambda lower, higher: ramp_step(document, lower, higher),
        rungs(document.most_ranks),
        document.ceiling,
    )


def rounds(document: TuneIo500Document) -> list[Round]:
    """The scores of step 5, round by round."""
    scores: dict[int, dict[int, float | None]] = {}
    for measurement in document.measurements:
        if measurement.stage == "balance":
            scores.setdefault(measurement.turn, {})[measurement.ranks] = measurement.score
    return list(scores.values())


def balance_of(document: TuneIo500Document, known: Ramp) -> Balance:
    """The state of step 5, after step 4."""
    failed = [step.higher for step in known.steps if step.failed]
    counts = [ranks for ranks in rungs(document.most_ranks) if not failed or ranks < failed[0]]
    return balance(rounds(document), known.ranks, counts, Limits(document.precision, document.most_turns))


def next_turns(document: TuneIo500Document) -> list[Turn]:
    """The runs of the next pair or round, in their order; none: all is known.

    A pair or a round that was interrupted is measured again whole: its halves would not be measured alike.
    """
    known = ramp_of(document)
    if (step := known.next_step) is not None:
        turn = max(
            (measurement.turn + 1 for measurement in easy(document) if measurement.step == step.higher), default=0
        )
        order = [step.lower, step.higher] if pairs.today_first(turn) else [step.higher, step.lower]
        return [Turn("ior-easy", step.higher, turn, ranks) for ranks in order]
    turn = max(
        (measurement.turn + 1 for measurement in document.measurements if measurement.stage == "balance"), default=0
    )
    return [Turn("balance", 0, turn, ranks) for ranks in balance_of(document, known).to_measure]


def lost(document: TuneIo500Document) -> Io500Measurement | None:
    """The last of the invalid measurements that leave no way to go on; `None` where there is one.

    In step 4 it is the smaller rank count that cannot be measured, in step 5 every one.
    """
    known = ramp_of(document)
    if (step := known.next_step) is not None:
        measurements = [
            measurement
            for measurement in easy(document)
            if measurement.step == step.higher and measurement.ranks == step.lower
        ]
        invalid = [measurement for measurement in measurements if rates(measurement) is None]
        return invalid[-1] if len(invalid) >= MOST_INVALID and 2 * len(invalid) > len(measurements) else None
    state = balance_of(document, known)
    if any(candidate.standing != "failed" for candidate in state.candidates):
        return None
    return [measurement for measurement in document.measurements if measurement.stage == "balance"][-1]
