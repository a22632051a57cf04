"""`record.json`: what was recorded, when, where, and what the recorder missed.

The engine writes it (`ioassay-engine record`), at the beginning and again at the end; the tables lie beside it, while
it runs also in the directory that it names. `version` rises when an old reader would misread or refuse a new document.
Not: reading the tables (`records`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from ioassay.store.kinds import RECORD
from ioassay.store.states import RecordState
from ioassay.store.stored_types import Count, Moment, Node, StoredModel

EscapeReason = Literal["static", "privileged", "other-architecture", "unknown"]
"""Why a process has no table: its program has no dynamic loader, has privileges that keep the loader from loading other
libraries, is for another architecture or C library, or none of these.
"""


class Escaped(StoredModel):
    """A process that was not recorded."""

    model_config = ConfigDict(frozen=True)

    pid: Count
    path: str = Field(description="The program.")
    reason: EscapeReason


class RecordDocument(StoredModel):
    """`record.json`."""

    kind: Literal["record"] = "record"
    version: int = RECORD.version
    record: str = Field(description="Identifier, for example `20261125-170000-lmp`.")
    state: RecordState = "running"
    started: Moment = Field(description="ISO 8601, UTC.")
    command: list[str] = Field(description="The command and its arguments, as they were typed.")
    host: str = Field(description="The node's name.")
    environment: Node = Field(description="The node, as in the events of a run.")
    tables: str | None = Field(
        default=None,
        pattern="^/",
        description="The directory with the tables of processes that run, and of an incomplete record; `null`: none.",
    )
    ioassay_version: str
    ended: Moment | None = None
    exit_status: int | None = Field(
        default=None, ge=-255, le=255, description="Of the command; negative: the signal that ended it."
    )
    escaped: list[Escaped] = Field(default_factory=list)
    still_running: list[Count] = Field(
        default_factory=list, description="Processes that went on when the recording ended."
    )
    lost_tables: Count = Field(
        default=0, description="Tables that could not be kept, for example on a full file system."
    )
    reason: str | None = Field(default=None, description="Why the record is incomplete.")
