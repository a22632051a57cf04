"""Tables out of bytes that nobody vouches for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.profiles.model import FRAMES
from ioassay.profiles.records.profile import load_profile
from ioassay.profiles.records.tables import Table, open_tables
from ioassay.protocol.record_layout import HEADER, MAGIC, BlockKind
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, joined


def busy(pid: int = 100) -> TableBuilder:
    """A process that did something of everything."""
    table = TableBuilder(pid, job={"PMI_RANK": str(pid - 100)})
    table.second("read", 0, 10, moved=40_960, ns=5000, slowest_ns=900)
    table.second("stat", 3, 5, ns=500, slowest_ns=200, width=2)
    table.thread(pid, kernel=(50_000, 0, 20, 0), current={"write": (1, 8, 100, 100)}, second=9)
    file = table.file("data", {"open": 1, "close": 1}, inode=7, size=40_960, closed_ns=BEGIN_NS + 10**9)
    table.transfers(file, "read", {4096: 10}, ns=5000, slowest_ns=900, consecutive=9)
    table.latencies("read", {500: 10})
    table.errors({("open", 2): 3})
    return table


def lengths(directory: Path, content: bytes) -> list[tuple[str, int]]:
    """What a file with this content has, in order: tables that are found, and bytes that are lost."""
    file = directory / "node.tables"
    file.write_bytes(content)
    with open_tables([file]) as reader:
        tables, lost = reader.headers()
    parts = [(table.offset, "found", table.length) for table in tables]
    parts += [(int(row["offset"]), "lost", int(row["length"])) for row in lost]
    return [(kind, length) for _, kind, length in sorted(parts)]


def only_table(directory: Path, content: bytes) -> Table:
    file = directory / "node.tables"
    file.write_bytes(content)
    with open_tables([file]) as reader:
        tables, _ = reader.headers()
        ((_, table),) = reader.tables(tables)
    return table


def test_a_file_of_tables_has_each_of_them(tmp_path: Path) -> None:
    tables = [busy(100).build(), TableBuilder(101).build(), busy(102).build()]
    assert lengths(tmp_path, b"".join(tables)) == [("found", len(table)) for table in tables]


def test_the_room_that_a_table_was_to_grow_into_is_no_loss(tmp_path: Path) -> None:
    table = busy().build()
    assert lengths(tmp_path, table + bytes(100_000)) == [("found", len(table))]


def test_a_table_behind_a_damaged_one_is_found_and_the_damage_has_its_length(tmp_path: Path) -> None:
    first, second = busy(100).build(), busy(101).build()
    damaged = b"X" + first[1:]
    assert lengths(tmp_path, damaged + second) == [("lost", len(first)), ("found", len(second))]
    cut = first[: len(first) // 2]
    assert lengths(tmp_path, second + cut) == [("found", len(second)), ("lost", len(cut))]


def test_a_table_is_found_however_far_the_damage_reaches(tmp_path: Path) -> None:
    table = busy().build()
    for length in (1, HEADER.itemsize, (1 << 20) - 4, 1 << 20, (1 << 20) + 3):
        assert lengths(tmp_path, b"?" * length + table) == [("lost", length), ("found", len(table))]


@pytest.mark.parametrize(
    "header",
    [{"used_bytes": 1 << 62}, {"used_bytes": 8}, {"header_bytes": 8}, {"state": 77}, {"clock": 0}, {"begin_ns": 1}],
    ids=str,
)
def test_a_header_that_cannot_be_makes_no_table(tmp_path: Path, header: dict[str, int]) -> None:
    content = bytearray(TableBuilder().build())
    for name, value in header.items():
        kind, offset, *_ = HEADER.fields[name]  # type: ignore[index]
        content[offset : offset + kind.itemsize] = value.to_bytes(kind.itemsize, "little")
    assert lengths(tmp_path, bytes(content)) == [("lost", len(content))]


def test_a_block_that_says_nonsense_of_its_length_ends_the_table_and_is_counted(tmp_path: Path) -> None:
    builder = busy()
    place = builder.file("/late")
    content = bytearray(builder.build())
    content[place : place + 4] = (3).to_bytes(4, "little")
    table = only_table(tmp_path, bytes(content))
    assert table.unread_bytes == len(content) - place
    assert len(table.rows(BlockKind.FILE)[0]) == 1


def test_a_block_too_short_for_its_structure_is_left_out(tmp_path: Path) -> None:
    builder = TableBuilder()
    place = builder.thread()
    content = bytearray(builder.build())
    content[place : place + 8] = (BlockKind.THREAD << 32 | 16).to_bytes(8, "little")
    table = only_table(tmp_path, bytes(content))
    assert len(table.rows(BlockKind.THREAD)[0]) == 0


def store(directory: Path, *contents: bytes) -> Path:
    for number, content in enumerate(contents):
        (directory / f"node{number}.tables").write_bytes(content)
    return directory


def test_a_record_of_nothing_but_damage_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="are damaged: none can be read"):
        load_profile([store(tmp_path, b"X" + busy().build()[1:])])


def test_tables_of_another_version_are_refused_with_both_versions(tmp_path: Path) -> None:
    content = MAGIC + (9).to_bytes(4, "little") + busy().build()[12:]
    with pytest.raises(UsageError, match="have version 9; this ioassay reads version 1"):
        load_profile([store(tmp_path, content)])


def test_a_damaged_table_among_good_ones_is_a_loss(tmp_path: Path) -> None:
    tables = [busy(100 + number).build() for number in range(3)]
    tables[1] = b"X" + tables[1][1:]
    profile = load_profile([store(tmp_path, b"".join(tables))])
    assert profile.processes["pid"].to_list() == [100, 102]
    assert [(loss.kind, loss.amount) for loss in profile.losses] == [("damaged-bytes", len(tables[1]))]


Change = tuple[float, int]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=40),
    cut=st.floats(0, 1),
)
def test_any_bytes_give_a_profile_or_an_error(tmp_path: Path, changes: Sequence[Change], cut: float) -> None:
    content = bytearray(joined([busy(100), busy(101)]))
    for place, byte in changes:
        content[int(place * len(content))] = byte
    store(tmp_path, bytes(content[: round((0.5 + cut) * len(content))]))
    try:
        profile = load_profile([tmp_path])
    except UsageError:
        return
    for name, schema in FRAMES.items():
        assert getattr(profile, name).schema == schema
