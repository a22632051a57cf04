"""The pictures of checkpoints: the time of each rank's own files, a figure for each phase.

Not: other pictures of a run (`pictures`), drawing (`ioassay.figures.checkpoints`).
"""

from __future__ import annotations

import polars as pl

from ioassay.analysis.checkpoints import Checkpointing
from ioassay.figures.checkpoints import by_rank
from ioassay.figures.picture import Picture, draw
from ioassay.reports.run.checkpoints import MOST_ANSWERS
from ioassay.reports.run.content import Content
from ioassay.text import format
from ioassay.text.slugs import slug, unique

_NS_PER_S = 1e9


def pictures(content: Content) -> list[Picture]:
    """A picture for each of the first phases that saved or restored with several ranks."""
    taken: set[str] = set()
    return [
        _picture(content, phase, taken)
        for phase in content.checkpoints[:MOST_ANSWERS]
        if _by_rank(content, phase).height > 1
    ]


def _by_rank(content: Content, phase: Checkpointing) -> pl.DataFrame:
    """Times of the ranks that have files."""
    seconds = pl.col("own_ns") / _NS_PER_S
    rows = content.run.checkpoints.filter(pl.col("bytes") > 0, case=phase.case, phase=phase.phase)
    return (
        rows.group_by("rank", "node")
        .agg(
            seconds.median().alias("median_s"),
            seconds.min().alias("lowest_s"),
            seconds.max().alias("highest_s"),
            pl.col("bytes").median().cast(pl.Int64),
        )
        .sort("rank")
    )


def _picture(content: Content, phase: Checkpointing, taken: set[str]) -> Picture:
    data = _by_rank(content, phase)
    slowest = data.row(int(data["median_s"].arg_max() or 0), named=True)
    typical = format.duration(round(float(data["median_s"].median() or 0) * _NS_PER_S))  # type: ignore[arg-type]
    title = f"{content.names.case(phase.case)}, {phase.phase}: time by rank"
    done = "saved" if phase.is_save else "restored"
    return draw(
        by_rank(data, phase.stall_ns / _NS_PER_S),
        unique(slug(f"checkpoint-{phase.case}-{phase.phase}", "checkpoint"), taken),
        title=title,
        data=data,
        caption=f"The time in which each rank {done} its own files: the median of the generations, from the shortest "
        "to the longest. Dashed: how long training stands still, the median. Ranks without files are left out.",
        description=f"Half of the ranks take at most {typical}; rank {slowest['rank']} on {slowest['node']} takes "
        f"{format.duration(round(slowest['median_s'] * _NS_PER_S))}.",
    )
