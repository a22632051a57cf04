"""Reads a document by the version that it says, and refuses what this ioassay cannot read.

Not: which kinds and versions there are (`kinds`), what changed between two of them (`upgrades`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import from_json

from ioassay.errors import UsageError
from ioassay.results import protocol

Model = TypeVar("Model", bound=BaseModel)

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes a document of one version one of the next. It gets whatever a damaged document holds, and leaves what it does
not know as it is: the model refuses it.
"""

NO_UPGRADES: Mapping[int, Upgrade] = MappingProxyType({})


class Head(BaseModel):
    """What every document of a stored directory says of itself."""

    kind: str | None = Field(default=None, max_length=64)
    """`None`: of a version that did not say it."""
    version: int = Field(ge=0, le=2**31, strict=True)


def parse(
    content: bytes,
    file: Path,
    model: type[Model],
    version: int,
    remedy: str,
    *,
    kind: str | None = None,
    upgrades: Mapping[int, Upgrade] = NO_UPGRADES,
) -> Model:
    """The document in `content` of `file`, of this `version` or of one that `upgrades` lead on from.

    Raises `UsageError` for another kind, for another version, with `remedy`, and for what is damaged.
    """
    try:
        head = Head.model_validate_json(content)
        if refused := refusal(head, kind, version, upgrades):
            raise UsageError(f"{file} {refused}.", remedy)
        if head.version == version:
            return model.model_validate_json(content)
        return model.model_validate(upgraded(from_json(content), head.version, version, upgrades))
    except ValidationError as error:
        raise damaged(file, protocol.reason(error)) from error


def refusal(head: Head, kind: str | None, version: int, upgrades: Mapping[int, Upgrade]) -> str | None:
    """Why a document is not read, to be said after its name; `None` where it is."""
    if head.kind not in (None, kind):
        return f"is of the kind {head.kind}, but {kind or 'no kind'} is expected"
    if head.version == version or head.version in upgrades:
        return None
    readable = " and ".join(map(str, sorted({*upgrades, version})))
    of = f" of the kind {kind}" if kind else ""
    return f"has version {head.version}{of}; this ioassay reads version {readable}"


def upgraded(document: dict[str, Any], found: int, version: int, upgrades: Mapping[int, Upgrade]) -> dict[str, Any]:
    """A document of the version `found` as one of `version`."""
    for before in range(found, version):
        document = upgrades[before](document)
    return document


def damaged(file: Path, why: str) -> UsageError:
    """What to say of a document that cannot be understood."""
    return UsageError(f"{file} is damaged: {why}.", "Restore it from a copy.")
