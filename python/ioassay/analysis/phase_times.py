"""Where the ranks' time of a phase went: open, transfer, fsync, close."""

from __future__ import annotations

import polars as pl

PARTS = ("open", "transfer", "fsync", "close")


def shares(ranks: pl.DataFrame) -> pl.DataFrame:
    """Each part's share of all ranks' time between start and end, 0 to 1; the rest is waiting in between.

    Columns: case, phase, open_share, transfer_share, fsync_share, close_share; null where no time passed.
    """
    at_work = (pl.col("end_ns") - pl.col("start_ns")).sum()
    return (
        ranks.group_by("case", "phase")
        .agg(pl.when(at_work > 0).then(pl.col(f"{part}_ns").sum() / at_work).alias(f"{part}_share") for part in PARTS)
        .sort("case", "phase")
    )
