"""Where the results of a run come from: a study of ours, a command line of another tool, or results of another tool.

One of them, distinguished by `kind`; what only one of them has is a field of its model. Not: what was measured, and how
(`document`), which all of them have.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from msgspec import field

from ioassay.store import json_head
from ioassay.store.stored_struct import Amount, Count, Moment, StoredStruct


class LabEntry(StoredStruct, kw_only=True):
    """The lab that a run took place in."""

    checks = MappingProxyType({"started": json_head.moment})

    about: str | None
    """The lab's description of the target; `None` if it was none of the lab."""
    hosts: list[str]
    """The hosts that clients could be on."""
    link_bits_per_s: Count | None
    """Rate of each host's link in each direction; `None`: not limited."""
    started: Moment
    """When the lab was started: ISO 8601, UTC."""
    yaml: str
    """The lab's YAML, as read; options of its command line may have changed it."""


class StudyOrigin(StoredStruct, kw_only=True, tag_field="kind", tag="study"):
    """`ioassay run` ran a study."""

    storage: str | None = None
    """The storage system of a lab that the target is: `lab:NAME/STORAGE`."""
    clients: str | None = None
    """Whose hosts were the clients: `lab:NAME`; `None`: processes on one node."""
    lab: LabEntry | None = None
    """The lab of the target or the clients."""


class FrontEndOrigin(StoredStruct, kw_only=True, tag_field="kind", tag="front-end"):
    """A front end of the engine ran a command line of another tool."""

    tool: str
    """The tool whose command line it was."""


class ImportedFile(StoredStruct, kw_only=True):
    """A file that was imported."""

    path: str
    """As it was named."""
    sha256: str
    bytes: Count


class RefusedFile(StoredStruct, kw_only=True):
    """A file that was not imported."""

    path: str
    """As it was named."""
    line: Count | None
    """The line that broke, from 1, where it is one."""
    reason: str


class PrintedScore(StoredStruct, kw_only=True):
    """A number that a benchmark printed and that follows from its phases."""

    list: Literal["standard", "extended"]
    """The list of phases that it is of."""
    name: Literal["bandwidth", "metadata", "total"]
    value: float
    half_unit: Amount
    """Half the unit of the last digit that was printed."""
    unit: str
    """As printed."""
    file: str
    line: Count


class ImportOrigin(StoredStruct, kw_only=True, tag_field="kind", tag="import"):
    """`ioassay import` read results of another tool."""

    tool: str
    """As it is typed after `ioassay import`."""
    versions: list[str]
    """The versions of the tool, as far as the files state them."""
    files: list[ImportedFile]
    refused: list[RefusedFile]
    printed: list[PrintedScore] = field(default_factory=list)


Origin = StudyOrigin | FrontEndOrigin | ImportOrigin
