"""Bounds of the bytes that maps moved, from data that costs the application nothing.

A map moves bytes without calls, so no recorder counts them. Counted here are the bytes of a file that a process *read*
through its maps (pages that it touched, or that the kernel fetched from storage for it by read-ahead, `MAP_POPULATE` or
`madvise`) and that it *wrote* (pages that it dirtied through a shared map), each page once. Both are ranges whose ends
have a name for their derivation. Pages are the kernel's units: with large folios, one written byte counts as a folio.

Most read: the extent of the maps in the file (`mapped`). Less, if less of it was ever in memory (`in memory`): every
touched page was there when a map ended, or had been evicted; and all pages that ever were in memory were there when it
began, or were fetched or dirtied by a process of this profile. The larger of the two holds, unless pages of holes, or
that another program fetched, were evicted again.

Least read (`residency grew`): pages that came into memory while the file was mapped, and that neither calls on the file
nor other processes of this profile that map it can have fetched, limited to the bytes that the process fetched
(`storage_read_bytes`). Storage traffic alone is no lower bound: it includes the pages of the program and its libraries,
which the loader maps without a call; only pages of this file count here. Calls may have fetched the bytes that they
moved, and a read-ahead for each sequence of them. It is wrong only if a program outside the profile read the file at
that time while the process fetched something else. For a file in memory it is 0, because there is no trace.

Least written is the larger of two: pages that were dirty when the maps ended (`dirty pages`), without those that calls
or other maps may have dirtied, limited to the bytes that the process dirtied (`storage_written_bytes`); and the pages
that the process dirtied anywhere, without those of its calls, its recorder's table and `_METADATA_BYTES`
(`storage write_bytes less calls`), divided by how often each page may have been written back and dirtied again: after
each msync and fsync of the file, and every 30 s, when the kernel writes dirty pages back. A kernel short of memory does
so more often, so this end is too high if a program then changes the same pages again. Most written: as most read; a
page must be in memory to be written.

If only samples of a large file's pages were examined, or the recorder could query at least half of the pages but not
all, these ends are estimates and say so. Maps of one file are assumed not to overlap if their bytes add up to no more
than their extent.

Not: bytes of calls (`totals`), comparing with the kernel's counters (`coverage`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

from ioassay.analysis.profile.totals import on_storage
from ioassay.profiles.model import DIRECTION, ON_STORAGE, Direction, LossKind, Profile

How = Literal[
    "mapped", "in memory", "residency grew", "dirty pages", "storage write_bytes less calls", "no trace", "unknown"
]
"""The derivation of a range's end; `unknown`: the required data is missing, for example of a killed process. Those in
`_OF_PAGES` end in `, sampled` if not every page was examined.
"""

_OF_PAGES: tuple[How, ...] = ("in memory", "residency grew", "dirty pages")

_EVERY_PAGE_BYTES = 256 << 20
"""Above this size, a recorder examines as many pages, in 256 parts that are equally far apart."""

BOUNDS = pl.Schema(  # a row for each process and file on storage that it mapped
    {
        "process": pl.Int64,
        "file": pl.Int64,
        "first_map_s": pl.Float64,
        "last_unmap_s": pl.Float64,  # null: still mapped at the end
        "maps": pl.Int64,
        "mapped_bytes": pl.Int64,
        "extent_bytes": pl.Int64,
        "resident_begin_bytes": pl.Int64,
        "resident_end_bytes": pl.Int64,
        "is_sampled": pl.Boolean,  # of the resident bytes, and of what follows from them
        "synced_bytes": pl.Int64,
        "read_least_bytes": pl.Int64,
        "read_most_bytes": pl.Int64,
        "read_least_by": pl.String,
        "read_most_by": pl.String,
        "written_least_bytes": pl.Int64,
        "written_most_bytes": pl.Int64,
        "written_least_by": pl.String,
        "written_most_by": pl.String,
    }
)

_LEAST_READ_AHEAD_BYTES = 4 << 20
_BLOCKS_OF_READ_AHEAD = 64
"""The most that a sequence of calls may have fetched beyond its bytes: the largest common read-ahead of local file
systems; for network file systems (`st_blksize`: 1 MiB for NFS, 4 MiB for Lustre), that of Lustre.
"""

_PAGE_BYTES = 64 << 10
"""The largest page of common processors: a sequence of writes touches one more page at each of its ends."""

HIDES_CALLS: frozenset[LossKind] = frozenset(
    {"damaged-bytes", "folded-calls", "lost-calls", "handler-calls", "untraced-calls", "lost-tables", "unread-rings"}
)
"""Losses of calls on unknown files: with them, only the extent of maps bounds the bytes that they moved."""

_METADATA_BYTES = 1 << 20
"""The most metadata that a process dirties by creating and extending files."""

_WRITE_BACK_S = 30
"""Age at which Linux writes dirty pages back (`dirty_expire_centisecs`)."""


@dataclass(frozen=True)
class Range:
    """Lower and upper bound of the bytes that maps moved in a direction."""

    least: int
    most: int

    def __add__(self, other: Range) -> Range:
        return Range(self.least + other.least, self.most + other.most)


@dataclass(frozen=True)
class Maps:
    """The bounds of maps of files on storage."""

    bounds: pl.DataFrame
    """`BOUNDS`, by most moved bytes, largest first."""

    @cached_property
    def of_processes(self) -> pl.DataFrame:
        """process, and the four ends of both ranges, summed over its files."""
        ends = pl.col("^(read|written)_(least|most)_bytes$")
        return self.bounds.group_by("process").agg(ends.sum()).sort("process")

    @cached_property
    def of_files(self) -> pl.DataFrame:
        """file, extent_bytes (of the process that mapped most of it), and the four ends of both ranges, summed over the
        processes that mapped it.
        """
        ends = pl.col("^(read|written)_(least|most)_bytes$")
        return self.bounds.group_by("file").agg(pl.col("extent_bytes").max(), ends.sum()).sort("file")

    def total(self, direction: Direction) -> Range:
        """The range of all processes together."""
        name = _MOVED[direction]
        return Range(*(int(self.bounds[f"{name}_{end}_bytes"].sum()) for end in ("least", "most")))


_MOVED = {"read": "read", "write": "written"}


def maps(profile: Profile, stored: pl.DataFrame | None = None) -> Maps:
    """The bounds of all maps of a profile. `stored` is the result of `on_storage`, if known already."""
    files = profile.files.filter(pl.col("kind").is_in(ON_STORAGE)).select("file")
    used = profile.maps.join(files, on="file", how="semi")
    if used.is_empty():
        return Maps(BOUNDS.to_frame())
    has_all_calls = pl.lit(not any(loss.kind in HIDES_CALLS for loss in profile.losses))
    rows = (
        _mapped(used)
        .join(storage_of_processes(profile), on="process", how="left")
        .join(_of_calls(on_storage(profile) if stored is None else stored), on="file", how="left")
        .with_columns(pl.col("called_read_bytes", "called_dirty_bytes", "called_syncs").fill_null(0))
        .with_columns(
            others_writable_bytes=pl.col("writable_bytes").sum().over("file") - pl.col("writable_bytes"),
            # Pages get into memory by reads from storage, or by being dirtied.
            brought_bytes=pl.col("storage_read_bytes") + pl.col("storage_written_bytes"),
            # The syncs of a file include msync.
            all_syncs=pl.max_horizontal(pl.col("syncs").sum().over("file"), "called_syncs"),
            called_bytes=pl.col("called_read_bytes") + pl.col("called_dirty_bytes"),
            has_all_calls=has_all_calls,
            is_known=~pl.col("storage_read_bytes").is_null().any().over("file") & has_all_calls,
            # The kernel's counters of a process cover all its files.
            written_files=(pl.col("writable_bytes") > 0).sum().over("process"),
            end_s=pl.col("last_unmap_s").fill_null(profile.end_s),
        )
        .with_columns(all_brought_bytes=pl.col("brought_bytes").sum().over("file") + pl.col("called_bytes"))
    )
    bounds = _written(_read(rows)).with_columns(_with_sampled(name) for name in BOUNDS if name.endswith("_by"))
    return Maps(
        bounds.select(pl.col(name).cast(kind) for name, kind in BOUNDS.items()).sort(
            pl.max_horizontal("read_most_bytes", "written_most_bytes"),
            "process",
            "file",
            descending=[True, False, False],
        )
    )


def _mapped(used: pl.DataFrame) -> pl.DataFrame:
    """A row for each process and file; sums are null if a part is unknown."""
    is_shared = pl.col("access") == "write"
    # Maps that overlap, in space or in time, each count the same pages.
    times = pl.when(pl.col("mapped_bytes") > pl.col("extent_bytes")).then(pl.col("maps")).otherwise(1).clip(1)
    growth = (pl.col("resident_end_bytes") - pl.col("resident_begin_bytes")).clip(0) // times
    dirty = pl.col("dirty_end_bytes") // times
    is_over = pl.col("last_unmap_s").is_not_null().all()
    return (
        used.with_columns(growth=growth, dirty=dirty)
        .group_by("process", "file")
        .agg(
            pl.col("first_map_s").min(),
            pl.when(is_over).then(pl.col("last_unmap_s").max()).alias("last_unmap_s"),
            pl.col("maps", "mapped_bytes", "extent_bytes", "synced_bytes").sum(),
            *(_whole_sum(name) for name in ("resident_begin_bytes", "resident_end_bytes")),
            is_sampled=pl.col("is_scaled").fill_null(False).any() | (pl.col("mapped_bytes").sum() > _EVERY_PAGE_BYTES),
            # Maps of one file with other access may be of the same pages.
            growth_bytes=pl.col("growth").max(),
            writable_bytes=pl.col("extent_bytes").filter(is_shared).sum(),
            dirty_bytes=pl.col("dirty").filter(is_shared).max(),
            syncs=pl.col("syncs").filter(is_shared).sum(),
        )
    )


def _whole_sum(name: str) -> pl.Expr:
    return pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name)


def storage_of_processes(profile: Profile) -> pl.DataFrame:
    """process, storage_read_bytes, storage_written_bytes, and unexplained_bytes: dirtied neither by its calls, nor by
    the recorder, nor as metadata.
    """
    writes = profile.process_operations.filter(_moves("write"))
    called = writes.group_by("process").agg(called=pl.col("bytes").sum() + 2 * _PAGE_BYTES * pl.col("calls").sum())
    run_s = (pl.col("end_unix_ns") - pl.col("begin_unix_ns")) / 1e9
    # Bytes of a table, rounded to pages at either end of its blocks, as often as they were written back.
    table = 2 * pl.col("recorder_bytes").fill_null(0) * (1 + _write_backs(run_s))
    unexplained = pl.col("storage_written_bytes") - pl.col("called").fill_null(0) - table - _METADATA_BYTES
    return profile.processes.join(called, on="process", how="left").select(
        "process", "storage_read_bytes", "storage_written_bytes", unexplained_bytes=unexplained.clip(0)
    )


def _of_calls(stored: pl.DataFrame) -> pl.DataFrame:
    """file, called_read_bytes (that calls may have fetched), called_dirty_bytes (that they may have dirtied),
    called_syncs (fsync and similar calls).
    """
    sequences = (pl.col("calls") - pl.col("consecutive").fill_null(0)).clip(0)
    block = pl.col("block_bytes").fill_null(0)
    ahead = pl.max_horizontal(_BLOCKS_OF_READ_AHEAD * block, pl.lit(_LEAST_READ_AHEAD_BYTES))
    return stored.group_by("file").agg(
        called_syncs=pl.col("calls").filter(pl.col("operation") == "sync").sum(),
        called_read_bytes=(pl.col("bytes") + sequences * ahead).filter(_moves("read"), pl.col("bytes") > 0).sum(),
        called_dirty_bytes=(pl.col("bytes") + sequences * 2 * _PAGE_BYTES)
        .filter(_moves("write"), pl.col("bytes") > 0)
        .sum(),
    )


def _moves(direction: Direction) -> pl.Expr:
    return pl.col("operation").is_in([name for name, moved in DIRECTION.items() if moved == direction])


def _write_backs(seconds: pl.Expr) -> pl.Expr:
    return (seconds / _WRITE_BACK_S).floor().cast(pl.Int64)


def _read(rows: pl.DataFrame) -> pl.DataFrame:
    storage_bytes, extent = pl.col("storage_read_bytes"), pl.col("extent_bytes")
    foreign = pl.col("all_brought_bytes") - pl.col("brought_bytes")
    can_tell = pl.col("is_known") & pl.col("growth_bytes").is_not_null()
    least = (pl.min_horizontal("growth_bytes", storage_bytes) - foreign).clip(0, extent)
    return rows.with_columns(
        read_least_bytes=pl.when(can_tell).then(least).otherwise(0), read_most_bytes=_most(extent)
    ).with_columns(
        read_least_by=_named(pl.col("read_least_bytes") > 0, "residency grew", can_tell),
        read_most_by=_most_by("read_most_bytes", extent),
    )


def _written(rows: pl.DataFrame) -> pl.DataFrame:
    extent = pl.col("writable_bytes")
    can_tell = pl.col("storage_written_bytes").is_not_null() & pl.col("has_all_calls")
    foreign = pl.col("others_writable_bytes") + pl.col("called_dirty_bytes")
    is_dirty = pl.col("dirty_bytes").fill_null(1) > 0
    dirty = (pl.min_horizontal("dirty_bytes", "unexplained_bytes") - foreign).clip(0, extent)
    dirty = pl.when(pl.col("dirty_bytes").is_not_null() & can_tell).then(dirty).otherwise(0)
    # Every msync, and the periodic write-back, wrote a page back; pages that are still dirty were dirtied once more.
    times = (pl.col("all_syncs") + is_dirty).clip(1) + _write_backs(pl.col("end_s") - pl.col("first_map_s"))
    unexplained = (pl.col("unexplained_bytes") // times).clip(0, extent)
    counted = pl.when(can_tell & (pl.col("written_files") == 1)).then(unexplained).otherwise(0).fill_null(0)
    return rows.with_columns(
        written_least_bytes=pl.max_horizontal(dirty, counted), written_most_bytes=_most(extent)
    ).with_columns(
        written_least_by=pl.when((dirty > 0) & (dirty >= counted))
        .then(pl.lit("dirty pages"))
        .otherwise(_named(counted > 0, "storage write_bytes less calls", can_tell)),
        written_most_by=_most_by("written_most_bytes", extent),
    )


def _most(extent: pl.Expr) -> pl.Expr:
    """The upper bound: the extent of the maps, or the bytes that ever were in memory."""
    ever = pl.col("resident_begin_bytes") + pl.col("all_brought_bytes")
    is_seen = pl.col("is_known") & pl.col("resident_end_bytes").is_not_null() & ever.is_not_null()
    in_memory = pl.max_horizontal("resident_end_bytes", ever)
    return pl.when(is_seen).then(pl.min_horizontal(extent, in_memory)).otherwise(extent)


def _with_sampled(name: str) -> pl.Expr:
    return (
        pl.when(pl.col("is_sampled") & pl.col(name).is_in(_OF_PAGES))
        .then(pl.col(name) + ", sampled")
        .otherwise(name)
        .alias(name)
    )


def _named(is_known: pl.Expr, how: How, can_tell: pl.Expr) -> pl.Expr:
    nothing = pl.when(can_tell).then(pl.lit("no trace")).otherwise(pl.lit("unknown"))
    return pl.when(is_known).then(pl.lit(how)).otherwise(nothing)


def _most_by(name: str, extent: pl.Expr) -> pl.Expr:
    return pl.when(pl.col(name) < extent).then(pl.lit("in memory")).otherwise(pl.lit("mapped"))
