"""The kinds of stored directories: what recognises each, in which version it is written, and what reads it.

A directory of the kind `run` holds `run.json`, which says the kind and its version; so does every other. Not: what a
document means, the tables beside it, finding directories (`index`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from pydantic import ValidationError
from pydantic_core import from_json

from ioassay.errors import UsageError
from ioassay.results import front_ends, protocol, upgrades
from ioassay.results.document import RUN_VERSION, RunDocument
from ioassay.results.net_document import NET_VERSION, NetDocument
from ioassay.results.record_document import RECORD_VERSION, RecordDocument
from ioassay.results.stored_directory import StoredDirectory
from ioassay.results.summary import (
    HEAD_BYTES,
    NetHead,
    RecordHead,
    RunHead,
    Summary,
    SummaryHead,
    SweepHead,
    TuneIo500Head,
)
from ioassay.results.sweep_document import SWEEP_VERSION, SweepDocument
from ioassay.results.tune_io500_document import TUNE_IO500_VERSION, TuneIo500Document
from ioassay.results.versions import NO_UPGRADES, Head, Model, Upgrade, damaged, parse, refusal, upgraded

_SUFFIX = ".json"


@dataclass(frozen=True)
class Kind(Generic[Model]):
    """A kind of stored directory."""

    name: str
    model: type[Model]
    """Of its document, whose first fields are those of `head`."""
    head: type[SummaryHead]
    version: int
    upgrades: Mapping[int, Upgrade]
    """From each older version that is still read to the next."""
    most_bytes: int
    """Of its document. More are not read."""
    remedy: str
    """What helps where another version wrote it."""

    @property
    def document(self) -> str:
        """The file that says what the directory is."""
        return self.name + _SUFFIX

    def parse(self, content: bytes, file: Path) -> Model:
        """The document in `content` of `file`. Raises `UsageError` for another kind or version and for damage."""
        return parse(content, file, self.model, self.version, self.remedy, kind=self.name, upgrades=self.upgrades)

    def read(self, directory: StoredDirectory) -> Model:
        """Its document. Raises `UsageError` as `parse`, `FileNotFoundError` where there is none."""
        return self.parse(directory.read(self.document, self.most_bytes), directory.path / self.document)

    def summary(self, directory: StoredDirectory) -> Summary:
        """What its document says in short, of which the beginning is read. Raises as `read`."""
        file = directory.path / self.document
        with directory.open_file(self.document, self.most_bytes) as opened:
            content = opened.read(HEAD_BYTES)
            if len(content) == HEAD_BYTES:
                try:
                    return self._summary(from_json(content, allow_partial=True), file)
                except ValueError:  # the rest is needed, or shows what is wrong
                    content += opened.read(self.most_bytes)
        try:
            return self._summary(from_json(content), file)
        except ValidationError as error:
            raise damaged(file, protocol.reason(error)) from error
        except ValueError as error:
            raise damaged(file, str(error)) from error

    def _summary(self, document: Any, file: Path) -> Summary:
        """Raises `ValueError` where `document` lacks something."""
        head = Head.model_validate(document)
        if refused := refusal(head, self.name, self.version, self.upgrades):
            raise UsageError(f"{file} {refused}.", self.remedy)
        return self.head.model_validate(upgraded(document, head.version, self.version, self.upgrades)).summary


RUN = Kind(
    name="run",
    model=RunDocument,
    head=RunHead,
    version=RUN_VERSION,
    upgrades={2: upgrades.run_from_2, 3: upgrades.run_from_3},
    most_bytes=256 << 20,  # 10,000 cases take 16 MiB
    remedy="Use the ioassay that made the run, or a newer one.",
)
NET = Kind(
    name="net",
    model=NetDocument,
    head=NetHead,
    version=NET_VERSION,
    upgrades={1: upgrades.net_from_1},
    most_bytes=64 << 20,
    remedy="Use the ioassay that made it, or measure again.",
)
RECORD = Kind(
    name="record",
    model=RecordDocument,
    head=RecordHead,
    version=RECORD_VERSION,
    upgrades=NO_UPGRADES,
    most_bytes=64 << 20,
    remedy="Use the ioassay that recorded it, or record again.",
)

SWEEP = Kind(
    name="sweep",
    model=SweepDocument,
    head=SweepHead,
    version=SWEEP_VERSION,
    upgrades=NO_UPGRADES,
    most_bytes=64 << 20,
    remedy="Use the ioassay that made the sweep, or a newer one.",
)

TUNE_IO500 = Kind(
    name="tune-io500",
    model=TuneIo500Document,
    head=TuneIo500Head,
    version=TUNE_IO500_VERSION,
    upgrades=NO_UPGRADES,
    most_bytes=64 << 20,
    remedy="Use the ioassay that made it, or a newer one.",
)

KINDS: tuple[Kind[Any], ...] = (RUN, NET, RECORD, SWEEP, TUNE_IO500)


def recognise(directory: StoredDirectory) -> Kind[Any] | None:
    """The kind of a stored directory; `None` for any other directory.

    What a front end left is a run, whose document is made when it is loaded. Raises `UsageError` for a kind that this
    ioassay does not know.
    """
    for kind in KINDS:
        if directory.exists(kind.document):
            return kind
    if front_ends.is_front_end(directory):
        return RUN
    for name in directory.names():
        if name.endswith(_SUFFIX) and _says(directory, name) == name.removesuffix(_SUFFIX):
            raise UsageError(
                f"{directory.path} is of the kind {name.removesuffix(_SUFFIX)}, which this ioassay does not know "
                f"({', '.join(kind.name for kind in KINDS)}).",
                "Use the ioassay that made it, or a newer one.",
            )
    return None


def _says(directory: StoredDirectory, name: str) -> str | None:
    """The kind that a document says it is of, where it looks like one of ours."""
    try:
        with directory.open_file(name, RUN.most_bytes) as file:
            return Head.model_validate(from_json(file.read(HEAD_BYTES), allow_partial=True)).kind
    except (UsageError, OSError, ValueError):
        return None
