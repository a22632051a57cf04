"""The order of requests on storage, as shares of the requests by direction."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis.profile import totals
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.profiles.model import STORED_FILES, Direction, Profile


@dataclass(frozen=True)
class Pattern:
    """Shares of the requests of a direction, among those for which they are known; `None`: unknown, or no requests."""

    consecutive: float | None
    """Began at the end of the previous one."""
    strided: float | None
    """Began beyond that, at the same distance as the previous one."""
    forward: float | None
    """Began beyond that, at any distance; includes strided ones."""
    random: float | None
    """Began before that. The first request of each process on a file has none of these orders."""
    misaligned: float | None
    """Did not begin at a multiple of the file system's block."""


def pattern(profile: Profile, direction: Direction) -> Pattern:
    """The pattern of `read` or `write`."""
    # Requests on different files have no order.
    of_files = pl.col("kind").is_in(STORED_FILES)
    rows = totals.on_storage(profile).filter(
        of_files, pl.col("operation").is_in(REQUESTS[direction]), pl.col("calls") > 0
    )
    in_order = pl.col("consecutive") + pl.col("forward")
    first = pl.col("processes").fill_null(1)
    back = (pl.col("calls") - pl.col("failed").fill_null(0) - in_order - first).clip(0)
    shares = rows.with_columns(random=back)
    names = ("consecutive", "strided", "forward", "random", "misaligned")
    return Pattern(**{name: _share(shares, name) for name in names})


def _share(rows: pl.DataFrame, column: str) -> float | None:
    """The share among calls on files for which it is known."""
    known = rows.drop_nulls(column)
    return None if known.is_empty() else min(1.0, float(known[column].sum()) / float(known["calls"].sum()))
