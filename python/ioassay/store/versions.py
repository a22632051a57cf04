"""Reads a document by the version that it says, and refuses what this ioassay cannot read.

Not: which kinds and versions there are (`kinds`), what changed between two of them (`upgrades`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ioassay.errors import UsageError
from ioassay.store import json_head

if TYPE_CHECKING:
    from typing import Protocol, Self

    class StoredDocument(Protocol):
        """A `StoredModel` or a `StoredStruct`."""

        @classmethod
        def model_validate_json(cls, content: str | bytes, /) -> Self:
            """The document in a text. Raises `ValueError`."""

        @classmethod
        def model_validate(cls, value: Any, /) -> Self:
            """The document in plain dicts and lists. Raises `ValueError`."""

        def model_dump_json(self, *, indent: int | None = None) -> str:
            """Its text."""


Model = TypeVar("Model", bound="StoredDocument")

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes a document of one version one of the next. It gets whatever a damaged document holds, and leaves what it does
not know as it is: the model refuses it.
"""

NO_UPGRADES: Mapping[int, Upgrade] = MappingProxyType({})


_LONGEST_KIND = 64
_HIGHEST_VERSION = 2**31


class Head(NamedTuple):
    """The first fields of every document of a stored directory."""

    kind: str | None
    """`None`: of a version that did not say it."""
    version: int


def read_head(document: Any) -> Head:
    """The first fields of a document. Raises `ValueError` where they are missing, or not sensible."""
    fields = json_head.Fields(document)
    kind = fields.text_or_none("kind")
    if kind is not None and len(kind) > _LONGEST_KIND:
        raise ValueError(f"kind: a name of at most {_LONGEST_KIND} characters is expected")
    return Head(kind, fields.count("version", _HIGHEST_VERSION))


def _head_of(content: bytes) -> Head:
    """The first fields of the document in `content`. Raises `ValueError`."""
    if len(content) > json_head.HEAD_BYTES:
        try:
            return read_head(json_head.beginning(content[: json_head.HEAD_BYTES]))
        except ValueError:  # it says it later, or shows there what is wrong
            pass
    return read_head(json_head.whole(content))


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
        head = _head_of(content)
        if refused := refusal(head, kind, version, upgrades):
            raise UsageError(f"{file} {refused}.", remedy)
        if head.version == version:
            return model.model_validate_json(content)
        return model.model_validate(upgraded(json_head.whole(content), head.version, version, upgrades))
    except ValueError as error:
        raise damaged(file, _reason(error)) from error


def _reason(error: ValueError) -> str:
    if not hasattr(error, "errors"):
        return str(error)
    from ioassay.store import protocol  # noqa: PLC0415

    return protocol.reason(error)  # type: ignore[arg-type]  # pydantic's, which loading it for its type would cost


def refusal(head: Head, kind: str | None, version: int, upgrades: Mapping[int, Upgrade]) -> str | None:
    """Why a document is not read, to be said after its name; `None` where it is."""
    if head.kind not in (None, kind):
        return f"is of the kind {head.kind}, but {kind or 'no kind'} is expected"
    if head.version == version or head.version in upgrades:
        return None
    readable = " and ".join(map(str, sorted({*upgrades, version})))
    of = f" of the kind {kind}" if kind else ""
    return f"has version {head.version}{of}; this ioassay reads version {readable}"


def upgraded(
    document: dict[str, Any], stored_version: int, version: int, upgrades: Mapping[int, Upgrade]
) -> dict[str, Any]:
    """A document of the version `found` as one of `version`."""
    for before in range(stored_version, version):
        document = upgrades[before](document)
    return document


def damaged(file: Path, why: str) -> UsageError:
    """The error of a document that cannot be understood."""
    return UsageError(f"{file} is damaged: {why}.", "Restore it from a copy.")
