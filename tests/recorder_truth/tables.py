"""What the recorder counted, by program that ran: from the tables of a record."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ioassay.profiles.records.tables import Table, open_tables
from ioassay.protocol.record_layout import (
    FIRST_TRANSFER,
    KERNEL_COUNTERS,
    OPERATIONS,
    BlockKind,
    FileKind,
    TextKind,
)

from .processes import OTHERS, Count, Counts, normal


@dataclass(frozen=True)
class Recorded:
    """A table."""

    process: int
    began: float
    """Seconds since 1970."""
    executable: str
    counts: Counts
    kernel: dict[str, int]
    """The kernel's counts of the process, or of all its threads; 0 if they were not read."""
    not_counted: int
    """Calls that are nowhere, or on no file."""


@dataclass(frozen=True)
class Escaped:
    """A process that was not recorded."""

    process: int
    path: str


def read_record(directory: Path) -> tuple[list[Recorded], list[Escaped]]:
    """All tables of programs, in the order in which they began, and the processes that escaped."""
    document = json.loads((directory / "record.json").read_text())
    escaped = [Escaped(process["pid"], process["path"]) for process in document["escaped"]]
    latest: dict[tuple[int, int], Recorded] = {}
    with open_tables(sorted(directory.glob("*.tables"))) as reader:
        headers, lost = reader.headers()
        assert not len(lost), f"{directory} is damaged: {lost}"
        for _, table in reader.tables(headers):
            if len(table.rows(BlockKind.THREAD)[0]):  # otherwise it says only what replaces a process
                header = table.header
                latest[int(header["process"]), int(header["begin_ns"])] = _recorded(table)
    return sorted(latest.values(), key=lambda recorded: recorded.began), escaped


def _recorded(table: Table) -> Recorded:
    header = table.header
    _, threads = table.rows(BlockKind.THREAD)
    kernel = header["kernel_of_process"]
    if not kernel.any():
        kernel = header["kernel_of_ended"] + threads["kernel"].sum(axis=0)
    return Recorded(
        int(header["process"]),
        int(header["begin_ns"]) / 1e9,
        table.texts.get(TextKind.EXECUTABLE, ""),
        _counts(table),
        dict(zip(KERNEL_COUNTERS, map(int, kernel), strict=True)),
        int(header["folded_calls"]) + int(header["lost_calls"]) + int(header["handler_calls"]),
    )


def _counts(table: Table) -> Counts:
    counts: Counts = defaultdict(Count)
    places, files = table.rows(BlockKind.FILE)
    names: dict[int, str] = {}
    for place, file, content in zip(places, files, table.after(BlockKind.FILE), strict=True):
        name = OTHERS if file["kind"] == FileKind.OTHERS else normal(os.fsdecode(content))
        names[int(place)] = name
        for operation in np.flatnonzero(file["calls"]):
            counts[name, OPERATIONS[operation]].add(
                Count(int(file["calls"][operation]), int(file["failed"][operation]))
            )
    for row in table.rows(BlockKind.TRANSFERS)[1]:
        assert row["operation"] >= FIRST_TRANSFER
        counts[names[int(row["file"])], OPERATIONS[row["operation"]]].add(
            Count(int(row["calls"]), int(row["failed"]), int(row["bytes"]))
        )
    return counts
