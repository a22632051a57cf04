"""What file systems' own counters say of the minutes of a run: imported readings, beside what the clients moved.

Counters are of all jobs, so they may have more than the run moved; of what clients cached they have less. Where the run
takes as long as a few intervals between readings, nothing can be compared. Not: hosts with an agent (`phases`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import polars as pl

from ioassay.analysis.watch.phases import LOOK_AFTER_S, PHASE, Activity, second_of
from ioassay.store.watch_document import Role

if TYPE_CHECKING:
    import numpy as np

WAYS: Final = ("write", "read")

_KINDS: Final = ("lustre_target", "lustre", "gpfs")
"""Documents with bytes that a file system counted."""

_LEAST_INTERVALS: Final = 2
"""A phase that is shorter than so many intervals between readings has too much of what was before and after it."""

_LEAST_COVERED: Final = 0.9

MOST_LAG_S: Final = 300
"""Clocks that differ by more are a matter of time zones, and do not overlap the run."""

_LEAST_CORRELATION: Final = 0.8
"""Below, nothing of the run shows in the counters that tells where it is."""

_CLEARLY: Final = 0.15
"""By so much the correlation at another lag is above that at none."""

COUNTED: Final = pl.Schema(
    {
        "case": pl.String,
        "phase": pl.String,
        "duration_s": pl.Float64,
        **dict.fromkeys(("write_bytes", "read_bytes"), pl.Int64),
        **dict.fromkeys(("counted_write_bytes", "counted_read_bytes"), pl.Float64),
    }
)
"""The columns of `Counted.phases`."""


@dataclass(frozen=True)
class Counted:
    """The counters that were imported beside a run."""

    activity: Activity

    @cached_property
    def seconds(self) -> pl.DataFrame:
        """A row for each host and second that is known: host, role, second, write_bytes and read_bytes."""
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
        """Whose counters are compared: those of servers, or, where there are none, of clients. Both count each byte."""
        return "server" if "server" in self.seconds["role"] else "client"

    @cached_property
    def interval_s(self) -> float:
        """How far apart the counters that are compared were read, at most."""
        hosts = self.activity.watch.document.hosts
        return max((host.interval_s or 0.0 for host in hosts if host.imported and host.role == self.role), default=0.0)

    @cached_property
    def phases(self) -> pl.DataFrame:
        """The phases that are long enough and known: `COUNTED`, in the order of time."""
        own = self.seconds.filter(pl.col("role") == self.role)
        hosts = own["host"].n_unique()
        windows = self.activity.windows.filter(
            pl.col("end_s") - pl.col("start_s") >= max(_LEAST_INTERVALS * self.interval_s, 1.0)
        )
        # An interval that begins or ends with a phase reaches beyond it, up to half way to the next.
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
        begin = pl.col("second") + LOOK_AFTER_S
        overlap = pl.min_horizontal(begin + 1, pl.col("to_s")) - pl.max_horizontal(begin, pl.col("from_s"))
        inside = pl.min_horizontal(begin + 1, pl.col("end_s")) - pl.max_horizontal(begin, pl.col("start_s"))
        found = (
            reached.explode("second")
            .join(own, on="second", suffix="_counted")
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
            windows.join(found, on=list(PHASE), how="inner", maintain_order="left")
            .select(COUNTED.names())
            .cast(COUNTED)
        )

    @cached_property
    def lag_s(self) -> int | None:
        """By how many seconds the counters are behind the run, where another clock explains them clearly better than
        none; `None`: the same clock, or nothing to tell it by. The run has to vary, and its samples to be there.
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
        found = {lag: _correlation(run, servers, lag) for lag in range(-most, most + 1)}
        best = max(found, key=lambda lag: (found[lag], -abs(lag)))
        is_clear = found[best] >= _LEAST_CORRELATION and found[best] - found[0] >= _CLEARLY
        return best if is_clear and abs(best) > self.interval_s else None

    def _clients(self) -> pl.DataFrame:
        """What the clients moved in each second, evenly in each phase: second, bytes."""
        rate = pl.sum_horizontal("write_bytes", "read_bytes") / (pl.col("end_s") - pl.col("start_s"))
        moved = self.activity.windows.select(*PHASE, rate.alias("rate"))
        return (
            self.activity.within.join(moved, on=list(PHASE))
            .group_by("second")
            .agg((pl.col("rate") * pl.col("overlap_s")).sum().alias("bytes"))
        )


def _series(table: pl.DataFrame, first: int, length: int) -> np.ndarray:
    """Bytes by second; 0 where nothing is known."""
    import numpy as np  # noqa: PLC0415

    values = np.zeros(length)
    values[table["second"].to_numpy() - first] = table["bytes"].to_numpy()
    return values


def _correlation(run: np.ndarray, servers: np.ndarray, lag: int) -> float:
    """Of the run with the servers `lag` seconds later, where both are known."""
    import numpy as np  # noqa: PLC0415

    shifted = np.roll(servers, -lag)
    if lag > 0:
        shifted[-lag:] = 0
    elif lag < 0:
        shifted[:-lag] = 0
    if run.std() == 0 or shifted.std() == 0:
        return 0.0
    return float(np.corrcoef(run, shifted)[0, 1])


def counted(activity: Activity | None) -> Counted | None:
    """The imported counters of a run; `None` where there are none."""
    if activity is None or not any(host.imported for host in activity.watch.document.hosts):
        return None
    return Counted(activity)
