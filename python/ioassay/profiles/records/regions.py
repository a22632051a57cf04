"""Regions: steps that an application named, added up while tables are read."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles.model import REGION_OPERATIONS, REGION_SEPARATOR, REGIONS
from ioassay.profiles.records.grouped import GroupedRows, whole
from ioassay.profiles.records.processes import Image
from ioassay.profiles.records.tables import Rows, Table
from ioassay.protocol.record_layout import MOST_OPERATIONS, OPERATIONS, REGION_DEPTH, TOTALS, BlockKind

_Schema = dict[str, type[pl.DataType]]

_KEY: _Schema = {"process": pl.Int64, "region": pl.Int64}


class Regions:
    """All regions, while tables are read."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        stays: _Schema = dict.fromkeys(("entries", "stayed_ns", "longest_ns"), pl.Float64)
        moments: _Schema = dict.fromkeys(("first_ns", "last_ns"), pl.Int64)
        self._stays = GroupedRows(
            _KEY | stays | moments,
            list(_KEY),
            pl.col("longest_ns").max(),
            pl.col("first_ns").min(),
            pl.col("last_ns").max(),
        )
        key = _KEY | {"operation": pl.Int64}
        values: _Schema = dict.fromkeys(("calls", "bytes", "duration_ns", "slowest_ns"), pl.Float64)
        self._operations = GroupedRows(key | values, list(key), pl.col("slowest_ns").max())

    def add(self, image: Image, table: Table) -> None:
        """Adds the regions of a table, and what threads that are still in one did there."""
        places, rows = table.rows(BlockKind.REGION)
        if not len(rows):
            return
        rows = rows.copy()
        chains = _chains(places, rows)
        _, threads = table.rows(BlockKind.THREAD)
        _add_threads(image, rows, chains, threads[np.isin(threads["region"], places)], places)
        names = [name.decode(errors="replace") for name in table.after(BlockKind.REGION)]
        paths = [REGION_SEPARATOR.join(names[place] for place in reversed(chain)) for chain in chains]
        region = np.array([self._names.setdefault(path, len(self._names)) for path in paths], dtype=np.int64)
        process = np.full(len(rows), image.process)
        moments = {name: image.all_unix_ns(rows[f"{name}_ticks"]) for name in ("first", "last")}
        self._stays.add(
            {
                "process": process,
                "region": region,
                "entries": rows["entries"],
                "stayed_ns": rows["ticks"] * image.ns_per_tick,
                "longest_ns": rows["slowest_ticks"] * image.ns_per_tick,
                "first_ns": moments["first"],
                "last_ns": np.maximum(moments["last"], moments["first"]),
            }
        )
        totals = rows["totals"].reshape(len(rows), MOST_OPERATIONS, len(TOTALS))[:, : len(OPERATIONS)]
        row, operation = np.nonzero(totals.any(axis=2))
        calls, moved, ticks, slowest = totals[row, operation].T
        self._operations.add(
            {"process": process[row], "region": region[row], "operation": operation, "calls": calls, "bytes": moved}
            | {"duration_ns": ticks * image.ns_per_tick, "slowest_ns": slowest * image.ns_per_tick}
        )

    def frames(self, origin_ns: int) -> dict[str, pl.DataFrame]:
        """`regions` and `region_operations`."""
        name = pl.lit(pl.Series([*self._names], dtype=pl.String)).gather("region").alias("region")
        word = pl.lit(pl.Series(OPERATIONS)).gather("operation").alias("operation")
        seconds = [((pl.col(f"{moment}_ns") - origin_ns) / 1e9).alias(f"{moment}_s") for moment in ("first", "last")]
        stays = self._stays.frame().select(
            "process", name, *map(whole, ("entries", "stayed_ns", "longest_ns")), *seconds
        )
        operations = self._operations.frame().select(
            "process", name, word, *map(whole, ("calls", "bytes", "duration_ns", "slowest_ns"))
        )
        return {"regions": stays.cast(REGIONS), "region_operations": operations.cast(REGION_OPERATIONS)}


def _chains(places: NDArray[np.int64], rows: Rows) -> list[list[int]]:
    """For each row its own index and those of the regions around it, from the inside out; of a damaged table, as far as
    they can be followed.
    """
    index = {place: number for number, place in enumerate(places.tolist())}
    chains = []
    for number in range(len(rows)):
        chain = [number]
        while len(chain) < REGION_DEPTH and (outer := index.get(int(rows["parent"][chain[-1]]))) is not None:
            chain.append(outer)
        chains.append(chain)
    return chains


def _add_threads(image: Image, rows: Rows, chains: list[list[int]], threads: Rows, places: NDArray[np.int64]) -> None:
    """Adds what threads did since their totals were added to a region last, and how long they have been in it."""
    end = int(image.table.header["latest_ticks"])
    for thread, number in zip(threads, np.searchsorted(places, threads["region"]).tolist(), strict=True):
        totals = rows["totals"][number].reshape(MOST_OPERATIONS, len(TOTALS))
        more = thread["totals"].reshape(MOST_OPERATIONS, len(TOTALS))
        slowest = np.maximum(totals[:, -1], more[:, -1])
        totals += more
        totals[:, -1] = slowest
        for region in chains[number]:
            stayed = max(0, end - int(thread["region_begin_ticks"][int(rows["depth"][region]) % REGION_DEPTH]))
            rows["ticks"][region] += np.uint64(stayed)
            rows["slowest_ticks"][region] = max(int(rows["slowest_ticks"][region]), stayed)
            rows["last_ticks"][region] = max(int(rows["last_ticks"][region]), end)
