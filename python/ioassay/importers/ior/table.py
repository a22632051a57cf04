"""IOR's CSV of 4.0 and later: a row for each iteration, or a row for each rank of each iteration.

Neither shows how IOR was called, so the meaning of the numbers is uncertain; the second is more useful beside the text
output whose command line names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import polars as pl

from ioassay.importers import ranks_csv
from ioassay.importers.ior.tests import ACCESSES, Access, Execution, Row, Test
from ioassay.importers.model import Case, Measurement, Setting
from ioassay.importers.numbers import NS_PER_S, Printed
from ioassay.importers.source import Refused, Source

_RANK_COLUMNS: Mapping[str, type[pl.DataType]] = MappingProxyType(
    {
        "access": pl.String,
        "rank": pl.Int64,
        "runtime-with-openclose": pl.Float64,
        "runtime": pl.Float64,
        "throughput-withopenclose": pl.Float64,
        "throughput": pl.Float64,
    }
)
_ITERATIONS = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"


def is_by_rank(text: str) -> bool:
    return text.startswith(",".join(_RANK_COLUMNS))


def is_iterations(text: str) -> bool:
    """True for the CSV with a row for each iteration; verbose output may come before and between."""
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
                raise Refused("has the columns of an unknown version of IOR", number)
        elif header and values[0] in ACCESSES:
            test.rows.append(_row(dict(zip(header, values, strict=False)), len(values) == len(header), number, test))
    if not test.rows:
        raise Refused("has a header but no result", 1)
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


def by_rank(source: Source) -> dict[tuple[Access, int], pl.DataFrame]:
    """Results of each rank, by access and iteration: a rank's second row of an access is its second iteration. Raises
    `Refused`.
    """
    rows = ranks_csv.read(source, _RANK_COLUMNS)
    invalid = rows.filter(~pl.col("access").is_in(list(ACCESSES)) | pl.any_horizontal(pl.all().is_null()))
    if invalid.height:
        raise Refused("has a row that does not fit its header", int(invalid[ranks_csv.LINE][0]))
    if rows.is_empty():
        raise Refused("has a header but no result", 1)
    amounts = {
        "end_ns": pl.col("runtime-with-openclose") * NS_PER_S,
        "transfer_ns": pl.col("runtime") * NS_PER_S,
        "bytes": pl.col("throughput-withopenclose") * pl.col("runtime-with-openclose"),
    }
    numbered = ranks_csv.whole_numbers(rows, amounts).select(
        "access",
        (pl.col("rank").cum_count().over("access", "rank") - 1).alias("iteration"),
        ranks_csv.LINE,
        "rank",
        *amounts,
    )
    ranks = list(range(numbered["rank"].n_unique()))
    by_key = {
        (ACCESSES[str(access)], int(str(iteration))): part.drop("access", "iteration")
        for (access, iteration), part in numbered.group_by("access", "iteration", maintain_order=True)
    }
    if any(sorted(part["rank"]) != ranks for part in by_key.values()):
        raise Refused("does not have every rank equally often: it was cut off", int(rows[ranks_csv.LINE][-1]))
    return by_key


def only_ranks(source: Source) -> Iterator[Case]:
    """Cases of a CSV by rank without its text: the sum over the time of the slowest rank."""
    by_key = by_rank(source)
    for iteration in sorted({number for _, number in by_key}):
        by_access = {access: rows for (access, number), rows in by_key.items() if number == iteration}
        yield Case(
            tool_version=None,
            settings=[Setting(name="file", value=source.path.stem)],
            amount="",
            clients=None,
            ranks=max(rows.height for rows in by_access.values()),
            measured=[_sum(source, access, rows) for access, rows in by_access.items()],
        )


def _sum(source: Source, access: Access, rows: pl.DataFrame) -> Measurement:
    by_rank_columns = rows.drop(ranks_csv.LINE)
    return Measurement(
        file=source.path,
        line=int(rows[ranks_csv.LINE][0]),
        phase=access,
        operation=access,
        bytes=int(by_rank_columns["bytes"].sum()),
        duration_ns=int(str(by_rank_columns["end_ns"].max())),
        finish_spread_ns=ranks_csv.spread_ns(by_rank_columns),
        each=by_rank_columns,
    )
