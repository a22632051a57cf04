"""The number of processes that saturates a directory from one node."""

from __future__ import annotations

import os

_MOST = 4
"""One process seldom saturates a parallel file system's client; more than a few measure the node's processors."""


def suitable() -> int:
    """The number of available processors, at most four."""
    return min(_MOST, len(os.sched_getaffinity(0)))
