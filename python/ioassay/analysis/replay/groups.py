"""Files that were used alike, as groups: so many that a study of 10,000 files has some dozen streams.

Alike are files of which each was new or not, used by one process or by several (whole or in parts), read, written, of
about the same size, in transfers of about the same size, in the same order. Of more than `MOST_GROUPS` such groups the
ones with least bytes and calls are counted among the nearest.
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
"""Share of transfers that go backward, or forward with gaps, from which an order is at random, backward or forward."""

Sharing = Literal["own", "whole", "parts"]
"""Each file used by one process, by several whole, by several in parts."""

OrderClass = Literal["", "consecutive", "forward", "backward", "random"]

_ANOTHER = 100.0
"""How far apart groups are that differ in more than sizes."""


class Kind(NamedTuple):
    """What files of a group have in common. Sizes in powers of four."""

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
    """How many of them are of another kind."""

    @property
    def moves(self) -> bool:
        """Bytes were moved."""
        return self.kind.is_read or self.kind.is_written


def groups(files: pl.DataFrame) -> list[Group]:
    """The groups of files that were read, written, opened or looked at, those with most bytes and calls first."""
    found: dict[Kind, Group] = {}
    weights: dict[Kind, float] = {}
    every_byte = max(1.0, float((files["read_bytes"] + files["write_bytes"]).sum()))
    every_call = max(1.0, float((files["read_calls"] + files["write_calls"] + files["opens"] + files["stats"]).sum()))
    for index, row in enumerate(files.iter_rows(named=True)):
        moved = row["read_calls"] + row["write_calls"]
        named = row["opens"] + row["stats"]
        if not moved + named:
            continue
        kind = _kind(row)
        found.setdefault(kind, Group(kind, [])).rows.append(index)
        weight = (row["read_bytes"] + row["write_bytes"]) / every_byte + (moved + named) / every_call
        weights[kind] = weights.get(kind, 0.0) + weight
    ordered = sorted(found.values(), key=lambda group: (-weights[group.kind], group.kind))
    kept, others = ordered[:MOST_GROUPS], ordered[MOST_GROUPS:]
    for group in others:
        nearest = min(kept, key=lambda one: _apart(one.kind, group.kind))
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


def _apart(kind: Kind, other: Kind) -> float:
    """How unlike two kinds are."""
    alike = ("is_new", "sharing", "is_read", "is_written")
    apart = sum(_ANOTHER for name in alike if getattr(kind, name) != getattr(other, name))
    apart += 5.0 * (kind.read_order != other.read_order) + 5.0 * (kind.write_order != other.write_order)
    apart += 5.0 * (kind.is_synced != other.is_synced)
    return (
        apart
        + abs(kind.size - other.size)
        + abs(kind.read_size - other.read_size)
        + abs(kind.write_size - other.write_size)
    )


def described(files: pl.DataFrame, group: Group) -> FilesUsed:
    """Which files they are, in the user's terms."""
    own = files[group.rows]
    users = [max(1, *(row[name] or 0 for name in ("read_users", "write_users"))) for row in own.iter_rows(named=True)]
    if not group.moves:
        users = own["processes"].to_list()
    directory, pattern = named([path or "" for path in own["path"]])
    sizes = own["size"].drop_nulls()
    mean: Any = sizes.mean()
    return FilesUsed(len(group.rows), int(mean or 0), int(median(users)), directory, pattern, group.merged)


def named(paths: Sequence[str]) -> tuple[str, str]:
    """The directory that all of some paths lie in, and a pattern that all of their names in it match."""
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
