"""mdtest's CSV with a row for each rank (`--saveRankPerformanceDetails`): the rate and the time of every operation.

A row `all` before them has the totals of the first iteration; later iterations only have rows of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from ioassay.importers import ranks_csv
from ioassay.importers.mdtest.text import OPERATIONS
from ioassay.importers.model import Case, Measurement, Setting
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Refused, Source

_HEADER = "rank,items,rate-Directory creation"


@dataclass(frozen=True)
class OperationTotal:
    """The total of an operation over all ranks."""

    line: int
    rate: float
    seconds: float

    @property
    def operations(self) -> int:
        """Rounded: rate and time have eleven digits."""
        return round(self.rate * self.seconds)


@dataclass
class Table:
    """The first iteration of a file: the total of each operation, and the amounts of each rank."""

    totals: dict[str, OperationTotal] = field(default_factory=dict)
    ranks: dict[str, pl.DataFrame] = field(default_factory=dict)


def is_by_rank(text: str) -> bool:
    return text.startswith(_HEADER)


def read(source: Source) -> Table:
    """The first iteration. Raises `Refused` for a row that does not fit the header."""
    header = ranks_csv.header(source)
    rows = ranks_csv.read(source, {name: pl.String if name == "rank" else pl.Float64 for name in header})
    invalid = rows.filter(~pl.col("rank").str.contains(r"^(all|\d+)$"))
    if invalid.height:
        raise Refused("has a row that does not fit its header", int(invalid[ranks_csv.LINE][0]))
    first = rows.filter(pl.col("rank").cum_count().over("rank") == 1)
    measured = {
        name for name, nulls in zip(first.columns, first.null_count().row(0), strict=True) if nulls < first.height
    }
    by_rank = Table()
    for name in OPERATIONS:
        rate, time = f"rate-{name}", f"time-{name}"
        if not {rate, time} <= measured:
            continue
        rows_of_operation = first.filter(pl.col(rate).is_not_null(), pl.col(time).is_not_null())
        for row in rows_of_operation.filter(rank="all").iter_rows(named=True):
            by_rank.totals[name] = OperationTotal(row[ranks_csv.LINE], row[rate], row[time])
        amounts = {
            "rank": pl.col("rank").cast(pl.Float64),
            "end_ns": pl.col(time) * NS_PER_S,
            "operations": pl.col(rate) * pl.col(time),
        }
        ranks = ranks_csv.whole_numbers(rows_of_operation.filter(pl.col("rank") != "all"), amounts).select(*amounts)
        if ranks.height:
            by_rank.ranks[name] = ranks
    if not by_rank.totals:
        raise Refused("has no row for all ranks: it was cut off", 1)
    return by_rank


def only_ranks(source: Source) -> Case:
    """The case of a CSV without its text output."""
    by_rank = read(source)
    count = max((ranks.height for ranks in by_rank.ranks.values()), default=0)
    return Case(
        tool_version=None,
        settings=[Setting(name="file", value=source.path.stem)],
        amount="",
        clients=None,
        ranks=count or None,
        measured=[_measured(source, name, total, by_rank.ranks.get(name)) for name, total in by_rank.totals.items()],
    )


def _measured(source: Source, name: str, total: OperationTotal, ranks: pl.DataFrame | None) -> Measurement:
    return Measurement(
        file=source.path,
        line=total.line,
        phase=phase(name),
        operation=OPERATIONS[name],
        files=0,
        operations=total.operations,
        duration_ns=round(total.seconds * NS_PER_S),
        rate_operations_per_s=total.rate,
        finish_spread_ns=ranks_csv.spread_ns(ranks),
        each=ranks,
    )


def phase(name: str) -> str:
    """Our name of an mdtest operation: `file-creation` for `File creation`."""
    return name.lower().replace(" ", "-")
