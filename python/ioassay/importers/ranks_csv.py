"""CSV tables with a row for each rank: large jobs have a hundred thousand of them, in a file for each phase.

Not: which columns a tool has.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence

import polars as pl

from ioassay.importers.source import Refused, Source

LINE = "line"
"""The column that is added: the line of the row, from 1."""


def read(source: Source, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """The rows under the header of the first line, which must begin with `columns`; a row may lack cells at its
    end. Raises `Refused` for a row with more cells, or with a number that is invalid, infinite or negative.
    """
    if not source.text.endswith("\n"):
        raise Refused("ends in the middle of a line: it was cut off", len(source.lines))
    try:
        rows = pl.read_csv(io.StringIO(source.text), schema=dict(columns), row_index_name=LINE, row_index_offset=2)
    except pl.exceptions.PolarsError as error:
        raise _broken(source, columns) from error
    numbers = [name for name, kind in columns.items() if kind.is_numeric()]
    invalid = rows.filter(pl.any_horizontal(~pl.col(name).is_between(0, _MOST) for name in numbers))
    if invalid.height:
        raise Refused("has a number that is infinite, negative or too large", int(invalid[LINE][0]))
    return rows


def whole_numbers(rows: pl.DataFrame, amounts: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """The `rows` with these columns, rounded. Raises `Refused` for an amount that exceeds 64 bits."""
    rounded = [amount.round().cast(pl.Int64, strict=False).alias(name) for name, amount in amounts.items()]
    with_columns = rows.with_columns(rounded)
    too_large = with_columns.filter(pl.any_horizontal(pl.col(list(amounts)).is_null()))
    if too_large.height:
        raise Refused("has a number that is too large", int(too_large[LINE][0]))
    return with_columns


_MOST = 2.0**62
"""The limit of the tables."""


def _broken(source: Source, columns: Mapping[str, type[pl.DataType]]) -> Refused:
    """The reason, with the line, why a file could not be parsed."""
    for number, line in enumerate(source.lines[1:], start=2):
        cells = line.split(",")
        if len(cells) > len(columns):
            return Refused(f"has a row of {len(cells)} columns under a header of {len(columns)}", number)
        if any(_is_wrong(cell, kind) for cell, kind in zip(cells, columns.values(), strict=False)):
            return Refused("has a row that does not fit its header", number)
    return Refused("has rows that do not fit its header", 1)


def _is_wrong(cell: str, kind: type[pl.DataType]) -> bool:
    if not kind.is_numeric() or not cell:
        return False
    try:
        return not math.isfinite(float(cell) if kind.is_float() else int(cell))
    except ValueError:
        return True


def header(source: Source) -> Sequence[str]:
    """The column names in the first line."""
    return source.text[: source.text.find("\n")].strip().split(",")


def spread_ns(ranks: pl.DataFrame | None) -> int | None:
    """Time between the ends of the first and the last rank."""
    if ranks is None or ranks["end_ns"].is_null().all():
        return None
    return int(ranks.select(pl.col("end_ns").max() - pl.col("end_ns").min()).item())
