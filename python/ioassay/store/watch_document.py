"""`watch/watch.json`: which hosts were watched during a run, by what, and what each calls its own.

It is there only for runs that were watched, or beside which counters of servers were imported, with the documents of
the hosts. Not: those (`watched`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from msgspec import field

from ioassay.store import json_head
from ioassay.store.origin import ImportedFile
from ioassay.store.run_files import WATCH_DOCUMENT
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.stored_struct import Amount, Component, Count, StoredStruct
from ioassay.store.versions import parse

WATCH_VERSION = 1

_MOST_BYTES = 16 << 20

Role = Literal["client", "server", "control"]
"""`control`: it only starts the run, and its agent marks the phases in the site's stores."""


class WatchedHost(StoredStruct, kw_only=True):
    """A host, and the agent on it."""

    checks = MappingProxyType({"name": json_head.component, "file": json_head.component})

    name: Component
    role: Role
    file: Component
    """The documents of its agent, a line each, in the same directory."""
    devices: list[str] | None = None
    """The block devices that are its own, of a host that sees those of others; `None`: all it sees."""
    shares_machine: bool = False
    """Its processors and memory are those of a machine that it shares with other hosts."""
    link_bits_per_s: Count | None = None
    """The rate of its link in each direction; `None`: unknown, or not limited."""
    imported: list[ImportedFile] = field(default_factory=list)
    """The files of counters that its documents were made of, of a host that no agent watched."""
    interval_s: Amount | None = None
    """How far apart these counters were read, at most; rates are means over that."""
    remark: str | None = None
    """Why it was not watched, or not until the end."""


class WatchDocument(StoredStruct, kw_only=True):
    """The document."""

    version: int = WATCH_VERSION
    servers: list[str] = field(default_factory=list)
    """The servers as they were typed; empty: those of the lab of the target."""
    setup: str | None = None
    """The setup whose sinks get this node's documents too."""
    hosts: list[WatchedHost] = field(default_factory=list)


def read_watch(directory: StoredDirectory) -> WatchDocument | None:
    """The document of a run; `None` of one that was not watched.

    Raises `UsageError` for a damaged one, or one of another version.
    """
    try:
        content = directory.read(WATCH_DOCUMENT, _MOST_BYTES)
    except FileNotFoundError:
        return None
    return parse(content, directory.path / WATCH_DOCUMENT, WatchDocument, WATCH_VERSION, "Update ioassay.")
