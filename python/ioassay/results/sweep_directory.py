"""The directory of a sweep: `sweep.json`, and in `runs/` a run directory for each measurement.

One process at a time writes to it, held by a lock as runs are. Not: what is in the document.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from ioassay.errors import UsageError
from ioassay.results.kinds import SWEEP
from ioassay.results.lock import Lock
from ioassay.results.new_directory import new_directory
from ioassay.results.stored_directory import StoredDirectory
from ioassay.results.sweep_document import RUNS, SweepDocument


class SweepDirectory:
    """The directory of a sweep that this process writes to."""

    def __init__(self, directory: StoredDirectory, lock: Lock, document: SweepDocument) -> None:
        self._directory = directory
        self._lock = lock
        self.path = directory.path
        self.document = document

    @classmethod
    def create(cls, path: Path, document: SweepDocument) -> SweepDirectory:
        """Makes it. Raises `UsageError` when `path` exists and holds anything."""
        directory = new_directory(path)
        lock = Lock.acquire(directory)
        directory.make_directory(RUNS)
        made = cls(directory, lock, document)
        made.save()
        return made

    @classmethod
    def reopen(cls, path: Path) -> SweepDirectory:
        """Opens one to go on with it. Raises `UsageError` for what is none, and while another process is at work."""
        directory = _open(path)
        try:
            directory.require_own("Resume it as that user.")
            lock = Lock.acquire(directory)
            return cls(directory, lock, SWEEP.read(directory))
        except BaseException:
            directory.close()
            raise

    def __enter__(self) -> SweepDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()
        self._directory.close()

    def run(self, name: str) -> Path:
        """Where the run of that name is, or will be."""
        return self.path / RUNS / name

    def save(self) -> None:
        """Makes `sweep.json` what `document` is."""
        self._directory.write(SWEEP.document, (self.document.model_dump_json(indent=2) + "\n").encode())

    def write(self, name: str, content: bytes) -> None:
        """Writes a document about the sweep beside it."""
        self._directory.write(name, content)


def read_sweep(path: Path) -> SweepDocument:
    """`sweep.json` of the directory `path`. Raises `UsageError` when there is none that this version reads."""
    with _open(path) as directory:
        return SWEEP.read(directory)


def _open(path: Path) -> StoredDirectory:
    try:
        directory = StoredDirectory.open(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"{path} is no directory.", _REMEDY) from error
    if not directory.exists(SWEEP.document):
        directory.close()
        raise UsageError(f"{path} holds no sweep.", _REMEDY)
    return directory


_REMEDY = "Name the directory that `ioassay tune sweep` printed."
