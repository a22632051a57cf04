"""The figures of a profile that its replay is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from ioassay.analysis.replay.model import Expected
from ioassay.analysis.replay.phases import Course, Floats, Span
from ioassay.analysis.replay.transfers import fewer_sizes
from ioassay.analysis.replay.uses import Uses
from ioassay.profiles.model import Direction

MOST_STEPS = 64
"""The most steps of a time line."""

HIGHEST_WEIGHT = 10_000
"""The least value of the highest step of a time line."""

METADATA: Mapping[str, str] = {
    "open": "opens",
    "absent open": "lookups",
    "stat": "stats",
    "absent stat": "absent_stats",
    "create": "creates",
    "rename": "renames",
    "remove": "removes",
    "sync": "syncs",
}
"""The columns of `Uses.files` with operations that move no bytes. A close follows each open."""

OverTime = Callable[[str, str, Sequence[Span]], Floats]
"""(kind, column, spans): the share of a column that falls into each span, distributed like the operations of the kind.
"""


def expectation(
    uses: Uses, course: Course, over_time: OverTime, span: Span, rank_bytes: Mapping[str, tuple[int, int]]
) -> dict[Direction, Expected]:
    """Operations, bytes, sizes, time line, order and imbalance of the replayable calls of each direction."""
    bounds = np.linspace(span.begin_s, span.end_s, MOST_STEPS + 1).tolist()
    steps = [Span(begin, end) for begin, end in pairwise(bounds)]
    classes: dict[Direction, Expected] = {}
    for direction in ("read", "write"):
        direction_sizes = uses.sizes.filter(pl.col("direction") == direction)
        sizes = direction_sizes.group_by("bytes").agg(pl.col("calls").sum()).sort("bytes")
        classes[direction] = Expected(
            int(direction_sizes["calls"].sum()),
            int((direction_sizes["bytes"] * direction_sizes["calls"]).sum()),
            fewer_sizes(sizes.iter_rows()),
            _whole(over_time(direction, f"{direction}_bytes", steps)),
            round(uses.files[f"{direction}_forward"].sum()),
            round(uses.files[f"{direction}_backward"].sum()),
            rank_bytes.get(direction),
        )
    calls = sum(int(uses.files[column].sum()) for column in METADATA.values()) + int(uses.files["opens"].sum())
    over = sum((over_time(kind, column, steps) for kind, column in METADATA.items()), np.zeros(len(steps)))
    classes["metadata"] = Expected(calls, timeline=_whole(over + over_time("open", "opens", steps)))
    return classes


def _whole(amounts: Floats) -> tuple[int, ...]:
    """Integer weights, also of amounts far below 1 in each step."""
    highest = float(amounts.max())
    if highest <= 0:
        return ()
    scaled = amounts * max(1.0, HIGHEST_WEIGHT / highest)
    return tuple(np.rint(scaled).astype(int).tolist())
