"""A run directory that this process writes, as its cases end.

The engine appends a phase to `logs/CASE/events.jsonl` when the phase ends. The tables and `run.json` are rewritten from
there, each file atomically, whenever as many bytes have been logged as they have, and at the end: so of 10,000 cases
each writes as much as one of 100. Whatever ends a run, all finished phases are kept, and what is not in the tables yet
is taken from the logs by the process that opens the run next.

Not: deciding what to run (`execution`), reading runs (`run_directory`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import polars as pl

from ioassay.errors import UsageError
from ioassay.processes.garbage_collection import long_lived
from ioassay.store import schema
from ioassay.store.atomic import whole_directory
from ioassay.store.case_entry import stored_plan
from ioassay.store.document import CaseEntry, RunDocument
from ioassay.store.events import stored_events
from ioassay.store.ingest import Row, TableRows, Tables, empty_tables, joined_tables
from ioassay.store.loaded import LoadedRun
from ioassay.store.lock import Lock
from ioassay.store.new_directory import new_directory, refuse_occupied
from ioassay.store.run_files import (
    DOCUMENT,
    PLANS,
    WATCH,
    WATCH_DOCUMENT,
    CaseFiles,
    document_of,
    events_name,
    open_run,
    require_run,
    table_name,
)
from ioassay.store.run_rebuild import completed_tables, rebuild, take_over_started
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.stored_tables import read_tables
from ioassay.store.versions import damaged
from ioassay.store.watch_document import WatchDocument, read_watch
from ioassay.store.watched import watch_of

if TYPE_CHECKING:
    from ioassay.protocol.plan import Plan

_MOST_PLANS_BYTES = 1 << 30
"""The largest `PLANS`: 10,000 cases take some 10 MiB."""

_ALWAYS_REWRITTEN_BYTES = 1 << 18
"""Tables and `run.json` of fewer bytes are rewritten after every case."""


class RunWriter:
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
    def create(cls, path: Path, document: RunDocument, plans: Mapping[str, Plan]) -> RunWriter:
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
    def reopen(cls, path: Path) -> RunWriter:
        """Opens a run to go on with it, and completes what its last process could not write any more. The tables of
        one that was ended in order are not checked: see `repair_tables`.

        Raises `UsageError` when `path` is no run, in use, or another user's.
        """
        directory = open_run(path)
        try:
            require_run(directory)
            directory.require_own("Resume it as that user, or work on a copy (cp -r).")
            return cls._completed(directory)
        except BaseException:
            directory.close()
            raise

    @classmethod
    def _completed(cls, directory: StoredDirectory) -> RunWriter:
        held = Lock.acquire(directory)
        try:
            with long_lived():
                document = document_of(directory)
            if document.state != "running" and directory.exists(DOCUMENT):
                return cls(directory, document, None, held)
            run = cls(directory, document, completed_tables(directory, document), held)
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
        self._tables_read = rebuild(self._directory, self.document, self.document.cases)
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
        events = stored_events(self._directory, events_name(case.id))
        take_over_started(self.document, events)
        if case.id in self._in_tables:
            self._join()
            self._tables_read = {name: table.filter(pl.col("case") != case.id) for name, table in self._tables.items()}
        self._in_tables.add(case.id)
        measurements = self._new.add(case, events)
        logged = self._directory.identity(events_name(case.id))
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

    def note_watch(self, watch: WatchDocument) -> None:
        """Stores which hosts are watched while it runs."""
        self._directory.make_directory(WATCH)
        self.write(WATCH_DOCUMENT, (watch.model_dump_json(indent=2) + "\n").encode())

    @property
    def watch(self) -> WatchDocument | None:
        """The hosts that are watched while it runs, as noted. Raises `UsageError`."""
        return read_watch(self._directory)

    def loaded(self) -> LoadedRun:
        """The run as `load` would return it, once it is saved."""
        tables, samples = read_tables(self._directory, self.document)
        return LoadedRun(document=self.document, samples=samples, watch=watch_of(self._directory), **tables)

    @property
    def measurements(self) -> pl.DataFrame:
        """The measurements of all cases that have ended."""
        self._join()
        return self._tables["measurements"]

    @property
    def training(self) -> pl.DataFrame:
        """The epochs of all cases that have ended."""
        self._join()
        return self._tables["training"]

    def close(self) -> None:
        """Lets others use the run."""
        self.lock.release()
        self._directory.close()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _tables(self) -> Tables:
        """The tables of the cases that had ended when they were last joined."""
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
        """The stored plan of each case; empty for a run whose cases have theirs from the start."""
        try:
            lines = self._directory.read(PLANS, _MOST_PLANS_BYTES).split(b"\n")[:-1]
        except FileNotFoundError:
            return {}
        cases = self.document.cases
        if len(lines) != len(cases):
            raise damaged(self.path / PLANS, f"it has {len(lines)} plans, but the run has {len(cases)} cases")
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
