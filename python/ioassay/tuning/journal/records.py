"""The lines of a journal: a header, then a record for each step. The first key of a record says what it is.

A change of what is written here needs a new `VERSION`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, StringConstraints

from ioassay.store.stored_types import Count, Moment, StoredModel
from ioassay.tuning.settings.command import Command

VERSION = 1

Text = Annotated[str, StringConstraints(max_length=1 << 16)]


class _Record(StoredModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class StoredCommand(_Record):
    """A pair of commands of the user, so that they can be rolled back without its file."""

    get: Text
    set: Text
    timeout_s: float


class Header(_Record):
    """The first line: whose journal it is."""

    kind: Literal["tuning-journal"] = "tuning-journal"
    version: Literal[1] = 1
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,64}$")]
    host: Text
    machine: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    boot_id: Text
    started: Moment
    command: list[Text]
    definitions: dict[str, StoredCommand] = Field(default_factory=dict)


class WillSet(_Record):
    """A setting is about to be changed."""

    name: Text = Field(alias="will-set")
    before: Text
    """Its value before the first change of this journal."""
    wanted: Text | None
    """`None`: it is not asked for, but may change with its leader."""
    order: Count
    leader: Text | None = None
    identity: dict[str, Text] = Field(default_factory=dict)
    moment: Moment = Field(alias="at")


class Set(_Record):
    """A setting was changed. What was read back is ours."""

    name: Text = Field(alias="set")
    read_back: Text | None
    """`None`: it is gone, with its device or with its leader's old value."""


class Failed(_Record):
    """A setting did not take the value. What it has now is as it was before the attempt."""

    name: Text = Field(alias="failed")
    why: Text


class Checked(_Record):
    """A setting was read again, and has changed since it was read last."""

    name: Text = Field(alias="checked")
    value: Text | None
    moment: Moment = Field(alias="at")


class Restored(_Record):
    """A setting has its previous value again."""

    name: Text = Field(alias="restored")


class LeftAlone(_Record):
    """A setting is not ours any more and keeps what it has."""

    name: Text = Field(alias="left-alone")
    value: Text | None = Field(alias="found")
    why: Text


class WillWrite(_Record):
    """A file that makes settings persistent is about to be written."""

    path: Text = Field(alias="will-write")
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    directories: list[Text] = Field(default_factory=list)
    """The directories that are made for it, the uppermost first."""


class Removed(_Record):
    """Such a file is removed."""

    path: Text = Field(alias="removed")


class Closed(_Record):
    """Nothing is left to put back."""

    moment: Moment = Field(alias="closed")


Record = WillSet | Set | Failed | Checked | Restored | LeftAlone | WillWrite | Removed | Closed

_RECORDS: dict[str, type[Record]] = {
    str(next(iter(kind.model_fields.values())).alias): kind for kind in get_args(Record)
}


def parsed(line: bytes, *, is_first: bool) -> Header | Record:
    """A line of the file. Raises `ValueError` with what is wrong with it."""
    document = json.loads(line)
    if not isinstance(document, dict) or not document:
        raise ValueError("not a record")
    if is_first:
        if document.get("kind") != "tuning-journal":
            raise ValueError("not the header of a tuning journal")
        if document.get("version") != VERSION:
            raise ValueError(f"version {document.get('version')} of the journal; this is ioassay for version {VERSION}")
        return Header.model_validate_json(line)
    kind = _RECORDS.get(next(iter(document)))
    if kind is None:
        raise ValueError("an unknown record")
    return kind.model_validate_json(line)


def stored(definitions: Mapping[str, Command]) -> dict[str, StoredCommand]:
    """The user's commands as they stand in a header."""
    return {
        name: StoredCommand(get=command.get, set=command.set, timeout_s=command.timeout)
        for name, command in definitions.items()
    }


def commands(header: Header) -> dict[str, Command]:
    """The user's commands that stand in a header."""
    return {
        name: Command.model_construct(get=command.get, set=command.set, timeout=command.timeout_s)
        for name, command in header.definitions.items()
    }


def now() -> str:
    """The time of a record."""
    return datetime.now(UTC).isoformat(timespec="seconds")
