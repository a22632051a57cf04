"""The score of the IO500 in a report: its phases, its means, and in a sentence how far it is valid."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.analysis import io500
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.io500 import PhaseScore, Score
from ioassay.analysis.names import Names
from ioassay.reports.document import Column, Marks, Piece, Span, Table, changes, numbers
from ioassay.text import format
from ioassay.text.units import PER_SECOND, format_count, format_rate

NOTE = (
    "ioassay computed the score by the rules of the IO500; it is not an official submission. Bandwidth and metadata "
    "are the geometric means of their phases, and the total is the geometric mean of both; times include wear-out, "
    "fsync and sync. A phase without a valid number counts as 0."
)

INVALID = "INVALID"

_ROUNDED = 1e-3
"""The share by which the total of a submission may differ from ours: old ones have three digits."""


@dataclass(frozen=True)
class ScoreLine:
    """A row of the table."""

    what: str
    score: str
    time: str
    verdict: str
    """`valid`, `INVALID` or nothing."""
    because: str
    """Why it is invalid."""
    marks: tuple[str, ...]


@dataclass(frozen=True)
class ScoreTable:
    """The score of a case."""

    title: str
    sentence: str
    """The total and whether it is valid."""
    lines: list[ScoreLine]
    """The phases, both groups and the total."""


def table(score: ScoreTable) -> Table:
    """The table, the phases apart from what follows from them."""
    return Table(
        [Column("Phase", wraps=False), *numbers("Score", "Time"), Column("Validity")],
        [[line.what, (line.score, Marks(line.marks)), line.time, _validity(line)] for line in score.lines],
        title=score.title,
        rules=changes(not line.verdict for line in score.lines),
    )


def _validity(line: ScoreLine) -> tuple[Piece, ...]:
    verdict = Span(line.verdict, "failed" if line.verdict == INVALID else "passed")
    return (*([verdict] if line.verdict else []), ": " if line.verdict and line.because else "", line.because)


def assemble(scores: list[Score], doubts: Doubts, names: Names) -> list[ScoreTable]:
    """A table for each score."""
    tables = []
    for score in scores:
        case = names.entry(score.case)
        ranks = max(job.ranks for phase in case.phases for job in phase.jobs)
        where = f"{format_count(ranks, 'rank')} on {format_count(case.clients, 'client')}" if ranks else "unknown ranks"
        where += f", repetition {case.repetition}" if names.repeated else ""
        tables.append(_table(score, doubts, where))
    return tables


def _table(score: Score, doubts: Doubts, where: str) -> ScoreTable:
    bandwidth = format_rate(score.bandwidth * PER_SECOND["GiB/s"], "GiB/s")
    metadata = format_rate(score.metadata * PER_SECOND["kIOPS"], "kIOPS")
    total = format.significant(score.total)
    counting = [phase for phase in score.phases if score.counts(phase)]
    ill = sum(bool(phase.reasons) for phase in counting)
    because = [f"{ill} of {len(counting)} phases {'is' if ill == 1 else 'are'}"] * bool(ill) + list(score.reasons)
    validity = "valid by the rules that ioassay checks" if score.is_valid else f"{INVALID} because {'; '.join(because)}"
    title = f"IO500 {'extended ' * (score.list == 'extended')}score with {where}"
    return ScoreTable(
        title=title,
        sentence=f"{title}: {total} ({bandwidth}, {metadata}), {validity}. "
        f"Computed by ioassay; not an official submission.{_printed(score)}",
        lines=[
            *(_line(phase, score.counts(phase), doubts) for phase in score.phases),
            ScoreLine("Bandwidth", bandwidth, "", "", "", ()),
            ScoreLine("Metadata", metadata, "", "", "", ()),
            ScoreLine("Total", total, "", _verdict(score.is_valid), "; ".join(score.reasons), ()),
        ],
    )


def _printed(score: Score) -> str:
    """The total that another program printed, where it differs."""
    if score.printed is None or abs(score.total - score.printed) <= _ROUNDED * score.printed:
        return ""
    notes = [f"{phase.rule.phase}: {phase.note}" for phase in score.phases if phase.note and score.counts(phase)]
    because = f" ({'; '.join(notes)})" if notes else ""
    return f" The IO500 printed {score.printed:.8g}{because}."


def _line(phase: PhaseScore, counts: bool, doubts: Doubts) -> ScoreLine:
    unit = io500.UNITS[phase.rule.group]
    return ScoreLine(
        what=phase.rule.phase,
        score=format_rate(phase.score * PER_SECOND[unit], unit) if phase.score else format.ABSENT,
        time=format.duration(phase.duration_ns),
        verdict=_verdict(not phase.reasons),
        because="; ".join(
            [*phase.reasons, *([phase.note] if phase.note else []), *([] if counts else ["not in the score"])]
        ),
        marks=doubts.marks([phase.place]) if phase.place else (),
    )


def _verdict(is_valid: bool) -> str:
    return "valid" if is_valid else INVALID
