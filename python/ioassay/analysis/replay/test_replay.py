"""Profiles of synthetic applications as replays: ranks, phases, streams, sizes, and the figures for comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.replay import Replay, ranks, replay
from ioassay.analysis.replay.groups import common_pattern
from ioassay.analysis.replay.model import Order, Ranks, Stream
from ioassay.analysis.replay.transfers import Course, Transfers, fewer_sizes, file_bytes, without_tails
from ioassay.profiles.model import MAPS
from ioassay.profiles.sources import load_profile
from ioassay.protocol.record_layout import FileKind
from ioassay.testing.faulty_application import faulty
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record

S = 10**9
KIB, MIB = 1 << 10, 1 << 20


def replay_of(path: Path, *tables: TableBuilder, below: str | None = None) -> Replay:
    built = replay(load_profile([store_record(path / "record", *tables)]), below)
    assert built is not None
    return built


def streams(of: Replay, verb: str) -> list[tuple[int, Stream]]:
    """The streams of a kind, each with the number of its phase."""
    return [(index, stream) for index, phase in enumerate(of.phases) for stream in phase.streams if stream.verb == verb]


def table(pid: int = 100, *, begin_s: float = 0, end_s: float = 60, **fields: object) -> TableBuilder:
    begin_ns, end_ns = BEGIN_NS + round(begin_s * S), BEGIN_NS + round(end_s * S)
    return TableBuilder(pid, begin_ns=begin_ns, end_ns=end_ns, **fields)  # type: ignore[arg-type]


def checkpoint(
    table_builder: TableBuilder, path: str, *, second: int, inode: int, sizes: dict[int, int], **fields: int
) -> int:
    """A new file that is written within a second, in calls of these sizes."""
    opened_ns = table_builder.begin_ns + second * S
    file = table_builder.file(
        path, {"open": 1, "close": 1}, inode=inode, opened_ns=opened_ns, closed_ns=opened_ns + S - 1, ns=1000
    )
    calls = sum(sizes.values())
    table_builder.transfers(file, "write", sizes, ns=S // 2, **{"consecutive": calls} | fields)
    table_builder.second("write", second, calls, moved=sum(size * count for size, count in sizes.items()), ns=S // 2)
    table_builder.second("open", second, 1, ns=1000)
    return file


def ranks_that_checkpoint(count: int) -> list[TableBuilder]:
    """Ranks that write a file of 12.25 MiB each, in the seconds 10 and 30."""
    tables = []
    for rank in range(count):
        process = table(100 + rank, job={"SLURM_PROCID": str(rank)})
        for index, second in enumerate((10, 30)):
            path = f"/scratch/out.{index}.{rank}"
            checkpoint(process, path, second=second, inode=1 + rank + 100 * index, sizes={MIB: 12, 256 * KIB: 1})
        tables.append(process)
    return tables


def test_a_process_that_begins_after_another_has_ended_takes_its_rank(tmp_path: Path) -> None:
    tables = []
    for index in range(6):  # two at a time
        process = table(100 + index, begin_s=10 * (index // 2), end_s=10 * (index // 2) + 9)
        checkpoint(process, f"/scratch/{index}", second=1, inode=1 + index, sizes={MIB: 4})
        tables.append(process)
    replayed = replay_of(tmp_path, *tables)
    assert (replayed.processes, replayed.ranks) == (6, 2)


def test_a_shell_that_only_waits_has_no_rank_of_its_own(tmp_path: Path) -> None:
    shell, worker = table(1, command=["sh"]), table(2, begin_s=5, end_s=50)
    shell.file("/scratch/script", {"stat": 1}, ns=10)
    shell.second("stat", 0, 1, ns=10)
    shell.second("stat", 59, 1, ns=10)
    checkpoint(worker, "/scratch/out", second=10, inode=1, sizes={MIB: 4})
    assert replay_of(tmp_path, shell, worker).ranks == 1


def test_ranks_of_an_mpi_job_are_ranks_in_their_order(tmp_path: Path) -> None:
    replayed = replay_of(tmp_path, *ranks_that_checkpoint(4))
    assert replayed.ranks == 4


def test_phases_are_cut_at_pauses_and_keep_them(tmp_path: Path) -> None:
    replayed = replay_of(tmp_path, *ranks_that_checkpoint(2))
    assert [(phase.begin_s, phase.end_s) for phase in replayed.phases] == [(10, 11), (30, 31)]


def test_io_on_pipes_between_phases_makes_no_phase(tmp_path: Path) -> None:
    tables = ranks_that_checkpoint(2)
    for second in range(60):
        tables[0].second("read", second, 3, moved=30)
    assert len(replay_of(tmp_path, *tables).phases) == 2


def test_files_of_each_process_are_new_in_each_phase_and_written_by_the_same_ranks(
    tmp_path: Path,
) -> None:
    replayed = replay_of(tmp_path, *ranks_that_checkpoint(4))
    for phase, stream in streams(replayed, "write"):
        assert (stream.tree, stream.share, stream.ranks) == (f"out-{phase + 1}", "own", Ranks(0, 4))
        assert (stream.count, stream.opens) == (13, 1)
    assert {tree.name: tree.items for tree in replayed.trees} == {"out-1": 4, "out-2": 4}
    assert replayed.fills == ()
    directory, pattern = replayed.trees[0].what.directory, replayed.trees[0].what.pattern
    assert (directory, pattern) == ("/scratch", "out.0.*")


def test_the_last_transfer_of_a_file_is_smaller_because_the_file_ends(tmp_path: Path) -> None:
    ((_, first), _) = streams(replay_of(tmp_path, *ranks_that_checkpoint(2)), "write")
    assert (first.sizes, first.file_bytes) == (((MIB, 1),), 12 * MIB + 256 * KIB)


def test_files_that_do_not_divide_among_ranks_are_two_trees(tmp_path: Path) -> None:
    tables = ranks_that_checkpoint(2)
    checkpoint(tables[0], "/scratch/out.0.more", second=10, inode=900, sizes={MIB: 12, 256 * KIB: 1})
    replayed = replay_of(tmp_path, *tables)
    written = [(stream.tree, stream.ranks, stream.opens) for phase, stream in streams(replayed, "write") if phase == 0]
    assert written == [("out-1a", Ranks(0, 1), 2), ("out-1b", Ranks(1, 1), 1)]
    assert {tree.name: tree.items for tree in replayed.trees if tree.name < "out-2"} == {"out-1a": 2, "out-1b": 1}


def test_a_file_that_every_process_reads_whole_is_filled_and_read_by_all(tmp_path: Path) -> None:
    tables = ranks_that_checkpoint(4)
    for process in tables:
        grid = process.file(
            "/data/grid", {"open": 1, "close": 1}, inode=7, size=64 * MIB, closed_ns=process.begin_ns + S
        )
        process.transfers(grid, "read", {4 * MIB: 16}, ns=S, consecutive=16)
        process.second("read", 0, 16, moved=64 * MIB, ns=S)
        process.second("open", 0, 1)
    replayed = replay_of(tmp_path, *tables)
    ((phase, stream),) = streams(replayed, "read")
    assert (phase, stream.tree, stream.share, stream.ranks) == (0, "shared-in", "all", Ranks(0, 4))
    assert (stream.count, stream.opens, stream.file_bytes, stream.is_segmented) == (16, 1, 64 * MIB, False)
    assert [(fill.tree, fill.file_bytes) for fill in replayed.fills] == [("shared-in", 64 * MIB)]


def test_a_file_that_processes_write_in_parts_is_one_with_segments(tmp_path: Path) -> None:
    tables = [table(100 + rank, job={"SLURM_PROCID": str(rank)}) for rank in range(4)]
    for rank, process in enumerate(tables):
        part = {"begin": rank * 16 * MIB, "end": (rank + 1) * 16 * MIB}
        checkpoint(process, "/scratch/shared", second=5, inode=3, sizes={MIB: 16}, **part)
    ((_, stream),) = streams(replay_of(tmp_path, *tables), "write")
    assert (stream.share, stream.is_segmented, stream.ranks) == ("all", True, Ranks(0, 4))
    assert (stream.count, stream.file_bytes) == (16, 64 * MIB)


def test_files_that_are_read_back_later_are_written_first_and_read_from_similar_ones(tmp_path: Path) -> None:
    process = table()
    opened_ns, closed_ns = process.begin_ns + 10 * S, process.begin_ns + 41 * S
    file = process.file("/scratch/a", {"open": 2, "close": 2}, inode=5, opened_ns=opened_ns, closed_ns=closed_ns)
    process.transfers(file, "write", {MIB: 8}, ns=S, consecutive=8)
    process.transfers(file, "read", {MIB: 8}, ns=S, consecutive=8)
    for operation, second in (("write", 10), ("read", 40)):
        process.second(operation, second, 8, moved=8 * MIB, ns=S)
        process.second("open", second, 1)
    replayed = replay_of(tmp_path, process)
    assert [(phase, stream.tree) for phase, stream in streams(replayed, "write")] == [(0, "out")]
    assert [(phase, stream.tree) for phase, stream in streams(replayed, "read")] == [(1, "out-again")]
    assert [(fill.tree, fill.file_bytes) for fill in replayed.fills] == [("out-again", 8 * MIB)]


def test_writes_of_a_phase_belong_to_the_only_file_that_was_open(tmp_path: Path) -> None:
    """The first file is open all the time: it was written in the first phase, where no other one was."""
    process = table()
    opened_ns, closed_ns = process.begin_ns + 10 * S, process.begin_ns + 50 * S
    first = process.file("/scratch/first", {"open": 1, "close": 1}, inode=5, opened_ns=opened_ns, closed_ns=closed_ns)
    process.transfers(first, "write", {MIB: 8}, ns=S, consecutive=8)
    process.second("write", 10, 8, moved=8 * MIB, ns=S)
    process.second("open", 10, 1)
    checkpoint(process, "/scratch/second", second=40, inode=6, sizes={MIB: 64})
    written = [(phase, stream.count) for phase, stream in streams(replay_of(tmp_path, process), "write")]
    assert written == [(0, 8), (1, 64)]


def test_writes_through_streams_are_replayed_as_writes_of_their_buffer(tmp_path: Path) -> None:
    process = table()
    log = process.file("/scratch/log", {"open": 1}, inode=5, opened_ns=process.begin_ns)
    process.transfers(log, "stream write", {100: 40_960}, ns=S, consecutive=40_960)
    process.second("stream write", 3, 40_960, moved=4_096_000)
    replayed = replay_of(tmp_path, process)
    ((_, stream),) = streams(replayed, "write")
    assert (stream.count, stream.sizes) == (1000, ((4096, 1),)) or stream.sizes[-1][0] == 4096
    assert replayed.expected["write"].operations == 1000
    assert replayed.expected["write"].bytes == 4_096_000
    assert [note.kind for note in replayed.notes] == ["gathered-streams"]


def test_absent_names_and_changes_of_names_have_trees_of_their_own(tmp_path: Path) -> None:
    process = table()
    process.file("/lib/missing.so", {"open": 30, "stat": 20}, {"open": 30, "stat": 20}, errno=2)
    process.file("/scratch/dir", {"create": 1, "remove": 1})
    process.file("/scratch/old", {"rename": 3})
    for operation, calls in (("open", 30), ("stat", 20), ("create", 1), ("remove", 1), ("rename", 3)):
        process.second(operation, 5, calls)
    replayed = replay_of(tmp_path, process)
    looked = [(stream.verb, stream.tree, stream.count) for _, stream in streams(replayed, "open") if stream.absent]
    looked += [(stream.verb, stream.tree, stream.count) for _, stream in streams(replayed, "stat") if stream.absent]
    assert looked == [("open", "absent", 30), ("stat", "absent", 20)]
    changes = {stream.verb: (stream.tree, stream.count) for phase in replayed.phases for stream in phase.streams}
    assert changes["create"] == ("created-1", 1)
    assert changes["remove"] == ("removed-1", 1)
    # Each file is renamed back.
    assert changes["rename"] == ("renamed", 4)
    assert {fill.tree for fill in replayed.fills} == {"renamed", "removed-1"}


def test_operations_that_cannot_be_replayed_are_listed_with_their_calls(tmp_path: Path) -> None:
    process = table()
    checkpoint(process, "/scratch/a", second=5, inode=1, sizes={MIB: 4})
    process.file("/scratch", {"list": 12})
    process.file("/scratch/b", {"truncate": 2, "seek": 5})
    assert {left.operation: left.calls for left in replay_of(tmp_path, process).left_out} == {
        "list": 12,
        "truncate": 2,
        "seek": 5,
    }


def test_10_000_files_of_many_kinds_are_some_dozen_streams(tmp_path: Path) -> None:
    process = table()
    for index in range(10_000):
        size = 1 << (8 + index % 17)
        file = process.file(
            f"/data/{index % 40}/{index}", {"open": 1, "close": 1, "stat": 1}, inode=1 + index, size=size
        )
        calls = max(1, size >> 12)
        process.transfers(file, "read" if index % 3 else "write", {min(size, 4096): calls}, consecutive=calls)
    for second in range(50):
        process.second("read", second, 20_000, moved=20_000 * 4096)
        process.second("write", second, 10_000, moved=10_000 * 4096)
    replayed = replay_of(tmp_path, process)
    assert sum(len(phase.streams) for phase in replayed.phases) <= 36
    assert any(note.kind == "merged-files" for note in replayed.notes)


def test_the_streams_of_a_faulty_application_do_what_it_did(tmp_path: Path) -> None:
    replayed = replay_of(tmp_path, *faulty())
    done = {"read": 0, "write": 0}
    moved = dict(done)
    for verb in done:
        for _, stream in streams(replayed, verb):
            calls = stream.operations(replayed.ranks)
            weights = sum(count for _, count in stream.sizes)
            done[verb] += calls
            moved[verb] += round(calls * sum(size * count for size, count in stream.sizes) / weights)
    assert replayed.ranks == 8
    for verb in ("read", "write"):
        expected = replayed.expected[verb]  # type: ignore[index]
        assert done[verb] == pytest.approx(expected.operations, rel=0.02)
        assert moved[verb] == pytest.approx(expected.bytes, rel=0.02)


def test_a_profile_without_io_on_storage_is_no_replay(tmp_path: Path) -> None:
    process = table()
    process.second("read", 3, 10, moved=100)
    assert replay(load_profile([store_record(tmp_path / "record", process)])) is None


def test_reduced_sizes_keep_their_bytes() -> None:
    every = [(1000 + 17 * index, 1 + index % 5) for index in range(200)]
    fewer = fewer_sizes(every)
    assert len(fewer) <= 12
    bytes_before, bytes_after = (sum(size * count for size, count in sizes) for sizes in (every, fewer))
    assert bytes_after == pytest.approx(bytes_before, rel=0.01)
    assert sum(count for _, count in fewer) == sum(count for _, count in every)


def test_smaller_transfers_away_from_the_ends_of_files_are_kept() -> None:
    one_each = Transfers(12, 12 * 37_000, 12, ((20_000, 6), (54_000, 6)), Order())
    assert without_tails(one_each) == one_each.sizes
    at_random = Transfers(13, 12.25 * MIB, 1, ((256 * KIB, 1), (MIB, 12)), Order(50, 0, 50))
    assert without_tails(at_random) == at_random.sizes


def test_a_file_has_room_for_the_largest_visit() -> None:
    mixed = Transfers(400, 200 * 4096 + 200 * MIB, 4, ((4096, 1), (MIB, 1)), Order())
    assert file_bytes(mixed, mixed.sizes, mixed.bytes_per_open) > mixed.bytes_per_open
    # A file that was moved only in part keeps its size.
    assert file_bytes(mixed, mixed.sizes, 1 << 40) == 1 << 40


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["/scratch/run/out.0", "/scratch/run/out.17"], ("/scratch/run", "out.*")),
        (["/scratch/run/a.h5", "/scratch/other/b.h5"], ("/scratch", "**/*.h5")),
        (["/scratch/run/a"], ("/scratch/run", "a")),
        (["/scratch/run/step-1.nc", "/scratch/run/step-2.nc"], ("/scratch/run", "step-*.nc")),
        (["a", "/b"], ("", "*")),
    ],
)
def test_files_are_named_by_their_directory_and_a_pattern(paths: list[str], expected: tuple[str, str]) -> None:
    assert common_pattern(paths) == expected


def test_simultaneous_streams_use_different_ranks_if_possible(tmp_path: Path) -> None:
    tables = []
    for rank in range(4):
        process = table(100 + rank, job={"SLURM_PROCID": str(rank)})
        size = MIB if rank < 3 else 16 * KIB
        checkpoint(process, f"/scratch/{rank}", second=5, inode=1 + rank, sizes={size: 64})
        tables.append(process)
    written = [(stream.ranks, stream.sizes) for _, stream in streams(replay_of(tmp_path, *tables), "write")]
    assert written == [(Ranks(0, 3), ((MIB, 192),)), (Ranks(3, 1), ((16 * KIB, 64),))]


def test_a_file_that_is_written_and_read_once_is_opened_once_for_each(tmp_path: Path) -> None:
    process = table()
    for index in range(20):
        opened_ns, closed_ns = process.begin_ns + 10 * S, process.begin_ns + 41 * S
        file = process.file(f"/scratch/{index}", {"open": 2}, inode=5 + index, opened_ns=opened_ns, closed_ns=closed_ns)
        process.transfers(file, "write", {64 * KIB: 8}, consecutive=8)
        process.transfers(file, "read", {512 * KIB: 1}, consecutive=1)
    process.second("write", 10, 160, moved=10 * MIB)
    process.second("read", 40, 20, moved=10 * MIB)
    process.second("open", 10, 20)
    process.second("open", 40, 20)
    replayed = replay_of(tmp_path, process)
    opens = [
        (phase, stream.verb, stream.opens) for verb in ("write", "read") for phase, stream in streams(replayed, verb)
    ]
    assert opens == [(0, "write", 20), (1, "read", 20)]
    assert streams(replayed, "open") == []


def test_a_pause_begins_with_the_last_operation_of_its_phase(tmp_path: Path) -> None:
    replayed = replay_of(tmp_path, *ranks_that_checkpoint(2))
    (pause_s,) = replayed.pauses_s
    # The last of 15 calls of a rank is due in the middle of the last 15th of a second.
    assert pause_s == pytest.approx(20 - 29 / 30)
    assert replayed.duration_s == pytest.approx(20 + 29 / 30)


def test_operations_missing_in_the_time_line_are_placed_while_their_file_was_open(tmp_path: Path) -> None:
    tables = ranks_that_checkpoint(1)
    (process,) = tables
    opened_ns, closed_ns = process.begin_ns + 30 * S, process.begin_ns + 31 * S
    unseen = process.file("/data/unseen", {"open": 1}, inode=77, size=MIB, opened_ns=opened_ns, closed_ns=closed_ns)
    process.transfers(unseen, "read", {MIB: 1}, consecutive=1)
    other = process.file(
        "/data/seen", {"open": 1}, inode=78, size=MIB, opened_ns=process.begin_ns + 10 * S, closed_ns=opened_ns
    )
    process.transfers(other, "read", {MIB: 1}, consecutive=1)
    process.second("read", 10, 1, moved=MIB)
    read = [(phase, stream.count) for phase, stream in streams(replay_of(tmp_path, *tables), "read")]
    assert read == [(0, 1), (1, 1)]


def test_only_files_below_a_given_directory_are_replayed(tmp_path: Path) -> None:
    process = table()
    checkpoint(process, "/scratch/run/out", second=5, inode=1, sizes={MIB: 4})
    checkpoint(process, "/scratch/runner", second=5, inode=2, sizes={MIB: 8})
    process.file("/lib/module", {"open": 30}, {"open": 30})
    replayed = replay_of(tmp_path, process, below="/scratch/run")
    assert [stream.count for _, stream in streams(replayed, "write")] == [4]
    assert (replayed.expected["write"].bytes, replayed.expected["metadata"].operations) == (4 * MIB, 2)
    assert [(note.kind, note.amount) for note in replayed.notes] == [("elsewhere", 8 + 2 + 30)]


def test_files_that_share_a_row_are_not_replayed_as_one_file(tmp_path: Path) -> None:
    process = table()
    checkpoint(process, "/scratch/out", second=5, inode=1, sizes={MIB: 4})
    others = process.file("", {"open": 50_000}, kind=FileKind.OTHERS)
    process.transfers(others, "write", {MIB: 50_000})
    replayed = replay_of(tmp_path, process)
    assert [stream.count for _, stream in streams(replayed, "write")] == [4]
    assert [(note.kind, note.amount) for note in replayed.notes] == [("unnamed-files", 100_000)]


def test_a_profile_without_streams_in_any_phase_is_no_replay(tmp_path: Path) -> None:
    synced, looked = table(), table()
    synced.file("/scratch/a", {"sync": 3})
    looked.file("/scratch/a", {"stat": 1})
    for second in (5, 25, 45):
        looked.second("stat", second, 1)
    assert replay(load_profile([store_record(tmp_path / "synced", synced)])) is None
    assert replay(load_profile([store_record(tmp_path / "looked", looked)])) is None


def test_syncs_of_unwritten_files_are_left_out_and_not_expected(tmp_path: Path) -> None:
    process = table()
    checkpoint(process, "/scratch/a", second=5, inode=1, sizes={MIB: 4})
    process.file("/scratch/unwritten", {"sync": 300})
    process.second("sync", 50, 300)
    replayed = replay_of(tmp_path, process)
    assert [(left.operation, left.calls) for left in replayed.left_out] == [("sync of what was not written", 300)]
    assert replayed.expected["metadata"].operations == 2  # an open, a close
    assert len(replayed.phases) == 1


def test_few_operations_over_a_long_time_have_a_time_line(tmp_path: Path) -> None:
    process = table()
    process.file("/scratch/a", {"stat": 4})
    for second in range(10, 18):
        process.second("stat", second, 1)
    replayed = replay_of(tmp_path, process)
    assert [tree.name for tree in replayed.trees] == ["looked-at"]
    timeline = replayed.expected["metadata"].timeline
    assert len(timeline) == 64
    assert (min(timeline[:60]) > 0, max(timeline)) == (True, 10_000)


@pytest.mark.parametrize(("processes", "folded"), [(4, []), (5, [5])])
def test_processes_share_ranks_only_above_the_most_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int, folded: list[int]
) -> None:
    monkeypatch.setattr(ranks, "MOST_RANKS", 4)
    replayed = replay_of(tmp_path, *ranks_that_checkpoint(processes))
    assert replayed.ranks == 4
    assert [note.amount for note in replayed.notes if note.kind == "folded-ranks"] == folded


def test_mpi_calls_are_not_left_out_because_the_calls_beneath_are_replayed(tmp_path: Path) -> None:
    process = table()
    file = checkpoint(process, "/scratch/a", second=5, inode=1, sizes={MIB: 4})
    process.transfers(file, "MPI write", {MIB: 4}, ns=S)
    process.transfers(file, "MPI read", {MIB: 4}, ns=S)
    assert replay_of(tmp_path, process).left_out == ()


def test_left_out_calls_below_a_directory_have_no_time(tmp_path: Path) -> None:
    process = table()
    checkpoint(process, "/scratch/a", second=5, inode=1, sizes={MIB: 4})
    process.file("/scratch", {"list": 12})
    process.file("/lib", {"list": 1})
    process.second("list", 5, 13, ns=S)
    times = {
        below: replay_of(tmp_path / str(index), process, below=below).left_out
        for index, below in enumerate((None, "/scratch"))
    }
    assert [(left.calls, left.spent_ns) for left in times[None]] == [(13, S)]
    assert [(left.calls, left.spent_ns) for left in times["/scratch"]] == [(12, None)]


@pytest.mark.parametrize(
    ("calls", "forward", "backward", "strided", "expected"),
    [
        (2048, 0, 0, 0, Order(100)),
        (2048, 1005, 1042, 0, Order(0, 0, 100)),  # a random permutation: 49 % forward, 51 % backward
        (2048, 262, 250, 0, Order(75, 0, 25)),
        (256, 255, 0, 254, Order(0, 100, 0)),
        (2048, 2040, 7, 2032, Order(0, 100, 0)),  # eight strided passes
        (1000, 600, 200, 0, Order(20, 40, 40)),
        (2048, 0, 2047, 0, Order(0, 0, 0, 100)),  # from the end to the beginning
        (2048, 0, 128, 0, Order(94, 0, 0, 6)),  # block before block, each of which forward
        (1000, 200, 600, 0, Order(20, 0, 40, 40)),
    ],
)
def test_random_transfers_go_forward_as_often_as_backward(
    calls: int, forward: int, backward: int, strided: int, expected: Order
) -> None:
    assert Course(calls, forward, backward, strided).order == expected


def test_maps_are_replayed_as_reads_and_writes_of_the_pages_that_can_have_been_touched(tmp_path: Path) -> None:
    process = table()
    process.second("open", 0, 3, ns=1000)
    for inode, path in enumerate(("/data/read", "/data/cold", "/data/written"), start=1):
        file = process.file(path, {"open": 1}, inode=inode, size=MIB + 1, ns=1000)
        process.transfers(file, "map", {MIB: 1})
    profile = load_profile([store_record(tmp_path / "record", process)])
    number = dict(profile.files.select("path", "file").iter_rows())
    common = {"process": 0, "maps": 1, "first_map_s": 0.1, "last_unmap_s": 0.9, "mapped_bytes": MIB, "syncs": 0}
    rows = [
        {"file": number["/data/read"], "access": "read", "extent_bytes": MIB + 1},  # residency is unknown
        {"file": number["/data/cold"], "access": "private write", "extent_bytes": MIB, "resident_end_bytes": 4096},
        {"file": number["/data/written"], "access": "write", "extent_bytes": MIB, "dirty_end_bytes": 256 * KIB},
    ]
    maps = pl.DataFrame([common | row for row in rows], schema=MAPS)
    with_maps, without_maps = replay(replace(profile, maps=maps)), replay(profile)
    assert with_maps is not None
    assert without_maps is not None
    read, write = with_maps.expected["read"], with_maps.expected["write"]
    assert (read.bytes, dict(read.sizes)) == (MIB + 1 + 4096, {1: 1, 4096: 1, 128 * KIB: 8})
    assert (write.bytes, dict(write.sizes)) == (256 * KIB, {128 * KIB: 2})
    assert [note.amount for note in with_maps.notes if note.kind == "maps"] == [3]
    assert "map" not in {left.operation for left in with_maps.left_out}
    # If a source only counts maps, it is unknown what they moved.
    assert "map" in {left.operation for left in without_maps.left_out}


def test_strided_passes_start_over_and_are_not_backward() -> None:
    assert Course(2048, 2040, 7, 2032).passes == 7
    assert Course(2048, 1005, 1042, 0).excess == 0
    assert Course(2048, 0, 2047, 0).excess == -2047
