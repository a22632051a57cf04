"""The kinds of stored directories: what recognises each, in which version it is written, and what reads it.

A directory of the kind `run` holds `run.json`, which says the kind and its version; so does every other. Not: what a
document means, the tables beside it, finding directories (`index`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic

from ioassay.errors import UsageError
from ioassay.store import json_head, summary, upgrades
from ioassay.store.json_head import HEAD_BYTES, Fields
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.summary import Summary
from ioassay.store.versions import NO_UPGRADES, Model, Upgrade, damaged, parse, read_head, refusal, upgraded

if TYPE_CHECKING:
    from ioassay.store.document import RunDocument
    from ioassay.store.net_document import NetDocument
    from ioassay.store.record_document import RecordDocument
    from ioassay.store.sweep_document import SweepDocument
    from ioassay.store.tune_io500_document import TuneIo500Document

FRONT_END = "front-end.json"
"""The document that a front end of the engine leaves in the directory of its run: see `front_ends`."""

_SUFFIX = ".json"


@dataclass(frozen=True)
class Kind(Generic[Model]):
    """A kind of stored directory."""

    name: str
    place: str
    """The model of its document, whose first fields are those of its summary. It is loaded when a document is read
    as a whole: the index reads none.
    """
    summarise: Callable[[Fields], Summary]
    """The summary from the beginning of a document. Raises `ValueError` where it lacks something."""
    version: int
    upgrades: Mapping[int, Upgrade]
    """From each older version that is still read to the next."""
    most_bytes: int
    """The largest document that is read."""
    remedy: str
    """The remedy where another version wrote it."""

    @property
    def model(self) -> type[Model]:
        """The model of its document."""
        model: type[Model] = resolve_name(self.place)
        return model

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
        """The summary of its document, of which the beginning is read. Raises as `read`."""
        file = directory.path / self.document
        with directory.open_file(self.document, self.most_bytes) as opened:
            content = opened.read(HEAD_BYTES)
            if len(content) == HEAD_BYTES:
                try:
                    return self._summary(json_head.beginning(content), file)
                except ValueError:  # the rest is needed, or shows what is wrong
                    content += opened.read(self.most_bytes)
        try:
            return self._summary(json_head.whole(content), file)
        except ValueError as error:
            raise damaged(file, str(error)) from error

    def _summary(self, document: Any, file: Path) -> Summary:
        """Raises `ValueError` where `document` lacks something."""
        head = read_head(document)
        if refused := refusal(head, self.name, self.version, self.upgrades):
            raise UsageError(f"{file} {refused}.", self.remedy)
        return self.summarise(Fields(upgraded(document, head.version, self.version, self.upgrades)))


RUN: Kind[RunDocument] = Kind(
    name="run",
    place="ioassay.store.document:RunDocument",
    summarise=summary.of_run,
    version=4,
    upgrades={2: upgrades.run_from_2, 3: upgrades.run_from_3},
    most_bytes=256 << 20,  # 10,000 cases take 16 MiB
    remedy="Use the ioassay that made the run, or a newer one.",
)
NET: Kind[NetDocument] = Kind(
    name="net",
    place="ioassay.store.net_document:NetDocument",
    summarise=summary.of_net,
    version=2,
    upgrades={1: upgrades.net_from_1},
    most_bytes=64 << 20,
    remedy="Use the ioassay that made it, or measure again.",
)
RECORD: Kind[RecordDocument] = Kind(
    name="record",
    place="ioassay.store.record_document:RecordDocument",
    summarise=summary.of_record,
    version=1,
    upgrades=NO_UPGRADES,
    most_bytes=64 << 20,
    remedy="Use the ioassay that recorded it, or record again.",
)

SWEEP: Kind[SweepDocument] = Kind(
    name="sweep",
    place="ioassay.store.sweep_document:SweepDocument",
    summarise=summary.of_sweep,
    version=1,
    upgrades=NO_UPGRADES,
    most_bytes=64 << 20,
    remedy="Use the ioassay that made the sweep, or a newer one.",
)

TUNE_IO500: Kind[TuneIo500Document] = Kind(
    name="tune-io500",
    place="ioassay.store.tune_io500_document:TuneIo500Document",
    summarise=summary.of_tune_io500,
    version=1,
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
    if directory.exists(FRONT_END):
        return RUN
    for name in directory.names():
        if name.endswith(_SUFFIX) and _stated_kind(directory, name) == name.removesuffix(_SUFFIX):
            raise UsageError(
                f"{directory.path} is of the kind {name.removesuffix(_SUFFIX)}, which this ioassay does not know "
                f"({', '.join(kind.name for kind in KINDS)}).",
                "Use the ioassay that made it, or a newer one.",
            )
    return None


def _stated_kind(directory: StoredDirectory, name: str) -> str | None:
    """The kind that a document says it is of, where it looks like one of ours."""
    try:
        with directory.open_file(name, RUN.most_bytes) as file:
            return read_head(json_head.beginning(file.read(HEAD_BYTES))).kind
    except (UsageError, OSError, ValueError):
        return None
