"""IOR's CSV of 4.0 and later: a row for each iteration, or a row for each rank of each iteration.

Neither tells how IOR was called, so what the numbers mean remains open; the second is more useful beside the text whose
command line names it.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ioassay.results.importers.ior.tests import ACCESSES, Access, Execution, RankRow, Row, Test
from ioassay.results.importers.model import Case, Measured, Rank, Setting
from ioassay.results.importers.numbers import NS_PER_S, Printed
from ioassay.results.importers.source import Refused, Source

_BY_RANK = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput"
_ITERATIONS = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"


def is_by_rank(text: str) -> bool:
    """True for the CSV with a row for each rank."""
    return text.startswith(_BY_RANK)


def is_iterations(text: str) -> bool:
    """True for the CSV with a row for each iteration. What a verbose IOR prints may stand before and between."""
    return text.startswith("access,bw(MiB/s)") or "\naccess,bw(MiB/s)" in text


def execution(source: Source) -> Execution:
    """The execution of a CSV with a row for each iteration. Raises `Refused`."""
    test = Test(0, 1)
    header: list[str] = []
    for number, line in enumerate(source.lines, start=1):
        values = line.split(",")
        if values[0] == "access":
            header = values
            if line.strip() != _ITERATIONS:
                raise Refused("has the columns of no known version of IOR", number)
        elif header and values[0] in ACCESSES:
            test.rows.append(_row(dict(zip(header, values, strict=False)), len(values) == len(header), number, test))
    if not test.rows:
        raise Refused("has a header and no result", 1)
    return Execution(1, None, tests=[test])


def _row(values: Mapping[str, str], is_whole: bool, line: int, test: Test) -> Row:
    if not is_whole or not values["iter"].strip().isdigit() or not values["numTasks"].isdigit():
        raise Refused("has a row that does not fit its header", line)
    test.tasks = int(values["numTasks"])
    test.block_bytes = round(Printed.of(values["block(KiB)"], line).value * 1024)
    test.transfer_bytes = round(Printed.of(values["xfer(KiB)"], line).value * 1024)
    return Row(
        line,
        ACCESSES[values["access"]],
        int(values["iter"]),
        Printed.of(values["bw(MiB/s)"], line, "bw(MiB/s)"),
        Printed.of(values["total(s)"], line, "total(s)"),
    )


def by_rank(source: Source) -> dict[tuple[Access, int], list[RankRow]]:
    """What each rank did, by access and iteration: a rank's second row of an access is its second iteration.

    Raises `Refused`.
    """
    found: dict[tuple[Access, int], list[RankRow]] = {}
    times: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(csv.reader(source.lines), start=1):
        if not row or row[0] == "access":
            continue
        if len(row) != len(_BY_RANK.split(",")) or row[0] not in ACCESSES or not row[1].isdigit():
            raise Refused("has a row that does not fit its header", number)
        with_open, transfer, rate, _ = (Printed.of(text, number) for text in row[2:])
        access = ACCESSES[row[0]]
        found.setdefault((access, times[row[0], row[1]]), []).append(
            RankRow(
                number, int(row[1]), with_open.nanoseconds, transfer.nanoseconds, round(rate.value * with_open.value)
            )
        )
        times[row[0], row[1]] += 1
    if not found:
        raise Refused("has a header and no result", 1)
    return found


def ranks(rows: Sequence[RankRow]) -> list[Rank]:
    """The rows as the tables have them."""
    return [Rank(rank=row.rank, end_ns=row.with_open_ns, transfer_ns=row.transfer_ns, bytes=row.bytes) for row in rows]


def only_ranks(source: Source) -> Iterator[Case]:
    """Cases of a CSV by rank whose text is not there: all that they moved over the time of the slowest."""
    found = by_rank(source)
    for iteration in sorted({number for _, number in found}):
        yield Case(
            tool_version=None,
            settings=[Setting(name="file", value=source.path.stem)],
            amount="",
            clients=None,
            ranks=max(len(rows) for (_, number), rows in found.items() if number == iteration),
            measured=[_sum(source, access, rows) for (access, number), rows in found.items() if number == iteration],
        )


def _sum(source: Source, access: Access, rows: Sequence[RankRow]) -> Measured:
    slowest = max(row.with_open_ns for row in rows)
    moved = sum(row.bytes for row in rows)
    return Measured(
        file=source.path,
        line=rows[0].line,
        phase=access,
        operation=access,
        bytes=moved,
        duration_ns=slowest,
        rate_bytes_per_s=moved * NS_PER_S / slowest if slowest else None,
        finish_spread_ns=slowest - min(row.with_open_ns for row in rows),
        each=ranks(rows),
    )
