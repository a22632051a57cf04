"""How each file on storage was used, as far as it can be replayed.

Streams (stdio) gather small reads and writes in a buffer: they are replayed as the calls that reach the file system, of
one block each. Transfers of 0 bytes are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis.replay.mapped import without_maps
from ioassay.analysis.replay.model import LeftOut
from ioassay.analysis.replay.phases import NAMES, OPERATIONS, READS, WRITES
from ioassay.profiles.model import OF_OPERATION, ON_STORAGE, STORED_FILES, Profile

BUFFER_BYTES = 4096
"""Buffer of a stream if the block size of its file is unknown."""

LARGEST_BYTES = 64 << 20
"""The largest transfer; larger ones are split."""

WRITTEN_WHOLE = 0.9
"""Share of a file's extent that must be written for the file to count as new."""

STREAMS = ("stream read", "stream write")

_CREATES, _EMPTIES = 0o100, 0o1000
"""Flags of open."""

_NOT_LISTED = ("close", "stream flush", "stream seek")
"""Operations that are not reported as left out: closes, which follow opens, and calls that reach the file system as
other calls or not at all. Calls of MPI are not, either."""


@dataclass(frozen=True)
class Uses:
    """How the files of a profile were used."""

    files: pl.DataFrame
    """A row for each file: file, path, directory, processes, size (null: unknown), is_new, first_s, last_s, opens,
    lookups (failed opens), stats, absent_stats, creates, renames, removes, syncs (of written files); and for `read` and
    `write`: calls, bytes, end, forward and backward (transfers that began beyond and before the end of the previous
    one), strided (forward ones at equal distances; 0: unknown), users (processes).
    """
    sizes: pl.DataFrame
    """file, direction, bytes, calls: the sizes of transfers, each above 0."""
    gathered: int
    """Calls on streams that a buffer gathers."""
    empty: int
    """Transfers of 0 bytes."""
    cut: int
    """Transfers larger than `LARGEST_BYTES`."""
    mapped: int
    """Files whose maps were replaced by reads and writes."""
    elsewhere: int
    """Calls on files outside the requested directory."""
    unnamed: int
    """Calls on files that share a row."""
    left_out: tuple[LeftOut, ...]


def uses(profile: Profile, below: str | None = None) -> Uses:
    """How the files of a profile were used: all files, or those `below` a directory."""
    profile = without_maps(profile)
    every = profile.files.filter(pl.col("kind").is_in(STORED_FILES))
    stored = every if below is None else every.filter(_is_below(below))
    used = profile.file_operations.join(stored.select("file"), on="file", how="semi")
    others = every.join(stored.select("file"), on="file", how="anti").select("file")
    elsewhere = int(profile.file_operations.join(others, on="file", how="semi")["calls"].sum())
    shared_rows = profile.files.filter(pl.col("kind").is_in(ON_STORAGE)).join(every, on="file", how="anti")
    unnamed = int(profile.file_operations.join(shared_rows, on="file", how="semi")["calls"].sum())
    sizes, counts = _sizes(profile, used, stored)
    files = stored.select(
        "file", "path", "processes", "size_at_open_bytes", "open_flags", first_s="first_open_s", last_s="last_close_s"
    )
    for direction, names in (("read", READS), ("write", WRITES)):
        files = files.join(_transfers(used, sizes, direction, names), on="file", how="left", maintain_order="left")
    files = files.join(_names(used), on="file", how="left", maintain_order="left")
    amounts = [name for name in files.columns if name.startswith(("read_", "write_")) or name in _NAMED]
    files = files.with_columns(pl.col(amounts).fill_null(0)).with_columns(
        size=pl.max_horizontal("size_at_open_bytes", "read_end", "write_end")
    )
    directory = pl.col("path").fill_null("").str.replace(r"/[^/]*$", "")
    files = files.with_columns(is_new=_is_new(), directory=directory).drop("size_at_open_bytes")
    created = (
        pl.col("is_new")
        & (pl.col("opens") > 0)
        & (pl.col("write_calls") + pl.col("read_calls") == 0)
        & (pl.col("open_flags").fill_null(0).cast(pl.Int64) & _CREATES > 0)
    )
    # A new file that was only opened with O_CREAT counts one open as a create.
    files = files.with_columns(
        creates=pl.col("creates") + created.cast(pl.Int64), opens=pl.col("opens") - created.cast(pl.Int64)
    )
    # Streams sync only what they write.
    unwritten = int(files.filter(pl.col("write_calls") == 0)["syncs"].sum())
    files = files.with_columns(syncs=pl.when(pl.col("write_calls") > 0).then("syncs").otherwise(0))
    left_out = _left_out(profile, used, below)
    if unwritten:
        left_out += (LeftOut("sync of what was not written", unwritten, None),)
    mapped = profile.maps.join(stored, on="file", how="semi")["file"].n_unique()
    return Uses(files, sizes, *counts, mapped=mapped, elsewhere=elsewhere, unnamed=unnamed, left_out=left_out)


def _is_below(directory: str) -> pl.Expr:
    inside = directory.rstrip("/")
    return (pl.col("path") == (inside or "/")) | pl.col("path").str.starts_with(f"{inside}/")


_NAMED = ("opens", "lookups", "stats", "absent_stats", "creates", "renames", "removes", "syncs")


def _is_new() -> pl.Expr:
    """Whether it was empty at its first open; if unknown, whether it was truncated, written whole or only written."""
    flags = pl.col("open_flags").fill_null(0).cast(pl.Int64)
    at_open = pl.col("size_at_open_bytes")
    is_whole = pl.col("write_bytes") >= WRITTEN_WHOLE * pl.max_horizontal("write_end", "read_end")
    guess = (flags & _EMPTIES > 0) | ((pl.col("write_calls") > 0) & (is_whole | (pl.col("read_calls") == 0)))
    empty = (at_open == 0) & ((pl.col("write_calls") > 0) | (flags & _CREATES > 0))
    return pl.when(at_open.is_null()).then(guess).otherwise(empty | (flags & _EMPTIES > 0))


def _names(rows: pl.DataFrame) -> pl.DataFrame:
    def of(operation: str, amount: pl.Expr) -> pl.Expr:
        return amount.filter(pl.col("operation") == operation).sum()

    calls, failed = pl.col("calls"), pl.col("failed").fill_null(0)
    done = pl.max_horizontal(calls - failed, pl.lit(0))
    return rows.group_by("file").agg(
        opens=of("open", done),
        lookups=of("open", failed),
        stats=of("stat", done),
        absent_stats=of("stat", failed),
        creates=of("create", done),
        renames=of("rename", done),
        removes=of("remove", done),
        syncs=of("sync", done),
    )


def _transfers(rows: pl.DataFrame, sizes: pl.DataFrame, direction: str, names: tuple[str, ...]) -> pl.DataFrame:
    """Columns of a direction. Starting over after an open or a pass over the file does not count as backward."""
    moved = rows.filter(pl.col("operation").is_in(names))
    order = moved.group_by("file").agg(
        pl.col("consecutive").sum(),
        pl.col("forward").sum(),
        pl.col("strided").sum(),
        of_known=pl.col("calls").filter(pl.col("consecutive").is_not_null()).sum(),
        end=pl.col("end_bytes").max(),
    )
    done = (
        sizes.filter(pl.col("direction") == direction)
        .group_by("file")
        .agg(calls=pl.col("calls").sum(), bytes=(pl.col("bytes") * pl.col("calls")).sum())
    )
    opens = rows.filter(pl.col("operation") == "open").select("file", opened="calls")
    users = moved.group_by("file").agg(users=pl.col("processes").max())
    columns = (
        done.join(order, on="file", how="left").join(opens, on="file", how="left").join(users, on="file", how="left")
    )
    passes = (pl.col("bytes") / pl.max_horizontal("end", pl.lit(1))).fill_null(0).ceil()
    again = pl.max_horizontal(pl.col("opened").fill_null(1), pl.col("users").fill_null(1), passes)
    backward = pl.col("of_known") - pl.col("consecutive").fill_null(0) - pl.col("forward").fill_null(0) - again
    scale = pl.col("calls") / pl.max_horizontal("of_known", pl.lit(1))
    return columns.select(
        "file",
        pl.col("calls").alias(f"{direction}_calls"),
        pl.col("bytes").alias(f"{direction}_bytes"),
        pl.col("end").alias(f"{direction}_end"),
        (pl.col("forward").fill_null(0) * scale).alias(f"{direction}_forward"),
        (pl.max_horizontal(backward, pl.lit(0)) * scale).alias(f"{direction}_backward"),
        (pl.col("strided").fill_null(0) * scale).alias(f"{direction}_strided"),
        pl.col("users").alias(f"{direction}_users"),
    )


def _sizes(profile: Profile, rows: pl.DataFrame, stored: pl.DataFrame) -> tuple[pl.DataFrame, tuple[int, int, int]]:
    """`Uses.sizes`, and the numbers of gathered, empty and too large calls."""
    key = ["file", "operation"]
    moved = rows.filter(pl.col("operation").is_in([*READS, *WRITES])).select(*key, "calls", "bytes")
    exact = (
        profile.common_sizes.drop_nulls("operation")
        .join(moved.select(key), on=key, how="semi")
        .group_by(*key, "bytes")
        .agg(pl.col("calls").sum())
    )
    every = pl.concat(
        [
            exact.select(*key, "bytes", "calls"),
            _between(profile.file_sizes.join(moved.select(key), on=key, how="semi"), exact, moved),
        ]
    )
    # Transfers without sizes get their mean size.
    lacking = moved.join(every.select(key).unique(), on=key, how="anti").filter(pl.col("calls") > 0)
    mean = (pl.col("bytes").fill_null(0) / pl.col("calls")).round().cast(pl.Int64)
    every = pl.concat([every, lacking.select(*key, mean.alias("bytes"), "calls")])
    empty = int(every.filter(pl.col("bytes") <= 0)["calls"].sum())
    every = every.filter(pl.col("bytes") > 0, pl.col("calls") > 0)
    block = stored.select("file", block=pl.col("block_bytes").fill_null(BUFFER_BYTES))
    every = every.join(block, on="file", how="left")
    small = pl.col("operation").is_in(STREAMS) & (pl.col("bytes") < pl.col("block"))
    gathered = every.filter(small)
    cut = int(every.filter(pl.col("bytes") > LARGEST_BYTES)["calls"].sum())
    parts = (pl.col("bytes") / LARGEST_BYTES).ceil().cast(pl.Int64)
    whole = every.filter(~small).select(
        "file", "operation", (pl.col("bytes") // parts).alias("bytes"), pl.col("calls") * parts
    )
    sizes = pl.concat([whole, *_gathered(gathered)]).with_columns(OF_OPERATION)
    summed = sizes.group_by("file", "direction", "bytes").agg(pl.col("calls").sum())
    counts = (int(gathered["calls"].sum()), empty, cut)
    return summed.sort("file", "direction", "bytes"), counts


def _between(buckets: pl.DataFrame, exact: pl.DataFrame, moved: pl.DataFrame) -> pl.DataFrame:
    """Sizes of the calls that only buckets count, chosen such that the bytes add up."""
    key = ["file", "operation"]
    inside = (
        buckets.with_row_index("bucket")
        .join(exact.rename({"calls": "known"}), on=key)
        .filter(pl.col("bytes") >= pl.col("begin_bytes"), pl.col("bytes") < pl.col("end_bytes").fill_null(2**62))
    )
    known = inside.group_by("bucket").agg(pl.col("known").sum())
    rest = (
        buckets.with_row_index("bucket")
        .join(known, on="bucket", how="left")
        .with_columns(calls=pl.col("calls") - pl.col("known").fill_null(0))
        .filter(pl.col("calls") > 0)
    )
    of_exact = exact.group_by(key).agg(exact_bytes=(pl.col("bytes") * pl.col("calls")).sum())
    wanted = moved.join(of_exact, on=key, how="left").select(
        *key, wanted=pl.col("bytes") - pl.col("exact_bytes").fill_null(0)
    )
    without_end = pl.when(pl.col("end_bytes").is_null()).then(pl.col("begin_bytes") * 1.5)
    middle = without_end.otherwise((pl.col("begin_bytes") + pl.col("end_bytes") - 1) / 2)
    guessed = rest.join(wanted, on=key, how="left").with_columns(middle=middle)
    ratio = pl.col("wanted") / (pl.col("middle") * pl.col("calls")).sum().over(key)
    size = pl.when(ratio.is_finite() & (ratio > 0)).then(pl.col("middle") * ratio).otherwise("middle")
    size = pl.max_horizontal(size.round().cast(pl.Int64), "begin_bytes")
    last = pl.col("end_bytes").fill_null(2**62) - 1
    return guessed.select(*key, pl.min_horizontal(size, last).alias("bytes"), pl.col("calls").cast(pl.Int64))


def _gathered(small: pl.DataFrame) -> list[pl.DataFrame]:
    """Whole blocks, and the remainders at the end."""
    sums = small.group_by("file", "operation").agg(
        moved=(pl.col("bytes") * pl.col("calls")).sum(), block=pl.col("block").first()
    )
    whole = sums.select("file", "operation", pl.col("block").alias("bytes"), calls=pl.col("moved") // pl.col("block"))
    rest = sums.select("file", "operation", (pl.col("moved") % pl.col("block")).alias("bytes"), calls=pl.lit(1))
    return [
        whole.filter(pl.col("calls") > 0).cast({"bytes": pl.Int64, "calls": pl.Int64}),
        rest.filter(pl.col("bytes") > 0).cast({"bytes": pl.Int64, "calls": pl.Int64}),
    ]


def _left_out(profile: Profile, rows: pl.DataFrame, below: str | None) -> tuple[LeftOut, ...]:
    """Calls that no stream replays: other operations, and failed creates, renames and removes."""
    replayed = {name for names in OPERATIONS.values() for name in names}
    is_not_mpi = ~pl.col("operation").cast(pl.String).str.starts_with("MPI ")
    # If a source only counts maps, it is unknown what they moved.
    is_mapped = (pl.col("operation") == "map") & pl.col("file").is_in(profile.maps["file"].implode())
    others = rows.filter(~pl.col("operation").is_in([*replayed, *_NOT_LISTED]), is_not_mpi, ~is_mapped)
    calls = others.group_by("operation").agg(calls=pl.col("calls").sum(), ns=pl.col("duration_ns").sum())
    # Times of the whole profile do not apply to some of its files.
    whole = profile.process_operations if below is None else profile.process_operations.clear()
    spent = dict(whole.group_by("operation").agg(pl.col("duration_ns").sum()).iter_rows())
    operations = [
        LeftOut(name, int(count), ns or spent.get(name) or None) for name, count, ns in calls.iter_rows() if count
    ]
    failed = rows.filter(pl.col("operation").is_in([*NAMES]), ~pl.col("operation").is_in(["open", "stat"]))
    sums = failed.group_by("operation").agg(pl.col("failed").sum())
    operations += [LeftOut(f"failed {name}", int(count), None) for name, count in sums.iter_rows() if count]
    return tuple(sorted(operations, key=lambda entry: (-(entry.spent_ns or 0), entry.operation)))
