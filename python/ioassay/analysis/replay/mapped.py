"""Replaces memory maps of files by reads and writes, because the streams of a replay do not map files.

Touched pages are in the page cache, and written ones are dirty until they are written back: the resident bytes at the
end, or the dirty and synced ones, bound what a map moved; if unknown, the extent of the map does. Not: programs and
libraries that the loader mapped, which recorders do not see.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from ioassay.profiles.model import COMMON_SIZES, FILE_OPERATIONS, Profile

TRANSFER_BYTES = 128 << 10
"""Size of each transfer: the default read-ahead of Linux for a map."""

_KEY = ("file", "operation")


def without_maps(profile: Profile) -> Profile:
    """The profile with consecutive reads and writes in place of maps, of the bytes that they can have moved."""
    moved = _moved(profile.maps)
    if moved.is_empty():
        return profile
    whole, rest = pl.col("bytes") // TRANSFER_BYTES, pl.col("bytes") % TRANSFER_BYTES
    sizes = pl.concat(
        [
            moved.select(*_KEY, calls=whole, bytes=pl.lit(TRANSFER_BYTES, pl.Int64)),
            moved.select(*_KEY, calls=(rest > 0).cast(pl.Int64), bytes=rest),
        ]
    ).filter(pl.col("calls") > 0)
    operations = moved.select(
        *_KEY,
        "bytes",
        "processes",
        calls=(pl.col("bytes") / TRANSFER_BYTES).ceil().cast(pl.Int64),
        end_bytes="extent_bytes",
        begin_bytes=pl.lit(0, pl.Int64),
        failed=pl.lit(0, pl.Int64),
    ).with_columns(consecutive="calls")
    files = profile.files.join(
        profile.maps.group_by("file").agg(pl.col("first_map_s").min(), pl.col("last_unmap_s").max()),
        on="file",
        how="left",
        maintain_order="left",
    )
    return replace(
        profile,
        files=files.with_columns(
            first_open_s=pl.min_horizontal("first_open_s", "first_map_s"),
            last_close_s=pl.max_horizontal("last_close_s", "last_unmap_s"),
        ).select(profile.files.columns),
        file_operations=_added(profile.file_operations, operations),
        common_sizes=pl.concat([profile.common_sizes, _shaped(sizes, COMMON_SIZES)]),
    )


def _moved(maps: pl.DataFrame) -> pl.DataFrame:
    """file, operation, bytes, extent_bytes, processes: the bytes that maps can have moved, each process its own."""
    extent = pl.col("extent_bytes")
    read = pl.min_horizontal(extent, "resident_end_bytes")
    is_written = pl.col("access") == "write"
    dirty = pl.col("dirty_end_bytes") + pl.col("synced_bytes").fill_null(0)
    written = pl.when(is_written).then(pl.min_horizontal(extent, dirty)).otherwise(0)
    each = [
        maps.select("file", "process", extent, operation=pl.lit(name), bytes=bytes_)
        for name, bytes_ in (("read", pl.when(~is_written).then(read).otherwise(0)), ("write", written))
    ]
    return (
        pl.concat(each)
        .group_by(_KEY, maintain_order=True)
        .agg(pl.col("bytes").sum(), pl.col("extent_bytes").max(), processes=pl.col("process").n_unique().cast(pl.Int64))
        .filter(pl.col("bytes") > 0)
    )


def _added(operations: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """`FILE_OPERATIONS` with more rows; rows of the same file and operation are summed."""
    both = operations.join(more, on=_KEY, how="semi")
    same = pl.concat([both, _shaped(more, FILE_OPERATIONS)]).group_by(_KEY, maintain_order=True)
    sums = [
        name for name in FILE_OPERATIONS if name not in (*_KEY, "processes", "begin_bytes", "end_bytes", "slowest_ns")
    ]
    summed = same.agg(
        pl.col(sums).sum(), pl.col("processes", "end_bytes", "slowest_ns").max(), pl.col("begin_bytes").min()
    )
    return pl.concat([operations.join(more, on=_KEY, how="anti"), _shaped(summed, FILE_OPERATIONS)])


def _shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name) for name, kind in schema.items()
    )
