"""Doubts that follow from what a run stores, added when it is read: the tables stay as the engine wrote them.

Not: doubts that the engine or an importer raised, which are stored.
"""

from __future__ import annotations

from ioassay.analysis import ceilings, training
from ioassay.store.loaded import LoadedRun


def doubted(run: LoadedRun) -> LoadedRun:
    """The run with doubts about rates above the network's ceiling, and about epochs that processors limit."""
    return training.doubted(ceilings.doubted(run))
