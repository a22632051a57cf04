"""In which order requests on storage come: shares of them, by direction."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis.profile import totals
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.profiles.model import STORED_FILES, Direction, Profile


@dataclass(frozen=True)
class Pattern:
    """Shares of the requests of a direction, as far as they are known; `None`: the source does not say, or there are
    no requests.
    """

    consecutive: float | None
    """Began where the last one ended."""
    strided: float | None
    """Began beyond that, as far as the one before."""
    forward: float | None
    """Began beyond that, wherever; strided ones too."""
    random: float | None
    """Went back. The first request of each process on a file is none of these."""
    misaligned: float | None
    """Did not begin at a multiple of the file system's block."""


def pattern(profile: Profile, direction: Direction) -> Pattern:
    """That of `read` or `write`."""
    # From file to file there is no order.
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
    """Of the calls on files of which it is known."""
    known = rows.drop_nulls(column)
    return None if known.is_empty() else min(1.0, float(known[column].sum()) / float(known["calls"].sum()))
