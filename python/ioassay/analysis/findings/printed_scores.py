"""Scores that a benchmark printed and that do not follow from its phases, or that leave out a phase that failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from ioassay.analysis.finding import Evidence, FileLine, Finding
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
            yield Finding("warning", _evidence(one), (*one.rests_on, FileLine(one.printed.file, one.printed.line)))


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
