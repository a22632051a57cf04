"""Sums of a profile: by direction, by operation, by directory; time in I/O compared with run time.

Only I/O on storage, as far as files are known: pipes, sockets and terminals are summed separately.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ioassay.analysis import latency
from ioassay.profiles.model import DIRECTIONS, OF_OPERATION, ON_STORAGE, Direction, Profile
from ioassay.protocol.record_layout import OPERATIONS

REQUESTS: Mapping[Direction, tuple[str, ...]] = {
    "read": ("read", "submit read", "copy from"),
    "write": ("write", "submit write", "copy to"),
}
"""The operations that pass a program's requests to the file system unchanged. Streams gather theirs in buffers."""

STREAMED: Mapping[Direction, str] = {"read": "stream read", "write": "stream write"}
"""The operations of streams by direction."""

MOVED = {"read": "read_bytes", "write": "written_bytes"}
"""The column of `PROCESSES` with the bytes of each direction that moves any."""

SPENT = {"read": "read_ns", "write": "write_ns", "metadata": "metadata_ns"}
"""The column of `PROCESSES` with the time of each direction."""

IO_NS = pl.sum_horizontal(SPENT.values(), ignore_nulls=False).alias("io_ns")
"""The time of a process in calls on storage; null if that of any direction is unknown."""


@dataclass(frozen=True)
class DirectionTotal:
    """The sums of a direction, on storage. `None`: unknown."""

    direction: Direction
    calls: int
    bytes: int | None
    spent_ns: int | None


@dataclass(frozen=True)
class Totals:
    """The sums of all processes. Times are summed over processes."""

    directions: tuple[DirectionTotal, ...]
    elsewhere_ns: int | None
    """Time in calls on anything but storage, such as pipes."""
    run_ns: int
    """The sum of the run times of all processes."""
    recorder_ns: int | None

    def of(self, direction: Direction) -> DirectionTotal:
        return next(total for total in self.directions if total.direction == direction)

    @property
    def io_ns(self) -> int | None:
        """Time in calls on storage."""
        return known_total([direction.spent_ns for direction in self.directions])

    @property
    def io_share(self) -> float | None:
        """Share of the run time. A process with several threads can spend more than its run time."""
        return None if self.io_ns is None or not self.run_ns else self.io_ns / self.run_ns

    @property
    def metadata_share(self) -> float | None:
        """Share of metadata in the time in calls on storage."""
        spent = self.of("metadata").spent_ns
        return None if spent is None or not self.io_ns else spent / self.io_ns


def on_storage(profile: Profile) -> pl.DataFrame:
    """`FILE_OPERATIONS` of files on storage, with path, kind, block and the direction of each operation."""
    files = profile.files.filter(pl.col("kind").is_in(ON_STORAGE)).select(
        "file", "path", "node", "kind", "block_bytes", "last_errno", pl.col("processes").alias("users")
    )
    return profile.file_operations.join(files, on="file", maintain_order="left").with_columns(OF_OPERATION)


def totals(profile: Profile, stored: pl.DataFrame | None = None) -> Totals:
    """The sums of a profile. `stored` is the result of `on_storage`, if known already."""
    stored = on_storage(profile) if stored is None else stored
    processes = profile.processes
    return Totals(
        directions=tuple(
            DirectionTotal(
                direction,
                int(stored.filter(pl.col("direction") == direction)["calls"].sum()),
                _of_direction(profile, stored, direction, MOVED[direction], "bytes") if direction in MOVED else None,
                _of_direction(profile, stored, direction, SPENT[direction], "duration_ns"),
            )
            for direction in DIRECTIONS
        ),
        elsewhere_ns=known_total(processes["elsewhere_ns"]),
        run_ns=int((processes["end_unix_ns"] - processes["begin_unix_ns"]).sum()),
        recorder_ns=known_total(processes["recorder_ns"]),
    )


def operations(profile: Profile, stored: pl.DataFrame | None = None) -> pl.DataFrame:
    """Every operation, also those elsewhere, with calls, failed (null: unknown), bytes, duration_ns, slowest_ns, and
    percentiles of its latency as `analysis.latency` has them (null without a histogram).

    In the order of the recorder's classes. `stored` as in `totals`.
    """
    stored = on_storage(profile) if stored is None else stored
    sums = profile.process_operations.group_by("operation").agg(
        *map(known_sum, ("calls", "bytes", "duration_ns")), pl.col("slowest_ns").max()
    )
    failed = stored.group_by("operation").agg(known_sum("failed"))
    order = pl.col("operation").cast(pl.Enum(OPERATIONS))
    return (
        sums.join(failed, on="operation", how="left")
        .join(_percentiles(profile), on="operation", how="left")
        # A percentile is the end of its bucket, which may lie above the slowest call.
        .with_columns(
            pl.when(pl.col(name).is_not_null()).then(pl.min_horizontal(name, "slowest_ns")).alias(name)
            for name in latency.PERCENTILES
        )
        .sort(order)
    )


def _percentiles(profile: Profile) -> pl.DataFrame:
    if profile.latencies.is_empty():
        return pl.DataFrame(schema={"operation": pl.String, **dict.fromkeys(latency.PERCENTILES, pl.Int64)})
    ends = pl.coalesce("end_ns", "begin_ns").ceil().cast(pl.Int64)
    histogram = profile.latencies.select("operation", ends.alias("highest_ns"), pl.col("calls").alias("count"))
    return latency.percentiles(histogram, ["operation"]).drop("operations")


def directory_of(path: str) -> str:
    """The directory of a file, or words if its path has none."""
    return posixpath.dirname(path) or "(no directory)"


def by_file(profile: Profile, stored: pl.DataFrame | None = None) -> pl.DataFrame:
    """Files on storage with calls, bytes by direction and time, those with most time first. `stored` as in `totals`."""
    sums = (
        (on_storage(profile) if stored is None else stored)
        .group_by("file")
        .agg(
            pl.col("calls").sum(),
            known_sum("failed"),
            pl.col("duration_ns").sum(),
            *(
                pl.col("bytes").filter(pl.col("direction") == direction).sum().alias(column)
                for direction, column in MOVED.items()
            ),
        )
    )
    return (
        profile.files.join(sums, on="file")
        .filter(pl.col("kind").is_in(ON_STORAGE))
        .with_columns(spent_ns=pl.col("duration_ns") + pl.col("metadata_ns").fill_null(0))
        .sort("spent_ns", "path", descending=[True, False])
    )


def by_weight(files: pl.DataFrame) -> pl.DataFrame:
    """Files (`by_file`, with the bytes of maps if known) by their share of all time or of all bytes, whichever is
    larger, largest first: bytes of maps take no time in calls.
    """
    moved = pl.sum_horizontal(pl.col("^(read|written)(_most)?_bytes$").fill_null(0))
    shares = (amount.cast(pl.Float64) / amount.sum().clip(1) for amount in (pl.col("spent_ns").fill_null(0), moved))
    return (
        files.with_columns(weight=pl.max_horizontal(shares))
        .sort("weight", "path", descending=[True, False])
        .drop("weight")
    )


def by_directory(files: pl.DataFrame) -> pl.DataFrame:
    """Directories of files (`by_file`), with files, calls, bytes by direction and time, those with most time first."""
    return (
        files.with_columns(directory=pl.col("path").map_elements(directory_of, return_dtype=pl.String))
        .group_by("directory")
        .agg(pl.len().alias("files"), pl.col("calls", *MOVED.values(), "spent_ns").sum())
        .sort("spent_ns", "directory", descending=[True, False])
    )


def known_sum(column: str) -> pl.Expr:
    """The sum of a column; null if all values are unknown."""
    return pl.when(pl.col(column).is_not_null().any()).then(pl.col(column).sum()).alias(column)


def _of_direction(
    profile: Profile, stored: pl.DataFrame, direction: Direction, of_process: str, of_file: str
) -> int | None:
    """The sum over processes; or over files if the source knows some of it only for several processes together, as for
    those that share a file.
    """
    together = profile.process_operations.filter(pl.col("process").is_null(), OF_OPERATION.eq(direction))
    if together.is_empty() and not profile.processes[of_process].has_nulls():
        return known_total(profile.processes[of_process])
    if direction == "metadata":
        files = stored.select("file").unique().join(profile.files.select("file", "metadata_ns"), on="file")
        return known_total(files["metadata_ns"])
    return known_total(stored.filter(pl.col("direction") == direction)[of_file])


def known_total(values: pl.Series | Sequence[int | None]) -> int | None:
    """The sum of the known values; `None` without any."""
    if isinstance(values, pl.Series):
        return int(values.sum()) if values.null_count() < len(values) else None
    known = [value for value in values if value is not None]
    return sum(known) if known else None
