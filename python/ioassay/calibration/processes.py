"""How many processes of one node show what a directory gives."""

from __future__ import annotations

import os

_MOST = 4
"""One process seldom fills a parallel file system's client; beyond a few, the processors of the node are measured."""


def suitable() -> int:
    """As many as this process may use processors, at most four."""
    return min(_MOST, len(os.sched_getaffinity(0)))
