"""Where calls came from: the stacks that a recorder sampled (`record --stacks`), with the names of their functions.

Native frames are addresses in a file; their functions were looked up when the recording ended, and stand beside the
tables (`NODE.symbols`). What the interpreter of Python does for it is left out: its frames are Python's.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles.model import CALLER_FRAMES, CALLERS, INTERPRETER
from ioassay.profiles.records.grouped import GroupedRows, whole
from ioassay.profiles.records.processes import Image
from ioassay.profiles.records.tables import Table, find_places
from ioassay.protocol.record_layout import (
    FIRST_PYTHON_MINOR,
    LAST_PYTHON_MINOR,
    OPERATIONS,
    BlockKind,
    Stacks,
)

_KEY = {"caller": pl.Int64, "entry": pl.Int64, "operation": pl.Int64}
_SUMS = ("samples", "calls", "bytes", "duration_ns")

_MOST_FRAMES = 128
"""Of a stack. The recorder keeps fewer."""

_RECORDER = "libioassay-recorder"

_C_LIBRARY = re.compile(r"(libc|libpthread|ld-linux[\w-]*|ld|libdl|linux-vdso)[-.][\w.-]*$")
"""Files whose functions only start programs and threads, or pass calls on."""


class StackFrame(NamedTuple):
    """A function that was called, and where in it the call further in is."""

    module: str | None
    """The program or library; `None`: Python, or code in no file."""
    address: int | None
    """In the module's file; `None`: Python."""
    function: str | None
    """`None`: the file does not say."""
    source: str | None
    """The file of the source code."""
    line: int | None


BEYOND = StackFrame(None, None, "(further out)", None, None)
"""All functions around those that the recorder kept of a deep stack."""

Symbols = Mapping[tuple[str, int], tuple[StackFrame, ...]]
"""The functions at an address of a module, from the inside out."""


def read_symbols(content: bytes) -> tuple[Symbols, int]:
    """The symbols of a record, and how many of its lines are none."""
    symbols: dict[tuple[str, int], tuple[StackFrame, ...]] = {}
    damaged = 0
    for line in content.splitlines():
        try:
            symbol = json.loads(line)
            module, address = str(symbol["module"]), int(symbol["address"])
            symbols[module, address] = tuple(
                StackFrame(module, address, str(function["name"]), function.get("file"), function.get("line"))
                for function in symbol["functions"]
            )
        except (ValueError, KeyError, TypeError):
            damaged += 1
    return symbols, damaged


class Callers:
    """All callers, while tables are read."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[StackFrame, ...], int] = {}
        schema = _KEY | dict.fromkeys(_SUMS, pl.Float64)
        self._rows = GroupedRows(schema, list(_KEY))

    def add(self, image: Image, table: Table, entries: NDArray[np.int64], symbols: Callable[[], Symbols]) -> None:
        """Adds the callers of a table. `entries` are those of its files, in the order of their blocks."""
        _, rows = table.rows(BlockKind.CALLER)
        if not len(rows):
            return
        stacks = self._numbers(table, symbols())
        stack_places, _ = table.rows(BlockKind.STACK)
        stack_at, is_known = find_places(stack_places, rows["stack"])
        file_places, _ = table.rows(BlockKind.FILE)
        file_at, has_file = find_places(file_places, rows["file"])
        is_known &= rows["operation"] < len(OPERATIONS)
        entry = np.where(has_file, entries[file_at], -1) if len(entries) else np.full(len(rows), -1)
        rows = rows[is_known]
        self._rows.add(
            {"caller": stacks[stack_at[is_known]], "entry": entry[is_known], "operation": rows["operation"]}
            | {name: rows[name] for name in ("samples", "calls", "bytes")}
            | {"duration_ns": rows["ticks"] * image.ns_per_tick}
        )

    def frames(self, file_of: pl.Series) -> dict[str, pl.DataFrame]:
        """`callers` and `caller_frames` of a profile. `file_of` is the file of each entry."""
        rows = self._rows.frame()
        entry = pl.when(pl.col("entry") >= 0).then(pl.col("entry"))
        file = pl.lit(file_of).gather(entry) if len(file_of) else pl.lit(None, pl.Int64)
        word = pl.lit(pl.Series(OPERATIONS)).gather("operation")
        callers = (
            rows.with_columns(file.alias("file"), word.alias("operation"))
            .group_by("caller", "file", "operation")
            .agg(pl.col(_SUMS).sum())
            .sort("caller", "file", "operation")
            .select("caller", "file", "operation", *map(whole, _SUMS))
        )
        frames = [
            (number, depth, *frame) for stack, number in self._stacks.items() for depth, frame in enumerate(stack)
        ]
        return {
            "callers": callers.cast(dict(CALLERS)),  # type: ignore[arg-type]
            "caller_frames": pl.DataFrame(frames, schema=CALLER_FRAMES, orient="row"),
        }

    def _numbers(self, table: Table, symbols: Symbols) -> NDArray[np.int64]:
        """Of each stack of a table, its number here."""
        frames = _frames(table, symbols)
        _, stacks = table.rows(BlockKind.STACK)
        numbers = np.empty(len(stacks), dtype=np.int64)
        contents = table.after(BlockKind.STACK)
        for index, (stack, content) in enumerate(zip(stacks, contents, strict=True)):
            places = np.frombuffer(content, "<u4", count=min(len(content) // 4, _MOST_FRAMES)).tolist()
            native, python = places[: int(stack["native"])], places[int(stack["native"]) :]
            beyond = (BEYOND,) if stack["is_cut"] else ()
            whole_stack = (*_native(native, frames, has_python=bool(python)), *_known(python, frames), *beyond)
            numbers[index] = self._stacks.setdefault(whole_stack, len(self._stacks))
        return numbers


_Frames = dict[int, tuple[StackFrame, ...]]
"""By the place of their block."""


def _frames(table: Table, symbols: Symbols) -> _Frames:
    module_places, _ = table.rows(BlockKind.MODULE)
    paths = dict(zip(module_places.tolist(), map(_text, table.after(BlockKind.MODULE)), strict=True))
    places, rows = table.rows(BlockKind.FRAME)
    contents = table.after(BlockKind.FRAME)
    frames: _Frames = {}
    for place, row, content in zip(places.tolist(), rows, contents, strict=True):
        if row["function_bytes"]:
            end = int(row["function_bytes"])
            line = int(row["line"]) or None
            frames[place] = (StackFrame(None, None, _text(content[:end]), _text(content[end:]), line),)
            continue
        module, address = paths.get(int(row["module"])), int(row["address"])
        unnamed = (StackFrame(module, min(address, 2**62), None, None, None),)
        frames[place] = symbols.get((module, address), unnamed) if module else unnamed
    return frames


def _known(places: Iterable[int], frames: _Frames) -> Iterable[StackFrame]:
    return (frame for place in places for frame in frames.get(place, ()))


def _native(places: Iterable[int], frames: _Frames, *, has_python: bool) -> Iterable[StackFrame]:
    """Frames of native code up to the interpreter, if Python's own are known; without those of the recorder, which
    stands between MPI-IO and who calls it.
    """
    for frame in _known(places, frames):
        name = posixpath.basename(frame.module or "")
        if has_python and INTERPRETER.match(name):
            return
        if not _C_LIBRARY.match(name) and not name.startswith(_RECORDER):
            yield frame


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def unknown_stacks(header: Any) -> str | None:
    """Why the stacks of a process are unknown, or lack something; `None`: they do not, or nobody asked for them."""
    if header["stacks"] == Stacks.UNREADABLE:
        return "its C library cannot read stacks, or libgcc_s is missing"
    major, minor = divmod(int(header["python"]), 1 << 16)
    if header["stacks"] == Stacks.ON and major and not FIRST_PYTHON_MINOR <= minor <= LAST_PYTHON_MINOR:
        return f"it runs Python {major}.{minor}, whose functions cannot be read"
    return None
