"""fio 2.0 to 3.42: its JSON and json+, of one machine and of clients.

`jobs` reads a document, `options` the options of a job, `latencies` decodes the bins of json+, `cases` makes a
case of it. Formats: axboe/fio (`stat.c`, `client.c`) at 2.0.10 to 3.42, and what 3.33 prints. Not: terse, normal, logs.
"""

from __future__ import annotations

from ioassay.importers.fio import cases, jobs
from ioassay.importers.json_text import documents
from ioassay.importers.model import Case, OpenSibling
from ioassay.importers.source import Refused, Source


def read(source: Source, _: OpenSibling) -> list[Case]:
    """The case of a file. Of the documents that `--status-interval` prints, the last counts. Raises `Refused`."""
    reports = [document for document in documents(source) if document.has("fio version")]
    if not reports:
        raise Refused("is not fio's JSON: no document in it has a `fio version` (fio --output-format=json)")
    return [cases.of(source, jobs.execution(source, reports[-1]))]
