"""Mapped files in a profile."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from ioassay.profiles.model import MAPS
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import MapAccess, State
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, joined

S = 10**9
MIB = 1 << 20


def maps_of(directory: Path, *tables: TableBuilder) -> pl.DataFrame:
    (directory / "node.tables").write_bytes(joined(tables))
    profile = load_profile([directory])
    maps = profile.maps
    assert maps.schema == MAPS
    return maps.join(profile.files.select("file", "path"), on="file", maintain_order="left")


def test_maps_are_added_up_by_process_file_and_access(tmp_path: Path) -> None:
    tables = []
    for pid in (100, 101):
        table = TableBuilder(pid)
        names = [table.file(name, {"stat": 1}, inode=5) for name in ("/data/a", "/data/same")]
        for index, name in enumerate(names):
            begin = index * 4 * MIB
            table.map(
                name, MapAccess.READ, first_ns=BEGIN_NS + S, last_end_ns=BEGIN_NS + (2 + index) * S,
                bytes=4 * MIB, begin=begin, end=begin + 4 * MIB, syncs=1, synced_bytes=4096,
            )  # fmt: skip
        table.map(names[0], MapAccess.PRIVATE_WRITE, first_ns=BEGIN_NS + 2 * S, bytes=MIB, begin=0, end=MIB)
        tables.append(table)
    maps = maps_of(tmp_path, *tables)
    assert maps.select("process", "path", "access", "maps", "mapped_bytes", "extent_bytes", "syncs").rows() == [
        row
        for process in (0, 1)
        for row in (
            (process, "/data/a", "read", 2, 8 * MIB, 8 * MIB, 2),
            (process, "/data/a", "private write", 1, MIB, MIB, 0),
        )
    ]
    assert maps["first_map_s"].to_list() == [1.0, 2.0] * 2
    assert maps["last_unmap_s"].to_list() == [3.0, None] * 2


def test_the_extent_is_no_more_than_was_mapped(tmp_path: Path) -> None:
    table = TableBuilder()
    file = table.file("/data/a", {"stat": 1})
    for begin in (0, 100 * MIB):
        table.map(file, MapAccess.READ, first_ns=BEGIN_NS, bytes=MIB, begin=begin, end=begin + MIB)
    assert maps_of(tmp_path, table)["extent_bytes"].to_list() == [2 * MIB]


def test_residency_is_of_all_bytes_where_most_were_asked_about(tmp_path: Path) -> None:
    table = TableBuilder()
    for name, asked in (("all", 4 * MIB), ("most", 2 * MIB), ("few", MIB), ("none", 0)):
        table.map(
            table.file(f"/data/{name}", {"stat": 1}), MapAccess.WRITE, first_ns=BEGIN_NS, last_end_ns=BEGIN_NS + S,
            bytes=4 * MIB, end=4 * MIB, begin_asked_bytes=asked, begin_resident_bytes=asked // 2,
            end_asked_bytes=asked, end_resident_bytes=asked, end_dirty_asked_bytes=asked, end_dirty_bytes=asked // 4,
        )  # fmt: skip
    maps = maps_of(tmp_path, table)
    assert dict(maps.select("path", "is_scaled").iter_rows()) == {
        "/data/all": False, "/data/most": True, "/data/few": False, "/data/none": False
    }  # fmt: skip
    rows = maps.select("path", "resident_begin_bytes", "resident_end_bytes", "dirty_end_bytes").rows()
    known = (2 * MIB, 4 * MIB, MIB)
    assert {path: numbers for path, *numbers in rows} == {
        "/data/all": [*known],
        "/data/most": [*known],
        "/data/few": [None] * 3,
        "/data/none": [None] * 3,
    }


@pytest.mark.parametrize(("state", "resident"), [(State.EXITED, MIB), (State.RUNNING, None)])
def test_maps_that_were_left_have_their_residency_at_the_end_of_the_process(
    tmp_path: Path, state: State, resident: int | None
) -> None:
    table = TableBuilder(state=state)
    file = table.file("/data/a", {"stat": 1})
    table.map(
        file, MapAccess.READ, first_ns=BEGIN_NS, bytes=MIB, end=MIB, left_asked_bytes=MIB, left_resident_bytes=MIB
    )
    maps = maps_of(tmp_path, table)
    assert maps.select("last_unmap_s", "resident_end_bytes").rows() == [(None, resident)]


def test_maps_of_files_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    table = TableBuilder()
    file = table.file("/data/a", {"stat": 1})
    table.map(file + 8, MapAccess.READ, first_ns=BEGIN_NS, bytes=MIB)
    assert maps_of(tmp_path, table).is_empty()
