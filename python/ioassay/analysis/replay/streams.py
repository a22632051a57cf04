"""Builds the replay: the groups of a profile's files as streams on trees, in each of its phases.

A tree represents the files of a group. Existing files are filled in advance. New files get a tree for each phase,
because a file can be new only once; other operations on new files go to similar files, which are filled, so that
nothing in a phase depends on what came before in it. Names that were created, removed, renamed or absent have trees of
their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.analysis.replay import transfers
from ioassay.analysis.replay.expectation import METADATA, expectation
from ioassay.analysis.replay.groups import Group, common_pattern, files_used, groups
from ioassay.analysis.replay.model import (
    FilesUsed,
    Note,
    Phase,
    Ranks,
    Replay,
    Share,
    Stream,
    Tree,
    Verb,
)
from ioassay.analysis.replay.phases import Course, Floats, Placement, Span
from ioassay.analysis.replay.ranks import packed
from ioassay.analysis.replay.transfers import Transfers
from ioassay.analysis.replay.uses import Uses, uses
from ioassay.profiles.model import Profile

MOST_CELLS = 60
"""The most cells in the time line of a stream."""

LEAST_CELL_S = 0.01

SAME_COURSE = 0.02
"""The largest difference of cumulative shares when parts of a time line are joined."""

HIGHEST_WEIGHT = 100

LEAST_WEIGHT = 0.002
"""Share of the highest weight below which a part of a time line is idle."""

MOST_NAME_STREAMS = 3
"""The most streams of one operation on names in a phase; others are added to the first."""

MOST_SPLIT = 5
"""Files of each rank above which it does not matter if some ranks have one more."""

LEAST_PART = 0.05
"""Operations of a file in a phase, as a share of its busiest phase, below which they are ignored."""

ONCE = 1.5
"""Opens of a file in a phase below which it counts as opened once."""

FEW_OPENS = 0.05
"""Opens without transfers, as a share of those with transfers, above which they are replayed."""

REPEATED = 1.2
"""Ratio of the sum of files over phases to distinct files above which phases share files."""

SMALL_BYTES = 64 << 10
"""The largest fill of a file of which only the name is used."""

MOST_DIRECTORIES = 1000

Moving = Literal["read", "write"]

_MOVING: tuple[Moving, ...] = ("read", "write")

Grid = NDArray[np.float64]
"""A row for each file, a column for each phase."""


def replay(profile: Profile, below: str | None = None) -> Replay | None:
    """The replay of a profile, or of its files `below` a directory; `None` if nothing on storage can be replayed."""
    used = uses(profile, below)
    if not any(used.files[name].sum() for name in _AMOUNTS.values()):
        return None
    return _ReplayBuilder(profile, used).replay()


_AMOUNTS: Mapping[str, str] = {"read": "read_calls", "write": "write_calls", **METADATA}
"""The column of `Uses.files` of each kind of operation."""


@dataclass(frozen=True)
class _Use:
    """Transfers of a group in a phase."""

    direction: Moving
    base: Stream
    """The properties that do not depend on the ranks."""
    moves: Transfers
    """Transfers of all ranks."""
    extent: float
    """Mean end of the transfers in a file, in bytes."""
    group: int
    phase: int
    files: NDArray[np.int64]
    """Rows of the files that are used."""
    active: NDArray[np.int64]
    """The active ranks."""


@dataclass
class _Names:
    """Operations on names of a tree in a phase."""

    verb: Verb
    tree: str
    share: Share
    calls: float
    weights: Floats
    absent: bool = False


@dataclass
class _Trees:
    """The trees so far."""

    by_name: dict[str, Tree] = field(default_factory=dict)
    fill_bytes: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, items: int, directories: int, what: FilesUsed) -> str:
        """Adds a tree, or items to an existing tree."""
        known = self.by_name.get(name)
        items = max(1, items, known.items if known else 1)
        self.by_name[name] = Tree(name, items, _directories(items, directories), what)
        return name

    def fill(self, name: str, least_bytes: int) -> None:
        """Marks the tree as filled, each item with at least `least_bytes`."""
        self.fill_bytes[name] = max(least_bytes, self.fill_bytes.get(name, 1))


@dataclass(frozen=True)
class _Operations:
    """When files had operations of a kind."""

    placed: Placement
    """A row for each file with such operations."""
    rows: NDArray[np.int64]
    """Rows of `Uses.files`, for each row of `placed`."""
    place: NDArray[np.int64]
    """The row of `placed` for each file, or -1."""
    amounts: Floats
    """For each row of `placed`: bytes of transfers, or calls of other operations."""


class _ReplayBuilder:
    def __init__(self, profile: Profile, used: Uses) -> None:
        self._profile, self._uses, self._files = profile, used, used.files
        done = {kind.removeprefix("absent ") for kind, column in _AMOUNTS.items() if self._files[column].sum()}
        self._course = Course(profile, done)
        self._phases = self._course.phases
        self._packed = packed(profile)
        self._placed = {kind: self._place(kind) for kind in _AMOUNTS}
        self._counts = {kind: self._spread(kind) for kind in _AMOUNTS}
        self._groups = groups(self._files)
        self._files_used = [files_used(self._files, group) for group in self._groups]
        self._names = _tree_names(self._groups)
        self._load = {verb: np.zeros((len(self._phases), self._packed.count)) for verb in _MOVING}
        self._opened = [0.0] * len(self._groups)
        self._trees = _Trees()
        row = {file: index for index, file in enumerate(self._files["file"])}
        sizes = used.sizes.with_columns(row=pl.col("file").replace_strict(row, return_dtype=pl.Int64))
        self._sizes = {
            direction: rows.select("row", "bytes", "calls").to_numpy()
            for (direction,), rows in sizes.group_by("direction")
        }

    def replay(self) -> Replay | None:
        """The replay; `None` if no phase has a stream."""
        moving = [list(self._data_streams(index)) for index in range(len(self._phases))]
        phases = []
        for index, span in enumerate(self._phases):
            streams = (*moving[index], *self._operations_on_names(index))
            if streams:
                phases.append(Phase(span.begin_s, span.end_s, streams))
        if not phases:
            return None
        fills = [
            Stream("fill", name, file_bytes=self._trees.fill_bytes[name])
            for name in self._trees.by_name
            if name in self._trees.fill_bytes
        ]
        return Replay(
            ranks=self._packed.count,
            processes=self._packed.processes,
            trees=tuple(self._trees.by_name.values()),
            fills=tuple(fills),
            phases=tuple(phases),
            expected=expectation(
                self._uses,
                self._course,
                self._over_time,
                Span(phases[0].begin_s, phases[-1].last_due_s),
                # The bytes of processes are known only for all files together, without maps.
                {} if self._uses.elsewhere or self._uses.mapped else self._packed.rank_bytes,
            ),
            left_out=self._uses.left_out,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[Note]:
        merged = sum(group.merged for group in self._groups)
        for note in (
            Note("gathered-streams", self._uses.gathered),
            Note("empty-transfers", self._uses.empty),
            Note("cut-transfers", self._uses.cut),
            Note("maps", self._uses.mapped),
            Note("passes", round(sum(course.passes for course in self._courses()))),
            Note("merged-files", merged),
            Note("elsewhere", self._uses.elsewhere),
            Note("unnamed-files", self._uses.unnamed),
            Note("folded-ranks", self._packed.processes if self._packed.folded else 0),
            Note("no-times", 0 if self._course.is_known else 1),
        ):
            if note.amount:
                yield note

    def _courses(self) -> Iterator[transfers.Course]:
        """The course of each file and direction."""
        for direction in _MOVING:
            names = (f"{direction}_{name}" for name in ("calls", "forward", "backward", "strided"))
            yield from (transfers.Course(*row) for row in self._files.select(*names).iter_rows())

    def _window(self, kind: str) -> tuple[Floats, Floats]:
        """The period in which the operations of each file can have been: while it was open; stats also around that
        time, renames and removes after it."""
        whole, step_s = self._course.whole, self._profile.timeline_step_s
        first = self._files["first_s"].fill_null(whole.begin_s).to_numpy().astype(float)
        last = self._files["last_s"].fill_null(whole.end_s).to_numpy().astype(float)
        last = np.maximum(last, first)
        everywhere = np.full(len(first), whole.begin_s), np.full(len(first), whole.end_s)
        match kind:
            case "read" | "write" | "open" | "sync":
                return first, last
            case "stat":
                return first - step_s, last + step_s
            case "rename" | "remove":
                known = self._files["last_s"].is_not_null().to_numpy()
                return np.where(known, last, whole.begin_s), everywhere[1]
            case _:
                return everywhere

    def _place(self, kind: str) -> _Operations:
        """When files had their operations of a kind. New files are written before they are read."""
        amounts = self._files[f"{kind}_bytes" if kind in ("read", "write") else _AMOUNTS[kind]].to_numpy().astype(float)
        rows = np.flatnonzero(amounts)
        begins, ends = (bounds[rows] for bounds in self._window(kind))
        is_new = self._files["is_new"].to_numpy()[rows].astype(float)
        leaning = {"read": is_new, "write": -is_new}.get(kind, np.zeros(len(rows)))
        placed = self._course.place(kind.removeprefix("absent "), amounts[rows], begins, ends, leaning)
        place = np.full(len(amounts), -1)
        place[rows] = np.arange(len(rows))
        return _Operations(placed, rows, place, amounts[rows])

    def _spread(self, kind: str) -> Grid:
        """The number of operations of each file in each phase."""
        counts = self._files[_AMOUNTS[kind]].to_numpy().astype(float)
        done = np.zeros((len(counts), len(self._phases)))
        operations = self._placed[kind]
        if len(operations.rows):
            grid = operations.placed.within(self._phases)
            lacking = grid.sum(axis=1) <= 0
            grid[lacking, 0] = 1.0
            grid /= grid.sum(axis=1, keepdims=True)
            grid = np.where(grid >= LEAST_PART * grid.max(axis=1, keepdims=True), grid, 0)
            done[operations.rows] = grid / grid.sum(axis=1, keepdims=True) * counts[operations.rows, None]
        return done

    def _over_time(self, kind: str, column: str, spans: Sequence[Span]) -> Floats:
        """The amount of a column of `Uses.files` that falls into each span."""
        operations = self._placed[kind]
        if not len(operations.rows):
            return np.zeros(len(spans))
        amounts = self._files[column].to_numpy().astype(float)[operations.rows]
        amounts_of_spans: Floats = (amounts / operations.amounts) @ operations.placed.within(spans)
        return amounts_of_spans

    def _cells(self, phase: int) -> list[Span]:
        span = self._phases[phase]
        many = max(1, min(MOST_CELLS, int(span.length_s / LEAST_CELL_S)))
        bounds = np.linspace(span.begin_s, span.end_s, many + 1).tolist()
        return [Span(begin, end) for begin, end in pairwise(bounds)]

    def _weights(self, kind: str, phase: int, rows: Sequence[int] | NDArray[np.int64]) -> Floats:
        """How the operations of some files are distributed over a phase."""
        cells = self._cells(phase)
        operations = self._placed[kind]
        every = np.array(rows, dtype=np.int64)
        chosen = operations.place[every[self._counts[kind][every, phase] > 0]]
        if not len(chosen):
            return np.ones(len(cells))
        weights: Floats = operations.placed.select(chosen).within(cells).sum(axis=0)
        return weights

    def _data_streams(self, phase: int) -> Iterator[Stream]:
        """The streams of a phase that move bytes."""
        for number in range(len(self._groups)):
            for direction in _MOVING:
                for stream in self._transfers_of(number, phase, direction):
                    self._opened[number] += stream.opens * (stream.ranks.count if stream.ranks else self._packed.count)
                    yield stream

    def _operations_on_names(self, phase: int) -> Iterator[Stream]:
        """The streams of a phase that work on names; they need the opens of all streams that move bytes."""
        names: list[_Names] = []
        for number, group in enumerate(self._groups):
            rows = np.array(group.rows, dtype=np.int64)
            name_calls: dict[Verb, float] = {"stat": float(self._counts["stat"][rows, phase].sum())}
            opens = self._counts["open"][rows]
            rest = float(opens.sum()) - self._opened[number]
            # A few more opens of files that are opened anyway are ignored.
            if rest > FEW_OPENS * self._opened[number]:
                name_calls["open"] = rest * float(opens[:, phase].sum() / opens.sum())
            for kind, calls in name_calls.items():
                if calls >= 0.5:
                    tree = self._filled_tree(number, phase)
                    weights = self._weights(kind, phase, rows)
                    share: Share = "own" if group.kind.sharing == "own" else "all"
                    names.append(_Names(kind, tree, share, calls, weights))
        names += self._absent(phase)
        yield from self._name_streams(names, phase)
        yield from self._change_streams(phase)

    # Transfers

    def _transfers_of(self, number: int, phase: int, direction: Moving) -> Iterator[Stream]:
        group = self._groups[number]
        rows = np.array(group.rows, dtype=np.int64)
        counts = self._counts[direction][rows, phase]
        calls = float(counts.sum())
        if calls < 0.5:
            return
        moved = self._moved(direction, rows, phase)
        used = rows[counts >= min(0.5, counts.max())]
        opens = float(self._opens(direction, used, phase).sum())
        # The number of opens in a phase is an estimate: slightly more than one is one.
        opens = min(len(used) if opens < ONCE * len(used) else opens, max(calls, 1.0))
        sums = self._files[used.tolist()].select(
            pl.sum(f"{direction}_{name}") for name in ("calls", "forward", "backward", "strided")
        )
        course = transfers.Course(*sums.row(0))
        # The engine starts over at the beginning when it opens a file.
        passes = course.passes * calls / max(course.calls, 1.0)
        sizes = self._sizes_of(direction, rows, phase)
        moves = Transfers(calls, moved, max(opens, 1.0) + passes, sizes, course.order)
        syncs = float(self._counts["sync"][rows, phase].sum()) if direction == "write" else 0.0
        active = self._packed.active(direction, self._phases[phase].begin_s, self._phases[phase].end_s)
        base = Stream(
            direction,
            "",
            order=moves.order,
            timeline=_timeline(self._weights(direction, phase, rows), calls),
            sync_every=max(1, round(calls / syncs)) if syncs >= 0.5 else None,
        )
        # Files that several processes use one after another belong to one process at a time.
        is_alternating = group.kind.sharing == "whole" and opens <= len(used)
        use = _Use(direction, base, moves, self._extent(direction, used), number, phase, used, active)
        if group.kind.sharing == "own" or is_alternating:
            yield from self._own_streams(use)
        else:
            yield self._shared_stream(use)

    def _own_streams(self, use: _Use) -> Iterator[Stream]:
        """Each file belongs to one rank. Ranks with one more new file than others use a tree of their own."""
        files = len(use.files)
        ranks = max(1, min(len(use.active), files, round(use.moves.calls)))
        first = self._first_rank(use, ranks)
        is_written_anew = use.direction == "write" and self._groups[use.group].kind.is_new
        more = files % ranks if is_written_anew and files // ranks < MOST_SPLIT else 0
        parts = [(first, more, files // ranks + 1), (first + more, ranks - more, files // ranks)] if more else []
        for index, (begin, many, each) in enumerate(parts or [(first, ranks, files / ranks)]):
            stream = _with_transfers(use.base, use.moves, each / files, use.extent)
            if is_written_anew:
                tree = self._new_tree(use, round(each * many), "ab"[index] if more else "")
            else:
                tree = self._filled_tree(use.group, use.phase, stream.file_bytes)
            yield replace(stream, tree=tree, share="own", ranks=Ranks(begin, many))

    def _shared_stream(self, use: _Use) -> Stream:
        """All active ranks use all files, as a whole or each its part."""
        kind = self._groups[use.group].kind
        ranks = _sharers(use.moves.calls, len(use.active))
        is_segmented = kind.sharing == "parts" and ranks > 1
        parts = ranks if is_segmented else 1
        stream = _with_transfers(use.base, use.moves, 1 / ranks, use.extent / parts)
        stream = replace(stream, file_bytes=stream.file_bytes * parts, is_segmented=is_segmented)
        if use.direction == "write" and kind.is_new:
            tree = self._new_tree(use, len(use.files), "")
        else:
            tree = self._filled_tree(use.group, use.phase, stream.file_bytes)
        return replace(stream, tree=tree, share="all", ranks=Ranks(self._first_rank(use, ranks), ranks))

    def _first_rank(self, use: _Use, ranks: int) -> int:
        """The first of `ranks` consecutive ranks: the active ones with the least load so far."""
        load = self._load[use.direction][use.phase]
        lowest = min(int(use.active[0]), self._packed.count - ranks)
        highest = max(lowest, int(use.active[-1]) + 1 - ranks)
        sums = np.convolve(load[lowest : highest + ranks], np.ones(ranks), "valid")
        first = lowest + int(sums.argmin())
        load[first : first + ranks] += use.moves.bytes / ranks
        return first

    def _first_name_rank(self, active: NDArray[np.int64], ranks: int) -> int:
        """The first of `ranks` consecutive ranks that work on names."""
        return int(min(active[0], self._packed.count - ranks))

    def _opens(self, direction: Moving, used: NDArray[np.int64], phase: int) -> Floats:
        """Opens of each file for reading, or for writing: one in each phase; further opens are distributed like its
        calls.
        """
        used_files = self._files[used.tolist()]
        calls = (used_files["read_calls"] + used_files["write_calls"]).to_numpy().astype(float)
        once = sum((self._counts[name][used] > 0).sum(axis=1) for name in _MOVING)
        further = np.maximum(used_files["opens"].to_numpy() - once, 0)
        opens: Floats = 1.0 + further * self._counts[direction][used, phase] / calls
        return opens

    def _extent(self, direction: Moving, used: NDArray[np.int64]) -> float:
        used_files = self._files[used.tolist()]
        mean: Any = used_files[f"{direction}_end"].drop_nulls().mean()
        return float(mean or used_files["size"].fill_null(0).mean() or 1.0)

    def _moved(self, direction: Moving, rows: NDArray[np.int64], phase: int) -> float:
        calls = self._files[f"{direction}_calls"].to_numpy()[rows]
        bytes_ = self._files[f"{direction}_bytes"].to_numpy()[rows]
        return float((self._counts[direction][rows, phase] / np.maximum(calls, 1) * bytes_).sum())

    def _sizes_of(self, direction: Moving, rows: NDArray[np.int64], phase: int) -> tuple[tuple[int, int], ...]:
        table = self._sizes[direction]
        rows_of_files = table[np.isin(table[:, 0], rows)]
        calls = self._files[f"{direction}_calls"].to_numpy()[rows_of_files[:, 0]]
        weights = rows_of_files[:, 2] * self._counts[direction][rows_of_files[:, 0], phase] / np.maximum(calls, 1)
        sizes, place = np.unique(rows_of_files[:, 1], return_inverse=True)
        return transfers.fewer_sizes(zip(sizes.tolist(), np.bincount(place, weights).tolist(), strict=True))

    # Trees

    def _new_tree(self, use: _Use, items: int, part: str) -> str:
        """A tree of new files, used in one phase."""
        written = self._counts["write"][self._groups[use.group].rows].sum(axis=0)
        name = self._names[use.group] + (f"-{use.phase + 1}" if (written >= 0.5).sum() > 1 else "") + part
        used_files = self._files[use.files.tolist()]
        directory, pattern = common_pattern([path or "" for path in used_files["path"]])
        mean: Any = used_files["size"].drop_nulls().mean()
        what = replace(
            self._files_used[use.group], files=items, file_bytes=int(mean or 0), directory=directory, pattern=pattern
        )
        return self._trees.add(name, items, _directories_of(used_files), what)

    def _filled_tree(self, number: int, phase: int, least_bytes: int = 0) -> str:
        """A tree of existing files: those of the group, or files similar to its new ones."""
        group, what = self._groups[number], self._files_used[number]
        name = self._names[number] + ("-again" if group.kind.is_new else "")
        group_files = self._files[group.rows]
        items = len(group.rows)
        uses_of = (
            self._counts["read"][group.rows] + self._counts["write"][group.rows] + self._counts["open"][group.rows]
        )
        in_phase = (uses_of >= 0.5).sum(axis=0)
        if not group.kind.is_new and (in_phase > 0).sum() > 1 and in_phase.sum() <= REPEATED * items:
            # Each phase uses other files.
            name, items = f"{name}-{phase + 1}", int(max(1, in_phase[phase]))
            what = replace(what, files=items)
        self._trees.add(name, items, _directories_of(group_files), what)
        self._trees.fill(name, max(least_bytes, min(what.file_bytes, SMALL_BYTES)))
        return name

    # Names

    def _absent(self, phase: int) -> Iterator[_Names]:
        lookups: tuple[Verb, ...] = ("open", "stat")
        for verb in lookups:
            counts = self._counts[f"absent {verb}"]
            calls = float(counts[:, phase].sum())
            if calls >= 0.5:
                rows = np.flatnonzero(self._files["lookups"].to_numpy() + self._files["absent_stats"].to_numpy())
                tree = self._trees.add("absent", min(len(rows), 100_000), 1, self._of_rows(rows))
                weights = self._weights(f"absent {verb}", phase, rows)
                yield _Names(verb, tree, "all", calls, weights, absent=True)

    def _of_rows(self, rows: NDArray[np.int64]) -> FilesUsed:
        row_files = self._files[rows.tolist()]
        directory, pattern = common_pattern([path or "" for path in row_files["path"]])
        mean: Any = row_files["size"].drop_nulls().mean()
        users: Any = row_files["processes"].median()
        return FilesUsed(len(rows), int(mean or 0), int(users or 1), directory, pattern)

    def _name_streams(self, names: Sequence[_Names], phase: int) -> Iterator[Stream]:
        for verb in ("open", "stat"):
            for absent in (False, True):
                same = sorted(
                    (entry for entry in names if (entry.verb, entry.absent) == (verb, absent)),
                    key=lambda entry: -entry.calls,
                )
                for entry in same[MOST_NAME_STREAMS:]:
                    same[0].calls += entry.calls
                    same[0].weights = same[0].weights + entry.weights
                for entry in same[:MOST_NAME_STREAMS]:
                    yield self._name_stream(entry, phase)

    def _name_stream(self, names: _Names, phase: int) -> Stream:
        active = self._packed.active("metadata", self._phases[phase].begin_s, self._phases[phase].end_s)
        most = self._trees.by_name[names.tree].items if names.share == "own" else len(active)
        ranks = _sharers(names.calls, min(len(active), most))
        return Stream(
            names.verb,
            names.tree,
            names.share,
            Ranks(self._first_name_rank(active, ranks), ranks),
            count=max(1, round(names.calls / ranks)),
            timeline=_timeline(names.weights, names.calls),
            absent=names.absent,
        )

    def _change_streams(self, phase: int) -> Iterator[Stream]:
        active = self._packed.active("metadata", self._phases[phase].begin_s, self._phases[phase].end_s)
        for verb, tree in (("create", "created"), ("rename", "renamed"), ("remove", "removed")):
            counts = self._counts[verb][:, phase]
            calls = float(counts.sum())
            if calls < 0.5:
                continue
            ranks = _sharers(calls, len(active))
            each = max(1, round(calls / ranks))
            if verb == "rename":  # an even number: each file is renamed back
                each = max(2, 2 * round(calls / ranks / 2))
            rows = np.flatnonzero(counts >= min(0.5, counts.max()))
            what = self._of_rows(rows)
            # Files are created or removed only once, so each phase has a tree of its own.
            name = tree if verb == "rename" else f"{tree}-{phase + 1}"
            items = max(ranks, min(each * ranks, len(rows))) if verb == "rename" else each * ranks
            self._trees.add(name, items, _directories_of(self._files[rows.tolist()]), what)
            if verb != "create":
                self._trees.fill(
                    name, max(1, what.file_bytes if verb == "remove" else min(what.file_bytes, SMALL_BYTES))
                )
            yield Stream(
                verb,  # type: ignore[arg-type]
                name,
                "own",
                Ranks(self._first_name_rank(active, ranks), ranks),
                count=each,
                timeline=_timeline(self._weights(verb, phase, rows), calls),
            )


def _with_transfers(base: Stream, moves: Transfers, share: float, extent: float) -> Stream:
    """A stream in which each rank does this share of all transfers, in files of about `extent` bytes."""
    count = max(1, round(moves.calls * share))
    opens = max(1, min(count, round(moves.opens * share)))
    rank_transfers = Transfers(count, count * moves.bytes / moves.calls, opens, moves.sizes, moves.order)
    sizes = transfers.without_tails(rank_transfers)
    every = base.sync_every
    return replace(
        base,
        count=count,
        opens=opens,
        sizes=sizes,
        file_bytes=transfers.file_bytes(rank_transfers, sizes, extent),
        sync_every=min(every, count) if every else None,
    )


def _sharers(calls: float, most: int) -> int:
    """The number of ranks, at most `most`, that divides the calls with the least rounding error."""
    most = max(1, min(most, round(calls)))
    return min(
        range(most, most // 2, -1), key=lambda ranks: (abs(ranks * max(1, round(calls / ranks)) - calls), -ranks)
    )


def _timeline(weights: Floats, calls: float) -> tuple[int, ...]:
    """Integer weights of as few equal parts as describe the same course of so many calls; empty if one part does."""
    same = max(SAME_COURSE, 0.5 / max(calls, 1))
    shares = np.concatenate([[0.0], np.cumsum(weights)]) / max(weights.sum(), 1e-300)
    positions = np.linspace(0, 1, len(shares))
    for parts in [parts for parts in range(1, len(weights)) if len(weights) % parts == 0]:
        step = len(weights) // parts
        if np.abs(np.interp(positions, positions[::step], shares[::step]) - shares).max() <= same:
            weights = weights.reshape(parts, step).sum(axis=1)
            break
    highest = float(weights.max())
    if len(weights) < 2 or highest <= 0:
        return ()
    shares = weights / highest
    return tuple(np.maximum(np.rint(shares * HIGHEST_WEIGHT), shares > LEAST_WEIGHT).astype(int).tolist())


def _directories(items: int, directories: int) -> int:
    """The directories of a tree: as given if they can hold about so many items in equal numbers, otherwise 1."""
    if not 2 <= directories <= min(items, MOST_DIRECTORIES):
        return 1
    return directories if directories * math.ceil(items / directories) <= 1.1 * items else 1


def _directories_of(files: pl.DataFrame) -> int:
    return files["directory"].n_unique()


def _tree_names(all_groups: Iterable[Group]) -> list[str]:
    """The name of each group's tree: how it is used, with a number if several are used alike."""
    roles = []
    for group in all_groups:
        kind = group.kind
        role = "out" if kind.is_new else "update" if kind.is_written else "in" if kind.is_read else "looked-at"
        roles.append(role if kind.sharing == "own" else f"shared-{role}" if kind.is_read or kind.is_written else role)
    return [
        f"{role}-{roles[: index + 1].count(role)}" if roles.count(role) > 1 else role
        for index, role in enumerate(roles)
    ]
