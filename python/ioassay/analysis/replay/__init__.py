"""Turns a profile into a replay: streams of operations on files in phases that do what the application did. Also
compares a replay with the application.

    ranks        processes packed into ranks
    phases       the time line cut at pauses; when the calls of each file took place
    mapped       maps of files as reads and writes
    uses         how each file was used
    groups       files that were used alike
    transfers    sizes, order and counts of a stream's transfers
    streams      groups in phases as streams on trees
    expectation  the figures of the profile that a replay is compared with
    faithful     that comparison

Pure: profile in, dataclasses out. Not here: the text of the study (`reports.profile.as_study`).
"""

from __future__ import annotations

from ioassay.analysis.replay.model import Replay
from ioassay.analysis.replay.streams import replay

__all__ = ["Replay", "replay"]
