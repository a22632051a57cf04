"""mdtest 1.9 to 4.1: what it prints, and the CSV with a row for each rank.

Formats: MDTEST-LANL/mdtest at 1.9.4 (`old/mdtest.c`), hpc/ior at 3.2.1 to 4.0.0 (`src/mdtest.c`), each built and run.
Not: IOR.
"""

from __future__ import annotations

from ioassay.importers.mdtest import cases, iterations, table, text
from ioassay.importers.model import Case, OpenSibling
from ioassay.importers.source import Refused, Source


def read(source: Source, open_sibling: OpenSibling) -> list[Case]:
    """The cases of a file, one for each execution. Raises `Refused`."""
    if table.is_by_rank(source.text):
        return [table.only_ranks(source)]
    executions = list(text.executions(source))
    if not executions:
        raise Refused("is not output of mdtest: no line says `mdtest-… was launched with … total task(s)`")
    return [
        # A table by rank has only the first iteration.
        cases.of(source, iteration, open_sibling if iteration is first else lambda _: None)
        for first, *rest in map(iterations.one_by_one, executions)
        for iteration in (first, *rest)
    ]
