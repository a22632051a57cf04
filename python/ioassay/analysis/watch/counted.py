"""Imported counters of file systems during a run, compared with the bytes that the clients moved.

Counters cover all jobs, so they may have more bytes than the run moved; they miss bytes that clients cached. A run as
short as a few intervals between readings cannot be compared. Not: hosts with an agent (`phases`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import polars as pl

from ioassay.analysis.watch.phases import PHASE, SAMPLE_DELAY_S, Activity, second_of
from ioassay.store.watch_document import Role

if TYPE_CHECKING:
    import numpy as np

WAYS: Final = ("write", "read")

_KINDS: Final = ("lustre_target", "lustre", "gpfs")
"""Kinds of documents with bytes that a file system counted."""

_LEAST_INTERVALS: Final = 2
"""Phases shorter than so many intervals between readings are dominated by I/O before and after them."""

_LEAST_COVERED: Final = 0.9

MOST_LAG_S: Final = 300
"""Clocks that differ by more have another time zone, and their readings do not overlap the run."""

_LEAST_CORRELATION: Final = 0.8
"""Below this, the counters do not show the run clearly enough to locate it."""

_CLEARLY: Final = 0.15
"""How far the correlation at another lag must exceed that without a lag."""

COUNTED: Final = pl.Schema(
    {
        "case": pl.String,
        "phase": pl.String,
        "duration_s": pl.Float64,
        **dict.fromkeys(("write_bytes", "read_bytes"), pl.Int64),
        **dict.fromkeys(("counted_write_bytes", "counted_read_bytes"), pl.Float64),
    }
)
"""The columns of `ImportedCounters.phases`."""


@dataclass(frozen=True)
class ImportedCounters:
    activity: Activity

    @cached_property
    def seconds(self) -> pl.DataFrame:
        """A row for each known host and second: host, role, second, write_bytes and read_bytes."""
        watch = self.activity.watch
        imported = [host.name for host in watch.document.hosts if host.imported]
        tables = [
            watch.table(kind).select("host", "role", "second", *(f"{way}_bytes" for way in WAYS)) for kind in _KINDS
        ]
        return (
            pl.concat(tables)
            .filter(pl.col("host").is_in(imported))
            .group_by("host", "role", "second")
            .agg(pl.col("write_bytes", "read_bytes").sum())
            .sort("host", "second")
        )

    @cached_property
    def role(self) -> Role:
        """The role whose counters are compared: server if there are any, otherwise client. Both count each byte."""
        return "server" if "server" in self.seconds["role"] else "client"

    @cached_property
    def interval_s(self) -> float:
        """The longest interval between readings of the compared counters, in seconds."""
        hosts = self.activity.watch.document.hosts
        return max((host.interval_s or 0.0 for host in hosts if host.imported and host.role == self.role), default=0.0)

    @cached_property
    def phases(self) -> pl.DataFrame:
        """The phases that are long enough and covered by readings: `COUNTED`, in the order of time."""
        role_seconds = self.seconds.filter(pl.col("role") == self.role)
        hosts = role_seconds["host"].n_unique()
        windows = self.activity.windows.filter(
            pl.col("end_s") - pl.col("start_s") >= max(_LEAST_INTERVALS * self.interval_s, 1.0)
        )
        # Intervals at the begin and end of a phase extend beyond it, up to half way to the next phase.
        around = self.activity.windows.select(
            *PHASE,
            pl.max_horizontal(
                pl.col("start_s") - self.interval_s, (pl.col("start_s") + pl.col("end_s").cum_max().shift(1)) / 2
            ).alias("from_s"),
            pl.min_horizontal(
                pl.col("end_s") + self.interval_s, (pl.col("end_s") + pl.col("start_s").shift(-1)) / 2
            ).alias("to_s"),
        )
        reached = windows.join(around, on=list(PHASE)).with_columns(
            pl.int_ranges(second_of(pl.col("from_s")), second_of(pl.col("to_s")) + 1).alias("second")
        )
        begin = pl.col("second") + SAMPLE_DELAY_S
        overlap = pl.min_horizontal(begin + 1, pl.col("to_s")) - pl.max_horizontal(begin, pl.col("from_s"))
        inside = pl.min_horizontal(begin + 1, pl.col("end_s")) - pl.max_horizontal(begin, pl.col("start_s"))
        counters = (
            reached.explode("second")
            .join(role_seconds, on="second", suffix="_counted")
            .group_by(*PHASE)
            .agg(
                (pl.col("end_s").first() - pl.col("start_s").first()).alias("duration_s"),
                inside.clip(0).sum().alias("known_s"),
                *(
                    (pl.col(f"{way}_bytes_counted") * overlap.clip(0)).sum().alias(f"counted_{way}_bytes")
                    for way in WAYS
                ),
            )
            .filter(pl.col("known_s") >= _LEAST_COVERED * pl.col("duration_s") * hosts)
        )
        return (
            windows.join(counters, on=list(PHASE), how="inner", maintain_order="left")
            .select(COUNTED.names())
            .cast(COUNTED)
        )

    @cached_property
    def lag_s(self) -> int | None:
        """How many seconds the counters are behind the run, if a shifted clock explains them clearly better; `None`:
        the same clock, or unknown, because the run's rate is constant or it has no samples.
        """
        clients = self._clients()
        counted = (
            self.seconds.filter(pl.col("role") == self.role)
            .group_by("second")
            .agg(pl.sum_horizontal("write_bytes", "read_bytes").sum().alias("bytes"))
        )
        if clients.is_empty() or counted.is_empty():
            return None
        first = int(min(clients["second"].min(), counted["second"].min()))  # type: ignore[type-var, arg-type]
        last = int(max(clients["second"].max(), counted["second"].max()))  # type: ignore[type-var, arg-type]
        run, servers = (_series(table, first, last - first + 1) for table in (clients, counted))
        begin, end = (int(clients["second"].min()) - first, int(clients["second"].max()) - first + 1)  # type: ignore[arg-type]
        length = end - begin
        if length < 10 or run[begin:end].std() == 0:
            return None
        most = min(MOST_LAG_S, len(run))
        correlations = {lag: _correlation(run, servers, lag) for lag in range(-most, most + 1)}
        best = max(correlations, key=lambda lag: (correlations[lag], -abs(lag)))
        is_clear = correlations[best] >= _LEAST_CORRELATION and correlations[best] - correlations[0] >= _CLEARLY
        return best if is_clear and abs(best) > self.interval_s else None

    def _clients(self) -> pl.DataFrame:
        """second, bytes: bytes that the clients moved in each second, distributed evenly over each phase."""
        rate = pl.sum_horizontal("write_bytes", "read_bytes") / (pl.col("end_s") - pl.col("start_s"))
        moved = self.activity.windows.select(*PHASE, rate.alias("rate"))
        return (
            self.activity.within.join(moved, on=list(PHASE))
            .group_by("second")
            .agg((pl.col("rate") * pl.col("overlap_s")).sum().alias("bytes"))
        )


def _series(table: pl.DataFrame, first: int, length: int) -> np.ndarray:
    """Bytes by second; 0 where unknown."""
    import numpy as np  # noqa: PLC0415

    values = np.zeros(length)
    values[table["second"].to_numpy() - first] = table["bytes"].to_numpy()
    return values


def _correlation(run: np.ndarray, servers: np.ndarray, lag: int) -> float:
    """The correlation of the run with the servers `lag` seconds later."""
    import numpy as np  # noqa: PLC0415

    shifted = np.roll(servers, -lag)
    if lag > 0:
        shifted[-lag:] = 0
    elif lag < 0:
        shifted[:-lag] = 0
    if run.std() == 0 or shifted.std() == 0:
        return 0.0
    return float(np.corrcoef(run, shifted)[0, 1])


def counted(activity: Activity | None) -> ImportedCounters | None:
    """The imported counters of a run; `None` without any."""
    if activity is None or not any(host.imported for host in activity.watch.document.hosts):
        return None
    return ImportedCounters(activity)
