"""At which offset reads and writes without one were, and how requests follow each other.

A trace names files, no descriptors. So a position is known only of a file that a process has open once at a time.
"""

from __future__ import annotations

import polars as pl

from ioassay.results.recorder.calls import argument, open_flags, whole

_FILE = ("process", "file")
_APPENDS = 0o2000
_SET, _CURRENT = "0", "1"


def with_offsets(rows: pl.DataFrame) -> pl.DataFrame:
    """Calls of the C library in their order, with the offsets of those that have none, where they are known."""
    is_descriptor = pl.col("func_id").is_in(["open", "open64", "creat", "creat64"])
    is_seek, moves = pl.col("operation") == "seek", pl.col("operation").is_in(["read", "write"])
    opens = is_descriptor.cast(pl.Int32).cum_sum() - (pl.col("func_id") == "close").cast(pl.Int32).cum_sum()
    start = (
        pl.when(is_descriptor & ((open_flags() & _APPENDS) == 0))
        .then(0)
        .when(is_seek & (argument(3) == _SET))
        .then(whole(2))
    )
    is_start = is_descriptor | (is_seek & (argument(3) != _CURRENT))
    advance = (
        pl.when(moves & pl.col("offset").is_null())
        .then(pl.col("bytes"))
        .when(is_seek & (argument(3) == _CURRENT))
        .then(whole(2))
        .fill_null(0)
        .cast(pl.Float64)
    )
    known = rows.with_columns(
        opens.over(_FILE).alias("opens"),
        start.cast(pl.Float64).alias("start"),
        is_start.cast(pl.Int64).cum_sum().over(_FILE).alias("stretch"),
        advance.alias("advance"),
    )
    stretch = (*_FILE, "stretch")
    position = pl.col("start").first().over(stretch) + pl.col("advance").cum_sum().over(stretch) - pl.col("advance")
    is_known = moves & pl.col("offset").is_null() & (pl.col("opens") == 1) & (pl.col("stretch") > 0)
    return known.with_columns(
        pl.when(is_known).then(position.cast(pl.Int64, strict=False)).otherwise("offset").alias("offset")
    ).drop("opens", "start", "stretch", "advance")


def with_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Reads and writes with `consecutive`, `forward` and `strided`; null where an offset of the file is unknown."""
    key = (*_FILE, "operation")
    end = pl.col("offset") + pl.col("bytes")
    skipped = (pl.col("offset") - end.shift(1).fill_null(0).over(key)).alias("skipped")
    is_known = pl.col("offset").is_not_null().all().over(key)
    own = rows.filter(pl.col("operation").is_in(["read", "write"])).with_columns(skipped)
    forward = pl.col("skipped") > 0
    return own.with_columns(
        pl.when(is_known).then(pl.col("skipped") == 0).alias("consecutive"),
        pl.when(is_known).then(forward).alias("forward"),
        pl.when(is_known)
        .then(forward & (pl.col("skipped") == pl.col("skipped").shift(1).over(key)).fill_null(value=False))
        .alias("strided"),
        pl.when(pl.col("bytes") > 0).then("offset").alias("begin"),
        pl.when(pl.col("bytes") > 0).then(end).alias("end"),
    )
