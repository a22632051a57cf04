"""fio 2.0 to 3.42: its JSON and json+, of one machine and of clients.

`jobs` reads a document, `options` says what a job was told, `latencies` undoes the coding of json+, `cases` makes a
case of it. Formats: axboe/fio (`stat.c`, `client.c`) at 2.0.10 to 3.42, and what 3.33 prints. Not: terse, normal, logs.
"""

from __future__ import annotations

from ioassay.importers.fio import cases, jobs
from ioassay.importers.json_text import documents
from ioassay.importers.model import Beside, Case
from ioassay.importers.source import Refused, Source


def read(source: Source, _: Beside) -> list[Case]:
    """The case of a file. Of the documents that `--status-interval` leaves, the last counts. Raises `Refused`."""
    found = [told for told in documents(source) if told.has("fio version")]
    if not found:
        raise Refused("is not fio's JSON: no document in it has a `fio version` (fio --output-format=json)")
    return [cases.of(source, jobs.execution(source, found[-1]))]
