"""`watch/watch.json`: which hosts were watched during a run, by what, and what each calls its own.

It is there only for runs that were watched, or beside which counters of servers were imported, with the documents of
the hosts. Not: those (`watched`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioassay.store.origin import ImportedFile
from ioassay.store.run_files import WATCH_DOCUMENT
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.stored_types import Amount, Component, Count, StoredModel
from ioassay.store.versions import parse

WATCH_VERSION = 1

_MOST_BYTES = 16 << 20

Role = Literal["client", "server", "control"]
"""`control`: it only starts the run, and its agent marks the phases in the site's stores."""


class WatchedHost(StoredModel):
    """A host, and the agent on it."""

    name: Component
    role: Role
    file: Component = Field(description="The documents of its agent, a line each, in the same directory.")
    devices: list[str] | None = Field(
        default=None,
        description="The block devices that are its own, of a host that sees those of others; `None`: all it sees.",
    )
    shares_machine: bool = Field(
        default=False, description="Its processors and memory are those of a machine that it shares with other hosts."
    )
    link_bits_per_s: Count | None = Field(
        default=None, description="The rate of its link in each direction; `None`: unknown, or not limited."
    )
    imported: list[ImportedFile] = Field(
        default_factory=list,
        description="The files of counters that its documents were made of, of a host that no agent watched.",
    )
    interval_s: Amount | None = Field(
        default=None, description="How far apart these counters were read, at most; rates are means over that."
    )
    remark: str | None = Field(default=None, description="Why it was not watched, or not until the end.")


class WatchDocument(StoredModel):
    """The document."""

    version: int = WATCH_VERSION
    servers: list[str] = Field(
        default_factory=list, description="The servers as they were typed; empty: those of the lab of the target."
    )
    setup: str | None = Field(default=None, description="The setup whose sinks get this node's documents too.")
    hosts: list[WatchedHost] = Field(default_factory=list)


def read_watch(directory: StoredDirectory) -> WatchDocument | None:
    """The document of a run; `None` of one that was not watched.

    Raises `UsageError` for a damaged one, or one of another version.
    """
    try:
        content = directory.read(WATCH_DOCUMENT, _MOST_BYTES)
    except FileNotFoundError:
        return None
    return parse(content, directory.path / WATCH_DOCUMENT, WatchDocument, WATCH_VERSION, "Update ioassay.")
