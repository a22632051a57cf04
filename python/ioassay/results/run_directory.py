"""The run directory: one execution of a study, the only truth about it.

Written as it happens. The engine appends a phase to `logs/CASE/events.jsonl` when the phase ends. The tables and
`run.json` are rewritten from there, each file atomically, whenever as many bytes have been logged as they have, and at
the end: so of 10,000 cases each writes as much as one of 100. Whatever ends a run, all finished phases are kept, and
what is not in the tables yet is taken from the logs by whoever opens the run next.

Not: deciding what to run (`execution`), what the tables mean (`analysis`).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from ioassay.errors import CannotRun, UsageError
from ioassay.long_lived import long_lived
from ioassay.results import front_ends, lock, schema
from ioassay.results.atomic import whole_directory
from ioassay.results.document import (
    RUN_VERSION,
    CaseEntry,
    RunDocument,
    RunState,
    contradiction,
    damaged,
    moment,
    parse_versioned,
)
from ioassay.results.events import Event, stored_events
from ioassay.results.ingest import Inconsistent, Row, TableRows, Tables, empty_tables, joined_tables
from ioassay.results.loaded import LoadedRun
from ioassay.results.lock import Lock
from ioassay.results.outcome import outcome
from ioassay.results.planned import stored_plan
from ioassay.results.stored_directory import StoredDirectory
from ioassay.results.stored_tables import check, read_tables, table_name

DOCUMENT = "run.json"
PLANS = "logs/plans.jsonl"
"""The plans of all cases, a line each, in the order of `run.json`: `logs/CASE` is made when the case begins."""
REPORT = "report.html"

_MOST_DOCUMENT_BYTES = 256 << 20
"""Of `run.json`: 10,000 cases take 16 MiB."""
_MOST_PLANS_BYTES = 1 << 30
"""Of `PLANS`: 10,000 cases take some 10 MiB."""

_ALWAYS_REWRITTEN_BYTES = 1 << 18
"""Tables and `run.json` of fewer bytes are rewritten after every case."""

_LOOKS = 50
_LOOK_AGAIN_S = 0.05


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


class RunDirectory:
    """A run directory that this process writes to. No other process can, until `close`.

    Change `document` freely; `begin`, `end` and `save` make it durable.
    """

    def __init__(self, directory: StoredDirectory, document: RunDocument, tables: Tables | None, held: Lock) -> None:
        """`tables`: `None` where they are stored, to be read when they are needed."""
        self.path = directory.path
        self.document = document
        self.lock = held
        self._directory = directory
        self._tables_read = tables
        self._new = TableRows()
        """Not joined to them yet."""
        self._logged_bytes = 0
        """By cases that ended since the tables were written."""
        self._is_written = True
        """The tables hold all of them."""
        self._tables_bytes = 0
        """As they were written last."""
        self._document_bytes = 0

    @classmethod
    def create(cls, path: Path, document: RunDocument, plans: Mapping[str, dict[str, Any]]) -> RunDirectory:
        """Makes a new run directory with a plan per case, keyed by the case's id.

        Raises `UsageError` when `path` exists and holds anything.
        """
        directory = new_directory(path)
        run = cls(directory, document, empty_tables(), Lock.acquire(directory))
        directory.make_directory("logs")
        directory.write(PLANS, "".join(json.dumps(plans[case.id]) + "\n" for case in document.cases).encode())
        run._write_tables()
        run.save()
        return run

    @classmethod
    def reopen(cls, path: Path) -> RunDirectory:
        """Opens a run to go on with it, and completes what its last process could not write any more. The tables of
        one that was ended in order are not looked at: see `repair_tables`.

        Raises `UsageError` when `path` is no run, in use, or another user's.
        """
        directory = _open(path)
        try:
            if not directory.exists(DOCUMENT) and not front_ends.is_front_end(directory):
                raise _no_run(path)
            directory.require_own("Go on with it as that user, or copy it: cp -r.")
            return cls._completed(directory)
        except BaseException:
            directory.close()
            raise

    @classmethod
    def _completed(cls, directory: StoredDirectory) -> RunDirectory:
        held = Lock.acquire(directory)
        try:
            with long_lived():
                document = _read_document(directory)
            if document.state != "running" and directory.exists(DOCUMENT):
                return cls(directory, document, None, held)
            run = cls(directory, document, _tables(directory, document), held)
            run._write_tables()
            run.save()
        except BaseException:
            held.release()
            raise
        return run

    def repair_tables(self) -> str:
        """Rebuilds the tables from the logs where one of them is damaged or missing. What was wrong, as a sentence;
        empty where nothing was.

        Raises `UsageError` where the logs do not give them.
        """
        try:
            self._tables_read = self._tables
        except UsageError as error:
            wrong = error.message
        except FileNotFoundError as error:
            wrong = f"{error.filename} is missing."
        else:
            return ""
        self._tables_read = _rebuild(self._directory, self.document, self.document.cases)
        self._write_tables()
        return wrong

    def files(self, case: str) -> CaseFiles:
        """The files of the case with this id."""
        return CaseFiles(self.path / "logs" / case)

    def begin(self, case: CaseEntry) -> None:
        """Notes that `case` now runs. The rows of an earlier attempt stay until `end`."""
        self._write_plan(case)
        self._set_aside(case)
        again = case.state != "pending"
        case.state, case.error = "running", None
        if again:  # a first attempt is known by its directory
            self.save()

    def end(self, case: CaseEntry) -> list[Row]:
        """Takes over everything that the events of `case` tell, once its state is set. Returns its measurements."""
        self._drop_passing(case)
        events = stored_events(self._directory, _events_name(case.id))
        _take_over_started(self.document, events)
        if case.id in self._in_tables:
            self._join()
            self._tables_read = {name: table.filter(pl.col("case") != case.id) for name, table in self._tables.items()}
        self._in_tables.add(case.id)
        measurements = self._new.add(case, events)
        logged = self._directory.identity(_events_name(case.id))
        self._logged_bytes += logged.size if logged is not None else 0
        self._is_written = False
        if self._tables_bytes + self._document_bytes <= self._logged_bytes + _ALWAYS_REWRITTEN_BYTES:
            self.save()
        return measurements

    def save(self) -> None:
        """Makes the tables hold every case that has ended, and `run.json` what `document` is."""
        if not self._is_written:
            self._write_tables()
        self._document_bytes = _write_document(self._directory, self.document)

    def write(self, name: str, content: bytes, mode: int = 0o666) -> None:
        """Writes a file that is no result, such as a script."""
        self._directory.write(name, content, mode)

    def loaded(self) -> LoadedRun:
        """The run as `load` would return it, once it is saved."""
        tables, samples = read_tables(self._directory, self.document)
        return LoadedRun(document=self.document, samples=samples, **tables)

    @property
    def measurements(self) -> pl.DataFrame:
        """The measurements of all cases that have ended."""
        self._join()
        return self._tables["measurements"]

    def close(self) -> None:
        """Lets others use the run."""
        self.lock.release()
        self._directory.close()

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def _tables(self) -> Tables:
        """Those of the cases that had ended when they were last joined."""
        if self._tables_read is None:
            tables, samples = read_tables(self._directory, self.document)
            self._tables_read = tables | {"samples": samples.collect()}
        return self._tables_read

    @cached_property
    def _in_tables(self) -> set[str]:
        """Cases that have rows, in the tables or in `_new`."""
        return set(self._tables["measurements"]["case"])

    def _join(self) -> None:
        # Cases run in the order of the document, and one that is tried again is the first that is not settled.
        self._tables_read = joined_tables([self._tables, self._new.tables()])
        self._new = TableRows()

    def _write_tables(self) -> None:
        self._join()
        self._tables_bytes = sum(_write_table(self._directory, name, table) for name, table in self._tables.items())
        self._logged_bytes = 0
        self._is_written = True

    @cached_property
    def _plans(self) -> dict[str, bytes]:
        """Of each case its plan as it is stored; none of a run whose cases have theirs from the start."""
        try:
            lines = self._directory.read(PLANS, _MOST_PLANS_BYTES).split(b"\n")[:-1]
        except FileNotFoundError:
            return {}
        cases = self.document.cases
        if len(lines) != len(cases):
            raise damaged(self.path / PLANS, f"it has {len(lines)} plans, where the run has {len(cases)} cases")
        return {case.id: line for case, line in zip(cases, lines, strict=True)}

    def _write_plan(self, case: CaseEntry) -> None:
        """Makes the directory of a case with its plan. Raises `UsageError` where there is none, or a damaged one."""
        name = f"logs/{case.id}/plan.json"
        file = self.path / PLANS
        if case.id in self._plans:
            plan = stored_plan(self._plans[case.id], case.id, file)
            if plan is None:
                raise damaged(file, f"the plan of the case {case.id} is cut short")
            self._directory.make_directory(f"logs/{case.id}")
            self._directory.write(name, (json.dumps(plan, indent=2) + "\n").encode())
        elif not self._directory.exists(name):
            raise UsageError(f"{file} is missing, and the case {case.id} has no plan.", "Restore it from a copy.")

    def _drop_passing(self, case: CaseEntry) -> None:
        """Removes what is of no use once the case has ended."""
        logs = f"logs/{case.id}"
        self._directory.remove(f"{logs}/progress.jsonl")
        printed = self._directory.identity(f"{logs}/stderr.txt")
        if printed is not None and printed.size == 0:
            self._directory.remove(f"{logs}/stderr.txt")

    def _set_aside(self, case: CaseEntry) -> None:
        """Moves an earlier attempt's files into `attempt-1`, `attempt-2`, …: evidence is kept."""
        logs = f"logs/{case.id}"
        there = self._directory.names(logs)
        if "events.jsonl" not in there:
            return
        attempt = f"attempt-{1 + sum(name.startswith('attempt-') for name in there)}"
        self._directory.make_directory(f"{logs}/{attempt}")
        for name in ("events.jsonl", "stderr.txt"):
            if name in there:
                self._directory.rename(f"{logs}/{name}", f"{logs}/{attempt}/{name}")


def store(path: Path, document: RunDocument, tables: Tables) -> None:
    """Makes a run directory of a run that was measured elsewhere and is complete: as a whole, or not at all.

    Raises `UsageError` when `path` exists and holds anything.
    """
    refuse_occupied(path)
    with whole_directory(path) as whole, StoredDirectory.open(whole) as directory:
        for name in schema.TABLES:
            _write_table(directory, name, tables[name])
        _write_document(directory, document)


def load(path: Path) -> LoadedRun:
    """Reads a run: all of it as it was at one moment, whatever is written meanwhile.

    One that was killed is completed first from its logs and shown as interrupted, and one that a front end left gets
    its document and tables from there; that is stored where the directory is this user's. Raises `UsageError` when
    `path` is no run, is damaged, or is of a newer version, and when it is of a front end that is still at work.
    """
    with _open(path) as directory:
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
    raise CannotRun(f"{path} changed each time that it was read.", "Try again when nobody writes it.")


def _look(directory: StoredDirectory) -> LoadedRun:
    document = _read_document(directory)
    stored, in_use = directory.exists(DOCUMENT), lock.in_use(directory)
    if not stored and document.ended is None and in_use:
        if directory.is_own:
            Lock.acquire(directory).release()  # which says who uses it, or has waited for its last ranks
            return _look(directory)
        raise UsageError(
            f"{directory.path} is in use by a front end that is still at work.",
            "Wait until it has ended; its results are kept.",
        )
    if stored and document.state == "running" and in_use:
        # Its tables and run.json are replaced one after the other, but events are only ever appended.
        document.note_live(now())
        return _rebuilt(directory, document)
    if not stored or document.state == "running":
        # Beside another reader that does the same, or on a full disk, memory serves as well.
        if directory.is_own:
            with contextlib.suppress(OSError, UsageError, CannotRun), RunDirectory.reopen(directory.path) as run:
                return run.loaded()
        return _rebuilt(directory, document)
    try:
        tables, samples = read_tables(directory, document)
    except FileNotFoundError:
        return _rebuilt(directory, document)
    return LoadedRun(document=document, samples=samples, **tables)


def _rebuilt(directory: StoredDirectory, document: RunDocument) -> LoadedRun:
    tables = _rebuild(directory, document, document.cases)
    samples = tables.pop("samples").lazy()
    check(directory.path, document, tables, samples)
    return LoadedRun(document=document, samples=samples, **tables)


def is_run(path: Path) -> bool:
    """True if the directory holds a run, of a study, a front end or an import."""
    try:
        with StoredDirectory.open(path) as directory:
            return directory.exists(DOCUMENT) or front_ends.is_front_end(directory)
    except OSError:
        return False


def read_document(path: Path) -> RunDocument:
    """`run.json` of the run at `path`, or what a front end left to make one of.

    Raises `UsageError` when there is none that this version reads.
    """
    with _open(path) as directory:
        return _read_document(directory)


def _open(path: Path) -> StoredDirectory:
    try:
        return StoredDirectory.open(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_run(path) from error


def _no_run(path: Path) -> UsageError:
    return UsageError(
        f"{path} is not a run directory: it has no {DOCUMENT}.",
        "Name the directory that `ioassay run` printed, for example runs/20260131-120000-quick.",
    )


def _read_document(directory: StoredDirectory) -> RunDocument:
    try:
        content = directory.read(DOCUMENT, _MOST_DOCUMENT_BYTES)
    except FileNotFoundError as error:
        if front_ends.is_front_end(directory):
            return _consistent(directory.path / front_ends.NAME, front_ends.document(directory))
        raise _no_run(directory.path) from error
    file = directory.path / DOCUMENT
    document = parse_versioned(
        content, file, RunDocument, RUN_VERSION, "Use the ioassay that made the run, or a newer one."
    )
    return _caught_up(directory, _consistent(file, document))


def _consistent(file: Path, document: RunDocument) -> RunDocument:
    problem = contradiction(document)
    if problem is not None:
        raise damaged(file, problem)
    return document


def _caught_up(directory: StoredDirectory, document: RunDocument) -> RunDocument:
    """The document, made anew where a front end has gone on since it was taken for killed.

    The locks of some cluster file systems do not reach other nodes.
    """
    if document.front_end is None or document.state != "interrupted" or not front_ends.is_front_end(directory):
        return document
    now = front_ends.document(directory)
    gone_on = now.ended not in (None, document.ended) or len(now.cases) > len(document.cases)
    return _consistent(directory.path / front_ends.NAME, now) if gone_on else document


def require_own(path: Path) -> None:
    """Raises `UsageError` where nothing may be written into the run at `path`, because it is another user's."""
    with _open(path) as directory:
        directory.require_own("Name with -o where to write.")


def add_file(path: Path, name: str, content: bytes) -> None:
    """Writes a document about the run at `path` into its directory, whatever was there under that name.

    Raises `UsageError` for a run of another user, `OSError` where it cannot be written.
    """
    with _open(path) as directory:
        directory.require_own("Name with -o where to write.")
        directory.write(name, content)


def hashes(path: Path) -> dict[Path, str]:
    """The SHA-256 of `run.json` and of the table of measurements, which identify a run as evidence; of a run that could
    not be completed on disk, of those that are there.
    """
    found = {}
    with _open(path) as directory:
        for name in (DOCUMENT, table_name("measurements")):
            with contextlib.suppress(FileNotFoundError):
                content = directory.read(name, _MOST_DOCUMENT_BYTES)
                found[path / name] = hashlib.sha256(content).hexdigest()
    return found


def refuse_occupied(path: Path) -> None:
    """Raises `UsageError` when `path` cannot become a new run directory."""
    try:
        with StoredDirectory.open(path) as directory:
            _refuse_occupied(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise UsageError(f"{path} is not a directory.", "Name a new one with --out.") from error


def _refuse_occupied(directory: StoredDirectory) -> None:
    path = directory.path
    if directory.exists(DOCUMENT):
        raise UsageError(
            f"{path} already holds a run.",
            f"Name a new directory with --out, or go on with that run: ioassay run --resume {path}",
        )
    if os.listdir(directory.descriptor):
        raise UsageError(f"{path} is not empty.", "Name a new or an empty directory with --out.")
    directory.require_own("Name a new directory with --out.")


def new_directory(path: Path) -> StoredDirectory:
    """Makes `path` a directory for new results, with those above it.

    Raises `UsageError` when it exists and holds anything, or is another user's.
    """
    refuse_occupied(path)
    path.mkdir(parents=True, exist_ok=True)
    directory = StoredDirectory.open(path)
    try:
        _refuse_occupied(directory)
    except BaseException:
        directory.close()
        raise
    return directory


def table_path(path: Path, name: str) -> Path:
    """Where the table `name` of the run at `path` lies."""
    return path / table_name(name)


def now() -> str:
    """This moment as `run.json` writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _events_name(case: str) -> str:
    return f"logs/{case}/events.jsonl"


def _tables(directory: StoredDirectory, document: RunDocument) -> Tables:
    """The tables of a run whose last process was killed: as they are, and from the logs what is not in them yet."""
    try:
        tables, samples = read_tables(directory, document)
    except (FileNotFoundError, UsageError):
        return _rebuild(directory, document, document.cases)
    # The tables were written before run.json, so they hold every case that it knows to have ended. The log of the last
    # one is read again: it tells when the run ended.
    ended = [case.id for case in document.cases if case.state not in ("pending", "running", "not needed")][:-1]
    stored = tables | {"samples": samples.collect()}
    kept = {name: table.filter(pl.col("case").is_in(ended)) for name, table in stored.items()}
    known = set(ended)
    of_logs = [case for case in document.cases if case.id not in known]
    return joined_tables([kept, _rebuild(directory, document, of_logs)])


def _rebuild(directory: StoredDirectory, document: RunDocument, cases: Sequence[CaseEntry]) -> Tables:
    """The tables of `cases` from their logs; settles `document` where nobody ended the run, and those cases of a live
    one that have ended.
    """
    if document.imported is not None:
        raise UsageError(
            f"{directory.path} lacks a table, and an imported run has no logs to rebuild it from.", "Import it again."
        )
    rows = TableRows()
    ends = []
    for case, events in _logged(directory, cases):
        try:
            rows.add(case, events)
        except Inconsistent as error:
            raise damaged(directory.path / _events_name(case.id), str(error)) from error
        if case.state in ("pending", "running"):
            _settle(directory, document, case, events)
        _take_over_started(document, events)
        ends += [event["unix_ns"] for event in events if event["event"] == "finished"]
    if document.state == "running" and document.live_at is None:
        document.state = _settled(document)
        if ends and document.ended is None:
            document.ended = moment(max(ends))
    return rows.tables()


def _logged(directory: StoredDirectory, cases: Sequence[CaseEntry]) -> Iterator[tuple[CaseEntry, list[Event]]]:
    begun = set(directory.names("logs"))
    for case in cases:
        name = _events_name(case.id)
        if (case.id in begun and directory.exists(name)) or case.state == "running":
            yield case, stored_events(directory, name)
        elif case.state == "complete":
            raise UsageError(
                f"{directory.path / name} is missing, and a table has to be rebuilt from it.", "Restore it from a copy."
            )


def _settle(directory: StoredDirectory, document: RunDocument, case: CaseEntry, events: list[Event]) -> None:
    """Says how a case has ended that `run.json` has as running or not yet begun."""
    begun = directory.exists(_events_name(case.id))
    end = outcome(events, document.workspace if begun else None)
    case.state = end.state or ("interrupted" if document.live_at is None else "running")
    case.error = end.error
    if document.live_at is not None:
        return
    leftovers = end.leftovers
    if end.state is None and document.target_kind == "in-place":
        # The workspace would be the user's own directory.
        leftovers = front_ends.may_remain(directory, case.id)
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


def _write_document(directory: StoredDirectory, document: RunDocument) -> int:
    """Returns its size in bytes."""
    content = (document.model_dump_json(indent=2) + "\n").encode()
    directory.write(DOCUMENT, content)
    return len(content)


def _write_table(directory: StoredDirectory, name: str, table: pl.DataFrame) -> int:
    """Returns its size in bytes."""
    # Through memory: polars would report a full disk as a malformed file.
    content = io.BytesIO()
    table.write_parquet(content)
    directory.write(table_name(name), content.getvalue())
    return content.tell()
