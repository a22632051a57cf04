"""Phases, peers, coverage and sums of a profile."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.profile import coverage, peers, phases, steps, totals
from ioassay.analysis.profile.findings import ProfileFacts
from ioassay.analysis.profile.findings.imbalance import TimeImbalanceEvidence, time_imbalance
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.figures import render
from ioassay.figures.profile import heat, over_time
from ioassay.profiles.darshan import profile as darshan
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import FileKind, State
from ioassay.testing.faulty_application import CHECKPOINT_S, MIB, PERIOD_S, RANKS, S, calm
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record
from ioassay.text.rate_units import suited

Load = Callable[..., Profile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return lambda *tables: load_profile([store_record(tmp_path / "record", *tables)])


def test_phases_are_bursts_of_bytes_separated_by_pauses(load: Load) -> None:
    all_phases = phases.phases(load(*calm()))
    assert [(phase.direction, phase.start_s, phase.duration_s) for phase in all_phases] == [
        ("write", 60.0 + index * PERIOD_S, CHECKPOINT_S) for index in range(6)
    ]
    assert {phase.written_bytes for phase in all_phases} == {RANKS * CHECKPOINT_S * 64 * MIB}
    assert phases.period_s(all_phases, "write") == PERIOD_S


def test_a_pause_shorter_than_two_steps_does_not_end_a_phase(load: Load) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 60 * S)
    for second in (1, 2, 4, 7, 20, 21):
        table.second("read", second, 1, moved=MIB)
    all_phases = phases.phases(load(table))
    assert [(phase.start_s, phase.end_s) for phase in all_phases] == [(1, 8), (20, 22)]
    assert phases.period_s(all_phases, "read") is None


def test_little_io_compared_with_the_busiest_step_is_no_phase(load: Load) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 60 * S)
    table.second("write", 10, 100, moved=1000 * MIB)
    table.second("write", 40, 1, moved=MIB)
    assert [phase.start_s for phase in phases.phases(load(table))] == [10]


def test_metadata_has_separate_phases(load: Load) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 60 * S)
    table.second("write", 5, 1, moved=MIB)
    for second in range(3, 9):
        table.second("stat", second, 100)
    all_phases = phases.phases(load(table))
    assert [(phase.direction, phase.start_s, phase.metadata_calls) for phase in all_phases] == [
        ("metadata", 3, 600),
        ("write", 5, 100),
    ]


@pytest.mark.parametrize(("stat_ns", "direction"), [(10, "write"), (10_000, "metadata")])
def test_a_burst_of_bytes_and_metadata_has_the_direction_with_most_time(
    load: Load, stat_ns: int, direction: str
) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 2 * S)
    table.second("write", 1, 10, moved=MIB, ns=1000)
    table.second("stat", 1, 10, ns=stat_ns)
    all_phases = phases.phases(load(table))
    assert [(phase.direction, phase.written_bytes, phase.metadata_calls) for phase in all_phases] == [
        (direction, MIB, 10)
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["read", "write", "stat", "open"]), st.integers(0, 255), st.integers(0, 2 * MIB)),
        max_size=30,
    )
)
def test_no_two_phases_have_the_same_times(happened: list[tuple[str, int, int]]) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 2 * S)
    for operation, step, moved in happened:
        table.second(operation, step // 128, 1, moved=moved * (operation in ("read", "write")), ns=moved)
        table.step(operation, step, 1, moved=moved * (operation in ("read", "write")), ns=moved)
    with TemporaryDirectory() as folder:
        all_phases = phases.phases(load_profile([store_record(Path(folder) / "record", table)]))
    assert len({(phase.start_s, phase.end_s) for phase in all_phases}) == len(all_phases)
    moving = [event for event in happened if event[0] in ("read", "write") and event[2]]
    assert bool(all_phases) == bool(moving or any(event[0] in ("stat", "open") for event in happened))


def test_irregular_phases_do_not_recur(load: Load) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 100 * S)
    for second in (1, 10, 60, 70):
        table.second("read", second, 1, moved=MIB)
    assert phases.period_s(phases.phases(load(table)), "read") is None


def writer(pid: int, moved: int, **about: object) -> TableBuilder:
    table = TableBuilder(pid, **about)  # type: ignore[arg-type]
    table.transfers(table.file(f"/out/{pid}", inode=pid), "write", {moved: 1}, ns=moved)
    return table


def test_all_processes_of_a_rank_count_together(load: Load) -> None:
    tables = [
        writer(1, 10, job={"PMI_RANK": "0"}, command=["sh"]),
        writer(2, 100, job={"PMI_RANK": "0"}),
        writer(3, 50, job={"PMI_RANK": "1"}),
        writer(4, 9999),
    ]
    written = [imbalance for imbalance in peers.imbalances(load(*tables)) if imbalance.measure == "written_bytes"]
    assert [
        (imbalance.peers, imbalance.count, imbalance.least, imbalance.most, imbalance.most_name)
        for imbalance in written
    ] == [("rank", 2, 50, 110, "rank 0")]
    assert written[0].share == pytest.approx(60 / 110)


def test_a_rank_runs_from_its_first_process_to_its_last(load: Load) -> None:
    def step(pid: int, rank: int, second: int, ns: int) -> TableBuilder:
        begin = BEGIN_NS + second * S
        table = TableBuilder(pid, begin_ns=begin, end_ns=begin + 10 * S, job={"PMI_RANK": str(rank)})
        table.transfers(table.file(f"/out/{pid}", inode=pid), "write", {MIB: 100}, ns=ns)
        return table

    profile = load(step(1, 0, 0, 9 * S), step(2, 0, 10, 9 * S), step(3, 1, 0, S), step(4, 2, 0, S))
    (spent,) = (imbalance for imbalance in peers.imbalances(profile) if imbalance.measure == "io_ns")
    assert (spent.most_name, spent.most, spent.most_run_ns) == ("rank 0", 18 * S, 20 * S)
    (finding,) = time_imbalance(ProfileFacts(profile, Thresholds()))
    assert isinstance(finding.evidence, TimeImbalanceEvidence)
    assert finding.evidence.most_share == pytest.approx(0.9)


def test_workers_have_one_parent_and_one_command_and_run_at_the_same_time(load: Load) -> None:
    together = [writer(pid, pid, command=["worker"], parent=7) for pid in (10, 11, 12)]
    one_by_one = [
        writer(
            20 + index, 5, command=["cc"], parent=7, begin_ns=BEGIN_NS + index * S, end_ns=BEGIN_NS + (index + 1) * S
        )
        for index in range(3)
    ]
    elsewhere = writer(30, 1, command=["worker"], parent=8)
    rows = peers.peers(load(*together, *one_by_one, elsewhere))
    assert rows["name"].to_list() == ["process 10", "process 11", "process 12"]


def test_bytes_of_the_kernel_beyond_the_record_are_a_shortfall(load: Load) -> None:
    complete, short, little = TableBuilder(1), TableBuilder(2), TableBuilder(3)
    for table, kernel in ((complete, 10 * MIB), (short, 10 * MIB), (little, MIB)):
        table.thread(table.pid, kernel=(kernel, 0, 1, 0))
    complete.second("read", 0, 1, moved=6 * MIB)
    complete.second("copy from", 0, 1, moved=4 * MIB)
    short.second("read", 0, 1, moved=7 * MIB)
    short.second("submit read", 0, 1, moved=3 * MIB)
    killed = TableBuilder(4, state=State.RUNNING)
    result = coverage.coverage(load(complete, short, little, killed))
    assert [(shortfall.process, shortfall.direction, shortfall.missing_bytes) for shortfall in result.shortfalls] == [
        (1, "read", 3 * MIB),
        (2, "read", MIB),
    ]
    assert (result.compared, result.unknown) == (3, 1)


def test_recorded_io_off_storage_is_no_shortfall(load: Load) -> None:
    table = TableBuilder()
    table.thread(100, kernel=(10 * MIB, 10 * MIB, 1, 1))
    for way in ("read", "write"):
        table.second(f"elsewhere {way}", 1, 1, moved=6 * MIB)
        table.second(way, 1, 1, moved=4 * MIB)
    result = coverage.coverage(load(table))
    assert (result.shortfalls, result.compared) == ((), 1)


def test_totals_cover_storage_and_report_time_elsewhere(load: Load) -> None:
    table = TableBuilder()
    file = table.file("/data/in", {"open": 2}, inode=1, ns=30)
    pipe = table.file("pipe", kind=FileKind.PIPE)
    table.transfers(file, "read", {100: 5}, ns=70)
    table.transfers(pipe, "read", {1000: 5}, ns=900)
    result = totals.totals(load(table))
    read = result.of("read")
    assert (read.calls, read.bytes, read.spent_ns) == (5, 500, 70)
    assert (result.io_ns, result.elsewhere_ns, result.metadata_share) == (100, 900, 0.3)


def test_operations_have_percentiles_that_no_slowest_call_exceeds(load: Load) -> None:
    table = TableBuilder()
    table.second("read", 0, 1000, moved=10, ns=10_000, slowest_ns=5000)
    table.latencies("read", {100: 990, 5000: 10})
    (row,) = totals.operations(load(table)).to_dicts()
    assert (row["p50_ns"], row["max_ns"], row["slowest_ns"]) == (112, 5000, 5000)


def test_files_and_directories_are_ordered_by_time(load: Load) -> None:
    table = TableBuilder()
    for name, ns in (("/a/one", 10), ("/a/two", 20), ("/b/three", 25)):
        table.transfers(table.file(name, {"stat": 1}, ns=1), "write", {100: 1}, ns=ns)
    profile = load(table)
    files = totals.by_file(profile)
    assert files["path"].to_list() == ["/b/three", "/a/two", "/a/one"]
    directories = totals.by_directory(files)
    assert directories.select("directory", "files", "written_bytes", "spent_ns").rows() == [
        ("/a", 2, 200, 32),
        ("/b", 1, 100, 26),
    ]


def test_a_line_over_time_includes_idle_steps_and_joins_those_of_a_long_run(load: Load) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 3600 * S)
    table.second("write", 0, 1, moved=900)
    table.second("write", 3599, 1, moved=90)
    data, step_s = steps.rates(load(table))
    assert step_s == 9
    assert data.height == 400
    assert data.filter(pl.col("rate") > 0).select("start_s", "rate").rows() == [(0, 100), (3591, 10)]


def test_many_processes_share_rows_of_the_heat_map(load: Load) -> None:
    tables = [TableBuilder(1 + index) for index in range(120)]
    for table in tables:
        table.second("write", 3, 1, moved=300, ns=10**8)
    heat_map = steps.heat(load(*tables))
    data = heat_map.cells
    assert (heat_map.rows, heat_map.processes_of_a_row) == (40, 3)
    assert data["row"].to_list() == list(range(40))
    assert set(data["bytes_per_s"]) == {900.0}
    assert data["busy"].to_list() == pytest.approx([0.1] * 40)


def test_a_log_with_only_a_heatmap_has_only_bytes_over_time(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(gzip.decompress((Path(darshan.__file__).parent / "testdata" / "mpi.txt.gz").read_bytes()))
    profile = darshan.load_profile([log])
    moved = phases.by_direction(profile)
    assert moved["bytes"].null_count() == 0
    assert moved["calls"].null_count() == moved["duration_ns"].null_count() == moved.height > 0
    assert {phase.metadata_calls for phase in phases.phases(profile)} == {None}
    cells, step_s, rows, _ = steps.heat(profile)
    assert cells["busy"].null_count() == cells.height > 0
    assert cells["bytes_per_s"].null_count() == 0
    figure = heat.chart(cells, step_s, profile.end_s, suited("rate_bytes_per_s", "read", [1.0]), rows=rows, title="P")
    assert [chart["title"] for chart in figure["vconcat"]] == ["Bytes moved (kB/s)"]


def test_operations_beyond_the_most_frequent_are_one_line(load: Load) -> None:
    table = TableBuilder()
    for calls, operation in enumerate(("open", "close", "stat", "seek", "list", "create", "remove"), start=1):
        table.second(operation, 0, calls)
    data, _ = steps.operation_rates(load(table))
    first = data.filter(pl.col("start_s") == 0).sort("rate")
    assert first.select("line", "rate").rows() == [
        ("other", 3), ("stat", 3), ("seek", 4), ("list", 5), ("create", 6), ("remove", 7)
    ]  # fmt: skip
    assert "</svg>" in render.svg(over_time.chart(data, 1, "Operations"), "f")


def test_sizes_between_the_smallest_and_the_largest_have_a_row_without_streams(load: Load) -> None:
    table = TableBuilder()
    file = table.file("/data/in", inode=1)
    table.transfers(file, "read", {4096: 5})
    table.transfers(file, "write", {16384: 7})
    table.transfers(file, "stream write", {10: 100})
    data = steps.sizes(load(table))
    assert data.select("direction", "begin_bytes", "calls").rows() == [
        ("read", 4096, 5), ("read", 8192, 0), ("read", 16384, 0),
        ("write", 4096, 0), ("write", 8192, 0), ("write", 16384, 7),
    ]  # fmt: skip
