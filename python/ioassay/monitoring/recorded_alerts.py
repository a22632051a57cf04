"""Rules that were broken in a watched record, from the Parquet files of its agent.

Not: live alerts (`view`), other documents in the files.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl
import psutil

from ioassay.monitoring.setup import AGENT
from ioassay.text.units import format_count

MOST_LABELS: Final = 10
"""Most rules that are listed."""

_POLL_S: Final = 0.05


def wait_for_agent(watched: Path, timeout_s: float) -> None:
    """Waits up to `timeout_s` until the directory's agent has ended: it closes its files last."""
    setup = str(watched / AGENT)
    until = time.monotonic() + timeout_s
    while time.monotonic() < until and _runs(setup):
        time.sleep(_POLL_S)


def _runs(setup: str) -> bool:
    return any(setup in (process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))


def alerts_of(watched: Path) -> Iterator[str]:
    """A line for each broken rule, most frequent first; none without files."""
    files = sorted(watched.glob("**/alert/**/*.parquet"))
    frames = []
    for file in files:
        # Damaged files and files that are being written are skipped.
        with contextlib.suppress(pl.exceptions.PolarsError, OSError):
            frames.append(pl.read_parquet(file, columns=["label", "action", "node"]))
    if not frames:
        return
    alerts = pl.concat(frames, how="vertical_relaxed")
    sums = (
        alerts.group_by("label", "action")
        .agg(pl.len(), pl.col("node").n_unique().alias("nodes"))
        .sort("len", "label", descending=[True, False])
    )
    for label, action, count, nodes in sums.head(MOST_LABELS).iter_rows():
        verb = "broken" if action == "monitor" else "held calls"
        yield f"rule {label}: {verb} in {format_count(count, 'window')} on {format_count(nodes, 'node')}"
    if (more := sums.height - MOST_LABELS) > 0:
        yield f"{format_count(more, 'more rule')} broken; see {watched}"
