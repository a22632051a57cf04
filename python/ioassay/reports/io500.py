"""The score of the IO500 in a report: its phases, its means, and in a sentence how far it is valid."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.analysis import io500
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.io500 import PhaseScore, Score
from ioassay.reports import format
from ioassay.reports.names import Names
from ioassay.units import PER_SECOND, format_rate

NOTE = (
    "The score is ioassay's own, by the rules of the IO500, and no official submission. Bandwidth and metadata are the "
    "geometric means of their phases, the total that of both; wear-out, fsync and sync count in the time. A phase "
    "without a number that may be used counts as 0."
)


@dataclass(frozen=True)
class ScoreLine:
    """A row of the table."""

    phase: str
    score: str
    time: str
    verdict: str
    """`valid`, or why it is not."""
    is_valid: bool
    marks: tuple[str, ...]


@dataclass(frozen=True)
class ScoreTable:
    """The score of a case."""

    title: str
    sentence: str
    """The total and whether it is valid."""
    reasons: tuple[str, ...]
    """Why the whole is not valid, beside what its phases say."""
    lines: list[ScoreLine]
    means: list[tuple[str, str]]
    """(what, score) of both groups and of the total."""
    is_valid: bool


def assemble(scores: list[Score], found: Doubts, names: Names) -> list[ScoreTable]:
    """A table for each score."""
    return [_table(score, found, "" if len(scores) == 1 else f", {names.case(score.case)}") for score in scores]


def _table(score: Score, found: Doubts, where: str) -> ScoreTable:
    means = [
        ("Bandwidth", format_rate(score.bandwidth * PER_SECOND["GiB/s"], "GiB/s")),
        ("Metadata", format_rate(score.metadata * PER_SECOND["kIOPS"], "kIOPS")),
        ("Total", format.significant(score.total)),
    ]
    ill = sum(bool(phase.reasons) for phase in score.phases if phase.rule.counts)
    because = [f"{ill} of {len(io500.STANDARD)} phases are invalid"] * bool(ill) + list(score.reasons)
    validity = "valid by the rules that ioassay checks" if score.is_valid else f"INVALID: {'; '.join(because)}"
    return ScoreTable(
        title=f"IO500 score{where}",
        sentence=f"IO500 score{where}: {means[2][1]} ({means[0][1]}, {means[1][1]}), {validity}. "
        "Computed by ioassay, no official submission.",
        reasons=score.reasons,
        lines=[_line(phase, found) for phase in score.phases],
        means=means,
        is_valid=score.is_valid,
    )


def _line(phase: PhaseScore, found: Doubts) -> ScoreLine:
    unit = io500.UNITS[phase.rule.group]
    verdict = f"INVALID: {'; '.join(phase.reasons)}" if phase.reasons else "valid"
    return ScoreLine(
        phase=phase.rule.phase,
        score=format_rate(phase.score * PER_SECOND[unit], unit) if phase.score else format.ABSENT,
        time=format.duration(phase.duration_ns),
        verdict=verdict if phase.rule.counts else f"{verdict}; not in the score",
        is_valid=not phase.reasons,
        marks=found.marks([phase.place]) if phase.place else (),
    )
