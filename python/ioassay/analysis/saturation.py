"""The saturation point of a survey: the fewest ranks and files from which on more of them bring nothing.

A survey, as obdfilter-survey does it, measures a grid: so many files (objects) times so many ranks (threads). The best
rate of the grid is the best median over its repetitions. Points whose median is within `TOLERANCE` of it are as good as
the best: so much do repetitions of one point differ on a quiet system. Of these the smallest is the saturation point:
the one with the fewest ranks, and among those the one with the fewest files. Buying or starting more than that
gains less than the tolerance.

Where the repetitions of the saturation point or of the best differ by more than the tolerance, another run may
find another point, and the result says so: the tolerance is not widened, because that would call slow points as good as
fast ones just where least is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.rate_units import RateColumn

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


@dataclass(frozen=True)
class Saturation:
    """Where the grid saturates, and the points that this rests on."""

    point: Cell
    best: Cell
    tolerance: float
    """The share of the best rate that was allowed."""
    spread: float
    """How far repetitions of the point or of the best differ, (highest - lowest) / median: the larger of the two."""
    equal: tuple[Cell, ...]
    """Every point within the tolerance, the saturation point first: fewest ranks, then fewest files."""
    at_the_edge: bool
    """True if no point of the grid has more ranks: more of them might still bring more."""

    @property
    def is_steady(self) -> bool:
        """True if repetitions differ by no more than what is allowed between points."""
        return self.spread <= self.tolerance


def grid(points: pl.DataFrame, column: RateColumn) -> list[Cell]:
    """The cells of one series, from `rates.points`: ascending files, then ranks."""
    rows = rates.medians(points, column).sort("files", "ranks", "clients")
    return [
        Cell(
            files=row["files"],
            ranks=row["ranks"],
            clients=row["clients"],
            median=row["median"],
            lowest=row["lowest"],
            highest=row["highest"],
            repetitions=row["repetitions"],
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
        spread=max((cell.highest - cell.lowest) / cell.median for cell in (equal[0], best)),
        equal=equal,
        at_the_edge=equal[0].ranks == max(cell.ranks for cell in cells),
    )


def _size(cell: Cell) -> tuple[int, int, int]:
    return cell.ranks, cell.files, cell.clients
