"""The directory of an experiment: its document, and in `runs/` a run directory for each measurement.

One process at a time writes to it, held by a lock as runs are. Not: what is in the document.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, Self

from ioassay.errors import UsageError
from ioassay.store.experiment_document import RUNS
from ioassay.store.kinds import Kind
from ioassay.store.lock import Lock
from ioassay.store.new_directory import new_directory
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.versions import Model


class ExperimentDirectory(Generic[Model]):
    """The directory of an experiment that this process writes to. A class of each kind says which kind that is."""

    kind: ClassVar[Kind[Any]]
    noun: ClassVar[str]
    """The noun for its contents, in a message."""
    remedy: ClassVar[str]

    def __init__(self, directory: StoredDirectory, lock: Lock, document: Model) -> None:
        self._directory = directory
        self._lock = lock
        self.path = directory.path
        self.document = document

    @classmethod
    def create(cls, path: Path, document: Model) -> Self:
        """Makes it. Raises `UsageError` when `path` exists and holds anything."""
        directory = new_directory(path)
        lock = Lock.acquire(directory)
        directory.make_directory(RUNS)
        experiment = cls(directory, lock, document)
        experiment.save()
        return experiment

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Opens one to go on with it. Raises `UsageError` for what is none, and while another process is at work."""
        directory = cls._open(path)
        try:
            directory.require_own("Resume it as that user.")
            lock = Lock.acquire(directory)
            return cls(directory, lock, cls.kind.read(directory))
        except BaseException:
            directory.close()
            raise

    @classmethod
    def read(cls, path: Path) -> Model:
        """The document of the directory `path`. Raises `UsageError` when there is none that this version reads."""
        with cls._open(path) as directory:
            document: Model = cls.kind.read(directory)
            return document

    @classmethod
    def _open(cls, path: Path) -> StoredDirectory:
        try:
            directory = StoredDirectory.open(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UsageError(f"{path} is no directory.", cls.remedy) from error
        if not directory.exists(cls.kind.document):
            directory.close()
            raise UsageError(f"{path} holds no {cls.noun}.", cls.remedy)
        return directory

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        self._directory.close()

    def run(self, name: str) -> Path:
        """Where the run of that name is, or will be."""
        return self.path / RUNS / name

    def new_run(self, name: str) -> Path:
        """Where the next run goes: its name tells it from those of measurements that were interrupted."""
        while (path := self.run(name)).exists():
            name += "-again"
        return path

    def save(self) -> None:
        """Makes the stored document what `document` is."""
        self._directory.write(self.kind.document, (self.document.model_dump_json(indent=2) + "\n").encode())

    def write(self, name: str, content: bytes) -> None:
        """Writes a document about the experiment beside it."""
        self._directory.write(name, content)
