"""Which rules were broken in a record that was watched, from the Parquet files of its agent.

Not: alerts as they come (`view`), what else the files say.
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
"""Rules that are named."""

_POLL_S: Final = 0.05


def wait_for_agent(watched: Path, timeout_s: float) -> None:
    """Waits until the agent of the directory has ended, for so long at most: it closes its files last."""
    setup = str(watched / AGENT)
    until = time.monotonic() + timeout_s
    while time.monotonic() < until and _runs(setup):
        time.sleep(_POLL_S)


def _runs(setup: str) -> bool:
    return any(setup in (process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))


def alerts_of(watched: Path) -> Iterator[str]:
    """A line for each rule that was broken, those that were broken most often first; none where there are no files."""
    files = sorted(watched.glob("**/alert/**/*.parquet"))
    frames = []
    for file in files:
        # A file that is damaged or being written says nothing, and is no reason to hide the others.
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
