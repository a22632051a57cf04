"""How often a sweep is repeated: a fixed number of times, or until its medians are known well enough.

Not here: judging whether they are (`ioassay.analysis.stop_rule`), skipping cases (`ioassay.execution`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ioassay.store.document import StopRule
from ioassay.text import units
from ioassay.yaml_models.source import quoted

MOST = 1000
LEAST = 3
"""Repetitions before a stop rule looks: two agree by chance too often."""

FORMS = "whole number, or `until 5 %, at most 10`"


@dataclass(frozen=True)
class Repetitions:
    """How often each point of a sweep is measured: `most` times, or fewer where the stop rule is met before."""

    most: int = 1
    until: StopRule | None = None

    def __str__(self) -> str:
        return str(self.most) if self.until is None else f"until {100 * self.until.share:g} %, at most {self.most}"


def repetitions(text: str) -> Repetitions:
    """Reads `3`, or `until 5 %, at most 10`. Raises `ValueError` that says what to write."""
    match = re.fullmatch(r"until (\S+?) ?%, at most ([0-9]+)", " ".join(text.split()))
    if match is None:
        if not re.fullmatch(r"[0-9]+", text):
            raise ValueError(
                f"{quoted(text)} is not a number of repetitions; write for example 3, or until 5 %, at most 10"
            )
        return Repetitions(_count(text, 1))
    share = units.parse_share(f"{match[1]}%")
    if share == 0:
        raise ValueError("until 0 % is never met; write for example until 5 %, at most 10")
    most = _count(match[2], LEAST)
    return Repetitions(most, StopRule(share=share, at_least=LEAST, at_most=most))


def _count(text: str, least: int) -> int:
    count = units.parse_count(text)
    if not least <= count <= MOST:
        raise ValueError(f"{quoted(text)} is out of range; use {least} to {MOST}")
    return count
