"""What engines did through io_uring, in the profile of their records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.analysis.profile import coverage, totals
from ioassay.analysis.profile.findings import ProfileFacts, findings
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.profiles.model import DIRECTION, FRAMES, Profile
from ioassay.profiles.sources import load_profile
from ioassay.testing.builder import GIB, STARTED_UNIX_NS, run_of_writes
from ioassay.testing.record_tables import TableBuilder, store_record
from ioassay.testing.stored import store

WORKSPACE = "/mnt/store/iotest/ioassay-x"
S = 10**9
CLIENTS = 4
TRANSFERS = GIB >> 20


def processes(case: str, paths: list[str], **about: Any) -> list[TableBuilder]:
    """An engine that forks a process for each rank: their numbers go up with the ranks, not their begin."""
    command = ["ioassay-engine", "run", "--events", f"/runs/uring/logs/{case}/events.jsonl", f"/runs/{case}/plan.json"]
    begin_ns, end_ns = STARTED_UNIX_NS, STARTED_UNIX_NS + 20 * S
    tables = [TableBuilder(50, command=command, parent=1, begin_ns=begin_ns, end_ns=end_ns)]
    for rank in range(CLIENTS):
        began = {"begin_ns": begin_ns + (CLIENTS - rank) * 1000, "end_ns": end_ns}
        table = TableBuilder(60 + rank, command=command, **{"parent": 50} | began | about)
        table.thread(table.pid, kernel=(4096, 0, 1, 0))
        for path in paths:
            table.file(path, {"open": 1}, inode=1 + int(path[-1]) if path[-1].isdigit() else 1)
        tables.append(table)
    return tables


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Path]:
    """A run of one case with writes and reads of 1 GiB by 4 ranks, and the record of its engine."""

    def made(
        paths: list[str], change: Callable[[list[TableBuilder]], object] = lambda _: None, **workload: Any
    ) -> Path:
        run = run_of_writes(5e8, clients=(CLIENTS,), **{"api": "uring"} | workload)
        run.document.recorded, run.document.workspace = True, WORKSPACE
        path = store(run, tmp_path / "uring")
        (case,) = run.document.cases
        tables = processes(case.id, [f"{WORKSPACE}/{case.id}.data{end}" for end in paths])
        change(tables)
        store_record(path / "logs" / case.id / "record", *tables)
        return path

    return made


OWN = [f".{client:08}" for client in range(CLIENTS)]


def sums(profile: Profile, frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    submitted = frame.filter(pl.col("operation").str.starts_with("submit")).group_by("operation")
    return sorted(submitted.agg(pl.col("calls", "bytes").sum()).rows())


WHOLE = [("submit read", TRANSFERS, GIB), ("submit write", TRANSFERS, GIB)]


def test_transfers_through_rings_are_in_all_tables_once(recorded: Callable[..., Path]) -> None:
    profile = load_profile([recorded(OWN)])
    for table in (profile.process_operations, profile.file_operations):
        assert sums(profile, table) == WHOLE
    over_time = profile.timeline.filter(pl.col("operation") == "submit write")
    assert over_time["bytes"].sum() == pytest.approx(GIB, rel=1e-6)
    assert over_time["start_s"].to_list() == [2, 3]  # 2.1 s, the last of them in fsync
    assert profile.heat["written_bytes"].sum() == pytest.approx(GIB, rel=1e-6)
    assert profile.heat["write_ns"].sum() == pytest.approx(profile.processes["write_ns"].sum(), rel=0.01)
    sizes = profile.file_sizes.filter(pl.col("operation") == "submit read")
    assert set(sizes.select("begin_bytes", "end_bytes").rows()) == {(1 << 20, 1 << 21)}
    assert sizes["calls"].sum() == profile.common_sizes.filter(operation="submit read")["calls"].sum() == TRANSFERS
    assert profile.latencies["operation"].unique().sort().to_list() == ["submit read", "submit write"]
    assert {name: getattr(profile, name).schema for name in FRAMES} == dict(FRAMES)
    assert set(profile.file_operations["operation"]) <= {*DIRECTION}
    (supplement,) = profile.supplements
    assert (supplement.calls, supplement.bytes) == (2 * TRANSFERS, 2 * GIB)
    counted = totals.totals(profile)
    assert (counted.of("write").bytes, counted.of("write").calls) == (GIB, TRANSFERS)
    assert not coverage.coverage(profile).doubts
    assert [finding.kind for finding in findings(ProfileFacts(profile, Thresholds()))] == []


def test_each_rank_is_a_process_and_has_its_file(recorded: Callable[..., Path]) -> None:
    profile = load_profile([recorded(OWN)])
    moved = profile.processes.filter(pl.col("written_bytes") > 0)
    assert moved["pid"].sort().to_list() == [60, 61, 62, 63]
    by_file = profile.file_operations.join(profile.files.select("file", "path"), on="file").filter(
        operation="submit write"
    )
    assert by_file.select(pl.col("path").str.tail(9), "bytes", "processes").rows() == [
        (end, GIB // 4, 1) for end in OWN
    ]


@pytest.mark.parametrize(("paths", "users"), [([""], CLIENTS), (OWN[:3], None), ([], CLIENTS)])
def test_bytes_of_other_numbers_of_files_are_spread_over_them(
    recorded: Callable[..., Path], paths: list[str], users: int | None
) -> None:
    profile = load_profile([recorded(paths)])
    assert sums(profile, profile.file_operations) == WHOLE
    by_file = profile.file_operations.filter(operation="submit write")
    assert by_file.height == max(1, len(paths))
    assert set(by_file["processes"]) == {users}
    if not paths:
        assert profile.files["path"].to_list() == [f"{WORKSPACE}/seq-c4-r1.data.*"]


def test_what_the_recorder_has_seen_is_not_counted_again(recorded: Callable[..., Path]) -> None:
    def seen(tables: list[TableBuilder]) -> None:
        tables[1].second("submit write", 3, 256, moved=GIB // 4)

    profile = load_profile([recorded(OWN, seen)])
    assert sums(profile, profile.process_operations) == [("submit write", 256, GIB // 4)]
    assert profile.supplements == ()


def test_sums_of_processes_are_unknown_where_their_ranks_are(recorded: Callable[..., Path]) -> None:
    def fewer(tables: list[TableBuilder]) -> None:
        del tables[2]

    profile = load_profile([recorded(OWN, fewer)])
    assert sums(profile, profile.process_operations) == WHOLE
    assert profile.processes["written_bytes"].null_count() == profile.processes.height
    assert totals.totals(profile).of("write").bytes == GIB


def test_jobs_of_other_storage_apis_are_left_to_the_recorder(recorded: Callable[..., Path]) -> None:
    profile = load_profile([recorded(OWN, api="posix")])
    assert sums(profile, profile.process_operations) == []
    assert profile.supplements == ()
