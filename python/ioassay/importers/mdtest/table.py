"""mdtest's CSV with a row for each rank (`--saveRankPerformanceDetails`): the rate and the time of every operation.

A row `all` before them has the whole of the first iteration; of later ones the ranks alone are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from ioassay.importers import ranks_csv
from ioassay.importers.mdtest.text import OPERATIONS
from ioassay.importers.model import Case, Measured, Setting
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Refused, Source

_HEADER = "rank,items,rate-Directory creation"


@dataclass(frozen=True)
class Whole:
    """What all ranks did of an operation."""

    line: int
    rate: float
    seconds: float

    @property
    def operations(self) -> int:
        """How many there were: both numbers have eleven digits."""
        return round(self.rate * self.seconds)


@dataclass
class Table:
    """The first iteration of a file: the whole of each operation, and what each rank did of it."""

    whole: dict[str, Whole] = field(default_factory=dict)
    ranks: dict[str, pl.DataFrame] = field(default_factory=dict)


def is_by_rank(text: str) -> bool:
    """True for this CSV."""
    return text.startswith(_HEADER)


def read(source: Source) -> Table:
    """The first iteration. Raises `Refused` for a row that does not fit the header."""
    header = ranks_csv.header(source)
    rows = ranks_csv.read(source, {name: pl.String if name == "rank" else pl.Float64 for name in header})
    bad = rows.filter(~pl.col("rank").str.contains(r"^(all|\d+)$"))
    if bad.height:
        raise Refused("has a row that does not fit its header", int(bad[ranks_csv.LINE][0]))
    first = rows.filter(pl.col("rank").cum_count().over("rank") == 1)
    measured = {
        name for name, nulls in zip(first.columns, first.null_count().row(0), strict=True) if nulls < first.height
    }
    found = Table()
    for name in OPERATIONS:
        rate, time = f"rate-{name}", f"time-{name}"
        if not {rate, time} <= measured:
            continue
        own = first.filter(pl.col(rate).is_not_null(), pl.col(time).is_not_null())
        for row in own.filter(rank="all").iter_rows(named=True):
            found.whole[name] = Whole(row[ranks_csv.LINE], row[rate], row[time])
        amounts = {
            "rank": pl.col("rank").cast(pl.Float64),
            "end_ns": pl.col(time) * NS_PER_S,
            "operations": pl.col(rate) * pl.col(time),
        }
        each = ranks_csv.whole_numbers(own.filter(pl.col("rank") != "all"), amounts).select(*amounts)
        if each.height:
            found.ranks[name] = each
    if not found.whole:
        raise Refused("has no row for all ranks: it was cut off", 1)
    return found


def only_ranks(source: Source) -> Case:
    """The case of a CSV whose text is not there."""
    found = read(source)
    count = max((each.height for each in found.ranks.values()), default=0)
    return Case(
        tool_version=None,
        settings=[Setting(name="file", value=source.path.stem)],
        amount="",
        clients=None,
        ranks=count or None,
        measured=[_measured(source, name, whole, found.ranks.get(name)) for name, whole in found.whole.items()],
    )


def _measured(source: Source, name: str, whole: Whole, each: pl.DataFrame | None) -> Measured:
    return Measured(
        file=source.path,
        line=whole.line,
        phase=phase(name),
        operation=OPERATIONS[name],
        files=0,
        operations=whole.operations,
        duration_ns=round(whole.seconds * NS_PER_S),
        rate_operations_per_s=whole.rate,
        finish_spread_ns=ranks_csv.spread_ns(each),
        each=each,
    )


def phase(name: str) -> str:
    """`File creation` as our phases are called."""
    return name.lower().replace(" ", "-")
