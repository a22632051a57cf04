"""Names that were used, and the transfers on them, added up while they are read; at the end, which names are one file.

Names of one node with the same device, inode, birth time and generation are one file. Where the file system has no
generation, names that were removed or renamed are not: their inode may have been used again, within one tick of the
clock that births have; but a renamed file is known by its size when its new name was opened. A name that several files
had, one after another, is one row of its own, which says so. The same path on several nodes is one file, unless its
inode differs there.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles import model as profile_model
from ioassay.profiles.model import (
    COMMON_SIZES,
    DIRECTION,
    DIRECTIONS,
    FILE_OPERATIONS,
    FILE_PROCESSES,
    FILE_SIZES,
    FILES,
    ON_STORAGE,
)
from ioassay.profiles.records.grouped import GroupedRows, whole
from ioassay.profiles.records.processes import Image
from ioassay.profiles.records.tables import Rows, Table, find_places
from ioassay.protocol.record_layout import (
    FIRST_TRANSFER,
    OPERATIONS,
    SIZE_BEGINS_BYTES,
    BlockKind,
    FileKind,
    TextKind,
)

OTHERS = "(other files)"
"""The name of the row of all files of a directory that a table had no place for; alone, of all directories."""

_KINDS: dict[int, profile_model.FileKind] = {
    FileKind.UNKNOWN: "unknown",
    FileKind.KERNEL: "kernel",
    FileKind.REGULAR: "file",
    FileKind.DIRECTORY: "directory",
    FileKind.BLOCK_DEVICE: "block device",
    FileKind.CHARACTER_DEVICE: "character device",
    FileKind.PIPE: "pipe",
    FileKind.SOCKET: "socket",
    FileKind.ANONYMOUS: "anonymous",
    FileKind.OTHERS: "others",
    FileKind.MEMORY: "memory",
}

_STORED = np.array([_KINDS[kind] in ON_STORAGE for kind in range(len(_KINDS))])
"""Of each kind."""

_WITH_PATH = frozenset(
    kind for kind, word in _KINDS.items() if word in (*ON_STORAGE, "kernel", "memory", "character device")
)
_METADATA = DIRECTIONS.index("metadata")
_DIRECTIONS = np.array([DIRECTIONS.index(DIRECTION[name]) if name in DIRECTION else -1 for name in OPERATIONS])
"""Of each operation; -1 where it has none."""

_IDENTITY = ("device", "inode", "birth_ns", "generation")
"""What a file is known by, on its node."""
_OPERATIONS_OF = {
    way: [OPERATIONS.index(name) for name, of in DIRECTION.items() if of == way] for way in ("read", "write")
}
"""The numbers of the operations in a direction that moves bytes."""

_MOVED = {"removed": OPERATIONS.index("remove"), "renamed": OPERATIONS.index("rename")}
"""What may have been done to a name, by the operation."""

_COUNTED = {f"{name}s": OPERATIONS.index(name) for name in ("create", "remove", "rename", "truncate", "map")}
"""The columns of `FILE_PROCESSES` that count calls, by operation."""

_TRANSFERS = ("calls", "failed", "bytes", "ns", "slowest_ns", "consecutive", "forward", "strided", "misaligned")


def _at_first_open(name: str) -> pl.Expr:
    return pl.col(name).sort_by("first_open_ns", nulls_last=True).first()


class FileFrames(NamedTuple):
    """What is known of all files."""

    frames: dict[str, pl.DataFrame]
    """`files`, all that begin with `file_`, and `common_sizes` of a profile."""
    of_entries: pl.Series
    """The file of each entry."""


class Files:
    """All files, while tables are read. An entry is a path on a node."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], int] = {}
        self._names_seen: dict[tuple[str, str], dict[tuple[bytes, int], int]] = {}
        """By node and working directory: the entry of each name and kind, as tables have them."""
        key = {"entry": pl.Int64}
        self._names = GroupedRows(
            key | {"kind": pl.UInt16, "errno": pl.UInt32, "metadata_ns": pl.Float64} | dict.fromkeys(_MOVED, pl.UInt8),
            ["entry"],
            *(pl.col(name).max() for name in ("kind", "errno", *_MOVED)),
        )
        self._opened = GroupedRows(
            key
            | {"size_bytes": pl.UInt64}
            | dict.fromkeys(("block_bytes", "open_flags", "replaced"), pl.UInt32)
            | dict.fromkeys(("first_open_ns", "last_close_ns"), pl.Int64),
            ["entry"],
            *map(_at_first_open, ("size_bytes", "block_bytes")),
            pl.col("replaced").max(),
            pl.col("open_flags").bitwise_or(),
            pl.col("first_open_ns").min(),
            pl.col("last_close_ns").max(),
        )
        identity = key | dict.fromkeys(_IDENTITY, pl.UInt64)
        self._identities = GroupedRows(identity, list(identity))
        """Which files had the name."""
        by_operation = key | {"operation": pl.Int64}
        self._calls = GroupedRows(by_operation | {"calls": pl.Float64, "failed": pl.Float64}, list(by_operation))
        self._transfers = GroupedRows(
            by_operation | dict.fromkeys(_TRANSFERS, pl.Float64) | {"begin": pl.Float64, "end": pl.Float64},
            list(by_operation),
            pl.col("slowest_ns").max(),
            pl.col("begin").min(),
            pl.col("end").max(),
        )
        self._sizes = GroupedRows(by_operation | {"bucket": pl.Int64, "calls": pl.Float64}, [*by_operation, "bucket"])
        self._common = GroupedRows(by_operation | {"bytes": pl.Int64, "calls": pl.Float64}, [*by_operation, "bytes"])
        spent = {"process": pl.Int64, "is_on_storage": pl.Boolean, "direction": pl.Int64}
        self._spent = GroupedRows(spent | {"bytes": pl.Float64, "ns": pl.Float64}, list(spent))
        user = {"process": pl.Int64, "entry": pl.Int64}
        uses = user | {"operation": pl.Int64}
        self._users = GroupedRows(uses | dict.fromkeys(("succeeded", "bytes", "ns"), pl.Float64), list(uses))
        self._opened_by = GroupedRows(
            user | {"open_flags": pl.UInt32, "first_open_ns": pl.Int64, "last_close_ns": pl.Int64},
            list(user),
            pl.col("open_flags").bitwise_or(),
            pl.col("first_open_ns").min(),
            pl.col("last_close_ns").max(),
        )

    def add(self, image: Image, table: Table, node: str) -> NDArray[np.int64]:
        """Adds the files of a table. `node` is where it does not say it. Returns the entries of their blocks, in the
        order of these.
        """
        places, files = table.rows(BlockKind.FILE)
        node = table.texts.get(TextKind.NODE, "") or node
        directory = table.texts.get(TextKind.DIRECTORY, "/")
        entries = self._find_entries(node, directory, table, files)
        if len(entries):
            stored = _STORED[np.minimum(files["kind"], len(_STORED) - 1)]
            self._add_names(image, table, entries, files, stored)
            self._add_calls(image, entries, files)
            self._add_transfers(image, table, entries, places, stored)
        return entries

    def paths(self) -> list[str]:
        """The path of each entry."""
        return [path for _, path in self._entries]

    def _find_entries(self, node: str, directory: str, table: Table, files: Rows) -> NDArray[np.int64]:
        names = self._names_seen.setdefault((node, directory), {})
        entries = []
        for raw, kind in zip(table.after(BlockKind.FILE), files["kind"].tolist(), strict=True):
            entry = names.get((raw, kind))
            if entry is None:
                key = (node, _path(directory, raw, kind))
                entry = names[raw, kind] = self._entries.setdefault(key, len(self._entries))
            entries.append(entry)
        return np.array(entries, dtype=np.int64)

    def _add_names(
        self, image: Image, table: Table, entries: NDArray[np.int64], files: Rows, stored: NDArray[np.bool]
    ) -> None:
        moved = {name: files["calls"][:, index] > files["failed"][:, index] for name, index in _MOVED.items()}
        ns = files["ticks"] * image.ns_per_tick
        self._names.add({"entry": entries, "kind": files["kind"], "errno": files["error"], "metadata_ns": ns} | moved)
        self._add_spent(image, stored, np.full(len(files), _METADATA), np.zeros(len(files)), ns)
        places, opened = table.rows(BlockKind.OPENED)
        index, is_opened = find_places(places, files["opened"])
        known = opened[index[is_opened]]
        if len(known):
            self._identities.add({"entry": entries[is_opened]} | {name: known[name] for name in _IDENTITY})
            columns = {name: known[name] for name in ("size_bytes", "block_bytes", "open_flags", "replaced")}
            closed = known["last_close_ticks"]
            moments = {
                "entry": entries[is_opened],
                "first_open_ns": image.all_unix_ns(known["first_open_ticks"]),
                "last_close_ns": np.where(closed != 0, image.all_unix_ns(closed), 0),
            }
            self._opened.add(columns | moments)
            process = np.full(len(known), image.process)
            self._opened_by.add(moments | {"process": process, "open_flags": known["open_flags"]})

    def _add_calls(self, image: Image, entries: NDArray[np.int64], files: Rows) -> None:
        file, operation = np.nonzero(files["calls"])
        failed = files["failed"][file, operation]
        self._calls.add(
            {"entry": entries[file], "operation": operation, "calls": files["calls"][file, operation], "failed": failed}
        )
        nothing = np.zeros(len(file))
        self._users.add(
            {"process": np.full(len(file), image.process), "entry": entries[file], "operation": operation}
            | {"succeeded": _succeeded(files["calls"][file, operation], failed), "bytes": nothing, "ns": nothing}
        )

    def _add_spent(
        self,
        image: Image,
        stored: NDArray[np.bool],
        directions: NDArray[np.int64],
        moved: NDArray[Any],
        ns: NDArray[Any],
    ) -> None:
        """Adds to what a process spent, of calls that reach the file system."""
        counts = directions >= 0
        columns = {
            "is_on_storage": stored,
            "direction": directions,
            "bytes": moved,
            "ns": ns,
        }
        self._spent.add(
            {"process": np.full(counts.sum(), image.process)} | {name: rows[counts] for name, rows in columns.items()}
        )

    def spent(self, processes: int) -> dict[str, NDArray[np.float64]]:
        """What each process spent on files: the columns of `PROCESSES` for it."""
        sums = np.zeros((2, 2, len(DIRECTIONS), processes))
        for process, is_on_storage, direction, moved, ns in self._spent.frame().iter_rows():
            sums[:, int(is_on_storage), direction, process] = moved, ns
        (_, stored_bytes), (elsewhere_ns, stored_ns) = sums
        names = ("read_bytes", "written_bytes", "read_ns", "write_ns", "metadata_ns")
        stored = dict(zip(names, (*stored_bytes[:2], *stored_ns), strict=True))
        return stored | {"elsewhere_ns": elsewhere_ns.sum(axis=0)}

    def _add_transfers(
        self,
        image: Image,
        table: Table,
        entries: NDArray[np.int64],
        places: NDArray[np.int64],
        stored: NDArray[np.bool],
    ) -> None:
        _, rows = table.rows(BlockKind.TRANSFERS)
        index, is_known = find_places(places, rows["file"])
        is_known &= (rows["operation"] < len(OPERATIONS)) & (rows["calls"] > 0)
        rows, entry, stored = rows[is_known], entries[index[is_known]], stored[index[is_known]]
        if not len(rows):
            return
        key: dict[str, NDArray[Any]] = {"entry": entry, "operation": rows["operation"]}
        ns, slowest = (rows[name] * image.ns_per_tick for name in ("ticks", "slowest_ticks"))
        self._add_spent(image, stored, _DIRECTIONS[rows["operation"]], rows["bytes"], ns)
        same = {name: rows[name] for name in _TRANSFERS if name not in ("ns", "slowest_ns")}
        extent = {name: np.where(rows["bytes"] > 0, rows[name].astype(np.float64), np.nan) for name in ("begin", "end")}
        self._transfers.add(key | same | {"ns": ns, "slowest_ns": slowest} | extent)
        self._users.add(
            {"process": np.full(len(rows), image.process), **key}
            | {"succeeded": _succeeded(rows["calls"], rows["failed"]), "bytes": rows["bytes"], "ns": ns}
        )
        row, bucket = np.nonzero(rows["sizes"])
        self._sizes.add(
            {
                "entry": entry[row],
                "operation": rows["operation"][row],
                "bucket": bucket,
                "calls": rows["sizes"][row, bucket],
            }
        )
        row, place = np.nonzero(rows["common_calls"])
        self._common.add(
            {"entry": entry[row], "operation": rows["operation"][row]}
            | {"bytes": rows["common_bytes"][row, place], "calls": rows["common_calls"][row, place]}
        )

    def frames(self, origin_ns: int) -> FileFrames:
        """All that is known of files."""
        nodes, paths = zip(*self._entries, strict=True) if self._entries else ((), ())
        entries = pl.DataFrame(
            {"entry": range(len(paths)), "node": nodes, "path": paths},
            schema={"entry": pl.Int64, "node": pl.String, "path": pl.String},
        )
        for known in (self._names.frame(), self._opened.frame()):
            entries = entries.join(known, on="entry", how="left", maintain_order="left")
        facts = entries.with_columns(last_close_ns=pl.when(pl.col("last_close_ns") > 0).then("last_close_ns"))
        identities = self._identities.frame()
        facts = facts.join(_later_files(identities), on="entry", how="left", maintain_order="left").with_columns(
            replaced=pl.max_horizontal("replaced", "later_files").fill_null(0)
        )
        facts = facts.with_columns(group=pl.Series(_groups(facts, identities), dtype=pl.Int64))
        users = self._users.frame().with_columns(group=pl.lit(facts["group"]).gather("entry"))
        files = _files(facts, users, origin_ns)
        file_of = facts.join(files, on="group", how="left", maintain_order="left")["file"].cast(pl.Int64)
        operations = _operations(self._calls.frame(), self._transfers.frame(), users, file_of)
        processes = _processes(users, self._opened_by.frame(), files, file_of, origin_ns)
        begins = pl.Series(SIZE_BEGINS_BYTES)
        sizes = _by_file(self._sizes.frame(), file_of, ["operation", "bucket"]).with_columns(
            begin_bytes=pl.lit(begins).gather("bucket"),
            end_bytes=pl.lit(begins.shift(-1)).gather("bucket"),
            calls=whole("calls"),
        )
        common = _by_file(self._common.frame(), file_of, ["operation", "bytes"]).with_columns(whole("calls"))
        frames = {
            "files": _shaped(files, FILES),
            "file_operations": _shaped(operations, FILE_OPERATIONS),
            "file_processes": _shaped(processes, FILE_PROCESSES),
            "file_sizes": _shaped(sizes, FILE_SIZES),
            "common_sizes": _shaped(common, COMMON_SIZES),
        }
        return FileFrames(frames, file_of)


def _path(directory: str, raw: bytes, kind: int) -> str:
    """The path of a name: absolute, without `.`, `..` and repeated slashes. Links are not resolved."""
    name = raw.decode(errors="replace")
    if kind == FileKind.OTHERS:
        name = posixpath.join(name, OTHERS)
    if kind not in _WITH_PATH or name == OTHERS:
        return name
    normal = posixpath.normpath(posixpath.join(directory, name))
    return normal[1:] if normal.startswith("//") else normal


def _succeeded(calls: NDArray[Any], failed: NDArray[Any]) -> NDArray[np.float64]:
    succeeded: NDArray[np.float64] = (calls - np.minimum(failed, calls)).astype(np.float64)
    return succeeded


def folded(table: Table) -> tuple[int, int]:
    """Calls on files without a row of their own, and about how many files these are; 0: an older table does not say."""
    places, files = table.rows(BlockKind.FILE)
    _, transfers = table.rows(BlockKind.TRANSFERS)
    is_folded = files["kind"] == FileKind.OTHERS
    index, is_known = find_places(places[is_folded], transfers["file"])
    calls = files["calls"][is_folded].sum() + transfers["calls"][is_known].sum()
    sketches, registers = table.rows(BlockKind.FOLDED)
    index, is_known = find_places(sketches, files["folded"][is_folded])
    # Whatever the directories: their names differ.
    return int(calls), _different(registers["registers"][index[is_known]].max(axis=0, initial=0))


def _different(registers: NDArray[np.uint8]) -> int:
    """About how many names a sketch is of: HyperLogLog."""
    count = len(registers)
    estimate = 0.7213 / (1 + 1.079 / count) * count**2 / float((0.5 ** registers.astype(np.float64)).sum())
    empty = int((registers == 0).sum())
    return round(count * np.log(count / empty) if empty and estimate <= 2.5 * count else estimate)


def _later_files(identities: pl.DataFrame) -> pl.DataFrame:
    """For each entry how many files had its name after the first one, at least: as far as processes differ in that."""
    is_known = pl.col("generation") > 0  # a file may have been seen with and without it
    files = [pl.struct(_IDENTITY[:3]).n_unique(), pl.struct(_IDENTITY).filter(is_known).n_unique()]
    return identities.group_by("entry").agg(later_files=pl.max_horizontal(files).cast(pl.UInt32) - 1)


def _renames(opened: pl.DataFrame) -> pl.DataFrame:
    """Names that a file got when it was renamed: entry, old_entry. Of a rename, the recorder knows the old name. The
    new one has the same inode, was opened when the old one was closed, and was not empty then: no new file.
    """
    key = ["node", "device", "inode", "birth_ns", "generation"]
    old = opened.filter(pl.col("renamed") > 0, pl.col("removed") == 0, pl.col("replaced") == 0)
    new = opened.filter(pl.col("size_bytes") > 0, pl.col("replaced") == 0)
    pairs = new.join(old.select(*key, old_entry="entry", closed_ns="last_close_ns"), on=key)
    later = pairs.filter(pl.col("first_open_ns") >= pl.col("closed_ns"), pl.col("entry") != pl.col("old_entry"))
    return later.group_by("entry").agg(pl.col("old_entry").sort_by("closed_ns").last()).sort("entry")


def _groups(facts: pl.DataFrame, identities: pl.DataFrame) -> list[int]:
    """For each entry the first entry that is the same file."""
    parent = list(range(facts.height))

    def root(of: int) -> int:
        while parent[of] != of:
            parent[of] = parent[parent[of]]
            of = parent[of]
        return of

    def join(entry: int, other: int) -> None:
        first, this = root(other), root(entry)
        parent[max(first, this)] = min(first, this)

    known: dict[tuple[Any, ...], int] = {}
    """The first entry of each path with its inode, and of each file of a node."""
    by_path: dict[str, int] = {}
    moved = (pl.col("removed") | pl.col("renamed")).cast(pl.Boolean).alias("moved")
    opened = facts.select("entry", "node", "path", moved, "replaced").join(identities, on="entry")
    for entry, node, path, moved, replaced, device, inode, birth_ns, generation in opened.sort("entry").iter_rows():
        join(entry, known.setdefault((path, inode), entry))
        if not replaced and (generation or not moved):
            join(entry, known.setdefault((node, device, inode, birth_ns, generation), entry))
        by_path.setdefault(path, entry)
    for entry, other in _renames(opened.join(facts.drop("node", "replaced"), on="entry")).iter_rows():
        join(entry, other)
    never_opened = facts.join(identities, on="entry", how="anti")
    for entry, path in never_opened.select("entry", "path").iter_rows():  # the same path elsewhere is the best guess
        join(entry, by_path.setdefault(path, entry))
    return [root(entry) for entry in range(facts.height)]


def _files(facts: pl.DataFrame, users: pl.DataFrame, origin_ns: int) -> pl.DataFrame:
    """`FILES` with a column `group`."""
    moved = (
        users.group_by("group", "process")
        .agg(pl.col("bytes", "ns").sum(), moves=(pl.col("operation") >= FIRST_TRANSFER).any())
        .group_by("group")
        .agg(
            processes=pl.len(),
            least_process_bytes=pl.col("bytes").filter("moves").min(),
            most_process_bytes=pl.col("bytes").filter("moves").max(),
            fastest_process_ns=pl.col("ns").filter("moves").min(),
            slowest_process_ns=pl.col("ns").filter("moves").max(),
        )
        .with_columns(whole(name) for name in list(FILES)[-4:])
    )
    names = pl.col("path").sort_by("first_open_ns", "path", nulls_last=True)
    files = (
        facts.group_by("group")
        .agg(
            path=names.first(),
            node=pl.col("node").min(),
            kind=pl.col("kind").max(),
            names=pl.col("path").n_unique(),
            size_at_open_bytes=_at_first_open("size_bytes"),
            block_bytes=_at_first_open("block_bytes"),
            open_flags=pl.col("open_flags").bitwise_or(),
            first_open_s=(pl.col("first_open_ns").min() - origin_ns) / 1e9,
            last_close_s=(pl.col("last_close_ns").max() - origin_ns) / 1e9,
            metadata_ns=pl.col("metadata_ns").sum(),
            last_errno=pl.col("errno").max(),
            replaced=pl.col("replaced").max(),
        )
        .with_columns(
            whole("metadata_ns"),
            kind=pl.col("kind").replace_strict(_KINDS, default="unknown", return_dtype=pl.String),
            block_bytes=pl.when(pl.col("block_bytes") > 0).then("block_bytes"),
            last_errno=pl.when(pl.col("last_errno") > 0).then("last_errno"),
        )
        .join(moved, on="group")  # without what nobody called anything on
    )
    is_elsewhere_another = pl.len().over("path") > 1
    return (
        files.with_columns(node=pl.when(is_elsewhere_another).then("node"))
        .sort("path", "node", "group")
        .with_row_index("file")
    )


def _operations(calls: pl.DataFrame, transfers: pl.DataFrame, users: pl.DataFrame, file_of: pl.Series) -> pl.DataFrame:
    """`FILE_OPERATIONS`."""
    key = ["operation"]
    processes = _by_file(users, file_of, key, pl.col("process").n_unique().alias("processes"), sums=())
    moved = _by_file(
        transfers, file_of, key, pl.col("slowest_ns").max(), pl.col("begin").min(), pl.col("end").max()
    ).rename({"ns": "duration_ns", "begin": "begin_bytes", "end": "end_bytes"})
    every = pl.concat([_by_file(calls, file_of, key), moved], how="diagonal")
    return (
        every.with_columns(whole(name) for name in every.columns if name not in ("file", "operation"))
        .join(processes, on=["file", "operation"], how="left")
        .sort("file", "operation")
    )


def _processes(
    users: pl.DataFrame, opened: pl.DataFrame, files: pl.DataFrame, file_of: pl.Series, origin_ns: int
) -> pl.DataFrame:
    """`FILE_PROCESSES`."""
    key = ["file", "process"]
    is_moved = {name: pl.col("operation").is_in(_OPERATIONS_OF[name]) for name in ("read", "write")}
    counted = [*_COUNTED.values(), *_OPERATIONS_OF["read"], *_OPERATIONS_OF["write"]]
    done = (
        users.filter(pl.col("operation").is_in(counted))
        .with_columns(file=pl.lit(file_of).gather("entry"))
        .group_by(key)
        .agg(
            *(pl.col("succeeded").filter(operation=number).sum().alias(name) for name, number in _COUNTED.items()),
            read_bytes=pl.col("bytes").filter(is_moved["read"]).sum(),
            written_bytes=pl.col("bytes").filter(is_moved["write"]).sum(),
            read_ns=pl.col("ns").filter(is_moved["read"]).sum(),
            write_ns=pl.col("ns").filter(is_moved["write"]).sum(),
        )
    )
    moments = (
        opened.with_columns(file=pl.lit(file_of).gather("entry"))
        .group_by(key)
        .agg(pl.col("open_flags").bitwise_or(), pl.col("first_open_ns").min(), pl.col("last_close_ns").max())
    )
    sums = [name for name in done.columns if name not in key]
    stored = files.filter(pl.col("kind").is_in(ON_STORAGE)).select(pl.col("file").cast(pl.Int64))
    return (
        done.join(moments, on=key, how="full", coalesce=True)
        .join(stored, on="file", how="semi")
        .with_columns(
            *(whole(name).fill_null(0) for name in sums),
            processes=pl.lit(1),
            first_open_s=(pl.col("first_open_ns") - origin_ns) / 1e9,
            last_close_s=(pl.when(pl.col("last_close_ns") > 0).then("last_close_ns") - origin_ns) / 1e9,
        )
        .sort(key)
    )


def _by_file(
    rows: pl.DataFrame, file_of: pl.Series, keys: Sequence[str], *others: pl.Expr, sums: Sequence[str] | None = None
) -> pl.DataFrame:
    """Rows of entries as rows of files, added up but for `others`; operations by their words."""
    if sums is None:
        special = {other.meta.output_name() for other in others}
        sums = [name for name in rows.columns if name not in {"entry", *keys, *special}]
    return (
        rows.with_columns(file=pl.lit(file_of).gather("entry"))
        .group_by("file", *keys)
        .agg(*(pl.col(name).sum() for name in sums), *others)
        .sort("file", *keys)
        .with_columns(operation=pl.lit(pl.Series(OPERATIONS)).gather("operation"))
    )


def _shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(kind, strict=False) for name, kind in schema.items())
