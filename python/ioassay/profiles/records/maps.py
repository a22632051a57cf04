"""Files in memory: the maps of each process, file and access, added up while tables are read.

Not: what they moved. That is bounded by these numbers and the kernel's (`PROCESSES`), never known.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles import model as profile_model
from ioassay.profiles.model import MAPS
from ioassay.profiles.records.grouped import GroupedRows, whole
from ioassay.profiles.records.processes import Image
from ioassay.profiles.records.tables import Table, find_places
from ioassay.protocol.record_layout import BlockKind, MapAccess, State

_ACCESS: dict[int, profile_model.MapAccess] = {
    MapAccess.READ: "read",
    MapAccess.WRITE: "write",
    MapAccess.PRIVATE_WRITE: "private write",
}

_KEY = {"process": pl.Int64, "entry": pl.Int64, "access": pl.Int64}

_SUMS = ("maps", "open", "bytes", "syncs", "synced_bytes")
_ASKED = ("asked_bytes", "resident_bytes", "dirty_asked_bytes", "dirty_bytes")
"""Of maps that ended, and of those that were left when the image of the process ended."""

_PARTS = ("begin_asked_bytes", "end_asked_bytes", "end_dirty_asked_bytes")
"""How much was asked about when maps began and ended."""

_ENOUGH = 0.5
"""What of so large a part of the bytes is known stands for all."""


class Maps:
    """All maps, while tables are read."""

    def __init__(self) -> None:
        self._rows = GroupedRows(
            _KEY
            | dict.fromkeys(("first_ns", "last_end_ns"), pl.Int64)
            | dict.fromkeys(("begin", "end"), pl.Float64)
            | dict.fromkeys((*_SUMS, *(f"begin_{name}" for name in _ASKED[:2])), pl.Float64)
            | dict.fromkeys((f"end_{name}" for name in _ASKED), pl.Float64),
            list(_KEY),
            pl.col("first_ns").min(),
            pl.col("last_end_ns").max(),
            pl.col("begin").min(),
            pl.col("end").max(),
        )

    def add(self, image: Image, table: Table, entries: NDArray[np.int64]) -> None:
        """Adds the maps of a table. `entries` are those of its files, in the order of their blocks."""
        places, _ = table.rows(BlockKind.FILE)
        _, rows = table.rows(BlockKind.MAP)
        index, is_known = find_places(places, rows["file"])
        is_known &= (rows["maps"] > 0) & np.isin(rows["access"], list(_ACCESS))
        rows, entry = rows[is_known], entries[index[is_known]]
        if not len(rows):
            return
        ends = rows["last_end_ticks"]
        # Of one that was killed, they are of an `exec` that failed before.
        has_left = image.state != State.RUNNING
        self._rows.add(
            {"process": np.full(len(rows), image.process), "entry": entry, "access": rows["access"]}
            | {"first_ns": image.all_unix_ns(rows["first_ticks"])}
            | {"last_end_ns": np.where(ends != 0, image.all_unix_ns(ends), 0)}
            | {name: np.where(rows["bytes"] > 0, rows[name].astype(np.float64), np.nan) for name in ("begin", "end")}
            | {name: rows[name] for name in (*_SUMS, *(f"begin_{name}" for name in _ASKED[:2]))}
            | {
                f"end_{name}": rows[f"end_{name}"].astype(np.float64) + rows[f"left_{name}"] * has_left
                for name in _ASKED
            }
        )

    def frame(self, origin_ns: int, file_of: pl.Series) -> pl.DataFrame:
        """`MAPS`. `file_of` is the file of each entry."""
        by_file = (
            self._rows.frame()
            .with_columns(file=pl.lit(file_of).gather("entry"))
            .group_by("process", "file", "access")
            .agg(
                pl.col("first_ns", "begin").min(),
                pl.col("last_end_ns", "end").max(),
                pl.exclude(*_KEY, "first_ns", "begin", "last_end_ns", "end").sum(),
            )
            .sort("process", "file", "access")
        )
        at_most_once = pl.min_horizontal("bytes", pl.col("end") - pl.col("begin")).fill_null(0)
        return by_file.select(
            "process",
            "file",
            pl.col("access").replace_strict(_ACCESS, default=None, return_dtype=pl.String),
            whole("maps"),
            first_map_s=(pl.col("first_ns") - origin_ns) / 1e9,
            last_unmap_s=pl.when((pl.col("open") == 0) & (pl.col("last_end_ns") > 0)).then(
                (pl.col("last_end_ns") - origin_ns) / 1e9
            ),
            mapped_bytes=whole("bytes"),
            extent_bytes=at_most_once.round().cast(pl.Int64, strict=False),
            resident_begin_bytes=_of_all("begin_resident_bytes", "begin_asked_bytes"),
            resident_end_bytes=_of_all("end_resident_bytes", "end_asked_bytes"),
            dirty_end_bytes=_of_all("end_dirty_bytes", "end_dirty_asked_bytes"),
            is_scaled=pl.any_horizontal(_is_scaled(name) for name in _PARTS),
            syncs=whole("syncs"),
            synced_bytes=whole("synced_bytes"),
        ).cast(dict(MAPS))  # type: ignore[arg-type]


def _is_scaled(asked: str) -> pl.Expr:
    return (pl.col(asked) < pl.col("bytes")) & (pl.col(asked) >= _ENOUGH * pl.col("bytes")) & (pl.col(asked) > 0)


def _of_all(column: str, asked: str) -> pl.Expr:
    """What was found among the bytes that the kernel was asked about, of all bytes; null where it was asked of few."""
    share = pl.col(asked) / pl.col("bytes")
    of_all = (pl.col(column) / share).round().clip(0, 2.0**62).cast(pl.Int64)
    return pl.when((pl.col(asked) > 0) & (share >= _ENOUGH)).then(of_all)
