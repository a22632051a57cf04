"""How the first answer moves when a figure is 20 % lower or higher: a catalogue's, or a required one.

The counts of the same kinds that then meet all needs are found again; other kinds are not looked at, because the
question is how much the answer hangs on the figure and not what else there is.

Not: the arithmetic with changed figures (`evaluate`, `Catalogue.with_changed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from ioassay.sizing.arithmetic import Value
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick
from ioassay.sizing.quantities import Quantity
from ioassay.sizing.search.candidates import Candidate, candidate_of, parts_of, whole_of
from ioassay.sizing.search.context import Context
from ioassay.sizing.search.model import Answer, Movement
from ioassay.sizing.search.problem import Counts, Problem

FACTORS = (0.8, 1.2)

Bought = tuple[tuple[str, int], ...]


def movements(context: Context, bought: dict[Candidate, int], cost: Value) -> list[Movement]:
    """What each figure moves that the counts of an answer rest on; the largest effect first.

    Raises `Expired` where the deadline ends before all are known.
    """
    raise NotImplementedError
