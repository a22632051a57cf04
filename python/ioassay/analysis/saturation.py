"""The saturation point of a survey: the fewest ranks and files from which on more of them bring nothing.

A survey, as obdfilter-survey does it, measures a grid: so many files (objects) times so many ranks (threads). The best
rate of the grid is the best median over its repetitions. Points whose median is within `TOLERANCE` of it are as good as
the best: so much do repetitions of one point differ on a quiet system. Of these the smallest is the saturation point:
the one with the fewest ranks, and among those the one with the fewest files. Buying or starting more than that
gains less than the tolerance.

Another run may find another point, and the result says which: `possible` has the saturation point with a probability of
`CONFIDENCE`. A point is left out of it where it is below the tolerance beyond doubt, or larger than one that is within
it beyond doubt: Student's t of the differences to all other points in the logarithm, with moderated variances
(`moderated_variance`) and Bonferroni's level. The tolerance is not widened: that would call slow points as
good as fast ones just where least is known. Points that were measured once tell nothing of that.

Not: sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.moderated_variance import moderated
from ioassay.text.rate_units import RateColumn

CONFIDENCE = 0.95

TOLERANCE = 0.05
"""The share of the best rate by which a point may fall short of it and still count as equal."""


@dataclass(frozen=True)
class Cell:
    """A point of the grid: median, lowest and highest rate over its valid repetitions, in the unit of its column."""

    files: int
    ranks: int
    clients: int
    median: float
    lowest: float
    highest: float
    repetitions: int
    rates: tuple[float, ...]
    """The valid repetitions."""


@dataclass(frozen=True)
class Saturation:
    """Where the grid saturates, and the points that this rests on."""

    point: Cell
    best: Cell
    tolerance: float
    """The share of the best rate that was allowed."""
    possible: tuple[Cell, ...] | None
    """The points that may be the saturation point, `point` among them, in the order of `equal`; `None` where
    repetitions do not show it, because the best or `point` was measured once.
    """
    equal: tuple[Cell, ...]
    """Every point within the tolerance, the saturation point first: fewest ranks, then fewest files."""
    at_the_edge: bool
    """True if no point of the grid has more ranks: more of them might still bring more."""

    @property
    def is_certain(self) -> bool:
        """True if no other point may be the saturation point."""
        return self.possible is not None and len(self.possible) == 1


def grid(points: pl.DataFrame, column: RateColumn) -> list[Cell]:
    """The cells of one series, from `rates.points`: ascending files, then ranks."""
    rows = rates.repeated(points, column).sort("files", "ranks", "clients")
    return [
        Cell(
            files=row["files"],
            ranks=row["ranks"],
            clients=row["clients"],
            median=row["median"],
            lowest=row["lowest"],
            highest=row["highest"],
            repetitions=row["repetitions"],
            rates=tuple(row["rates"]),
        )
        for row in rows.iter_rows(named=True)
    ]


def saturation(cells: Iterable[Cell], tolerance: float = TOLERANCE) -> Saturation | None:
    """The saturation point of a grid. `None` where it has fewer than two points, or no rate above 0."""
    cells = sorted(cells, key=_size)
    if len(cells) < 2 or max(cell.median for cell in cells) <= 0:
        return None
    best = max(cells, key=lambda cell: cell.median)  # the first of equal ones: the smallest
    equal = tuple(cell for cell in cells if cell.median >= (1 - tolerance) * best.median)
    return Saturation(
        point=equal[0],
        best=best,
        tolerance=tolerance,
        possible=_possible(cells, equal[0], best, tolerance),
        equal=equal,
        at_the_edge=equal[0].ranks == max(cell.ranks for cell in cells),
    )


def _possible(cells: Sequence[Cell], point: Cell, best: Cell, tolerance: float) -> tuple[Cell, ...] | None:
    """`cells` ascend by size."""
    import numpy as np  # noqa: PLC0415

    if min(point.repetitions, best.repetitions) < 2:
        return None
    from scipy.special import stdtrit  # noqa: PLC0415  (0.3 s, and few runs are surveys)

    # What was measured once, or had no rate at one time, may lie anywhere.
    known = [cell for cell in cells if cell.repetitions >= 2 and min(cell.rates) > 0]
    if point not in known or best not in known:
        return None
    logs = [np.log(cell.rates) for cell in known]
    means = np.array([log.mean() for log in logs])
    counts = np.array([len(log) for log in logs], dtype=np.float64)
    variances, freedom = moderated(np.array([log.var(ddof=1) for log in logs]), counts - 1)
    errors = np.sqrt(variances / counts)
    # The true point may come out below any other, or a smaller one within tolerance of the best.
    level = (1 - CONFIDENCE) / 2 / max(1, len(known) - 1)
    margins = np.hypot.outer(errors, errors) * -stdtrit(np.minimum.outer(freedom, freedom), level)
    above = np.subtract.outer(means, means) - math.log1p(-tolerance)
    of_itself = np.eye(len(known), dtype=bool)
    below = ((above < -margins) & ~of_itself).any(axis=1)
    within = ((above > margins) | of_itself).all(axis=1)
    found = {id(point)}
    for cell in cells:
        ceiling = next((index for index, one in enumerate(known) if one is cell), None)
        if ceiling is None or not below[ceiling]:
            found.add(id(cell))
        if ceiling is not None and within[ceiling]:
            break
    return tuple(cell for cell in cells if id(cell) in found and cell.median > 0)


def _size(cell: Cell) -> tuple[int, int, int]:
    return cell.ranks, cell.files, cell.clients
