"""The files of a run directory, by name, and its document. `run.json` of a front end's run is made of its logs.

Not: the tables (`stored_tables`, `run_rebuild`), writing (`run_writer`).
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ioassay.errors import UsageError
from ioassay.store.document import RunDocument, contradiction
from ioassay.store.kinds import FRONT_END, RUN, recognise
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.versions import damaged

DOCUMENT = RUN.document
PLANS = "logs/plans.jsonl"
"""The plans of all cases, a line each, in the order of `run.json`: `logs/CASE` is made when the case begins."""
REPORT = "report.html"
WATCH = "watch"
"""The directory of what hosts were watched to do."""
WATCH_DOCUMENT = f"{WATCH}/watch.json"


class CaseFiles(Struct, frozen=True):
    """The files of one case, in `logs/CASE/`."""

    directory: Path

    @property
    def plan(self) -> Path:
        """The engine's input."""
        return self.directory / "plan.json"

    @property
    def events(self) -> Path:
        """The events of the engine, as it wrote them."""
        return self.directory / "events.jsonl"

    @property
    def progress(self) -> Path:
        """Where the running phase stands; gone when the case has ended."""
        return self.directory / "progress.jsonl"

    @property
    def record(self) -> Path:
        """The record of its engine, where engines are recorded."""
        return self.directory / "record"

    @property
    def stderr(self) -> Path:
        """The output of the engine and its launcher."""
        return self.directory / "stderr.txt"


def events_name(case: str) -> str:
    """The file with the events of a case, in its run directory."""
    return f"logs/{case}/events.jsonl"


def table_name(name: str) -> str:
    """The file of a table."""
    return f"{name}.parquet"


def table_path(path: Path, name: str) -> Path:
    """Where the table `name` of the run at `path` lies."""
    return path / table_name(name)


def open_run(path: Path) -> StoredDirectory:
    """Opens a directory that should be a run. Raises `UsageError` where there is none."""
    try:
        return StoredDirectory.open(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_run(path) from error


def document_of(directory: StoredDirectory) -> RunDocument:
    """`run.json`, or what a front end left to make one of.

    Raises `UsageError` when there is none that this version reads.
    """
    require_run(directory)
    file = directory.path / DOCUMENT
    try:
        document = RUN.read(directory)
    except FileNotFoundError:
        return _consistent(directory.path / FRONT_END, _of_front_end(directory))
    return _caught_up(directory, _consistent(file, document))


def _of_front_end(directory: StoredDirectory) -> RunDocument:
    from ioassay.store import front_ends  # noqa: PLC0415  (it reads plans, which few runs need)

    return front_ends.document(directory)


def require_run(directory: StoredDirectory) -> None:
    """Raises `UsageError` where the directory is not a run."""
    kind = recognise(directory)
    if kind is None:
        raise _no_run(directory.path)
    if kind is not RUN:
        raise UsageError(f"{directory.path} is not a run: its kind is {kind.name}.", _NAME_A_RUN)


_NAME_A_RUN = "Name the directory that `ioassay run` printed, for example runs/20260131-120000-quick."


def _no_run(path: Path) -> UsageError:
    return UsageError(f"{path} is not a run directory: it has no {DOCUMENT}.", _NAME_A_RUN)


def _consistent(file: Path, document: RunDocument) -> RunDocument:
    problem = contradiction(document)
    if problem is not None:
        raise damaged(file, problem)
    return document


def _caught_up(directory: StoredDirectory, document: RunDocument) -> RunDocument:
    """The document, made anew where a front end has gone on since it was taken for killed.

    The locks of some cluster file systems do not reach other nodes.
    """
    if document.front_end is None or document.state != "interrupted" or not directory.exists(FRONT_END):
        return document
    now = _of_front_end(directory)
    gone_on = now.ended not in (None, document.ended) or len(now.cases) > len(document.cases)
    return _consistent(directory.path / FRONT_END, now) if gone_on else document
