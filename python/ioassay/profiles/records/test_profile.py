"""Tables in a profile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.errors import UsageError
from ioassay.profiles.model import MOST_HEAT_BINS, Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import SQPOLL, Clock, FileKind, State, TextKind, Unreadable
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, joined, store_record

S = 10**9


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """The profile of tables; of several lists, of a record each."""

    def loaded(*records: list[TableBuilder]) -> Profile:
        paths = []
        for number, tables in enumerate(records):
            path = tmp_path / f"record{number}"
            path.mkdir()
            (path / "node.tables").write_bytes(joined(tables))
            paths.append(path)
        return load_profile(paths)

    return loaded


def rows(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return frame.select(columns).rows()


def test_seconds_of_all_processes_are_added_up(load: Any) -> None:
    first, second = TableBuilder(1), TableBuilder(2)
    for table in (first, second):
        table.second("read", 2, 10, moved=1000, ns=500, slowest_ns=90)
    second.second("read", 2, 1, moved=1, ns=1, slowest_ns=200)
    profile = load([first, second])
    assert rows(profile.timeline, "start_s", "operation", "calls", "bytes", "duration_ns", "slowest_ns") == [
        (2.0, "read", 21.0, 2001.0, 1001.0, 200.0)
    ]
    assert rows(profile.process_operations, "process", "calls", "bytes") == [(0, 10, 1000), (1, 11, 1001)]


def test_a_wide_row_is_spread_over_its_seconds_but_not_beyond_the_end_of_the_process(load: Any) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 5 * S)
    table.second("write", 0, 8, moved=800, width=2)
    table.second("write", 4, 8, moved=800, width=3)
    profile = load([table])
    assert rows(profile.timeline, "start_s", "bytes") == [
        *((float(second), 200.0) for second in range(4)),
        *((float(second), 400.0) for second in (4, 5)),
    ]
    assert profile.process_operations["bytes"].to_list() == [1600]


def test_the_second_that_is_not_over_is_added(load: Any) -> None:
    table = TableBuilder(state=State.RUNNING)
    table.second("read", 3, 1, moved=10)
    table.thread(current={"read": (2, 20, 300, 200)}, second=3)
    profile = load([table])
    assert rows(profile.timeline, "start_s", "calls", "bytes") == [(3.0, 3.0, 30.0)]
    assert profile.process_operations["duration_ns"].to_list() == [300]


def test_a_short_run_has_steps_shorter_than_a_second(load: Any) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 3 * S // 2)
    for step, moved in ((0, 100), (7, 300), (140, 50)):
        table.step("read", step, 1, moved=moved, ns=10, slowest_ns=10)
    table.second("read", 0, 2, moved=400, ns=20, slowest_ns=10)
    table.thread(current={"read": (2, 70, 20, 15)}, second=1, step=150)
    table.second("read", 1, 1, moved=50, ns=10, slowest_ns=10)
    profile = load([table])
    assert (profile.timeline_step_s, profile.origin_unix_ns) == (1 / 128, BEGIN_NS)
    expected = [(0, 1, 100, 10), (7, 1, 300, 10), (140, 1, 50, 10), (150, 2, 70, 15)]
    assert rows(profile.timeline, "start_s", "calls", "bytes", "slowest_ns") == [
        (step / 128, calls, moved, slowest) for step, calls, moved, slowest in expected
    ]
    assert profile.process_operations["bytes"].to_list() == [520]
    assert profile.heat["read_bytes"].sum() == 520


def test_what_a_second_has_more_than_its_steps_was_any_time_in_it_while_the_process_ran(load: Any) -> None:
    first = TableBuilder(1, end_ns=BEGIN_NS + 3 * S)
    first.step("write", 0, 2, moved=1000, width=3)
    first.second("write", 0, 2, moved=1000)
    begin_ns = BEGIN_NS + S // 2
    older = TableBuilder(2, begin_ns=begin_ns, end_ns=begin_ns + S // 8)
    older.second("write", 0, 17, moved=1700)
    profile = load([first, older])
    assert profile.timeline_step_s == 2 / 128
    early = [(step * 2 / 128, 250.0) for step in range(4)]
    late = profile.timeline.filter(pl.col("start_s") >= 0.5)
    assert rows(profile.timeline.filter(pl.col("start_s") < 0.5), "start_s", "bytes") == early
    assert late["bytes"].sum() == pytest.approx(1700)
    assert (late["start_s"].min(), late["start_s"].max()) == (0.5, 0.5 + 16 / 128)


def test_a_record_without_steps_keeps_those_of_a_second(load: Any) -> None:
    table = TableBuilder(begin_ns=BEGIN_NS + S // 2, end_ns=BEGIN_NS + 2 * S)
    table.second("read", 1, 1, moved=10)
    profile = load([table])
    assert (profile.timeline_step_s, profile.origin_unix_ns) == (1, BEGIN_NS)
    assert rows(profile.timeline, "start_s", "bytes") == [(1, 10)]


@pytest.mark.parametrize(("seconds", "step_s"), [(0.5, 1 / 128), (2, 1 / 128), (10, 1 / 16), (200, 1), (4000, 1)])
def test_a_run_has_a_few_hundred_steps_of_at_most_a_second(load: Any, seconds: float, step_s: float) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + int(seconds * S), keeps_steps=1)
    table.second("read", 0, 1, moved=10)
    profile = load([table])
    assert profile.timeline_step_s == step_s
    assert profile.timeline["bytes"].sum() == pytest.approx(10)


def test_rows_outside_of_the_time_of_their_process_are_a_loss(load: Any) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 5 * S)
    for second in (-100, 2, 3600):
        table.second("read", second, 1)
    profile = load([table])
    assert profile.timeline["start_s"].to_list() == [2.0]
    assert [(loss.kind, loss.amount) for loss in profile.losses] == [("rows-outside", 2)]


def test_what_rules_held_back_is_said_in_nanoseconds(load: Any) -> None:
    table = TableBuilder(tick_ns=0.5, throttled_ticks=4 * S)
    profile = load([table])
    assert [(loss.kind, loss.amount) for loss in profile.losses] == [("held-back-ns", 2 * S)]


def test_ticks_become_nanoseconds_by_the_two_times_of_the_header(load: Any) -> None:
    counter, clock = TableBuilder(1, tick_ns=0.4), TableBuilder(2, tick_ns=1, clock=Clock.NANOSECONDS)
    for table in (counter, clock):
        table.second("read", 0, 1, ns=1_000_000, slowest_ns=1_000_000)
    assert load([counter, clock]).process_operations["duration_ns"].to_list() == [1_000_000, 1_000_000]


def test_a_process_too_short_to_tell_its_ticks_has_those_of_the_longest(load: Any) -> None:
    short, long = TableBuilder(1, end_ns=BEGIN_NS, tick_ns=0.25), TableBuilder(2, tick_ns=0.25)
    short.second("read", 0, 1, ns=1_000_000)
    assert load([short, long]).process_operations["duration_ns"].to_list() == [1_000_000]


def test_images_of_a_process_are_one_process_with_its_last_command(load: Any) -> None:
    shell = TableBuilder(5, command=["sh", "-c", "app"], end_ns=BEGIN_NS + S, state=State.REPLACED)
    shell.thread(5, kernel=(100, 0, 1, 0))
    shell.second("read", 0, 1, moved=10)
    app = TableBuilder(5, command=["app", "--fast"], begin_ns=BEGIN_NS + S)
    app.thread(5, kernel=(300, 0, 3, 0))
    app.thread(6, kernel=(50, 0, 1, 0))
    app.second("read", 0, 1, moved=20)
    profile = load([shell, app])
    columns = ("pid", "command", "images", "state", "begin_unix_ns", "kernel_read_bytes")
    assert rows(profile.processes, *columns) == [(5, "app --fast", 2, "ended", BEGIN_NS, 350)]
    assert rows(profile.process_operations, "process", "bytes") == [(0, 30)]


def test_the_same_number_again_is_another_process(load: Any) -> None:
    profile = load([TableBuilder(5, end_ns=BEGIN_NS + S), TableBuilder(5, begin_ns=BEGIN_NS + 2 * S)])
    assert profile.processes["pid"].to_list() == [5, 5]


def test_an_exec_that_nobody_saw_is_no_kill(load: Any) -> None:
    profile = load([TableBuilder(5, state=State.RUNNING), TableBuilder(5, begin_ns=BEGIN_NS + S)])
    assert rows(profile.processes, "images", "state") == [(2, "ended")]


def test_what_a_failed_exec_left_is_replaced_by_what_the_process_adds_at_its_end(load: Any) -> None:
    before = TableBuilder(5, state=State.REPLACED, end_ns=BEGIN_NS + S)
    after = TableBuilder(5)
    for table, calls in ((before, 1), (after, 7)):
        table.second("read", 0, calls)
    profile = load([before, after])
    assert rows(profile.processes, "images", "state") == [(1, "ended")]
    assert profile.process_operations["calls"].to_list() == [7]


def announcement(pid: int, state: State, at_ns: int, path: str) -> TableBuilder:
    table = TableBuilder(pid, state=state, begin_ns=at_ns, end_ns=at_ns, clock=Clock.NANOSECONDS, tick_ns=1)
    table.text(TextKind.REPLACEMENT, path)
    return table


def test_a_program_that_was_announced_and_has_no_table_escaped(load: Any) -> None:
    parent = TableBuilder(1)
    tried = announcement(2, State.REPLACED, BEGIN_NS + 1, "/usr/bin/static")
    took_back = announcement(2, State.STAYED, BEGIN_NS + 2, "/usr/bin/static")
    escaped = announcement(2, State.REPLACED, BEGIN_NS + 3, "/opt/bin/static")
    profile = load([parent, tried, took_back, escaped])
    assert rows(profile.processes, "pid", "state", "images") == [(1, "ended", 1), (2, "replaced", 0)]
    (loss,) = profile.losses
    assert (loss.kind, loss.where, loss.reason) == ("escaped", "process 2", "/opt/bin/static was not recorded")


def test_a_process_that_was_killed_says_what_it_was_doing_and_has_no_counters_of_the_kernel(load: Any) -> None:
    table = TableBuilder(state=State.RUNNING)
    file = table.file("stuck")
    table.thread(101, in_flight=("write", file, BEGIN_NS + 4 * S), kernel=(1, 2, 3, 4))
    profile = load([table])
    assert rows(profile.processes, "state", "kernel_read_bytes") == [("killed", None)]
    assert rows(profile.in_flight, "thread", "operation", "path", "since_unix_ns") == [
        (101, "write", "/work/stuck", BEGIN_NS + 4 * S)
    ]


def test_the_rank_is_that_of_the_inner_launcher(load: Any) -> None:
    profile = load([TableBuilder(1, job={"SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "3"}), TableBuilder(2)])
    assert profile.processes["rank"].to_list() == [3, None]


def test_names_are_absolute_and_the_same_name_is_one_file(load: Any) -> None:
    first, second = TableBuilder(1, directory="/a"), TableBuilder(2, directory="/a/b")
    for table, name in ((first, "./b/../data"), (second, "../data"), (second, "/a//data")):
        table.file(name, {"stat": 1})
    profile = load([first, second])
    assert rows(profile.files, "path", "names", "processes") == [("/a/data", 1, 2)]
    assert rows(profile.file_operations, "operation", "calls", "processes") == [("stat", 3, 2)]


def test_two_names_with_one_inode_are_one_file_unless_one_was_removed(load: Any) -> None:
    table = TableBuilder()
    table.file("/data", {"open": 1}, inode=1, opened_ns=BEGIN_NS + 5)
    table.file("/link", {"open": 1}, inode=1, opened_ns=BEGIN_NS)
    table.file("/tmp/a", {"open": 1, "remove": 1}, inode=2)
    table.file("/tmp/b", {"open": 1}, inode=2)
    assert rows(load([table]).files, "path", "names") == [("/link", 2), ("/tmp/a", 1), ("/tmp/b", 1)]


def test_an_inode_that_is_used_again_is_another_file_by_its_birth_or_its_generation(load: Any) -> None:
    table = TableBuilder()
    table.file("/ref", {"open": 1}, inode=2, birth_ns=5, generation=8)
    table.file("/born later", {"open": 1}, inode=2, birth_ns=6)
    table.file("/in the same tick", {"open": 1}, inode=2, birth_ns=5, generation=9)
    assert rows(load([table]).files, "names") == [(1,), (1,), (1,)]


def test_a_renamed_name_is_the_file_that_it_was_where_the_file_system_has_generations(load: Any) -> None:
    table = TableBuilder()
    for path, generation in (("/new", 4), ("/tmp/new", 0)):
        table.file(path, {"open": 1, "rename": 1}, inode=3, device=generation, generation=generation, birth_ns=5)
        table.file(f"{path}er", {"open": 1}, inode=3, device=generation, generation=generation, birth_ns=5)
    assert rows(load([table]).files, "path", "names") == [("/new", 2), ("/tmp/new", 1), ("/tmp/newer", 1)]


def test_a_name_of_several_files_is_one_row_that_says_so_and_none_of_them(load: Any) -> None:
    writer, other, later = TableBuilder(1), TableBuilder(2), TableBuilder(3)
    writer.file("/kept", {"open": 1}, inode=2, generation=1, opened_ns=BEGIN_NS + 1)
    writer.file("/ref", {"open": 9}, inode=2, generation=1, replaced=2)
    other.file("/other", {"open": 1}, inode=7, generation=1)
    for table, inode in ((other, 7), (later, 8)):
        table.file("/shared", {"open": 1}, inode=inode, generation=1)
    assert rows(load([writer, other, later]).files, "path", "names", "replaced") == [
        ("/kept", 1, 0),
        ("/other", 1, 0),
        ("/ref", 1, 2),
        ("/shared", 1, 1),
    ]


def test_a_path_of_two_nodes_is_one_file_if_its_inode_is_the_same(load: Any) -> None:
    records = []
    for node, inode in (("n1", 7), ("n2", 8)):
        table = TableBuilder(inode, node=node)
        table.file("/scratch/shared", {"open": 1}, inode=99, device=inode)
        table.file("/tmp/own", {"open": 1}, inode=inode)
        table.file("/etc/hosts", {"stat": 1})
        records.append([table])
    files = load(*records).files
    assert files.filter(pl.col("path") == "/tmp/own")["file"].n_unique() == 2
    assert rows(files.filter(pl.col("path") != "/tmp/own"), "path", "processes") == [
        ("/etc/hosts", 2),
        ("/scratch/shared", 2),
    ]


@pytest.mark.parametrize("again", ["{record}", "{record}/../record", "{record}/n1.tables", "{copy}"])
def test_the_same_processes_do_not_count_twice(tmp_path: Path, again: str) -> None:
    record = store_record(tmp_path / "record", TableBuilder())
    (tables,) = record.glob("*.tables")
    tables.rename(record / "n1.tables")
    copy = shutil.copytree(record, tmp_path / "copy")
    with pytest.raises(UsageError, match=r"are the same record, or one of them is a part or a copy"):
        load_profile([record, Path(again.format(record=record, copy=copy))])


def test_transfers_of_all_threads_and_processes_are_added_up_for_each_file(load: Any) -> None:
    tables = [TableBuilder(1), TableBuilder(2)]
    for number, table in enumerate(tables, start=1):
        file = table.file("/shared", inode=3, size=100, block=512)
        for _ in range(2):
            table.transfers(
                file,
                "write",
                {100: 5 * number, 7: 1},
                ns=1000 * number,
                slowest_ns=number,
                misaligned=4,
                begin=50 * number,
            )
    profile = load(tables)
    (row,) = profile.file_operations.to_dicts()
    assert row | {"calls": 34, "bytes": 3028, "duration_ns": 6000, "slowest_ns": 2, "misaligned": 16} == row
    assert (row["processes"], row["begin_bytes"], row["consecutive"]) == (2, 50, 0)
    assert rows(profile.file_sizes, "begin_bytes", "end_bytes", "calls") == [(4, 8, 4), (64, 128, 30)]
    assert rows(profile.common_sizes, "bytes", "calls") == [(7, 4), (100, 30)]
    (file,) = profile.files.to_dicts()
    assert (file["least_process_bytes"], file["most_process_bytes"], file["slowest_process_ns"]) == (1014, 2014, 4000)
    assert (file["size_at_open_bytes"], file["block_bytes"], file["kind"]) == (100, 512, "file")


def test_a_row_of_other_files_without_calls_is_no_file(load: Any) -> None:
    unused, used = TableBuilder(1), TableBuilder(2, folded_calls=7, node="node2")
    unused.file("", kind=FileKind.OTHERS)
    used.file("", {"stat": 7}, kind=FileKind.OTHERS)
    profile = load([unused, used])
    assert rows(profile.files, "path", "kind") == [("(other files)", "others")]
    assert [(loss.kind, loss.amount) for loss in profile.losses] == [("folded-calls", 7)]


def test_files_without_a_row_are_in_that_of_their_directory_and_about_counted(load: Any) -> None:
    table = TableBuilder()
    for directory, names in (("/data/in", 30_000), ("/data/in", 1), ("/data/out", 700)):
        place = table.others(directory, {"open": names}, names)
        table.transfers(place, "read", {100: 2 * names})
    profile = load([table])
    assert rows(profile.files, "path", "kind") == [
        ("/data/in/(other files)", "others"),
        ("/data/out/(other files)", "others"),
    ]
    (loss,) = profile.losses
    assert (loss.kind, loss.amount) == ("folded-calls", 3 * 30_701)
    about = int(loss.where.rpartition(": about ")[2].removesuffix(" files").replace(",", ""))
    assert abs(about - 30_000) <= 3000


def test_latencies_are_added_up_in_nanoseconds(load: Any) -> None:
    tables = [TableBuilder(1), TableBuilder(2)]
    for table in tables:
        table.latencies("read", {1000: 5, 10**9: 1})
    assert rows(load(tables).latencies, "operation", "begin_ns", "calls") == [
        ("read", 896.0, 10),
        ("read", pytest.approx(939524096.0), 2),
    ]


def test_errors_are_counted_by_their_kind(load: Any) -> None:
    tables = [TableBuilder(1), TableBuilder(2)]
    for table in tables:
        table.errors({("open", 2): 3, ("write", 28): 1})
    assert load(tables).errors.rows() == [("open", 2, 6), ("write", 28, 2)]


def test_a_record_of_days_has_longer_steps_and_few_of_heat(load: Any) -> None:
    days = 3 * 86400
    table = TableBuilder(end_ns=BEGIN_NS + days * S)
    for second in (0, 1, days - 1):
        table.second("write", second, 1, moved=10)
    profile = load([table])
    assert profile.timeline_step_s == 4
    assert rows(profile.timeline, "start_s", "bytes") == [(0.0, 20.0), (days - 4.0, 10.0)]
    assert profile.heat["written_bytes"].to_list() == [20.0, 10.0]
    assert days / profile.heat_step_s <= MOST_HEAT_BINS


def test_what_a_process_spent_on_storage_is_told_from_pipes_the_kernel_and_mpi_io(load: Any) -> None:
    table = TableBuilder()
    file = table.file("data", {"open": 1}, ns=70)
    pipe = table.file("pipe", {"close": 1}, kind=FileKind.PIPE, ns=4)
    table.transfers(file, "read", {100: 1}, ns=10)
    table.transfers(file, "write", {10: 1}, ns=20)
    table.transfers(file, "MPI write", {10: 1}, ns=1000)
    table.transfers(pipe, "read", {1000: 1}, ns=5000)
    table.transfers(
        table.file("/proc/self/maps", {"open": 1}, kind=FileKind.KERNEL, ns=1), "read", {1000: 1}, ns=60_000
    )
    columns = ("read_bytes", "written_bytes", "read_ns", "write_ns", "metadata_ns", "elsewhere_ns")
    profile = load([table])
    assert profile.files["kind"].to_list() == ["kernel", "file", "pipe"]
    assert rows(profile.processes, *columns) == [(100, 10, 10, 20, 70, 65_005)]


def test_calls_elsewhere_are_operations_of_their_own_and_not_in_the_heat(load: Any) -> None:
    table = TableBuilder()
    for operation, moved, ns in (("read", 10, 1000), ("elsewhere read", 7, 9000), ("elsewhere other", 0, 500)):
        table.second(operation, 1, 1, moved=moved, ns=ns, slowest_ns=ns)
    profile = load([table])
    expected = [("elsewhere other", 0), ("elsewhere read", 7), ("read", 10)]
    assert sorted(rows(profile.process_operations, "operation", "bytes")) == expected
    assert sorted(rows(profile.timeline, "operation", "bytes")) == expected
    assert rows(profile.heat, "read_bytes", "written_bytes", "read_ns", "metadata_ns") == [(10, 0, 1000, 0)]


def test_a_record_that_runs_has_the_tables_of_its_live_processes(tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    running = TableBuilder(7, state=State.RUNNING)
    (live / "7-1.table").write_bytes(running.build() + bytes(4096))
    (live / "libioassay.so").write_bytes(b"ELF")
    record = store_record(tmp_path / "record", TableBuilder(5), state="running", tables=str(live))
    profile = load_profile([record])
    assert profile.is_running
    assert rows(profile.processes, "pid", "state") == [(5, "ended"), (7, "running")]
    assert profile.losses == ()


def test_what_the_document_names_as_missing_is_lost(tmp_path: Path) -> None:
    escaped = [{"pid": 9, "path": "/opt/go", "reason": "static"}]
    record = store_record(
        tmp_path / "r",
        announcement(9, State.REPLACED, BEGIN_NS, "/opt/go"),
        escaped=escaped,
        still_running=[3],
        lost_tables=2,
    )
    profile = load_profile([record])
    assert profile.commands == ("app --input data",)
    assert [(loss.kind, loss.amount, loss.reason) for loss in profile.losses] == [
        ("escaped", 1, "/opt/go: static"),
        ("still-running", 1, ""),
        ("lost-tables", 2, ""),
    ]


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "is not a record: it has neither"), (tmp_path / "none", "There is no")):
        with pytest.raises(UsageError, match=message):
            load_profile([path])
    with pytest.raises(UsageError, match="has no table: no process was recorded"):
        load_profile([store_record(tmp_path / "empty")])
    with pytest.raises(UsageError, match="has no table: those of 2 processes could not be kept"):
        load_profile([store_record(tmp_path / "cut", lost_tables=2)])


def test_who_used_a_file_and_when(load: Any) -> None:
    writer, reader, remover = TableBuilder(1), TableBuilder(2, begin_ns=BEGIN_NS + S), TableBuilder(3)
    out = writer.file(
        "/w/out", {"open": 1, "stat": 2}, inode=7, opened_ns=BEGIN_NS + S, closed_ns=BEGIN_NS + 2 * S, open_flags=0o1101
    )
    writer.transfers(out, "write", {100: 3}, ns=50)
    again = reader.file("/w/out", {"open": 1}, inode=7, opened_ns=BEGIN_NS + 4 * S)
    reader.transfers(again, "stream read", {100: 2}, ns=20)
    reader.transfers(again, "map", {0: 1})
    remover.file("/w/out", {"remove": 3, "rename": 1}, {"remove": 1})
    remover.file("/w/only looked up", {"stat": 5})
    frame = load([writer, reader, remover]).file_processes
    assert rows(frame, "process", "read_bytes", "written_bytes", "read_ns", "write_ns", "open_flags") == [
        (0, 0, 300, 0, 50, 0o1101),
        (1, 0, 0, 0, 0, None),
        (2, 200, 0, 20, 0, 0),
    ]
    assert rows(frame, "first_open_s", "last_close_s", "removes", "renames", "maps") == [
        (1.0, 2.0, 0, 0, 0),
        (None, None, 2, 1, 0),
        (4.0, None, 0, 0, 1),
    ]
    assert frame["processes"].to_list() == [1, 1, 1]


@pytest.mark.parametrize(("size", "opened_s", "files"), [(300, 3, 1), (0, 3, 2), (300, 1, 2)])
def test_a_file_that_was_renamed_is_one_unless_its_inode_may_be_that_of_a_new_file(
    load: Any, size: int, opened_s: int, files: int
) -> None:
    writer, renames, reader = TableBuilder(1), TableBuilder(2), TableBuilder(3)
    written = writer.file("/w/out.tmp", {"open": 1}, inode=7, closed_ns=BEGIN_NS + 2 * S)
    writer.transfers(written, "write", {100: 3})
    renames.file("/w/out.tmp", {"rename": 1})
    renames.file("/w/another", {"rename": 1}, {"rename": 1})
    read = reader.file("/w/out", {"open": 1, "remove": 1}, inode=7, size=size, opened_ns=BEGIN_NS + opened_s * S)
    reader.transfers(read, "read", {100: 3})
    profile = load([writer, renames, reader])
    used = profile.file_operations.filter(pl.col("operation").is_in(["read", "write"]))
    assert used["file"].n_unique() == files


def test_requests_of_rings_that_could_not_be_read_are_said_with_what_the_kernel_counted(load: Any) -> None:
    table = TableBuilder(7)
    table.thread(7, kernel=(1, 0, 1, 0), storage=(8 << 20, 0, 0))
    table.ring(requests=10, unread=0)
    table.ring(requests=2048, unread=2000)
    table.ring(requests=2048, unread=48)
    table.ring(requests=5, unread=5, flags=SQPOLL)
    table.ring(requests=3, unread=3, unreadable=Unreadable.SET_UP_UNSEEN)
    losses = load([table]).losses
    assert [(loss.kind, loss.amount) for loss in losses] == [
        ("unread-rings", 2048),
        ("unread-rings", 5),
        ("unread-rings", 3),
    ]
    assert losses[0].where.endswith("process 7")
    assert losses[0].reason == (
        "the program enters its rings without the C library, which only --via ptrace sees; "
        "the kernel counted 8 MiB read from storage and 0 B written"
    )
    assert losses[1].reason.startswith("the kernel's thread (SQPOLL)")
    assert losses[2].reason.startswith("the recorder did not see")


def test_a_ring_of_which_the_kernel_counted_nothing_known_has_its_reason_alone(load: Any) -> None:
    table = TableBuilder(7, state=State.RUNNING)
    table.ring(requests=1, unread=1, unreadable=Unreadable.MEMORY)
    (loss,) = load([table]).losses
    assert loss.reason == "the memory of the ring could not be mapped"
