"""The acceptance criteria of a study in words, with the verdicts.

Not: judging (`ioassay.analysis.acceptance`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.analysis.acceptance import Judgement, Verdict
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.names import Names
from ioassay.reports.document import Column, Marks, Span, Table, numbers
from ioassay.store.document import Criterion
from ioassay.text import format

_SHARE = "utilisation"
"""The measure that is written in percent."""


@dataclass(frozen=True)
class VerdictLine:
    """An acceptance criterion in words, with its verdict."""

    criterion: str
    because: str
    judgement: Judgement
    value: str
    missing: str
    """Why it could not be judged; empty where it could be."""
    rests_on: str
    marks: tuple[str, ...]


def table(lines: Sequence[VerdictLine]) -> Table:
    return Table(
        [Column("Criterion"), *numbers("Measured"), Column("Verdict"), Column("Rests on")],
        [
            [
                (line.criterion, Span(f"because {line.because}", "below")),
                (line.value, Marks(line.marks)),
                (Span(line.judgement, line.judgement), f": {line.missing}" if line.missing else ""),
                line.rests_on,
            ]
            for line in lines
        ],
        "Criteria, and the measurements that each verdict rests on",
    )


def line(verdict: Verdict, doubts: Doubts, names: Names) -> VerdictLine:
    criterion = verdict.criterion
    subject = "" if criterion.of == "all" else f" of {names.workload(criterion.of)}"
    phase = f", {criterion.phase}" if criterion.phase else ""
    operation = "" if criterion.operation == "all" else f", {criterion.operation}"
    limits = []
    if criterion.at_most is not None:
        limits.append(f"at most {_limit(criterion.at_most, criterion)}")
    if criterion.at_least is not None:
        limits.append(f"at least {_limit(criterion.at_least, criterion)}")
    return VerdictLine(
        criterion=f"{criterion.measure.replace('_', ' ')}{subject}{phase}{operation}: {' and '.join(limits)}",
        because=criterion.because,
        judgement=verdict.judgement,
        value=_value(verdict),
        missing=verdict.missing,
        rests_on=_rests_on(verdict, names),
        marks=doubts.marks(verdict.rests_on),
    )


def _limit(limit: float, criterion: Criterion) -> str:
    return format.share(limit) if criterion.measure == _SHARE else format.limit(limit, criterion.unit)


def _value(verdict: Verdict) -> str:
    if verdict.value is None:
        return format.ABSENT
    is_share = verdict.criterion.measure == _SHARE
    return format.share(verdict.value) if is_share else format.in_unit(verdict.value, verdict.criterion.unit)


def _rests_on(verdict: Verdict, names: Names) -> str:
    """The first few by name: a criterion about everything rests on everything."""
    shown = [names.place(place) for place in verdict.rests_on[:2]]
    more = len(verdict.rests_on) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def sentence(accepted: Judgement | None, lines: Sequence[VerdictLine]) -> str:
    """The verdict on the run in a sentence, or nothing without criteria."""
    if accepted is None:
        return ""
    counts = Counter(line.judgement for line in lines)
    parts = [f"{counts[name]} {name}" for name in ("passed", "failed") if counts[name]]
    return f"Acceptance: {accepted}. Criteria: {', '.join(parts)}."
