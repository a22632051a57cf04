"""IOzone 3.2xx to 3.5xx, and ioassay's front end for its command lines: throughput mode and auto mode.

`execution` splits a file and collects what applies to all tests, `throughput` and `table` read the two modes, `cases`
makes cases. Formats: IOzone's `iozone.c` at 3.414 and 3.465, both built and run. A kB is 1024 bytes (`reclen/1024`),
whether it is written kB, KB, Kbytes or kBytes. Not: the reports for Excel, which repeat the same figures, telemetry.
"""

from __future__ import annotations

from ioassay.importers.iozone import cases, table, throughput
from ioassay.importers.iozone.execution import executions
from ioassay.importers.model import Case, OpenSibling
from ioassay.importers.source import Refused, Source


def read(source: Source, _: OpenSibling) -> list[Case]:
    """The cases of a file: one for each number of children, or for each row of the table. Raises `Refused`."""
    all_cases: list[Case] = []
    for execution in executions(source):
        groups, rows = throughput.groups(execution), table.rows(execution)
        if not groups and not rows and execution.interrupted:
            raise Refused("has no result: IOzone was interrupted before the first was whole", execution.interrupted)
        if not groups and not rows and execution.is_whole_output:
            raise Refused("has no result: IOzone ended, or its output was cut off, before the first", execution.line)
        all_cases += [cases.of_group(source, execution, group) for group in groups]
        all_cases += [cases.of_row(source, execution, row) for row in rows]
    if not all_cases:
        raise Refused("is not output of IOzone: it has no `Children see throughput for` and no table with `reclen`")
    return all_cases
