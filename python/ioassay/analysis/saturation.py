"""The saturation point of a survey: the fewest ranks and files beyond which more of them do not help.

A survey, like obdfilter-survey, measures a grid of numbers of files (objects) and ranks (threads). The best rate of the
grid is the best median over repetitions. Points whose median is within `TOLERANCE` of it count as equal, because
repetitions of one point differ by so much on a quiet system. The smallest of these is the saturation point: the one
with the fewest ranks, and among those the one with the fewest files. Buying or starting more gains less than the
tolerance.

Another run may find another point: `possible` contains the true saturation point with probability `CONFIDENCE`. It
leaves out points that are significantly below the tolerance, or larger than a point that is significantly within it:
Student's t of the differences of logarithms to all other points, with moderated variances (`moderated_variance`) and
Bonferroni's level. The tolerance is not widened: that would accept slow points where the least is known. Points that
were measured once cannot be tested.

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
"""How far a point may be below the best rate, as a share of it, and still count as equal."""


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
    """The saturation point of a grid, and the points that it rests on."""

    point: Cell
    best: Cell
    tolerance: float
    """The tolerance that was used, as a share of the best rate."""
    possible: tuple[Cell, ...] | None
    """The points that may be the saturation point, `point` among them, in the order of `equal`; `None` if
    the best point or `point` was measured only once.
    """
    equal: tuple[Cell, ...]
    """Every point within the tolerance, the saturation point first: fewest ranks, then fewest files."""
    at_the_edge: bool
    """True if no point of the grid has more ranks: more of them might still help."""

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
    """The saturation point of a grid. `None` if it has fewer than two points, or no rate above 0."""
    cells = sorted(cells, key=_size)
    if len(cells) < 2 or max(cell.median for cell in cells) <= 0:
        return None
    best = max(cells, key=lambda cell: cell.median)  # the first of equal cells: the smallest
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
    """`Saturation.possible`; `cells` ascend by size."""
    import numpy as np  # noqa: PLC0415

    if min(point.repetitions, best.repetitions) < 2:
        return None
    from scipy.special import stdtrit  # noqa: PLC0415  (0.3 s, and few runs are surveys)

    # The true rate of a cell with one repetition, or without a rate in one, is unknown.
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
    possible = {id(point)}
    for cell in cells:
        ceiling = next((index for index, known_cell in enumerate(known) if known_cell is cell), None)
        if ceiling is None or not below[ceiling]:
            possible.add(id(cell))
        if ceiling is not None and within[ceiling]:
            break
    return tuple(cell for cell in cells if id(cell) in possible and cell.median > 0)


def _size(cell: Cell) -> tuple[int, int, int]:
    return cell.ranks, cell.files, cell.clients
