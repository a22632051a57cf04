"""The workflow of an application: the steps that read files which another step wrote, and how long these were idle.

`workflow_steps` groups processes; processes of one program at different places of the chain are different steps,
because a step does not read its own output. Only files on storage count; pipes and sockets leave no trace of their two
ends. Mapped files count as read, because maps read without calls.

Not: judging (`findings.files_between_steps` and others), words (`reports.profile`), drawing (`figures.profile`).
"""

from __future__ import annotations

import errno
import math
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import polars as pl

from ioassay.analysis.profile import workflow_steps
from ioassay.analysis.profile.maps import Maps, Range
from ioassay.analysis.profile.maps import maps as of_maps
from ioassay.analysis.profile.totals import directory_of
from ioassay.profiles.model import Profile

_DIRECTORY = pl.col("path").str.replace(r"/[^/]*$", "").alias("directory")

MOST_LAYERS = 100
"""The most layers of steps; later steps are in the last layer."""

_O_EXCL = 0o200

Fate = Literal["input", "between steps", "scratch", "result", "deleted unread"]
"""What happened to a file: read and never written; written by a step and read by another; written and read by the same
step only; written, never read and kept; written, never read and removed.
"""

FATES: tuple[Fate, ...] = ("input", "between steps", "scratch", "result", "deleted unread")

_KINDS = ("file", "unknown")
"""Kinds of files that can store bytes."""


@dataclass(frozen=True)
class Step:
    number: int
    """In the order of begin."""
    name: str
    layer: int
    """The longest chain of steps before it."""
    processes: int
    nodes: int
    begin_s: float
    end_s: float
    run_s: float
    """Sum of the run times of its processes."""
    read_bytes: int
    written_bytes: int
    command: str
    """Command of its first process."""


@dataclass(frozen=True)
class Exchange:
    """Files that one step wrote and another read."""

    writer: int
    reader: int
    files: int
    label: str
    """The path of the file, or a common pattern of several."""
    written_bytes: int
    read_bytes: int
    """Without reads through maps."""
    mapped: Range
    """Reads through maps."""
    longest_wait_s: float
    """From the writer's last close of a file to the reader's first open; 0 if it read while the writer wrote."""
    removed_files: int
    """Files among them that were removed before the recording ended."""
    same_node: bool
    """True if each file was written and read on one node."""


@dataclass(frozen=True)
class Workflow:
    """The steps and the files between them. Steps that exchange no file are left out."""

    steps: tuple[Step, ...]
    exchanges: tuple[Exchange, ...]
    """Exchanges with most bytes first."""
    files: pl.DataFrame
    """A row per file that was read or written: file, path, fate, is_removed, written_bytes, read_bytes, write_ns,
    read_ns, mapped_least_bytes and mapped_most_bytes (read by maps), writers, readers (steps), wait_s (the longest;
    null: not between steps), same_node.
    """

    def of(self, fate: Fate) -> pl.DataFrame:
        """The files with this fate, largest first."""
        size = pl.max_horizontal("written_bytes", "read_bytes")
        return self.files.filter(pl.col("fate") == fate).sort(size, "file", descending=[True, False])

    @property
    def chain(self) -> int:
        """The most hand-overs of data in a row, from step to step."""
        return max((step.layer for step in self.steps), default=0)


def workflow(profile: Profile, mapped: Maps | None = None) -> Workflow:
    """The workflow of a profile; without steps if none reads what another wrote, or if the source does not know which
    process used which file. `mapped` is the result of `maps.maps`, if known already.
    """
    processes = workflow_steps.units(profile)
    used = _used(profile, processes, of_maps(profile) if mapped is None else mapped)
    steps = _steps(processes, used)
    rows = _by_step(used.join(steps.select("unit", "step"), on="unit"))
    pairs = _pairs(rows)
    files = _files(profile, rows, pairs)
    numbers = sorted({*pairs["writer"], *pairs["reader"]})
    renumbered = {old: new for new, old in enumerate(numbers)}
    return Workflow(
        steps=tuple(_workflow_steps(profile, processes.join(steps, on="unit"), rows, renumbered)),
        exchanges=tuple(_exchanges(pairs, files, renumbered)),
        files=files,
    )


def condensed(whole: Workflow, most: int) -> Workflow:
    """The workflow with at most `most` steps in a layer: the steps that exchange the least are merged."""
    moved = dict.fromkeys(range(len(whole.steps)), 0)
    for exchange in whole.exchanges:
        for step in (exchange.writer, exchange.reader):
            moved[step] += max(exchange.written_bytes, exchange.read_bytes)
    groups: list[tuple[Step, ...]] = []
    for _, layer_steps in groupby(sorted(whole.steps, key=lambda step: step.layer), key=lambda step: step.layer):
        largest = sorted(layer_steps, key=lambda step: (-moved[step.number], step.number))
        alone = most if len(largest) <= most else most - 1
        groups += [(step,) for step in largest[:alone]]
        groups += [tuple(largest[alone:])] if largest[alone:] else []
    groups.sort(key=lambda group: min(step.number for step in group))
    steps = tuple(_merged_step(number, group) for number, group in enumerate(groups))
    numbers = {step.number: number for number, group in enumerate(groups) for step in group}
    merged: dict[tuple[int, int], Exchange] = {}
    for exchange in whole.exchanges:
        key = numbers[exchange.writer], numbers[exchange.reader]
        if key[0] != key[1]:
            merged[key] = _added(merged.get(key), exchange, key)
    return Workflow(steps, tuple(merged.values()), whole.files)


def _merged_step(number: int, steps: Sequence[Step]) -> Step:
    if len(steps) == 1:
        return replace(steps[0], number=number)
    return Step(
        number=number,
        name=f"{len(steps)} other steps",
        layer=steps[0].layer,
        processes=1,
        nodes=max(step.nodes for step in steps),
        begin_s=min(step.begin_s for step in steps),
        end_s=max(step.end_s for step in steps),
        run_s=sum(step.run_s for step in steps),
        read_bytes=sum(step.read_bytes for step in steps),
        written_bytes=sum(step.written_bytes for step in steps),
        command="",
    )


def _added(before: Exchange | None, exchange: Exchange, key: tuple[int, int]) -> Exchange:
    writer, reader = key
    if before is None:
        return replace(exchange, writer=writer, reader=reader)
    return Exchange(
        writer,
        reader,
        files=before.files + exchange.files,
        label=before.label if before.label == exchange.label else "…",
        written_bytes=before.written_bytes + exchange.written_bytes,
        read_bytes=before.read_bytes + exchange.read_bytes,
        mapped=before.mapped + exchange.mapped,
        longest_wait_s=max(before.longest_wait_s, exchange.longest_wait_s),
        removed_files=before.removed_files + exchange.removed_files,
        same_node=before.same_node and exchange.same_node,
    )


_MAPPED = ("mapped_least_bytes", "mapped_most_bytes")


def _used(profile: Profile, processes: pl.DataFrame, maps: Maps) -> pl.DataFrame:
    """A row per file and unit: bytes moved, the period in which it had the file open (`rewritten_s`: when the last of
    its writing processes opened it), whether it removed or renamed the file.
    """
    stores_bytes = pl.col("kind").is_in(_KINDS)
    files = profile.files.filter(stores_bytes).select("file", "path", "replaced")
    seconds = [
        ((pl.col(name) - profile.origin_unix_ns) / 1e9).alias(f"{name[:-3]}_s") for name in ("begin_ns", "end_ns")
    ]
    units = processes.select("process", "unit", *seconds)
    nodes = profile.processes.select("process", "node")
    executed = _executed(profile, files)
    linking = _linking(profile)
    mapped = maps.bounds.select("process", "file", **{name: name.replace("mapped", "read") for name in _MAPPED})
    rows = profile.file_processes.join(files.select("file"), on="file", how="semi")
    return (
        pl.concat([rows.with_columns(executed=pl.lit(False)), executed], how="diagonal")
        .join(units, on="process")
        .join(nodes, on="process", how="left")
        .join(files, on="file")
        .with_columns(_DIRECTORY)
        .join(linking, on=["process", "directory"], how="left")
        .join(_was_there(profile), on="file", how="left")
        .join(mapped, on=["process", "file"], how="left")
        .with_columns(
            first_s=pl.coalesce("first_open_s", "begin_s"),
            last_s=pl.coalesce("last_close_s", "end_s"),
            reads=(pl.col("read_bytes").fill_null(0) > 0) | (pl.col("maps").fill_null(0) > 0) | pl.col("executed"),
            writes=pl.col("written_bytes").fill_null(0) > 0,
        )
        .with_columns(is_removal=_removes(profile))
        .group_by("file", "unit")
        .agg(
            pl.col("read_bytes", "written_bytes", "read_ns", "write_ns", *_MAPPED).sum(),
            pl.col("reads", "writes").any(),
            written_from_s=pl.col("first_s").filter("writes").min(),
            written_until_s=pl.col("last_s").filter("writes").max(),
            read_from_s=pl.col("first_s").filter("reads").min(),
            read_until_s=pl.col("last_s").filter("reads").max(),
            removes=pl.col("is_removal").any(),
            removed_s=pl.col("end_s").filter(pl.col("removes") > 0).max(),
            rewritten_s=pl.col("first_s").filter("writes").max(),
            is_renamed=(pl.col("renames") > 0).any(),
            node=pl.when(pl.col("node").n_unique() == 1).then(pl.col("node").first()),
        )
    )


def _removes(profile: Profile) -> pl.Expr:
    """Whether a process removed the file after it was written. A removed name may have been one of two if the process
    made links. A process that also writes the file may have removed an earlier file of that name, unless

    - it created the file itself (O_EXCL), and no open failed because the file existed;
    - more files of that name were removed than replaced the first one;
    - there were removals after it closed the file, as far as the time line shows.
    """
    removals = profile.timeline.filter(pl.col("operation") == "remove")["start_s"].to_list()
    latest_s = max(removals) + profile.timeline_step_s if removals else math.inf
    is_later = pl.coalesce("last_close_s", "first_s") < latest_s
    is_same_file = (
        (pl.col("open_flags").fill_null(0) & _O_EXCL > 0)
        & ~pl.col("was_there").fill_null(False)
        & (pl.col("removes").sum().over("file") > pl.col("replaced").fill_null(0))
        & is_later
    )
    is_last_name = pl.col("links").is_null()
    return (pl.col("removes").fill_null(0) > 0) & (~pl.col("writes") | is_same_file) & is_last_name


def _was_there(profile: Profile) -> pl.DataFrame:
    """file, was_there: files with failed opens, and whether they failed although the file existed."""
    opens = profile.file_operations.filter(pl.col("operation") == "open", pl.col("failed") > 0)
    is_absent = (pl.col("last_errno") == errno.ENOENT).fill_null(False)
    return profile.files.join(opens, on="file", how="semi").select("file", was_there=~is_absent)


def _linking(profile: Profile) -> pl.DataFrame:
    """Processes that created names without opening them, by directory: process, directory, links."""
    names = profile.files.filter(pl.col("kind").is_in(_KINDS)).select("file", "path")
    made = profile.file_processes.filter(pl.col("creates") > 0).join(names, on="file").with_columns(_DIRECTORY)
    return made.group_by("process", "directory").agg(links=pl.len())


def _executed(profile: Profile, files: pl.DataFrame) -> pl.DataFrame:
    """file, process, executed: processes that ran one of the files, which is read without calls."""
    programs = profile.processes.select("process", pl.col("executable").alias("path")).drop_nulls()
    return programs.join(files, on="path").select("file", "process", executed=pl.lit(True))


def _steps(processes: pl.DataFrame, used: pl.DataFrame) -> pl.DataFrame:
    """The step of each unit: unit, step, name, layer. The layer of a unit is after all units that it reads from."""
    rows = used.filter(pl.col("reads") | pl.col("writes"))
    shared = rows.filter(pl.col("writes").any().over("file"), pl.len().over("file") > 1).sort("file", "unit")
    names = processes.group_by("unit").agg(pl.col("name").first())
    layers = names.select("unit", layer=pl.lit(0, pl.Int64))
    for _ in range(
        MOST_LAYERS if shared.height else 0
    ):  # units are numbered by begin and only feed later ones, so the loop ends
        fed = (
            shared.join(layers, on="unit", maintain_order="left")
            .with_columns(layer=pl.when("writes").then("layer"))
            .with_columns(layer=pl.col("layer").cum_max().shift(1).over("file"))
            .with_columns(layer=pl.col("layer").forward_fill().over("file"))
            .filter("reads")
            .group_by("unit")
            .agg(fed=pl.col("layer").max() + 1)
        )
        deeper = layers.join(fed, on="unit", how="left").select(
            "unit", layer=pl.max_horizontal("layer", pl.col("fed").fill_null(0))
        )
        if deeper["layer"].equals(layers["layer"]):
            break
        layers = deeper
    placed = names.join(layers, on="unit")
    order = placed.group_by("name", "layer").agg(first=pl.col("unit").min()).sort("first").with_row_index("step")
    return placed.join(order.with_columns(pl.col("step").cast(pl.Int64)), on=["name", "layer"]).drop("first")


def _by_step(used: pl.DataFrame) -> pl.DataFrame:
    """`_used` summed by steps."""
    return used.group_by("file", "step").agg(
        pl.col("read_bytes", "written_bytes", "read_ns", "write_ns", *_MAPPED).sum(),
        pl.col("reads", "writes", "removes", "is_renamed").any(),
        pl.col("written_from_s", "read_from_s").min(),
        pl.col("written_until_s", "rewritten_s", "read_until_s", "removed_s").max(),
        node=pl.when(pl.col("node").n_unique() == 1).then(pl.col("node").first()),
    )


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """A row per file, step that wrote it and other step that read it, unless it read before the other wrote."""
    writers = rows.filter("writes").select(
        "file", "written_bytes", "write_ns", "written_from_s", "written_until_s",
        writer="step", writer_node="node",
    )  # fmt: skip
    readers = rows.filter("reads").select(
        "file", "read_bytes", "read_ns", *_MAPPED, "read_from_s", "read_until_s", reader="step", reader_node="node"
    )
    return (
        writers.join(readers, on="file")
        .filter(pl.col("writer") != pl.col("reader"), pl.col("written_from_s") <= pl.col("read_until_s"))
        .with_columns(
            wait_s=(pl.col("read_from_s") - pl.col("written_until_s")).clip(0),
            same_node=(pl.col("writer_node") == pl.col("reader_node")).fill_null(False),
        )
    )


def _files(profile: Profile, rows: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    exchanged = pairs.group_by("file").agg(pl.col("wait_s").max(), pl.col("same_node").all(), is_exchanged=pl.lit(True))
    removed_after = pl.col("removed_s").max() >= pl.col("rewritten_s").max()
    unknown = _read_by_unknown(profile)
    files = (
        rows.group_by("file")
        .agg(
            pl.col("written_bytes", "read_bytes", "write_ns", "read_ns", *_MAPPED).sum(),
            pl.col("reads", "writes").any(),
            is_removed=(pl.col("removes").any() & ~pl.col("is_renamed").any() & removed_after).fill_null(False),
            writers=pl.col("writes").sum(),
            readers=pl.col("reads").sum(),
        )
        .filter(pl.col("reads") | pl.col("writes"))
        .join(exchanged, on="file", how="left")
        .join(profile.files.select("file", "path"), on="file")
    )
    fate = (
        pl.when(~pl.col("writes")).then(pl.lit("input"))
        .when("is_exchanged").then(pl.lit("between steps"))
        .when(pl.col("reads") | pl.col("file").is_in(unknown)).then(pl.lit("scratch"))
        .when("is_removed").then(pl.lit("deleted unread"))
        .otherwise(pl.lit("result"))
    )  # fmt: skip
    return files.select(
        "file", "path", fate.alias("fate"), "is_removed", "written_bytes", "read_bytes", "write_ns", "read_ns",
        *_MAPPED, "writers", "readers", "wait_s", "same_node",
    ).sort("file")  # fmt: skip


def _read_by_unknown(profile: Profile) -> list[int]:
    """Files with reads of unknown processes."""
    known = profile.file_processes.group_by("file").agg(known=pl.col("read_bytes").sum())
    reads = profile.file_operations.filter(pl.col("operation").str.contains("read|map|copy from"))
    every = reads.group_by("file").agg(pl.col("bytes").sum())
    return list(every.join(known, on="file", how="left").filter(pl.col("bytes") > pl.col("known").fill_null(0))["file"])


def _workflow_steps(profile: Profile, placed: pl.DataFrame, frame: pl.DataFrame, numbers: dict[int, int]) -> list[Step]:
    if not numbers:
        return []
    facts = profile.processes.select("process", "node", "command")
    moved = frame.group_by("step").agg(pl.col("read_bytes", "written_bytes").sum())
    rows = (
        placed.filter(pl.col("step").is_in(list(numbers)))
        .join(facts, on="process")
        .sort("begin_ns", "process")
        .group_by("step", "name", "layer")
        .agg(
            pl.len().alias("processes"),
            pl.col("node").n_unique().alias("nodes"),
            pl.col("begin_ns").min(),
            pl.col("end_ns").max(),
            (pl.col("end_ns") - pl.col("begin_ns")).sum().alias("run_ns"),
            pl.col("command").first(),
        )
        .join(moved, on="step")
    )
    steps = [
        Step(
            numbers[row["step"]], row["name"], row["layer"], row["processes"], row["nodes"],
            (row["begin_ns"] - profile.origin_unix_ns) / 1e9, (row["end_ns"] - profile.origin_unix_ns) / 1e9,
            row["run_ns"] / 1e9,
            row["read_bytes"], row["written_bytes"], row["command"] or "",
        )
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    return sorted(steps, key=lambda step: step.number)


def _exchanges(pairs: pl.DataFrame, files: pl.DataFrame, numbers: dict[int, int]) -> list[Exchange]:
    if pairs.is_empty():
        return []
    rows = (
        pairs.join(files.select("file", "path", "is_removed"), on="file")
        .group_by("writer", "reader")
        .agg(
            pl.len().alias("files"),
            pl.col("path").sort(),
            pl.col("written_bytes", "read_bytes", *_MAPPED).sum(),
            pl.col("wait_s").max(),
            pl.col("is_removed").sum(),
            pl.col("same_node").all(),
        )
    )
    exchanges = [
        Exchange(
            numbers[row["writer"]], numbers[row["reader"]], row["files"], common_name(row["path"]),
            row["written_bytes"], row["read_bytes"], Range(*(row[name] for name in _MAPPED)),
            row["wait_s"], row["is_removed"], row["same_node"],
        )
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    return sorted(
        exchanges,
        key=lambda exchange: (-max(exchange.written_bytes, exchange.read_bytes), exchange.writer, exchange.reader),
    )


def common_name(paths: Sequence[str]) -> str:
    """The common pattern of sorted paths: `/scratch/parts/part.*.txt`."""
    if len(set(paths)) == 1:
        return paths[0]
    directory = posixpath.commonpath(paths) if all(path.startswith("/") for path in paths) else ""
    if any(directory_of(path) != directory for path in paths):
        return f"{directory.rstrip('/')}/…" if directory else "…"
    names = [posixpath.basename(path) for path in paths]
    begin = posixpath.commonprefix(names)
    end = posixpath.commonprefix([name[len(begin) :][::-1] for name in names])[::-1]
    return posixpath.join(directory, f"{begin}*{end}")
