"""Runs whose engines were recorded (`ioassay run --record`): where the records of their cases are. Not: reading one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ioassay.errors import UsageError
from ioassay.store import index
from ioassay.store.kinds import RECORD, RUN
from ioassay.store.run_directory import is_run, read_document
from ioassay.store.run_files import CaseFiles


class RecordedCase(NamedTuple):
    """A case of a run whose engine was recorded."""

    run: Path
    case: str


def cases_of(records: Sequence[Path]) -> list[RecordedCase]:
    """The cases of runs that records are of, each once; an engine may have a record for each of its nodes."""
    return list(dict.fromkeys(case for record in records for case in _case_of(record)))


def _case_of(record: Path) -> Iterator[RecordedCase]:
    for path in (record.absolute(), record.absolute().parent):
        run = path.parent.parent.parent
        if path == CaseFiles(run / "logs" / path.parent.name).record and is_run(run):
            yield RecordedCase(run, path.parent.name)


def records_of(paths: Sequence[Path]) -> list[Path]:
    """The records that are meant, each once: of a run those of its cases, of a folder all that are below it.

    Other paths stay: their reader refuses them. Raises `UsageError` for a run without records.
    """
    records = [record for path in paths for record in _records_of(path)]
    return list({record.absolute(): record for record in records}.values())


def _records_of(path: Path) -> list[Path]:
    if is_run(path):
        records = _of_run(path)
        if not records:
            raise _without_records(path)
        return records
    below = index.of_kind(RECORD, [path])
    runs = [run for run in index.of_kind(RUN, [path]) if is_run(run)]
    if not runs:
        return below
    records = [record for record in below if record != path] + [record for run in runs for record in _of_run(run)]
    if not records:
        raise _without_records(runs[0])
    return records


def _of_run(run: Path) -> list[Path]:
    """The records of its cases, in their order."""
    records = [CaseFiles(run / "logs" / case.id).record for case in read_document(run).cases]
    return index.of_kind(RECORD, [record for record in records if record.is_dir()])


def _without_records(run: Path) -> UsageError:
    if read_document(run).recorded:
        return UsageError(f"{run} has no record: none of its cases has begun.", "Name it again when a case has begun.")
    return UsageError(
        f"{run} is a run without records: its engines were not recorded.",
        "Repeat it with `ioassay run STUDY --record`, or name a record, as `ioassay record` printed it.",
    )
