"""Scores that a benchmark printed and that do not follow from its phases, or that leave out a phase that failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from ioassay.analysis.finding import Evidence, FileLine, Finding, Message, sentences
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.analysis.printed_scores import Recomputed, recomputed


@dataclass(frozen=True)
class PrintedEvidence(Evidence):
    """A printed score beside what follows from the printed phases, in the unit that was printed."""

    kind: ClassVar[str] = "printed-score"
    list: Literal["standard", "extended"]
    name: Literal["bandwidth", "metadata", "total"]
    unit: str
    printed: float
    follows: float
    lowest: float
    highest: float
    is_what_follows: bool
    """The digits of the phases allow it."""
    is_product: bool
    """The total is the product of both means and not its root, as in lists of 2017."""
    left_out: tuple[str, ...]
    """Phases that failed, which the program leaves out of its means."""
    missing: tuple[str, ...]
    file: str
    line: int


def printed(facts: RunFacts) -> Iterator[Finding]:
    """One for each score that is not what its phases make."""
    for one in recomputed(facts.run):
        if one.rests_on and (not one.follows or one.left_out or one.missing):
            evidence = _evidence(one)
            lines = FileLine(one.printed.file, one.printed.line)
            yield Finding("warning", evidence, (*one.rests_on, lines), _message(evidence))


def _evidence(one: Recomputed) -> PrintedEvidence:
    score = one.printed
    return PrintedEvidence(
        list=score.list,
        name=score.name,
        unit=score.unit,
        printed=score.value,
        follows=one.value,
        lowest=one.lowest,
        highest=one.highest,
        is_what_follows=one.follows,
        is_product=not one.follows and score.name == "total" and abs(score.value / one.value**2 - 1) < _ROUNDED,
        left_out=one.left_out,
        missing=one.missing,
        file=score.file,
        line=score.line,
    )


_ROUNDED = 1e-3
"""What rounding between the steps of a script may cost a product."""


def _message(evidence: PrintedEvidence) -> Message:
    unit = f" {evidence.unit}" if evidence.unit else ""
    extended = "extended " if evidence.list == "extended" else ""
    what = f"The {extended}{'score' if evidence.name == 'total' else evidence.name} that was printed"
    headline, remedy = f"{what}, {evidence.printed:,.2f}{unit}, ", ""
    if evidence.is_product:
        headline += (
            f"is the product of both means; their geometric mean, which the score is, is {evidence.follows:,.2f}."
        )
        remedy = f"Use {evidence.follows:,.2f} to compare it with scores of today's lists."
    elif evidence.is_what_follows:
        headline += "follows from the printed phases."
    else:
        headline += f"does not follow from the printed phases, which give {evidence.follows:,.2f}{unit}."
        remedy = "Check the file for changed or missing lines, and use what follows from the phases."
    left_out = missing = again = ""
    if evidence.left_out:
        left_out = f"It leaves out failed phases ({', '.join(evidence.left_out)}); with them, it is 0."
    if evidence.missing:
        missing = f"Required phases are missing: {', '.join(evidence.missing)}."
    if evidence.left_out or evidence.missing:
        again = "Run the benchmark again until every required phase is valid; do not compare this score."
    return Message(headline, sentences(remedy, again), sentences(left_out, missing))
