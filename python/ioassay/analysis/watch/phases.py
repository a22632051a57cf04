"""Activity of the hosts during each phase, as rates and relative to the bytes of the clients.

Agent samples have one-second resolution. The second in which a phase begins or ends counts for it as a whole, because
nothing else of the run happens in it; two phases that share a second divide it. Data that is still in the servers'
memory when a phase ends is written later, and counted separately as late writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from ioassay.analysis.ceilings import DIRECTIONS
from ioassay.analysis.watch.seconds import AMOUNTS, SHARES, seconds
from ioassay.store.loaded import LoadedRun
from ioassay.store.watch_document import WatchDocument
from ioassay.store.watched import Watch, WatchTables

PHASE: Final = ("case", "phase")
"""The key of a phase of a run."""

LEAST_S: Final = 1.0
"""Shorter phases are skipped: other I/O dominates their boundary seconds."""

LATE_S: Final = 120
"""The longest write-back after a phase; it ends earlier if another phase begins."""

LATE_SHARE: Final = 0.05
"""End of write-back: below this share of the clients' rate."""

_LATE_LEAST_BYTES: Final = 1_000_000
SAMPLE_DELAY_S: Final = 0.1
"""How long after each full second agents sample."""
_WHOLE: Final = 0.999
_LEAST_COVERED: Final = 0.9
"""Share of a phase that a host must have reported; otherwise it is left out."""


_NAMES: Final = {"case": pl.String, "phase": pl.String}

WITHIN: Final = ("received_bytes_per_s", "sent_bytes_per_s")
"""Columns with the mean rate of the seconds that lie entirely within the phase, so that links do not exceed their rate.
"""

PHASES: Final = pl.Schema(
    {
        **_NAMES,
        **dict.fromkeys(("start_s", "end_s"), pl.Float64),
        **dict.fromkeys(("write_bytes", "read_bytes"), pl.Int64),
        **dict.fromkeys(("duration_s", "disk_read_bytes", "disk_write_bytes"), pl.Float64),
        **dict.fromkeys(("disk_write_ratio", "disk_read_ratio", "late_write_bytes", "late_s"), pl.Float64),
    }
)
"""The columns of `Activity.phases`."""

HOSTS: Final = pl.Schema(
    {
        **_NAMES,
        **dict.fromkeys(("host", "role"), pl.String),
        **dict.fromkeys(("duration_s", *AMOUNTS, *WITHIN, *SHARES), pl.Float64),
    }
)
"""The columns of `Activity.hosts`."""


@dataclass(frozen=True)
class Activity:
    run: LoadedRun
    watch: Watch

    @cached_property
    def seconds(self) -> pl.DataFrame:
        return seconds(self.watch)

    @cached_property
    def storage_role(self) -> str:
        """The role whose disks hold the data: server if servers with disks were watched, otherwise client."""
        servers = (host for host in self.watch.document.hosts if host.role == "server" and not host.imported)
        return "server" if any(host.devices != [] for host in servers) else "client"

    @cached_property
    def windows(self) -> pl.DataFrame:
        """The measured phases, in the order of time: `PHASE`, start_s and end_s (since 1970), write_bytes and
        read_bytes of the clients.
        """
        way = pl.col("operation").replace_strict(dict(DIRECTIONS), default=None, return_dtype=pl.String)
        moved = pl.col("bytes").fill_null(0)
        return (
            self.run.measurements.drop_nulls(["started_unix_ns", "duration_ns"])
            .group_by(*PHASE, maintain_order=True)
            .agg(
                (pl.col("started_unix_ns").min() / 1e9).alias("start_s"),
                ((pl.col("started_unix_ns") + pl.col("duration_ns")).max() / 1e9).alias("end_s"),
                moved.filter(way == "to-servers").sum().alias("write_bytes"),
                moved.filter(way == "to-clients").sum().alias("read_bytes"),
            )
            .sort("start_s", maintain_order=True)
        )

    @cached_property
    def hosts(self) -> pl.DataFrame:
        """A row for each phase of at least `LEAST_S` and each host that reported during it: `PHASE`, host, role,
        duration_s, `AMOUNTS` of the whole phase, `WITHIN`, `SHARES` as means; null: unknown.
        """
        long = self.windows.filter(pl.col("end_s") - pl.col("start_s") >= LEAST_S)
        within = self.within.join(long.select(PHASE), on=list(PHASE), how="semi").join(self.seconds, on="second")
        overlap, duration = pl.col("overlap_s"), pl.col("end_s").first() - pl.col("start_s").first()
        known = overlap.sum() >= _LEAST_COVERED * duration
        # Extrapolate to the few seconds without a report.
        whole = duration / overlap.sum()
        inner = [pl.col(name.removesuffix("_per_s")).filter(overlap > _WHOLE) for name in WITHIN]
        return (
            within.group_by(*PHASE, "host", "role", maintain_order=True)
            .agg(
                known.alias("known"),
                duration.alias("duration_s"),
                *(
                    _or_null(pl.col(name), (pl.col(name) * pl.col("part")).sum() * whole).alias(name)
                    for name in AMOUNTS
                ),
                *(column.mean().alias(name) for name, column in zip(WITHIN, inner, strict=True)),
                *(
                    _or_null(pl.col(name), (pl.col(name) * overlap).sum() / overlap.sum()).alias(name)
                    for name in SHARES
                ),
            )
            .filter("known")
            .select(HOSTS.names())
        )

    @cached_property
    def phases(self) -> pl.DataFrame:
        """A row for each phase with hosts: the columns of `windows`, duration_s, and for the disks that hold
        the data: disk_read_bytes and disk_write_bytes, disk_write_ratio and disk_read_ratio (relative to the clients'
        bytes; null if those are 0), late_write_bytes and late_s (bytes and seconds of write-back after the phase).
        """
        disks = (
            self.hosts.filter(pl.col("role") == self.storage_role)
            .group_by(*PHASE)
            .agg(
                pl.col("duration_s").first(),
                *(_or_null(pl.col(name), pl.col(name).sum()) for name in ("disk_read_bytes", "disk_write_bytes")),
            )
        )
        return (
            self.windows.join(disks, on=list(PHASE), how="inner", maintain_order="left")
            .with_columns(
                _ratio("disk_write_bytes", "write_bytes").alias("disk_write_ratio"),
                _ratio("disk_read_bytes", "read_bytes").alias("disk_read_ratio"),
            )
            .join(self._late, on=list(PHASE), how="left", maintain_order="left")
            .select(PHASES.names())
        )

    @cached_property
    def within(self) -> pl.DataFrame:
        """A row for each phase and second that it overlaps: `PHASE`, start_s, end_s, second, overlap_s, and part,
        the share of the second that counts for the phase.
        """
        first, last = second_of(pl.col("start_s")), second_of(pl.col("end_s"))
        begin = pl.col("second") + SAMPLE_DELAY_S
        overlap = pl.min_horizontal(begin + 1, pl.col("end_s")) - pl.max_horizontal(begin, pl.col("start_s"))
        return (
            self.windows.select(*PHASE, "start_s", "end_s", pl.int_ranges(first, last + 1).alias("second"))
            .explode("second")
            .with_columns(overlap.alias("overlap_s"))
            .filter(pl.col("overlap_s") > 0)
            .with_columns((pl.col("overlap_s") / pl.col("overlap_s").sum().over("second")).alias("part"))
        )

    @cached_property
    def _late(self) -> pl.DataFrame:
        """Write-back of each phase that wrote, until the last second above the threshold."""
        first = second_of(pl.col("end_s")) + 1
        most = first + LATE_S
        after = self.windows.select(
            *PHASE,
            pl.max_horizontal(
                LATE_SHARE * pl.col("write_bytes") / (pl.col("end_s") - pl.col("start_s")), pl.lit(_LATE_LEAST_BYTES)
            ).alias("least"),
            "write_bytes",
            pl.int_ranges(first, pl.min_horizontal(second_of(pl.col("start_s")).shift(-1), most)).alias("second"),
        )
        written = (
            self.seconds.filter(pl.col("role") == self.storage_role)
            .group_by("second")
            .agg(pl.col("disk_write_bytes").sum())
        )
        last = pl.col("second").filter(pl.col("disk_write_bytes") > pl.col("least")).max()
        return (
            after.filter(pl.col("write_bytes") > 0)
            .explode("second")
            .join(written, on="second")
            .filter(pl.col("second") <= last.over(*PHASE))
            .group_by(*PHASE)
            .agg(
                pl.col("disk_write_bytes").sum().cast(pl.Float64).alias("late_write_bytes"),
                pl.len().cast(pl.Float64).alias("late_s"),
            )
        )


def second_of(moment_s: pl.Expr) -> pl.Expr:
    """The agent's second that contains a time."""
    return (moment_s - SAMPLE_DELAY_S).floor().cast(pl.Int64)


def moments(run: LoadedRun) -> tuple[int, int] | None:
    """Begin and end of the phases of a run, in nanoseconds since 1970; `None`: unknown."""
    windows = Activity(run, Watch(WatchDocument(), lambda: WatchTables({}))).windows
    if windows.is_empty():
        return None
    begin, end = windows.select(pl.col("start_s").min(), pl.col("end_s").max()).row(0)
    return round(begin * 1e9), round(end * 1e9)


def activity(run: LoadedRun) -> Activity | None:
    """The activity of the hosts of a run; `None` if none was watched, or none reported anything."""
    watch = run.watch
    if watch is None or (watch.table("agent").is_empty() and not any(host.imported for host in watch.document.hosts)):
        return None
    return Activity(run, watch)


def _or_null(column: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(column.null_count() < column.len()).then(value)


def _ratio(of: str, to: str) -> pl.Expr:
    return pl.when(pl.col(to) > 0).then(pl.col(of) / pl.col(to))
