"""Runs whose engines were recorded (`ioassay run --record`): where the records of their cases are. Not: reading one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.results import index
from ioassay.results.kinds import RECORD, RUN
from ioassay.results.run_directory import is_run, read_document
from ioassay.results.run_files import CaseFiles


@dataclass(frozen=True)
class RecordedCase:
    """A case of a run whose engine was recorded."""

    run: Path
    case: str
    records: tuple[Path, ...]


def records_of(paths: Sequence[Path]) -> list[Path]:
    """The records that are meant, each once: of a run those of its cases, of a folder all that are below it.

    What is none of these stays, for whoever reads it to refuse. Raises `UsageError` for a run without records.
    """
    found = [record for path in paths for record in _records_of(path)]
    return list({record.absolute(): record for record in found}.values())


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
    return [record for case in cases(run) for record in case.records]


def cases(run: Path) -> Iterator[RecordedCase]:
    """The cases of a run that have a record, in their order. Raises `UsageError` where the run cannot be read."""
    for case in read_document(run).cases:
        record = CaseFiles(run / "logs" / case.id).record
        if record.is_dir():
            yield RecordedCase(run, case.id, tuple(index.of_kind(RECORD, [record])))


def _without_records(run: Path) -> UsageError:
    if read_document(run).recorded:
        return UsageError(f"{run} has no record: none of its cases has begun.", "Name it again when a case has begun.")
    return UsageError(
        f"{run} is a run without records: its engines were not recorded.",
        "Repeat it with `ioassay run STUDY --record`, or name a record, as `ioassay record` printed it.",
    )
