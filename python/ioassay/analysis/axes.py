"""The axes of a sweep: in which of them points differ, and which one they are drawn against.

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
"""What a sweep is drawn against: `clients`, `ranks`, or the name of an axis that the study's `sweep` names."""

Value = int | str
"""A value on an axis, in its base unit."""

Values = tuple[tuple[str, int | str], ...]
"""Values of axes other than clients, ranks and groups, by name."""

COUNTED: tuple[Axis, ...] = ("clients", "ranks")
"""The axes along which more take part: only there rates follow a law of scaling."""


def swept(points: pl.DataFrame) -> list[str]:
    """The axes other than clients, ranks and groups in which `points` differ, as the study orders them."""
    found: dict[str, set[int | str]] = {}
    for text in points["point"].unique(maintain_order=True):
        for axis, value in of_text(text).items():
            if axis not in PLACEMENT:
                found.setdefault(axis, set()).add(value)
    return [axis for axis, values in found.items() if len(values) > 1]


def axis(points: pl.DataFrame) -> Axis:
    """What `points` are drawn against: clients; ranks where clients alone do not distinguish points that have the same
    values on all other axes; the first other axis where neither differs.
    """
    same = ["workload", "job"]
    others = swept(points)
    pairs = points.select(*same, "clients", "ranks").unique()
    if others and pairs.height == pairs.select(same).unique().height:
        return others[0]
    return "clients" if pairs.height == pairs.select(*same, "clients").unique().height else "ranks"


def column(axis: Axis) -> str:
    """The name of an axis as that of a column: figures take dots for something else."""
    return axis.replace(".", "_")


def with_column(points: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    """`points` with the values of an axis as a column of that name; null where a point has none."""
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value need not wait for)

    if axis in COUNTED:
        return points
    known = {text: of_text(text).get(axis) for text in points["point"].unique()}
    kind = pl.String if any(isinstance(value, str) for value in known.values()) else pl.Int64
    return points.with_columns(pl.Series(column(axis), [known[text] for text in points["point"]], kind))


def parts(points: pl.DataFrame, drawn_against: Axis | None = None) -> list[tuple[Values, pl.DataFrame]]:
    """The points by their values on the axes of `swept`, but not on the one that they are drawn against.

    Each axis slowest first; a single part without values where no such axis differs.
    """
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value need not wait for)

    told = [one for one in swept(points) if one != drawn_against]
    if not told:
        return [((), points)]
    found = {text: values(text, told) for text in points["point"].unique()}
    order = {one: index for index, one in enumerate(sorted(set(found.values()), key=lambda one: ascending(dict(one))))}
    ranked = points.with_columns(
        pl.col("point").replace_strict({text: order[one] for text, one in found.items()}).alias("part")
    )
    by_part = ranked.partition_by("part", as_dict=True, include_key=False, maintain_order=True)
    return [(one, by_part[at,]) for one, at in order.items()]


def at(points: pl.DataFrame, values: Values) -> pl.DataFrame:
    """Those of `points` that have these values."""
    if not values:
        return points
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value need not wait for)

    found = [text for text in points["point"].unique() if set(values) <= of_text(text).items()]
    return points.filter(pl.col("point").is_in(found))


def values(point: str, among: Sequence[str]) -> Values:
    """The values of a point, as the tables have it, on some axes."""
    return tuple((axis, value) for axis, value in of_text(point).items() if axis in among)


def in_order(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """`frame` sorted by `columns`, with `point` in ascending order of the values that it stands for."""
    import polars as pl  # noqa: PLC0415  (half a second, which formatting a value need not wait for)

    texts = sorted(frame["point"].unique(), key=lambda text: ascending(of_text(text)))
    order = {text: index for index, text in enumerate(texts)}
    by = [
        pl.col(name).replace_strict(order, return_dtype=pl.Int64) if name == "point" else pl.col(name)
        for name in columns
    ]
    return frame.sort(by)
