"""Groups of files that were used alike: few enough that a study of 10,000 files has some dozen streams.

Files of a group agree in whether they were new, read and written, in whether one process or several used them (whole or
in parts), in the order of transfers, and about in the sizes of files and transfers. Beyond `MOST_GROUPS`, groups with
the least bytes and calls are merged into the nearest ones.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple

import polars as pl

from ioassay.analysis.replay.model import FilesUsed
from ioassay.analysis.replay.transfers import Course

MOST_GROUPS = 8

SCATTERED = 0.1
"""Share of transfers backward, or forward with gaps, above which an order is not consecutive."""

Sharing = Literal["own", "whole", "parts"]
"""Each file is used by one process, as a whole by several, or in parts by several."""

OrderClass = Literal["", "consecutive", "forward", "backward", "random"]

_ANOTHER = 100.0
"""Distance of groups that differ in more than sizes."""


class Kind(NamedTuple):
    """The common properties of a group's files. Sizes are exponents of 4."""

    is_new: bool
    sharing: Sharing
    is_read: bool
    is_written: bool
    is_synced: bool
    size: int
    read_size: int
    read_order: OrderClass
    write_size: int
    write_order: OrderClass


@dataclass
class Group:
    """Files that were used alike."""

    kind: Kind
    rows: list[int]
    """Rows of `Uses.files`."""
    merged: int = 0
    """The number of its files that are of another kind."""

    @property
    def moves(self) -> bool:
        """True if its files were read or written."""
        return self.kind.is_read or self.kind.is_written


def groups(files: pl.DataFrame) -> list[Group]:
    """The groups of files that were read, written, opened or statted; those with most bytes and calls first."""
    groups_by_kind: dict[Kind, Group] = {}
    weights: dict[Kind, float] = {}
    every_byte = max(1.0, float((files["read_bytes"] + files["write_bytes"]).sum()))
    every_call = max(1.0, float((files["read_calls"] + files["write_calls"] + files["opens"] + files["stats"]).sum()))
    for index, row in enumerate(files.iter_rows(named=True)):
        moved = row["read_calls"] + row["write_calls"]
        common_pattern = row["opens"] + row["stats"]
        if not moved + common_pattern:
            continue
        kind = _kind(row)
        groups_by_kind.setdefault(kind, Group(kind, [])).rows.append(index)
        weight = (row["read_bytes"] + row["write_bytes"]) / every_byte + (moved + common_pattern) / every_call
        weights[kind] = weights.get(kind, 0.0) + weight
    ordered = sorted(groups_by_kind.values(), key=lambda group: (-weights[group.kind], group.kind))
    kept, others = ordered[:MOST_GROUPS], ordered[MOST_GROUPS:]
    for group in others:
        nearest = min(kept, key=lambda candidate: _distance(candidate.kind, group.kind))
        nearest.rows += group.rows
        nearest.merged += len(group.rows)
    return kept


def _kind(row: Mapping[str, Any]) -> Kind:
    is_read, is_written = row["read_calls"] > 0, row["write_calls"] > 0
    if not (is_read or is_written):
        return Kind(False, "own" if row["processes"] <= 1 else "whole", False, False, False, 0, 0, "", 0, "")
    return Kind(
        is_new=bool(row["is_new"]),
        sharing=_sharing(row),
        is_read=is_read,
        is_written=is_written,
        is_synced=is_written and row["syncs"] > 0,
        size=_power(row["size"] or 0),
        read_size=_power(row["read_bytes"] / row["read_calls"]) if is_read else 0,
        read_order=_order(row, "read"),
        write_size=_power(row["write_bytes"] / row["write_calls"]) if is_written else 0,
        write_order=_order(row, "write"),
    )


def _sharing(row: Mapping[str, Any]) -> Sharing:
    main = "read" if row["read_bytes"] >= row["write_bytes"] else "write"
    users = row[f"{main}_users"]
    if users <= 1:
        return "own"
    extent = max(1, row[f"{main}_end"] or row["size"] or 1)
    return "whole" if row[f"{main}_bytes"] >= extent * users / 2 else "parts"


def _order(row: Mapping[str, Any], direction: str) -> OrderClass:
    calls = row[f"{direction}_calls"]
    if not calls:
        return ""
    course = Course(calls, *(row[f"{direction}_{name}"] for name in ("forward", "backward", "strided")))
    if course.backward > SCATTERED * calls:
        return "backward" if course.order.backward > course.order.random else "random"
    return "forward" if row[f"{direction}_forward"] > SCATTERED * calls else "consecutive"


def _power(size: float) -> int:
    return int(math.log(size, 4)) if size >= 1 else 0


def _distance(kind: Kind, other: Kind) -> float:
    """The distance of two kinds."""
    exact = ("is_new", "sharing", "is_read", "is_written")
    apart = sum(_ANOTHER for name in exact if getattr(kind, name) != getattr(other, name))
    apart += 5.0 * (kind.read_order != other.read_order) + 5.0 * (kind.write_order != other.write_order)
    apart += 5.0 * (kind.is_synced != other.is_synced)
    return (
        apart
        + abs(kind.size - other.size)
        + abs(kind.read_size - other.read_size)
        + abs(kind.write_size - other.write_size)
    )


def files_used(files: pl.DataFrame, group: Group) -> FilesUsed:
    """The application's files of a group."""
    group_files = files[group.rows]
    users = [
        max(1, *(row[name] or 0 for name in ("read_users", "write_users"))) for row in group_files.iter_rows(named=True)
    ]
    if not group.moves:
        users = group_files["processes"].to_list()
    directory, pattern = common_pattern([path or "" for path in group_files["path"]])
    sizes = group_files["size"].drop_nulls()
    mean: Any = sizes.mean()
    return FilesUsed(len(group.rows), int(mean or 0), int(median(users)), directory, pattern, group.merged)


def common_pattern(paths: Sequence[str]) -> tuple[str, str]:
    """The common directory of some paths, and a pattern that all names in it match."""
    directories = {posixpath.dirname(path) for path in paths}
    absolute = {path for path in directories if path.startswith("/")}
    if not paths or (absolute and absolute != directories):
        return "", "*"
    common = posixpath.commonpath(directories) if absolute else next(iter(directories))
    if len(directories) > 1:
        suffixes = {posixpath.splitext(path)[1] for path in paths}
        return common, f"**/*{next(iter(suffixes)) if len(suffixes) == 1 else ''}"
    names = sorted({posixpath.basename(path) for path in paths})
    if len(names) == 1:
        return common, names[0]
    prefix = posixpath.commonprefix([names[0], names[-1]]).rstrip("0123456789")
    rest = [name[len(prefix) :] for name in names]
    suffix = posixpath.commonprefix([name[::-1] for name in rest])[::-1]
    return common, f"{prefix}*{suffix.lstrip('0123456789')}"
