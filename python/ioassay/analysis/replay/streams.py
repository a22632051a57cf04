"""The groups of a profile's files, in each of its phases, as streams on trees: the replay.

A tree stands for the files of a group. Files that were there before are filled in advance; of new ones each phase has
its own, because what is written once must be new. What else happens to new files happens to others like them, which are
filled: nothing of a replay depends on what came before in the same phase. Names that were created, removed, renamed or
not found have trees of their own.
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
from ioassay.analysis.replay.groups import Group, described, groups, named
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
from ioassay.analysis.replay.phases import Course, Floats, Placed, Span
from ioassay.analysis.replay.ranks import packed
from ioassay.analysis.replay.transfers import Transfers
from ioassay.analysis.replay.uses import Uses, uses
from ioassay.profiles.model import Profile

MOST_CELLS = 60
"""Of the time line of a stream."""

LEAST_CELL_S = 0.01

SAME_COURSE = 0.02
"""How far cumulative shares may differ where parts of a time line become one."""

HIGHEST_WEIGHT = 100

LEAST_WEIGHT = 0.002
"""Of the highest: with less, nothing happens in a part of a time line."""

MOST_NAME_STREAMS = 3
"""Of one operation in a phase; what else there is counts with the first."""

MOST_SPLIT = 5
"""Files of each rank from which on it does not matter if some have one more."""

LEAST_PART = 0.05
"""Of what a file had in the phase with most of it: less in another phase is no use of it."""

ONCE = 1.5
"""Opens of a file in a phase, below which it counts as opened once."""

FEW_OPENS = 0.05
"""Opens beyond those of transfers, as a share of these, from which on they count."""

REPEATED = 1.2
"""Files of all phases together, as a share of the different ones, from which on the phases use the same files."""

SMALL_BYTES = 64 << 10
"""The most that a file gets of which only the name is used."""

MOST_DIRECTORIES = 1000

Moving = Literal["read", "write"]

_MOVING: tuple[Moving, ...] = ("read", "write")

Grid = NDArray[np.float64]
"""A row for each file, a column for each phase."""


def replay(profile: Profile, below: str | None = None) -> Replay | None:
    """The replay of a profile, or of what it has of files `below` a directory; `None` where nothing on storage can be
    replayed.
    """
    used = uses(profile, below)
    if not any(used.files[name].sum() for name in _AMOUNTS.values()):
        return None
    return _Making(profile, used).replay()


_AMOUNTS: Mapping[str, str] = {"read": "read_calls", "write": "write_calls", **METADATA}
"""The column of `Uses.files` of each kind of operation."""


@dataclass(frozen=True)
class _Use:
    """Transfers of a group in a phase."""

    direction: Moving
    base: Stream
    """What does not depend on who does it."""
    moves: Transfers
    """Of all ranks."""
    extent: float
    """How far they reach in a file, on average."""
    group: int
    phase: int
    files: NDArray[np.int64]
    """Those that are used, by row."""
    active: NDArray[np.int64]
    """The ranks that are."""


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
    """The trees that there are so far."""

    made: dict[str, Tree] = field(default_factory=dict)
    fill_bytes: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, items: int, directories: int, what: FilesUsed) -> str:
        """Adds a tree; one that is there gets more items."""
        known = self.made.get(name)
        items = max(1, items, known.items if known else 1)
        self.made[name] = Tree(name, items, _directories(items, directories), what)
        return name

    def fill(self, name: str, least_bytes: int) -> None:
        """The tree is filled, each item with at least so much."""
        self.fill_bytes[name] = max(least_bytes, self.fill_bytes.get(name, 1))


@dataclass(frozen=True)
class _Operations:
    """When the files had operations of a kind."""

    placed: Placed
    """A row for each file that has any."""
    rows: NDArray[np.int64]
    """The files of these rows."""
    place: NDArray[np.int64]
    """The row of each file, or -1."""
    amounts: Floats
    """Of each row: bytes of transfers, else calls."""


class _Making:
    def __init__(self, profile: Profile, used: Uses) -> None:
        self._profile, self._uses, self._files = profile, used, used.files
        done = {kind.removeprefix("absent ") for kind, column in _AMOUNTS.items() if self._files[column].sum()}
        self._course = Course(profile, done)
        self._phases = self._course.phases
        self._packed = packed(profile)
        self._placed = {kind: self._place(kind) for kind in _AMOUNTS}
        self._done = {kind: self._spread(kind) for kind in _AMOUNTS}
        self._groups = groups(self._files)
        self._what = [described(self._files, group) for group in self._groups]
        self._names = _called(self._groups)
        self._load = {verb: np.zeros((len(self._phases), self._packed.count)) for verb in _MOVING}
        self._opened = [0.0] * len(self._groups)
        self._trees = _Trees()
        row = {file: index for index, file in enumerate(self._files["file"])}
        sizes = used.sizes.with_columns(row=pl.col("file").replace_strict(row, return_dtype=pl.Int64))
        self._sizes = {
            direction: own.select("row", "bytes", "calls").to_numpy()
            for (direction,), own in sizes.group_by("direction")
        }

    def replay(self) -> Replay | None:
        """The replay; `None` where no phase has a stream."""
        moving = [list(self._moving(index)) for index in range(len(self._phases))]
        phases = []
        for index, span in enumerate(self._phases):
            streams = (*moving[index], *self._naming(index))
            if streams:
                phases.append(Phase(span.begin_s, span.end_s, streams))
        if not phases:
            return None
        fills = [
            Stream("fill", name, file_bytes=self._trees.fill_bytes[name])
            for name in self._trees.made
            if name in self._trees.fill_bytes
        ]
        return Replay(
            ranks=self._packed.count,
            processes=self._packed.processes,
            trees=tuple(self._trees.made.values()),
            fills=tuple(fills),
            phases=tuple(phases),
            expected=expectation(
                self._uses,
                self._course,
                self._over_time,
                Span(phases[0].begin_s, phases[-1].last_due_s),
                # What processes moved is known of all files together, without maps.
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
        """That of each file and direction."""
        for direction in _MOVING:
            names = (f"{direction}_{name}" for name in ("calls", "forward", "backward", "strided"))
            yield from (transfers.Course(*row) for row in self._files.select(*names).iter_rows())

    def _window(self, kind: str) -> tuple[Floats, Floats]:
        """When the operations of each file can have been: while it was open; changes of its name later, looks at it
        also around that time."""
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
        """When the files had their operations of a kind. What is new is written before it is read."""
        amounts = self._files[f"{kind}_bytes" if kind in ("read", "write") else _AMOUNTS[kind]].to_numpy().astype(float)
        rows = np.flatnonzero(amounts)
        begins, ends = (of[rows] for of in self._window(kind))
        is_new = self._files["is_new"].to_numpy()[rows].astype(float)
        leaning = {"read": is_new, "write": -is_new}.get(kind, np.zeros(len(rows)))
        placed = self._course.place(kind.removeprefix("absent "), amounts[rows], begins, ends, leaning)
        place = np.full(len(amounts), -1)
        place[rows] = np.arange(len(rows))
        return _Operations(placed, rows, place, amounts[rows])

    def _spread(self, kind: str) -> Grid:
        """How many operations of each file fall into each phase."""
        counts = self._files[_AMOUNTS[kind]].to_numpy().astype(float)
        done = np.zeros((len(counts), len(self._phases)))
        of = self._placed[kind]
        if len(of.rows):
            grid = of.placed.within(self._phases)
            lacking = grid.sum(axis=1) <= 0
            grid[lacking, 0] = 1.0
            grid /= grid.sum(axis=1, keepdims=True)
            grid = np.where(grid >= LEAST_PART * grid.max(axis=1, keepdims=True), grid, 0)
            done[of.rows] = grid / grid.sum(axis=1, keepdims=True) * counts[of.rows, None]
        return done

    def _over_time(self, kind: str, column: str, spans: Sequence[Span]) -> Floats:
        """How much of a column of the files' falls into each of some spans."""
        of = self._placed[kind]
        if not len(of.rows):
            return np.zeros(len(spans))
        amounts = self._files[column].to_numpy().astype(float)[of.rows]
        found: Floats = (amounts / of.amounts) @ of.placed.within(spans)
        return found

    def _cells(self, phase: int) -> list[Span]:
        span = self._phases[phase]
        many = max(1, min(MOST_CELLS, int(span.length_s / LEAST_CELL_S)))
        bounds = np.linspace(span.begin_s, span.end_s, many + 1).tolist()
        return [Span(begin, end) for begin, end in pairwise(bounds)]

    def _weights(self, kind: str, phase: int, rows: Sequence[int] | NDArray[np.int64]) -> Floats:
        """How the operations of some files are spread over a phase."""
        cells = self._cells(phase)
        of = self._placed[kind]
        every = np.array(rows, dtype=np.int64)
        chosen = of.place[every[self._done[kind][every, phase] > 0]]
        if not len(chosen):
            return np.ones(len(cells))
        found: Floats = of.placed.at(chosen).within(cells).sum(axis=0)
        return found

    def _moving(self, phase: int) -> Iterator[Stream]:
        """The streams of a phase that move bytes."""
        for number in range(len(self._groups)):
            for direction in _MOVING:
                for stream in self._data(number, phase, direction):
                    self._opened[number] += stream.opens * (stream.ranks.count if stream.ranks else self._packed.count)
                    yield stream

    def _naming(self, phase: int) -> Iterator[Stream]:
        """The streams of a phase that do something to names, after all that move bytes."""
        names: list[_Names] = []
        for number, group in enumerate(self._groups):
            rows = np.array(group.rows, dtype=np.int64)
            looked: dict[Verb, float] = {"stat": float(self._done["stat"][rows, phase].sum())}
            opens = self._done["open"][rows]
            rest = float(opens.sum()) - self._opened[number]
            # An open more or less of files that are opened anyway is none.
            if rest > FEW_OPENS * self._opened[number]:
                looked["open"] = rest * float(opens[:, phase].sum() / opens.sum())
            for kind, calls in looked.items():
                if calls >= 0.5:
                    tree = self._filled(number, phase)
                    weights = self._weights(kind, phase, rows)
                    share: Share = "own" if group.kind.sharing == "own" else "all"
                    names.append(_Names(kind, tree, share, calls, weights))
        names += self._absent(phase)
        yield from self._name_streams(names, phase)
        yield from self._changes(phase)

    # Transfers

    def _data(self, number: int, phase: int, direction: Moving) -> Iterator[Stream]:
        group = self._groups[number]
        rows = np.array(group.rows, dtype=np.int64)
        counts = self._done[direction][rows, phase]
        calls = float(counts.sum())
        if calls < 0.5:
            return
        moved = self._moved(direction, rows, phase)
        used = rows[counts >= min(0.5, counts.max())]
        opens = float(self._opens(direction, used, phase).sum())
        # How often each was opened in a phase is a guess: not much more than once is once.
        opens = min(len(used) if opens < ONCE * len(used) else opens, max(calls, 1.0))
        sums = self._files[used.tolist()].select(
            pl.sum(f"{direction}_{name}") for name in ("calls", "forward", "backward", "strided")
        )
        course = transfers.Course(*sums.row(0))
        # The engine begins anew where it opens a file.
        passes = course.passes * calls / max(course.calls, 1.0)
        sizes = self._sizes_of(direction, rows, phase)
        moves = Transfers(calls, moved, max(opens, 1.0) + passes, sizes, course.order)
        syncs = float(self._done["sync"][rows, phase].sum()) if direction == "write" else 0.0
        active = self._packed.active(direction, self._phases[phase].begin_s, self._phases[phase].end_s)
        base = Stream(
            direction,
            "",
            order=moves.order,
            timeline=_timeline(self._weights(direction, phase, rows), calls),
            sync_every=max(1, round(calls / syncs)) if syncs >= 0.5 else None,
        )
        # Files that several processes use one after another belong to one at a time.
        by_turns = group.kind.sharing == "whole" and opens <= len(used)
        use = _Use(direction, base, moves, self._extent(direction, used), number, phase, used, active)
        if group.kind.sharing == "own" or by_turns:
            yield from self._own(use)
        else:
            yield self._shared(use)

    def _own(self, use: _Use) -> Iterator[Stream]:
        """Each file belongs to a rank. Of new files some ranks may have one more, in a tree of their own."""
        files = len(use.files)
        ranks = max(1, min(len(use.active), files, round(use.moves.calls)))
        first = self._first(use, ranks)
        is_written_anew = use.direction == "write" and self._groups[use.group].kind.is_new
        more = files % ranks if is_written_anew and files // ranks < MOST_SPLIT else 0
        parts = [(first, more, files // ranks + 1), (first + more, ranks - more, files // ranks)] if more else []
        for index, (begin, many, each) in enumerate(parts or [(first, ranks, files / ranks)]):
            stream = _with_transfers(use.base, use.moves, each / files, use.extent)
            if is_written_anew:
                tree = self._new(use, round(each * many), "ab"[index] if more else "")
            else:
                tree = self._filled(use.group, use.phase, stream.file_bytes)
            yield replace(stream, tree=tree, share="own", ranks=Ranks(begin, many))

    def _shared(self, use: _Use) -> Stream:
        """All ranks that are active use all files, each the whole of it or its part."""
        kind = self._groups[use.group].kind
        ranks = _sharers(use.moves.calls, len(use.active))
        is_segmented = kind.sharing == "parts" and ranks > 1
        parts = ranks if is_segmented else 1
        stream = _with_transfers(use.base, use.moves, 1 / ranks, use.extent / parts)
        stream = replace(stream, file_bytes=stream.file_bytes * parts, is_segmented=is_segmented)
        if use.direction == "write" and kind.is_new:
            tree = self._new(use, len(use.files), "")
        else:
            tree = self._filled(use.group, use.phase, stream.file_bytes)
        return replace(stream, tree=tree, share="all", ranks=Ranks(self._first(use, ranks), ranks))

    def _first(self, use: _Use, ranks: int) -> int:
        """The first of so many consecutive ranks: among those that are active the ones with least to do so far."""
        load = self._load[use.direction][use.phase]
        lowest = min(int(use.active[0]), self._packed.count - ranks)
        highest = max(lowest, int(use.active[-1]) + 1 - ranks)
        sums = np.convolve(load[lowest : highest + ranks], np.ones(ranks), "valid")
        first = lowest + int(sums.argmin())
        load[first : first + ranks] += use.moves.bytes / ranks
        return first

    def _beginning(self, active: NDArray[np.int64], ranks: int) -> int:
        """The first of so many consecutive ranks that look at names."""
        return int(min(active[0], self._packed.count - ranks))

    def _opens(self, direction: Moving, used: NDArray[np.int64], phase: int) -> Floats:
        """How often each file is opened to be read, or to be written: once in each phase, and further opens as the
        calls are.
        """
        own = self._files[used.tolist()]
        calls = (own["read_calls"] + own["write_calls"]).to_numpy().astype(float)
        once = sum((self._done[name][used] > 0).sum(axis=1) for name in _MOVING)
        further = np.maximum(own["opens"].to_numpy() - once, 0)
        found: Floats = 1.0 + further * self._done[direction][used, phase] / calls
        return found

    def _extent(self, direction: Moving, used: NDArray[np.int64]) -> float:
        own = self._files[used.tolist()]
        mean: Any = own[f"{direction}_end"].drop_nulls().mean()
        return float(mean or own["size"].fill_null(0).mean() or 1.0)

    def _moved(self, direction: Moving, rows: NDArray[np.int64], phase: int) -> float:
        calls = self._files[f"{direction}_calls"].to_numpy()[rows]
        bytes_ = self._files[f"{direction}_bytes"].to_numpy()[rows]
        return float((self._done[direction][rows, phase] / np.maximum(calls, 1) * bytes_).sum())

    def _sizes_of(self, direction: Moving, rows: NDArray[np.int64], phase: int) -> tuple[tuple[int, int], ...]:
        table = self._sizes[direction]
        own = table[np.isin(table[:, 0], rows)]
        calls = self._files[f"{direction}_calls"].to_numpy()[own[:, 0]]
        weights = own[:, 2] * self._done[direction][own[:, 0], phase] / np.maximum(calls, 1)
        sizes, place = np.unique(own[:, 1], return_inverse=True)
        return transfers.fewer_sizes(zip(sizes.tolist(), np.bincount(place, weights).tolist(), strict=True))

    # Trees

    def _new(self, use: _Use, items: int, part: str) -> str:
        """A tree of new files, of one phase."""
        written = self._done["write"][self._groups[use.group].rows].sum(axis=0)
        name = self._names[use.group] + (f"-{use.phase + 1}" if (written >= 0.5).sum() > 1 else "") + part
        own = self._files[use.files.tolist()]
        directory, pattern = named([path or "" for path in own["path"]])
        mean: Any = own["size"].drop_nulls().mean()
        what = replace(
            self._what[use.group], files=items, file_bytes=int(mean or 0), directory=directory, pattern=pattern
        )
        return self._trees.add(name, items, _directories_of(own), what)

    def _filled(self, number: int, phase: int, least_bytes: int = 0) -> str:
        """A tree of files that are there: those of the group, or others like its new ones."""
        group, what = self._groups[number], self._what[number]
        name = self._names[number] + ("-again" if group.kind.is_new else "")
        own = self._files[group.rows]
        items = len(group.rows)
        uses_of = self._done["read"][group.rows] + self._done["write"][group.rows] + self._done["open"][group.rows]
        in_phase = (uses_of >= 0.5).sum(axis=0)
        if not group.kind.is_new and (in_phase > 0).sum() > 1 and in_phase.sum() <= REPEATED * items:
            # Each phase has files of its own.
            name, items = f"{name}-{phase + 1}", int(max(1, in_phase[phase]))
            what = replace(what, files=items)
        self._trees.add(name, items, _directories_of(own), what)
        self._trees.fill(name, max(least_bytes, min(what.file_bytes, SMALL_BYTES)))
        return name

    # Names

    def _absent(self, phase: int) -> Iterator[_Names]:
        lookups: tuple[Verb, ...] = ("open", "stat")
        for verb in lookups:
            counts = self._done[f"absent {verb}"]
            calls = float(counts[:, phase].sum())
            if calls >= 0.5:
                rows = np.flatnonzero(self._files["lookups"].to_numpy() + self._files["absent_stats"].to_numpy())
                tree = self._trees.add("absent", min(len(rows), 100_000), 1, self._of_rows(rows))
                weights = self._weights(f"absent {verb}", phase, rows)
                yield _Names(verb, tree, "all", calls, weights, absent=True)

    def _of_rows(self, rows: NDArray[np.int64]) -> FilesUsed:
        own = self._files[rows.tolist()]
        directory, pattern = named([path or "" for path in own["path"]])
        mean: Any = own["size"].drop_nulls().mean()
        users: Any = own["processes"].median()
        return FilesUsed(len(rows), int(mean or 0), int(users or 1), directory, pattern)

    def _name_streams(self, names: Sequence[_Names], phase: int) -> Iterator[Stream]:
        for verb in ("open", "stat"):
            for absent in (False, True):
                own = sorted(
                    (one for one in names if (one.verb, one.absent) == (verb, absent)), key=lambda one: -one.calls
                )
                for one in own[MOST_NAME_STREAMS:]:
                    own[0].calls += one.calls
                    own[0].weights = own[0].weights + one.weights
                for one in own[:MOST_NAME_STREAMS]:
                    yield self._named(one, phase)

    def _named(self, names: _Names, phase: int) -> Stream:
        active = self._packed.active("metadata", self._phases[phase].begin_s, self._phases[phase].end_s)
        most = self._trees.made[names.tree].items if names.share == "own" else len(active)
        ranks = _sharers(names.calls, min(len(active), most))
        return Stream(
            names.verb,
            names.tree,
            names.share,
            Ranks(self._beginning(active, ranks), ranks),
            count=max(1, round(names.calls / ranks)),
            timeline=_timeline(names.weights, names.calls),
            absent=names.absent,
        )

    def _changes(self, phase: int) -> Iterator[Stream]:
        active = self._packed.active("metadata", self._phases[phase].begin_s, self._phases[phase].end_s)
        for verb, tree in (("create", "created"), ("rename", "renamed"), ("remove", "removed")):
            counts = self._done[verb][:, phase]
            calls = float(counts.sum())
            if calls < 0.5:
                continue
            ranks = _sharers(calls, len(active))
            each = max(1, round(calls / ranks))
            if verb == "rename":  # each file gets its own name again
                each = max(2, 2 * round(calls / ranks / 2))
            rows = np.flatnonzero(counts >= min(0.5, counts.max()))
            what = self._of_rows(rows)
            # What is created or removed is so once.
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
                Ranks(self._beginning(active, ranks), ranks),
                count=each,
                timeline=_timeline(self._weights(verb, phase, rows), calls),
            )


def _with_transfers(base: Stream, moves: Transfers, share: float, extent: float) -> Stream:
    """The transfers of a rank that does this share of them all, in files of about `extent`."""
    count = max(1, round(moves.calls * share))
    opens = max(1, min(count, round(moves.opens * share)))
    own = Transfers(count, count * moves.bytes / moves.calls, opens, moves.sizes, moves.order)
    sizes = transfers.without_tails(own)
    every = base.sync_every
    return replace(
        base,
        count=count,
        opens=opens,
        sizes=sizes,
        file_bytes=transfers.file_bytes(own, sizes, extent),
        sync_every=min(every, count) if every else None,
    )


def _sharers(calls: float, most: int) -> int:
    """Among how many ranks some calls are divided, so that as few as possible are too many or too few."""
    most = max(1, min(most, round(calls)))
    return min(
        range(most, most // 2, -1), key=lambda ranks: (abs(ranks * max(1, round(calls / ranks)) - calls), -ranks)
    )


def _timeline(weights: Floats, calls: float) -> tuple[int, ...]:
    """As whole weights of as few equal parts as say the same of so many calls; empty where one does."""
    same = max(SAME_COURSE, 0.5 / max(calls, 1))
    shares = np.concatenate([[0.0], np.cumsum(weights)]) / max(weights.sum(), 1e-300)
    at = np.linspace(0, 1, len(shares))
    for parts in [parts for parts in range(1, len(weights)) if len(weights) % parts == 0]:
        step = len(weights) // parts
        if np.abs(np.interp(at, at[::step], shares[::step]) - shares).max() <= same:
            weights = weights.reshape(parts, step).sum(axis=1)
            break
    highest = float(weights.max())
    if len(weights) < 2 or highest <= 0:
        return ()
    shares = weights / highest
    return tuple(np.maximum(np.rint(shares * HIGHEST_WEIGHT), shares > LEAST_WEIGHT).astype(int).tolist())


def _directories(items: int, directories: int) -> int:
    """In how many directories so many items are: as many as given, if that makes about so many items."""
    if not 2 <= directories <= min(items, MOST_DIRECTORIES):
        return 1
    return directories if directories * math.ceil(items / directories) <= 1.1 * items else 1


def _directories_of(files: pl.DataFrame) -> int:
    return files["directory"].n_unique()


def _called(every: Iterable[Group]) -> list[str]:
    """The name of each group's tree: what happens to it, and a number where several do the same."""
    roles = []
    for group in every:
        kind = group.kind
        role = "out" if kind.is_new else "update" if kind.is_written else "in" if kind.is_read else "looked-at"
        roles.append(role if kind.sharing == "own" else f"shared-{role}" if kind.is_read or kind.is_written else role)
    return [
        f"{role}-{roles[: index + 1].count(role)}" if roles.count(role) > 1 else role
        for index, role in enumerate(roles)
    ]
