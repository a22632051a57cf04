"""A replay as the file of a study: keys for the engine, comments for its readers.

Names of directories and files stand in comments alone. Not: what is replayed (`analysis.replay`), which keys a study
has (`studies`).
"""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from ioassay.analysis.replay import Replay
from ioassay.analysis.replay.model import Expected, Note, NoteKind, Order, Phase, Sizes, Stream, Tree
from ioassay.analysis.replay.transfers import mean
from ioassay.profiles.model import Profile
from ioassay.reports.profile.wording import started
from ioassay.text.format import duration
from ioassay.text.slugs import slug
from ioassay.text.units import format_about_bytes, format_count
from ioassay.version import __version__
from ioassay.yaml_models.source import printable

WIDTH = 100

MOST_TITLE = 60
"""Characters of the command in a title."""

MOST_WEIGHT = 10_000
"""Largest number in a time line."""

_MOST_PATH = 120

_NOTES: Mapping[NoteKind, str] = {
    "gathered-streams": "{} calls on streams (stdio) were taken as the calls that reach the file system: blocks of "
    "their buffer.",
    "empty-transfers": "{} reads or writes moved nothing, such as reads at the end of a file; they are left out.",
    "cut-transfers": "{} calls moved more than 64 MiB; each became several of equal size.",
    "merged-files": "{} files that were used otherwise count among the most alike ones.",
    "elsewhere": "{} calls on files outside of the directory that was asked for (`--below`) are left out.",
    "unnamed-files": "{} calls on files that share a row of the record, because there were too many, are left out.",
    "folded-ranks": "The {} processes that did I/O share 1,024 ranks.",
    "maps": "Maps of {} files are replayed as reads and writes of 128 KiB, of all that can have been touched: a stream "
    "does not map files.",
    "passes": "{} strided passes over files begin with an open of their own: the engine begins anew only there.",
    "no-times": "The source has no time line: everything is one phase, and spread evenly over it.",
}


def text(replay: Replay, profile: Profile, name: str) -> str:
    """The YAML. `name` is that of the study, as far as it can be one."""
    return "\n".join(_Writing(replay, profile, name).lines()) + "\n"


class _Writing:
    def __init__(self, replay: Replay, profile: Profile, name: str) -> None:
        self._replay, self._profile = replay, profile
        self._name = slug(name, "replay", 60)
        self._command = _plain("; ".join(profile.commands)) or "an application"
        self._pauses = [round(pause_s * 1000) for pause_s in replay.pauses_s]

    def lines(self) -> Iterator[str]:
        yield from self._head()
        yield "workloads:"
        yield "  replay:"
        yield f"    title: {_quoted(f'Replay of {_shortened(self._command)}')}"
        yield "    trees:"
        for tree in self._replay.trees:
            yield from _comment(_about_tree(tree), 6)
            yield f"      {tree.name}: {_tree(tree)}"
        yield "    steps:"
        for tree in self._replay.trees:
            yield f"      - create-tree: {{name: tree-{tree.name}, tree: {tree.name}}}"
        if self._replay.fills:
            yield from _comment("What was there before, and what is like what the application wrote by itself.", 6)
            yield from _phase("prepare", None, self._replay.fills, self._replay.ranks)
        for index, phase in enumerate(self._replay.phases):
            if index and self._pauses[index - 1]:
                yield f"      - pause: ${{pause_{index}}}"
            yield from _comment(self._about_phase(index, phase), 6)
            yield from _phase(f"phase-{index + 1}", phase.duration_s, phase.streams, self._replay.ranks)
        yield from self._expectation()

    def _head(self) -> Iterator[str]:
        replay, profile = self._replay, self._profile
        yield from _comment(
            f"The I/O of `{self._command}` as a study, written by ioassay {__version__}. Run it with `ioassay run FILE "
            "--target DIRECTORY`, without the pauses and the pace of the application with `--scale unlimited`. "
            f"{_processes(replay.processes)} did I/O, at most {replay.ranks} at the same time: these are its ranks.",
            0,
        )
        yield from _comment("Directories and files are named in comments only: remove them before you pass it on.", 0)
        for note in replay.notes:
            yield from _comment(_note(note), 0)
        yield f"name: {self._name}"
        yield f"title: {_quoted(f'Replay of {_shortened(self._command)}')}"
        yield f"question: {_quoted(f'How does storage serve the I/O of {_shortened(self._command)}?')}"
        yield f"source: {_quoted(f'Began: {started(profile)}.')}"
        clients = self._clients()
        yield "settings:"
        yield f"  clients: [{clients}]"
        yield f"  ranks_per_client: {replay.ranks // clients}"
        yield "  pace: recorded"
        for number, pause in enumerate(self._pauses, start=1):
            if pause:
                yield f"  pause_{number}: {_duration(pause)}"
        yield "scales:"
        yield "  unlimited:"
        yield "    pace: unlimited"
        for number, pause in enumerate(self._pauses, start=1):
            if pause:
                yield f"    pause_{number}: 0s"
        yield "clients: ${clients}"
        yield "ranks_per_client: ${ranks_per_client}"
        yield f"sample_interval: {_duration(min(1000, max(10, round(replay.duration_s * 1000 / 128))))}"

    def _clients(self) -> int:
        """The nodes, where the ranks divide among them."""
        nodes = max(1, self._profile.processes["node"].n_unique())
        return nodes if self._replay.ranks % nodes == 0 else 1

    def _about_phase(self, index: int, phase: Phase) -> str:
        begin_s = phase.begin_s - self._replay.phases[0].begin_s
        moved = {
            verb: sum(_bytes(stream, self._replay.ranks) for stream in phase.streams if stream.verb == verb)
            for verb in _MOVES
        }
        amounts = [f"{word} {format_about_bytes(moved[verb])}" for verb, word in _MOVES.items() if moved[verb]]
        names = sum(stream.operations(self._replay.ranks) for stream in phase.streams if stream.verb not in _MOVES)
        amounts += [f"{format_count(names, 'operation')} on names"] if names else []
        when = f"{duration(begin_s * 1e9)} after the first began" if index else "the first"
        return f"Phase {index + 1}, {when}, {duration(phase.duration_s * 1e9)} long: {', '.join(amounts)}."

    def _expectation(self) -> Iterator[str]:
        replay = self._replay
        yield from _comment("What was recorded of all this; the report of a run compares.", 0)
        yield "replays:"
        yield f"  source: {_quoted(_shortened(self._command, 1000))}"
        yield f"  processes: {replay.processes}"
        yield f"  duration: {_duration(max(1, round(replay.duration_s * 1000)))}"
        names = [f"phase-{number}" for number, _ in enumerate(replay.phases, start=1)]
        yield from _wrapped(f"  phases: [{', '.join(names)}]", 4)
        for direction, expected in replay.expected.items():
            if expected.operations:
                yield f"  {direction}:"
                yield from _expected(expected)
        if replay.left_out:
            yield "  left_out:"
            for skipped in replay.left_out:
                time = "" if skipped.spent_ns is None else f", time: {_duration_ns(skipped.spent_ns)}"
                yield f"    - {{operation: {skipped.operation}, calls: {skipped.calls}{time}}}"


_MOVES = {"read": "reads", "write": "writes"}


def _bytes(stream: Stream, ranks: int) -> float:
    return mean(stream.sizes) * stream.operations(ranks)


def _expected(expected: Expected) -> Iterator[str]:
    yield f"    operations: {expected.operations}"
    if expected.sizes:
        yield f"    bytes: {expected.bytes}"
        yield from _wrapped(f"    sizes: {_sizes(expected.sizes, always_weighed=True)}", 6)
        order = {"forward": expected.forward, "backward": expected.backward}
        order = {"consecutive": expected.operations - sum(order.values())} | order
        yield f"    order: {{{', '.join(f'{name}: {calls}' for name, calls in order.items())}}}"
        if expected.rank_bytes:
            least, most = expected.rank_bytes
            yield f"    rank_bytes: {{least: {least}, most: {most}}}"
    if expected.timeline:
        yield from _wrapped(f"    timeline: {_weights(expected.timeline)}", 6)


def _phase(name: str, duration_s: float | None, streams: Sequence[Stream], ranks: int) -> Iterator[str]:
    yield "      - replay:"
    yield f"          name: {name}"
    if duration_s is not None:
        yield f"          duration: {_duration(max(1, round(duration_s * 1000)))}"
        yield "          pace: ${pace}"
    yield "          streams:"
    for stream in streams:
        yield from _wrapped(f"            - {stream.verb}: {{{', '.join(_keys(stream, ranks))}}}", 16)


def _keys(stream: Stream, ranks: int) -> Iterator[str]:
    yield f"tree: {stream.tree}"
    if stream.verb == "fill":
        yield f"file_size: {_size(stream.file_bytes)}"
        return
    if stream.share == "all":
        yield "items: all"
    if stream.ranks and stream.ranks.count < ranks:
        first, last = stream.ranks.first, stream.ranks.first + stream.ranks.count - 1
        yield f"ranks: {first}" + (f"-{last}" if last > first else "")
    yield f"count: {stream.count}"
    if stream.sizes:
        if stream.opens > 1:
            yield f"opens: {stream.opens}"
        yield f"file_size: {_size(stream.file_bytes)}"
        yield f"sizes: {_sizes(stream.sizes)}"
        if stream.order != Order():
            yield f"order: {_order(stream.order)}"
        if stream.is_segmented:
            yield "region: segment"
        if stream.sync_every:
            yield f"sync_every: {stream.sync_every}"
    if stream.absent:
        yield "absent: yes"
    if stream.timeline:
        yield f"timeline: {_weights(stream.timeline)}"


def _order(order: Order) -> str:
    shares = dataclasses.asdict(order)
    return "{" + ", ".join(f"{name}: {share}" for name, share in shares.items() if share) + "}"


def _sizes(sizes: Sizes, *, always_weighed: bool = False) -> str:
    if len(sizes) == 1 and not always_weighed:
        return _size(sizes[0][0])
    return "{" + ", ".join(f"{_size(size)}: {calls}" for size, calls in sizes) + "}"


def _weights(weights: Sequence[int]) -> str:
    highest = max(weights)
    if highest > MOST_WEIGHT:
        weights = [math.ceil(weight * MOST_WEIGHT / highest) for weight in weights]
    return f"[{', '.join(map(str, weights))}]"


def _tree(tree: Tree) -> str:
    each = -(-tree.items // tree.directories)
    below = f", depth: 1, branch: {tree.directories}, leaves_only: yes" if tree.directories > 1 else ""
    return f"{{items: {each}{below}, sharing: shared-items}}"


def _about_tree(tree: Tree) -> str:
    what = tree.what
    files = "1 file" if what.files == 1 else f"{what.files:,} files"
    size = f" of {'about ' if what.files > 1 else ''}{format_about_bytes(what.file_bytes)}" if what.file_bytes else ""
    users = "used by one process" if what.processes == 1 else f"used by {what.processes} processes"
    users = users if what.files == 1 else f"each {users}"
    merged = f", with {what.merged} used otherwise" if what.merged else ""
    place = _path(f"{what.directory.rstrip('/')}/{what.pattern}" if what.directory else what.pattern)
    return f"{files}{size}, {users}{merged}: {place}"


def _note(note: Note) -> str:
    return _NOTES[note.kind].format(f"{note.amount:,}")


def _comment(comment: str, indent: int) -> list[str]:
    before = " " * indent + "# "
    return textwrap.wrap(
        comment, WIDTH, initial_indent=before, subsequent_indent=before, break_long_words=False, break_on_hyphens=False
    )


def _wrapped(line: str, indent: int) -> list[str]:
    """A line in flow style, over several where it is long."""
    stripped = line.lstrip()
    return textwrap.wrap(
        stripped,
        WIDTH,
        initial_indent=line[: len(line) - len(stripped)],
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _path(path: str) -> str:
    plain = _plain(path)
    return plain if len(plain) <= _MOST_PATH else f"…{plain[1 - _MOST_PATH :]}"


def _plain(string: str) -> str:
    """On one line, in letters that every file can hold, and without what a study would take for a setting."""
    return printable(" ".join(string.split())).replace("${", "$ {")


def _shortened(string: str, most: int = MOST_TITLE) -> str:
    return string if len(string) <= most else f"{string[: most - 1]}…"


def _quoted(string: str) -> str:
    return json.dumps(string, ensure_ascii=False)


def _size(size: int) -> str:
    for name, unit in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def _duration(milliseconds: int) -> str:
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"


def _duration_ns(nanoseconds: int) -> str:
    for name, unit in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds >= 10 * unit:
            return f"{round(nanoseconds / unit)}{name}"
    return f"{nanoseconds}ns"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"
