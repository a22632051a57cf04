"""The axes of a sweep: those in which points differ, and the one that they are drawn against.

Clients, ranks (all that do a job together) and files have columns of their own. The values of every other axis stand in
the column `point` (`ioassay.store.point`).

Not: which units and words values have (`ioassay.analysis.names`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.store.point import PLACEMENT, ascending, of_text

if TYPE_CHECKING:
    import polars as pl

Axis = str
"""The axis of a figure: `clients`, `ranks`, or the name of an axis in the study's `sweep`."""

Value = int | str
"""A value on an axis, in its base unit."""

Values = tuple[tuple[str, int | str], ...]
"""Values of axes other than clients, ranks and groups, by name."""

COUNTED: tuple[Axis, ...] = ("clients", "ranks")
"""The axes that count participants: only along these, rates follow a law of scaling."""


def swept(points: pl.DataFrame) -> list[str]:
    """The axes other than clients, ranks and groups in which `points` differ, as the study orders them."""
    values_by_axis: dict[str, set[int | str]] = {}
    for text in points["point"].unique(maintain_order=True):
        for axis, value in of_text(text).items():
            if axis not in PLACEMENT:
                values_by_axis.setdefault(axis, set()).add(value)
    return [axis for axis, values in values_by_axis.items() if len(values) > 1]


def axis(points: pl.DataFrame) -> Axis:
    """The axis that `points` are drawn against: clients; ranks if clients alone do not distinguish points with the same
    values on all other axes; the first other axis if neither differs.
    """
    same = ["workload", "job"]
    others = swept(points)
    pairs = points.select(*same, "clients", "ranks").unique()
    if others and pairs.height == pairs.select(same).unique().height:
        return others[0]
    return "clients" if pairs.height == pairs.select(*same, "clients").unique().height else "ranks"


def column(axis: Axis) -> str:
    """The name of an axis as a column name: dots have another meaning in figures."""
    return axis.replace(".", "_")


def with_column(points: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    """`points` with the values of an axis as a column of that name; null if a point has none."""
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value does not need)

    if axis in COUNTED:
        return points
    known = {text: of_text(text).get(axis) for text in points["point"].unique()}
    kind = pl.String if any(isinstance(value, str) for value in known.values()) else pl.Int64
    return points.with_columns(pl.Series(column(axis), [known[text] for text in points["point"]], kind))


def parts(points: pl.DataFrame, drawn_against: Axis | None = None) -> list[tuple[Values, pl.DataFrame]]:
    """The points grouped by their values on the axes of `swept`, except the one that they are drawn against.

    Ascending by axis, the first axis slowest; a single part without values if no such axis differs.
    """
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value does not need)

    part_axes = [name for name in swept(points) if name != drawn_against]
    if not part_axes:
        return [((), points)]
    values_of_text = {text: values(text, part_axes) for text in points["point"].unique()}
    order = {
        part_values: position
        for position, part_values in enumerate(
            sorted(set(values_of_text.values()), key=lambda part_values: ascending(dict(part_values)))
        )
    }
    ranked = points.with_columns(
        pl.col("point")
        .replace_strict({text: order[part_values] for text, part_values in values_of_text.items()})
        .alias("part")
    )
    by_part = ranked.partition_by("part", as_dict=True, include_key=False, maintain_order=True)
    return [(part_values, by_part[position,]) for part_values, position in order.items()]


def with_values(points: pl.DataFrame, values: Values) -> pl.DataFrame:
    """The points with these values."""
    if not values:
        return points
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value does not need)

    texts = [text for text in points["point"].unique() if set(values) <= of_text(text).items()]
    return points.filter(pl.col("point").is_in(texts))


def values(point: str, among: Sequence[str]) -> Values:
    """The values of a point (as in the column `point`) on the axes in `among`."""
    return tuple((axis, value) for axis, value in of_text(point).items() if axis in among)


def in_order(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """`frame` sorted by `columns`; `point` is sorted by its values."""
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value does not need)

    texts = sorted(frame["point"].unique(), key=lambda text: ascending(of_text(text)))
    order = {text: index for index, text in enumerate(texts)}
    by = [
        pl.col(name).replace_strict(order, return_dtype=pl.Int64) if name == "point" else pl.col(name)
        for name in columns
    ]
    return frame.sort(by)
