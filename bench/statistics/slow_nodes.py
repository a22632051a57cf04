"""How often a node of a run whose nodes are all alike is called slow.

python bench/statistics/slow_nodes.py [TIMES]
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from numpy.typing import NDArray
from table import head, percent, row

from ioassay.analysis.stragglers import slow_nodes
from ioassay.store import schema
from ioassay.store.measurement import KEY

SECOND = 10**9
PHASES = 40
OPERATIONS = ("write", "read", "create")
"""Of the phases, in turn."""

Array = NDArray[np.float64]


def called_slow(ends: Array, done: Array | None) -> bool:
    """Whether any node is called slow: rows are phases, columns the nodes, with a rank each.

    `ends` in seconds. Where it is given how many operations ranks had `done`, a stonewall ended them.
    """
    phases, nodes = ends.shape
    operations = [OPERATIONS[index % len(OPERATIONS)] for index in range(phases)]
    keys = pl.DataFrame(
        [
            dict(zip(KEY, (f"case-{index}", "phase", "job", operation), strict=True))
            for index, operation in enumerate(operations)
        ]
    )
    measurements = keys.with_columns(
        pl.lit(True).alias("valid"),
        pl.Series("duration_ns", ends.max(axis=1) * SECOND),
        pl.Series("stonewall_ns", [None] * phases if done is None else (ends.min(axis=1) * SECOND).tolist()),
    )
    ranks = keys.select(pl.all().repeat_by(nodes).explode()).with_columns(
        pl.Series("rank", np.tile(np.arange(nodes), phases)),
        pl.Series("node", [f"n{node}" for node in range(nodes)] * phases),
        pl.Series("end_ns", ends.ravel() * SECOND),
        pl.Series("operations", np.full(ends.size, 1000.0) if done is None else done.ravel()),
    )
    return bool(
        slow_nodes(
            measurements.cast({name: schema.MEASUREMENTS[name] for name in measurements.columns}),
            ranks.cast({name: schema.RANKS[name] for name in ranks.columns}),
        )
    )


def false_alarms(nodes: int, walled: bool, times: int) -> float:
    """The share of runs in which a node is called slow."""
    dice = np.random.default_rng(7)
    alarms = 0
    for _ in range(times):
        ends, done = dice.uniform(8, 10, (PHASES, nodes)), dice.uniform(800, 1000, (PHASES, nodes))
        alarms += called_slow(10 + ends / 1000, done) if walled else called_slow(ends, None)
    return alarms / times


def main() -> None:
    """Print the table of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    head("nodes, all alike", "runs that name a slow node: without a stonewall", "with a stonewall")
    for nodes in (2, 4, 16, 64):
        row(str(nodes), *(percent(false_alarms(nodes, walled, times)) for walled in (False, True)))


if __name__ == "__main__":
    main()
