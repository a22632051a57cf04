"""The tables of a run from the logs of its cases, and how a run has ended that nobody could bring to its end.

The logs are what the engine wrote; the tables are made of them, so whatever ends a control plane, nothing is lost. Not:
writing anything (`run_writer`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from ioassay.errors import UsageError
from ioassay.store.document import CaseEntry, RunDocument
from ioassay.store.events import stored_events
from ioassay.store.ingest import Inconsistent, TableRows, Tables, joined_tables
from ioassay.store.moments import moment
from ioassay.store.outcome import outcome
from ioassay.store.run_files import events_name
from ioassay.store.states import RunState
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.stored_tables import read_tables
from ioassay.store.versions import damaged

if TYPE_CHECKING:
    from ioassay.protocol.event import Event


def completed_tables(directory: StoredDirectory, document: RunDocument) -> Tables:
    """The tables of a run whose last process was killed: as they are, and from the logs what is not in them yet."""
    try:
        tables, samples = read_tables(directory, document)
    except (FileNotFoundError, UsageError):
        return rebuild(directory, document, document.cases)
    # The tables were written before run.json, so they hold every case that it knows to have ended. The log of the last
    # one is read again: it tells when the run ended.
    ended = [case.id for case in document.cases if case.state not in ("pending", "running", "not needed")][:-1]
    stored = tables | {"samples": samples.collect()}
    kept = {name: table.filter(pl.col("case").is_in(ended)) for name, table in stored.items()}
    known = set(ended)
    of_logs = [case for case in document.cases if case.id not in known]
    return joined_tables([kept, rebuild(directory, document, of_logs)])


def rebuild(directory: StoredDirectory, document: RunDocument, cases: Sequence[CaseEntry]) -> Tables:
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
            raise damaged(directory.path / events_name(case.id), str(error)) from error
        if case.state in ("pending", "running"):
            _settle(directory, document, case, events)
        take_over_started(document, events)
        ends += [event["unix_ns"] for event in events if event["event"] == "finished"]
    if document.state == "running" and document.live_at is None:
        document.state = _settled(document)
        if ends and document.ended is None:
            document.ended = moment(max(ends))
    return rows.tables()


def _logged(directory: StoredDirectory, cases: Sequence[CaseEntry]) -> Iterator[tuple[CaseEntry, list[Event]]]:
    begun = set(directory.names("logs"))
    for case in cases:
        name = events_name(case.id)
        if (case.id in begun and directory.exists(name)) or case.state == "running":
            yield case, stored_events(directory, name)
        elif case.state == "complete":
            raise UsageError(
                f"{directory.path / name} is missing, and a table has to be rebuilt from it.", "Restore it from a copy."
            )


def _settle(directory: StoredDirectory, document: RunDocument, case: CaseEntry, events: list[Event]) -> None:
    """Says how a case has ended that `run.json` has as running or not yet begun."""
    begun = directory.exists(events_name(case.id))
    end = outcome(events, document.workspace if begun else None)
    case.state = end.state or ("interrupted" if document.live_at is None else "running")
    case.error = end.error
    if document.live_at is not None:
        return
    leftovers = end.leftovers
    if end.state is None and document.target_kind == "in-place":
        # The workspace would be the user's own directory.
        from ioassay.store import front_ends  # noqa: PLC0415  (it loads pydantic, and few runs are a front end's)

        leftovers = front_ends.may_remain(directory, case.id)
    document.leftovers = sorted({*document.leftovers, *leftovers})


def _settled(document: RunDocument) -> RunState:
    """The state of a run that has no control plane any more, by the states of its cases."""
    states = {case.state for case in document.cases}
    if document.front_end is not None and document.ended is None:
        return "interrupted"  # a front end lists its cases as they begin, so the number of further cases is unknown
    if states <= {"complete", "not needed"}:
        return "complete"
    # Only a front end says that it has ended; a study's control plane was killed, whatever its cases met.
    return "failed" if document.ended is not None and "failed" in states else "interrupted"


def take_over_started(document: RunDocument, events: list[Event]) -> None:
    """Notes the engine and the nodes that took part, each node as it was when first seen."""
    for event in events:
        if event["event"] == "started":
            document.engine_version = event["engine_version"]
            known = {node["host"] for node in document.environment}
            document.environment += [node for node in event["nodes"] if node["host"] not in known]
