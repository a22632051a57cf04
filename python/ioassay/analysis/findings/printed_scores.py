"""Scores that a benchmark printed but that do not follow from its phases, or that leave out a failed phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from ioassay.analysis.finding import Evidence, FileLine, Finding, Message, sentences
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.analysis.printed_scores import RecomputedScore, recomputed


@dataclass(frozen=True)
class PrintedScoreEvidence(Evidence):
    """A printed score, and the score that follows from the printed phases, in the printed unit."""

    kind: ClassVar[str] = "printed-score"
    list: Literal["standard", "extended"]
    name: Literal["bandwidth", "metadata", "total"]
    unit: str
    printed: float
    follows: float
    lowest: float
    highest: float
    is_what_follows: bool
    """The printed score agrees within the rounding of the phases."""
    is_product: bool
    """The total is the product of both means instead of its square root, as in lists of 2017."""
    left_out: tuple[str, ...]
    """Failed phases that the program leaves out of its means."""
    missing: tuple[str, ...]
    file: str
    line: int


def printed(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each score that its phases do not give."""
    for score in recomputed(facts.run):
        if score.rests_on and (not score.follows or score.left_out or score.missing):
            evidence = _evidence(score)
            lines = FileLine(score.printed.file, score.printed.line)
            yield Finding("warning", evidence, (*score.rests_on, lines), _message(evidence))


def _evidence(score: RecomputedScore) -> PrintedScoreEvidence:
    printed = score.printed
    return PrintedScoreEvidence(
        list=printed.list,
        name=printed.name,
        unit=printed.unit,
        printed=printed.value,
        follows=score.value,
        lowest=score.lowest,
        highest=score.highest,
        is_what_follows=score.follows,
        is_product=not score.follows and printed.name == "total" and abs(printed.value / score.value**2 - 1) < _ROUNDED,
        left_out=score.left_out,
        missing=score.missing,
        file=printed.file,
        line=printed.line,
    )


_ROUNDED = 1e-3
"""Relative error of a product due to rounding between the steps of a script."""


def _message(evidence: PrintedScoreEvidence) -> Message:
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
