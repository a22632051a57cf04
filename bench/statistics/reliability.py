"""How often groups of drives are lost, simulated drive by drive, against the chance that a size gives.

Failures are far more frequent than real ones, so that losses can be counted.

python bench/statistics/reliability.py [GROUPS]
"""

from __future__ import annotations

import sys
from typing import get_args

import numpy as np
from table import head, percent, row, whole

from ioassay.sizing.reliability.chain import Group, loss_within
from ioassay.testing.failing_drives import Law, share_lost

YEAR_S = 365 * 86400.0
DAY_S = 86400.0


def main() -> None:
    """Print the table of docs/concepts/statistics.md."""
    groups = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    head("drives, parity", "failures per drive-year", "rebuild", "unreadable", "computed", *get_args(Law))
    for drives, parity, per_year, days, unreadable in (
        (2, 1, 0.5, 10, 0.0),
        (5, 1, 0.2, 5, 0.0),
        (5, 1, 0.2, 5, 0.2),
        (10, 2, 0.5, 10, 0.0),
        (10, 2, 0.5, 10, 0.2),
        (11, 3, 1.0, 20, 0.0),
        (60, 2, 0.2, 2, 0.0),
        (60, 2, 0.2, 2, 0.05),
    ):
        group = Group(drives, parity, per_year / YEAR_S, 1 / (days * DAY_S), unreadable)
        row(
            f"{drives}, {parity}",
            f"{per_year}",
            f"{days} days",
            whole(unreadable),
            percent(loss_within(group, YEAR_S)),
            *(percent(share_lost(np.random.default_rng(1), group, YEAR_S, groups, law)) for law in get_args(Law)),
        )


if __name__ == "__main__":
    main()
