"""A mixed-integer linear program: variables, rows, what is minimised. Not: solving it (`solver`), what it is about."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Terms = Mapping[int, float]
"""A linear expression: the coefficient of each variable, by its number."""


@dataclass
class Program:
    """Minimises a linear expression of variables within bounds and rows."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    is_integer: list[bool] = field(default_factory=list)
    _rows: list[tuple[Terms, float, float]] = field(default_factory=list)

    def integer(self, lower: float, upper: float) -> int:
        """A new integer variable: its number."""
        return self._variable(lower, upper, is_integer=True)

    def continuous(self, lower: float, upper: float) -> int:
        """A new variable that need not be an integer: its number."""
        return self._variable(lower, upper, is_integer=False)

    def row(self, terms: Terms, *, lower: float = -math.inf, upper: float = math.inf) -> None:
        """Demands that `lower` <= the sum of `terms` <= `upper`."""
        self._rows.append((terms, lower, upper))

    def document(self, objective: Terms) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """All of it as arrays, each of one dimension; the rows as coordinates `row`, `column` and `coefficient`."""
        import numpy as np  # noqa: PLC0415  (0.1 s, which a search of one kind of bricks need not wait for)

        cost = np.zeros(len(self.lower))
        for variable, coefficient in objective.items():
            cost[variable] = coefficient
        entries = [
            (index, variable, value)
            for index, (terms, _, _) in enumerate(self._rows)
            for variable, value in terms.items()
        ]
        row, column, values = np.array(entries, float).reshape(-1, 3).T
        return {
            "objective": cost,
            "lower": np.array(self.lower, float),
            "upper": np.array(self.upper, float),
            "integer": np.array(self.is_integer, float),
            "row": row,
            "column": column,
            "coefficient": values,
            "row_lower": np.array([lower for _, lower, _ in self._rows], float),
            "row_upper": np.array([upper for _, _, upper in self._rows], float),
        }

    def _variable(self, lower: float, upper: float, *, is_integer: bool) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        self.is_integer.append(is_integer)
        return len(self.lower) - 1


def packed(program: Program, objective: Terms, stops_s: float, ends_s: float) -> bytes:
    """The program for the process that solves it, as an .npz file.

    HiGHS stops, and the process ends, when the process has used so many seconds of processor time.
    """
    import numpy as np  # noqa: PLC0415

    buffer = io.BytesIO()
    np.savez(
        buffer,
        allow_pickle=False,
        stops_s=np.array([stops_s]),
        ends_s=np.array([ends_s]),
        **program.document(objective),
    )
    return buffer.getvalue()
