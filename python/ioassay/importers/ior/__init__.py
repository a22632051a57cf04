"""IOR 2.10 to 4.1: what it prints, its JSON, its CSV, and the CSV with a row for each rank.

`text`, `document` and `table` read one form each into `tests`; `cases` makes cases of these, whatever form they had.
Formats: hpc/ior at 2.10.3 (`src/C/IOR.c`) to 4.0.0 (`src/ior-output.c`), each built and run. Not: mdtest.
"""

from __future__ import annotations

from ioassay.importers.ior import cases, document, table, text
from ioassay.importers.model import Case, OpenSibling
from ioassay.importers.source import Refused, Source


def read(source: Source, open_sibling: OpenSibling) -> list[Case]:
    """The cases of a file, one for each iteration. Raises `Refused`."""
    if table.is_by_rank(source.text):
        return list(table.only_ranks(source))
    if table.is_iterations(source.text):
        return list(cases.of(source, table.execution(source), open_sibling))
    is_document = document.is_document(source.text)
    executions = document.executions(source) if is_document else list(text.executions(source))
    if not executions:
        raise Refused("is not output of IOR: no line has its banner, `IOR-…: MPI Coordinated Test of Parallel I/O`")
    return [case for execution in executions for case in cases.of(source, execution, open_sibling)]
