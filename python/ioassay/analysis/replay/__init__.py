"""A profile as a replay: which streams of operations, on which files, in which phases, do what the application did; and
how faithful a replay of it was.

    ranks        processes packed into ranks
    phases       the time line cut where nothing happens; when in them the calls of a file were
    mapped       maps of files as reads and writes
    uses         what each file was used for
    groups       files that were used alike
    transfers    sizes, order and counts of a stream's transfers
    streams      groups in phases as streams on trees
    expectation  what of the profile a replay is compared with
    faithful     that comparison

Pure: profile in, dataclasses out. Not here: the text of the study (`reports.profile.as_study`).
"""

from __future__ import annotations

from ioassay.analysis.replay.model import Replay
from ioassay.analysis.replay.streams import replay

__all__ = ["Replay", "replay"]
