"""Rows that are added up while they come: what is kept grows with the groups, not with the rows.

Sums are of floating point: exact up to 2^53, and what a damaged table claims overflows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_MOST_PENDING = 1 << 18
"""Rows that are kept before they are added up, at least."""


class GroupedRows:
    """Rows with some columns as their key; the others are added up. A number that is none becomes null."""

    def __init__(self, schema: Mapping[str, type[pl.DataType]], keys: Sequence[str], *others: pl.Expr) -> None:
        """`others` say of columns that they are not added up: each makes a column of itself, and does not mind whether
        rows come at once or one after another.
        """
        self._schema = pl.Schema(schema)
        self._keys = list(keys)
        special = {other.meta.output_name() for other in others}
        self._merge = [*(pl.col(name).sum() for name in schema if name not in {*keys, *special}), *others]
        self._merged = self._schema.to_frame()
        self._pending: list[Mapping[str, NDArray[Any]]] = []
        self._rows = 0

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Adds rows: an array of each column."""
        self._pending.append(columns)
        self._rows += len(columns[self._keys[0]])
        # As many as there are groups already: what does not become fewer is not added up again and again.
        if self._rows > max(_MOST_PENDING, self._merged.height):
            self._add_up()

    def frame(self) -> pl.DataFrame:
        """A row for each key, in the order of the keys."""
        self._add_up()
        return self._merged.sort(self._keys)

    def _add_up(self) -> None:
        if not self._pending:
            return
        columns = {name: np.concatenate([part[name] for part in self._pending]) for name in self._schema}
        rows = pl.DataFrame(columns, nan_to_null=True)
        every = pl.concat(
            [self._merged, rows.select(pl.col(name).cast(kind, strict=False) for name, kind in self._schema.items())]
        )
        self._merged = every.group_by(self._keys, maintain_order=True).agg(self._merge).select(list(self._schema))
        self._pending, self._rows = [], 0


def whole(column: str) -> pl.Expr:
    """A sum as an integer."""
    return pl.col(column).round().clip(0, 2.0**62).cast(pl.Int64)
