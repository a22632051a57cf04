"""Run directories that are there: reading them whole, in whatever state they were left, and adding documents.

A run directory is one execution of a study or a command line, or one import, and the only truth about it. Not: its
files and its document (`run_files`), what happens to it while it runs (`run_writer`), what its tables mean.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun, UsageError
from ioassay.store import lock
from ioassay.store.document import RunDocument
from ioassay.store.kinds import RUN, recognise
from ioassay.store.loaded import LoadedRun
from ioassay.store.lock import Lock
from ioassay.store.moments import now
from ioassay.store.run_files import DOCUMENT, WATCH_DOCUMENT, document_of, open_run, table_name
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.stored_tables import check, read_tables

if TYPE_CHECKING:
    from ioassay.store.watched import Watch

_LOOKS = 50
_LOOK_AGAIN_S = 0.05


def load(path: Path) -> LoadedRun:
    """Reads a run: all of it as it was at one moment, whatever is written meanwhile.

    One that was killed is completed first from its logs and shown as interrupted, and one that a front end left gets
    its document and tables from there; that is stored where the directory is this user's. Raises `UsageError` when
    `path` is no run, is damaged, or is of a newer version, and when it is of a front end that is still at work.
    """
    with open_run(path) as directory:
        for _ in range(_LOOKS):
            seen = directory.identity(DOCUMENT)
            try:
                loaded = _look(directory)
            except (UsageError, FileNotFoundError):
                if directory.identity(DOCUMENT) == seen:
                    raise
            else:
                if loaded.document.live_at is not None or directory.identity(DOCUMENT) == seen:
                    return loaded
            time.sleep(_LOOK_AGAIN_S)
    raise CannotRun(f"{path} changed every time it was read.", "Try again when no process writes to it.")


def _look(directory: StoredDirectory) -> LoadedRun:
    document = document_of(directory)
    stored, in_use = directory.exists(DOCUMENT), lock.in_use(directory)
    if not stored and document.ended is None and in_use:
        if directory.is_own:
            Lock.acquire(directory).release()  # which says who uses it, or has waited for its last ranks
            return _look(directory)
        raise UsageError(
            f"{directory.path} is in use by a front end that is still running.",
            "Wait until it has ended; its results are kept.",
        )
    if stored and document.state == "running" and in_use:
        # Its tables and run.json are replaced one after the other, but events are only ever appended.
        document.note_live(now())
        return _rebuilt(directory, document)
    if not stored or document.state == "running":
        from ioassay.store.run_writer import RunWriter  # noqa: PLC0415  (most runs have ended)

        # Beside another reader that does the same, or on a full disk, memory serves as well.
        if directory.is_own:
            with contextlib.suppress(OSError, UsageError, CannotRun), RunWriter.reopen(directory.path) as run:
                return run.loaded()
        return _rebuilt(directory, document)
    try:
        tables, samples = read_tables(directory, document)
    except FileNotFoundError:
        return _rebuilt(directory, document)
    return LoadedRun(document=document, samples=samples, watch=_watch_of(directory), **tables)


def _rebuilt(directory: StoredDirectory, document: RunDocument) -> LoadedRun:
    from ioassay.store.run_rebuild import rebuild  # noqa: PLC0415  (most runs have their tables)

    tables = rebuild(directory, document, document.cases)
    samples = tables.pop("samples").lazy()
    check(directory.path, document, tables, samples)
    return LoadedRun(document=document, samples=samples, watch=_watch_of(directory), **tables)


def _watch_of(directory: StoredDirectory) -> Watch | None:
    """The watch of the run; `None` where it was not watched."""
    if not directory.exists(WATCH_DOCUMENT):
        return None
    from ioassay.store.watched import watch_of  # noqa: PLC0415  (few runs are watched)

    return watch_of(directory)


def is_run(path: Path) -> bool:
    """True if the directory holds a run, of a study, a front end or an import."""
    try:
        with StoredDirectory.open(path) as directory:
            return recognise(directory) is RUN
    except (OSError, UsageError):  # also where it is of a kind that a newer ioassay has
        return False


def read_document(path: Path) -> RunDocument:
    """`run.json` of the run at `path`, or what a front end left to make one of.

    Raises `UsageError` when there is none that this version reads.
    """
    with open_run(path) as directory:
        return document_of(directory)


def require_own(path: Path) -> None:
    """Raises `UsageError` where nothing may be written into the run at `path`, because it is another user's."""
    with open_run(path) as directory:
        directory.require_own("Write to another place with -o.")


def hashes(path: Path) -> dict[Path, str]:
    """The SHA-256 of `run.json` and of the table of measurements, which identify a run as evidence; of a run that could
    not be completed on disk, of those that are there.
    """
    digests = {}
    with open_run(path) as directory:
        for name in (DOCUMENT, table_name("measurements")):
            with contextlib.suppress(FileNotFoundError):
                content = directory.read(name, RUN.most_bytes)
                digests[path / name] = hashlib.sha256(content).hexdigest()
    return digests
