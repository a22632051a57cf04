"""The run directory: one execution of a study, the only truth about it.

Written as it happens. The engine appends a phase to `logs/CASE/events.jsonl` when the phase ends; after every
case the tables and `run.json` are rewritten from there, each file atomically. So whatever ends a run, all
finished phases are kept, and what the control plane had no time to write is rebuilt from the logs by whoever
opens the run next.

Not: deciding what to run (`execution`), what the tables mean (`analysis`).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
from pydantic import ValidationError

from ioassay.errors import CannotRun, UsageError
from ioassay.results import front_ends, lock, schema
from ioassay.results.atomic import whole_directory, write_atomically
from ioassay.results.document import RUN_VERSION, CaseEntry, RunDocument, RunState, damaged, moment
from ioassay.results.events import Event, read_events
from ioassay.results.ingest import Tables, case_tables, joined_tables
from ioassay.results.loaded import LoadedRun
from ioassay.results.lock import Lock
from ioassay.results.outcome import outcome

DOCUMENT = "run.json"
REPORT = "report.html"


@dataclass(frozen=True)
class CaseFiles:
    """The files of one case, in `logs/CASE/`."""

    directory: Path

    @property
    def plan(self) -> Path:
        """What the engine is told."""
        return self.directory / "plan.json"

    @property
    def events(self) -> Path:
        """What the engine reports, as it wrote it."""
        return self.directory / "events.jsonl"

    @property
    def progress(self) -> Path:
        """Where the running phase stands; gone when the case has ended."""
        return self.directory / "progress.jsonl"

    @property
    def stderr(self) -> Path:
        """What the engine and its launcher printed."""
        return self.directory / "stderr.txt"

    def drop_passing(self) -> None:
        """Removes what is of no use once the case has ended."""
        self.progress.unlink(missing_ok=True)
        if self.stderr.exists() and self.stderr.stat().st_size == 0:
            self.stderr.unlink()

    def set_aside(self) -> None:
        """Moves an earlier attempt's files into `attempt-1`, `attempt-2`, …: evidence is kept."""
        if not self.events.exists():
            return
        attempt = self.directory / f"attempt-{1 + len(list(self.directory.glob('attempt-*')))}"
        attempt.mkdir()
        for file in (self.events, self.stderr):
            if file.exists():
                file.rename(attempt / file.name)


class RunDirectory:
    """A run directory that this process writes to. No other process can, until `close`.

    Change `document` freely; `begin`, `end` and `save` make it durable.
    """

    def __init__(self, path: Path, document: RunDocument, tables: dict[str, Tables], held: Lock) -> None:
        self.path = path
        self.document = document
        self.lock = held
        self._tables = tables

    @classmethod
    def create(cls, path: Path, document: RunDocument, plans: Mapping[str, dict[str, Any]]) -> RunDirectory:
        """Makes a new run directory with a plan per case, keyed by the case's id.

        Raises `UsageError` when `path` exists and holds anything.
        """
        refuse_occupied(path)
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path, document, {}, Lock.acquire(path))
        for case, plan in plans.items():
            files = run.files(case)
            files.directory.mkdir(parents=True)
            files.plan.write_text(json.dumps(plan, indent=2) + "\n")
        run._write_tables()
        run.save()
        return run

    @classmethod
    def reopen(cls, path: Path) -> RunDirectory:
        """Opens a run to go on with it, and completes what its last process could not write any more.

        Raises `UsageError` when `path` is no run or in use.
        """
        read_document(path)
        held = Lock.acquire(path)
        try:
            document = read_document(path)
            run = cls(path, document, _rebuild(path, document), held)
            run._write_tables()
            run.save()
        except BaseException:
            held.release()
            raise
        return run

    def files(self, case: str) -> CaseFiles:
        """The files of the case with this id."""
        return _files(self.path, case)

    def begin(self, case: CaseEntry) -> None:
        """Notes that `case` now runs. The rows of an earlier attempt stay until `end`."""
        self.files(case.id).set_aside()
        case.state, case.error = "running", None
        self.save()

    def end(self, case: CaseEntry) -> None:
        """Takes over everything that the events of `case` tell, once its state is set."""
        files = self.files(case.id)
        files.drop_passing()
        events = read_events(files.events)
        _take_over_started(self.document, events)
        self._tables[case.id] = case_tables(case, events)
        self._write_tables()
        self.save()

    def save(self) -> None:
        """Makes `run.json` what `document` is."""
        _write_document(self.path, self.document)

    def loaded(self) -> LoadedRun:
        """The run as `load` would return it."""
        return _loaded(self.document, self._joined(), _scan_table(self.path, "samples"))

    @property
    def measurements(self) -> pl.DataFrame:
        """The measurements that are stored so far."""
        empty = pl.DataFrame(schema=schema.MEASUREMENTS)
        return pl.concat([empty, *(tables["measurements"] for tables in self._tables.values())])

    def close(self) -> None:
        """Lets others use the run."""
        self.lock.release()

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _joined(self) -> Tables:
        return joined_tables(self._tables[case.id] for case in self.document.cases if case.id in self._tables)

    def _write_tables(self) -> None:
        for name, table in self._joined().items():
            _write_table(table_path(self.path, name), table)


def store(path: Path, document: RunDocument, tables: Tables) -> None:
    """Makes a run directory of a run that was measured elsewhere and is complete: as a whole, or not at all.

    Raises `UsageError` when `path` exists and holds anything.
    """
    refuse_occupied(path)
    with whole_directory(path) as whole:
        for name in schema.TABLES:
            _write_table(table_path(whole, name), tables[name])
        _write_document(whole, document)


def load(path: Path) -> LoadedRun:
    """Reads a run.

    One that was killed is completed first from its logs and shown as interrupted, and one that a front end left gets
    its document and tables from there; that is stored, where this user may write. Raises `UsageError` when `path` is no
    run, is damaged, or is of a newer version, and when it is of a front end that is still at work.
    """
    document = read_document(path)
    stored = (path / DOCUMENT).exists()
    if not stored and document.ended is None and lock.in_use(path):
        Lock.acquire(path).release()  # which says who uses it, or has waited for its last ranks
    if not stored or (document.state == "running" and not lock.in_use(path)):
        # Without the right to write, or beside another reader that does the same, memory serves as well.
        with contextlib.suppress(OSError, UsageError, CannotRun), RunDirectory.reopen(path) as run:
            return run.loaded()
        return _rebuilt(path, document)
    if all(table_path(path, name).exists() for name in schema.TABLES):
        tables = {name: _read_table(path, name) for name in schema.TABLES if name != "samples"}
        return _loaded(document, tables, _scan_table(path, "samples"))
    return _rebuilt(path, document)


def _rebuilt(path: Path, document: RunDocument) -> LoadedRun:
    tables = joined_tables(_rebuild(path, document).values())
    return _loaded(document, tables, tables["samples"].lazy())


def is_run(path: Path) -> bool:
    """True if the directory holds a run, of a study, a front end or an import."""
    return (path / DOCUMENT).exists() or front_ends.is_front_end(path)


def read_document(path: Path) -> RunDocument:
    """`run.json` of the run at `path`, or what a front end left to make one of.

    Raises `UsageError` when there is none that this version reads.
    """
    file = path / DOCUMENT
    if not file.exists() and front_ends.is_front_end(path):
        return front_ends.document(path)
    try:
        content = json.loads(file.read_bytes())
        version = content["version"]
        newer, older = version > RUN_VERSION, version < RUN_VERSION
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(
            f"{path} is not a run directory: it has no {DOCUMENT}.",
            "Name the directory that `ioassay run` printed, for example runs/20260131-120000-quick.",
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(file, error) from error
    if newer:
        raise UsageError(
            f"{file} has version {version}; this ioassay reads up to {RUN_VERSION}.",
            "Use the ioassay that made the run, or a newer one.",
        )
    if older:
        raise UsageError(
            f"{file} has version {version}; this ioassay reads version {RUN_VERSION}.",
            "Use the ioassay that made the run; `ioassay --version` of its time stands in the file.",
        )
    try:
        return _caught_up(path, RunDocument.model_validate(content))
    except ValidationError as error:
        raise damaged(file, error) from error


def _caught_up(path: Path, document: RunDocument) -> RunDocument:
    """The document, made anew where a front end has gone on since it was taken for killed.

    The locks of some cluster file systems do not reach other nodes.
    """
    if document.front_end is None or document.state != "interrupted" or not front_ends.is_front_end(path):
        return document
    now = front_ends.document(path)
    gone_on = now.ended not in (None, document.ended) or len(now.cases) > len(document.cases)
    return now if gone_on else document


def hashes(path: Path) -> dict[Path, str]:
    """The SHA-256 of `run.json` and of the table of measurements, which identify a run as evidence; of a run that could
    not be completed on disk, of those that are there.
    """
    files = (path / DOCUMENT, table_path(path, "measurements"))
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.exists()}


def refuse_occupied(path: Path) -> None:
    """Raises `UsageError` when `path` cannot become a new run directory."""
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} is not a directory.", "Name a new one with --out.")
    if (path / DOCUMENT).exists():
        raise UsageError(
            f"{path} already holds a run.",
            f"Name a new directory with --out, or go on with that run: ioassay run --resume {path}",
        )
    if any(path.iterdir()):
        raise UsageError(f"{path} is not empty.", "Name a new or an empty directory with --out.")


def table_path(path: Path, name: str) -> Path:
    """Where the table `name` of the run at `path` lies."""
    return path / f"{name}.parquet"


def now() -> str:
    """This moment as `run.json` writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _files(path: Path, case: str) -> CaseFiles:
    return CaseFiles(path / "logs" / case)


def _loaded(document: RunDocument, tables: Tables, samples: pl.LazyFrame) -> LoadedRun:
    others = {name: table for name, table in tables.items() if name != "samples"}
    return LoadedRun(document=document, samples=samples, **others)


def _rebuild(path: Path, document: RunDocument) -> dict[str, Tables]:
    """The tables of every case that has any, from the logs; settles `document` where nobody ended the run."""
    if document.imported is not None:
        raise UsageError(
            f"{path} lacks a table, and an imported run has no logs to rebuild it from.", "Import it again."
        )
    tables = {}
    ends = []
    for case, events in _logged(path, document):
        if case.state == "running":
            _settle(path, document, case, events)
        _take_over_started(document, events)
        tables[case.id] = case_tables(case, events)
        ends += [event["unix_ns"] for event in events if event["event"] == "finished"]
    if document.state == "running":
        document.state = _settled(document)
        if ends and document.ended is None:
            document.ended = moment(max(ends))
    return tables


def _logged(path: Path, document: RunDocument) -> Iterator[tuple[CaseEntry, list[Event]]]:
    for case in document.cases:
        file = _files(path, case.id).events
        if file.exists() or case.state == "running":
            yield case, read_events(file)
        elif case.state == "complete":
            raise UsageError(f"{file} is missing, and a table has to be rebuilt from it.", "Restore it from a copy.")


def _settle(path: Path, document: RunDocument, case: CaseEntry, events: list[Event]) -> None:
    """Ends a case whose control plane was killed."""
    end = outcome(events)
    case.state = end.state or "interrupted"
    case.error = end.error
    leftovers = end.leftovers
    if end.state is None and document.target_kind == "in-place":
        leftovers = front_ends.may_remain(_files(path, case.id).plan)  # the workspace would be the user's own directory
    document.leftovers = sorted({*document.leftovers, *leftovers})


def _settled(document: RunDocument) -> RunState:
    """The state of a run that has no control plane any more, by the states of its cases."""
    states = {case.state for case in document.cases}
    if document.front_end is not None and document.ended is None:
        return "interrupted"  # a front end lists its cases as they begin, so nobody knows how many were to come
    if states <= {"complete", "not needed"}:
        return "complete"
    # Only a front end says that it has ended; a study's control plane was killed, whatever its cases met.
    return "failed" if document.ended is not None and "failed" in states else "interrupted"


def _take_over_started(document: RunDocument, events: list[Event]) -> None:
    """Notes the engine and the nodes that took part, each node as it was when first seen."""
    for event in events:
        if event["event"] == "started":
            document.engine_version = event["engine_version"]
            known = {node["host"] for node in document.environment}
            document.environment += [node for node in event["nodes"] if node["host"] not in known]


def _write_document(path: Path, document: RunDocument) -> None:
    text = document.model_dump_json(indent=2) + "\n"
    write_atomically(path / DOCUMENT, lambda fresh: fresh.write_text(text))


def _write_table(file: Path, table: pl.DataFrame) -> None:
    # Through memory: polars would report a full disk as a malformed file.
    content = io.BytesIO()
    table.write_parquet(content)
    write_atomically(file, lambda fresh: fresh.write_bytes(content.getvalue()))


def _read_table(path: Path, name: str) -> pl.DataFrame:
    table = _scan_table(path, name)
    with _undamaged(table_path(path, name)):
        return table.collect()


@contextlib.contextmanager
def _undamaged(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            f"{file} is damaged: {str(error).splitlines()[0]}.",
            "Delete it: a missing table is rebuilt from the run's logs.",
        ) from error


def _scan_table(path: Path, name: str) -> pl.LazyFrame:
    """A table that is read when it is collected; its columns are checked now."""
    file = table_path(path, name)
    table = pl.scan_parquet(file)
    with _undamaged(file):
        found = table.collect_schema()
    if found != schema.TABLES[name]:
        raise UsageError(
            f"{file} does not have the columns of a run directory of version {RUN_VERSION}.",
            "Delete it: a missing table is rebuilt from the run's logs.",
        )
    return table
