"""What is found in an application that does everything that slows I/O down, and not in one that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.analysis.finding import FileRow, Finding, ProcessRow, StepRow
from ioassay.analysis.profile.findings import FINDERS, ProfileEvidence, ProfileFacts, findings
from ioassay.analysis.profile.findings.cached_reads import CachedReadEvidence
from ioassay.analysis.profile.findings.imbalance import SizeImbalanceEvidence, TimeImbalanceEvidence
from ioassay.analysis.profile.findings.metadata import MetadataEvidence
from ioassay.analysis.profile.findings.misaligned import MisalignedEvidence
from ioassay.analysis.profile.findings.no_collectives import NoCollectiveEvidence
from ioassay.analysis.profile.findings.phase_tails import TailEvidence
from ioassay.analysis.profile.findings.random_access import RandomEvidence
from ioassay.analysis.profile.findings.repeated_lookups import ReopenEvidence, RestatEvidence
from ioassay.analysis.profile.findings.repeated_reads import RedundantReadEvidence, SameDataEvidence
from ioassay.analysis.profile.findings.search_paths import SearchEvidence
from ioassay.analysis.profile.findings.small_requests import SmallRequestEvidence
from ioassay.analysis.profile.findings.stalls import StallEvidence
from ioassay.analysis.profile.findings.streams import StreamEvidence
from ioassay.analysis.profile.findings.sync_storm import SyncEvidence
from ioassay.analysis.profile.thresholds import Threshold, Thresholds
from ioassay.protocol.record_layout import FileKind
from ioassay.results.profile_model import FRAMES, Profile
from ioassay.results.records.profile import load_profile
from ioassay.testing.faulty_application import KIB, MIB, MS, RANKS, S, calm, faulty
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Profile]:
    """The profile of a record of these tables."""
    return lambda *tables: load_profile([store_record(tmp_path / "record", *tables)])


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return load_profile([store_record(tmp_path_factory.mktemp("faulty") / "record", *faulty())])


def found_in(profile: Profile, thresholds: Thresholds | None = None) -> list[Finding]:
    return findings(ProfileFacts(profile, thresholds or Thresholds()))


def of_kind(profile: Profile, kind: type[Any], **fields: object) -> Finding:
    """The only finding with such evidence."""
    (one,) = (
        found
        for found in found_in(profile)
        if isinstance(found.evidence, kind) and all(getattr(found.evidence, name) == fields[name] for name in fields)
    )
    return one


def paths(profile: Profile, finding: Finding) -> list[str]:
    names = dict(profile.files.select("file", "path").iter_rows())
    return [names[one.file] for one in finding.rests_on if isinstance(one, FileRow)]


def test_every_finder_has_an_evidence_of_its_own_kind() -> None:
    kinds = [kind.kind for kind in ProfileEvidence.__subclasses__()]
    assert len(set(kinds)) == len(kinds) == len(FINDERS)


def test_every_kind_of_finding_is_found_in_an_application_that_does_it_all(profile: Profile) -> None:
    facts = ProfileFacts(profile, Thresholds())
    silent = [find.__name__ for find in FINDERS if not list(find(facts))]
    # They have tests of their own.
    assert silent == [
        "metadata_time", "mapped_reads", "deleted_unread", "hand_overs", "idle_files", "phase_tails", "aggregators",
        "blocking_mpi_io", "size_imbalance", "cached_reads",
    ]  # fmt: skip


def test_nothing_is_found_in_one_that_writes_large_blocks(load: Callable[..., Profile]) -> None:
    assert found_in(load(*calm())) == []


def test_no_finding_takes_a_row_of_many_files_for_a_file(profile: Profile) -> None:
    """Whatever such a row has: here it is each file by turns, then all."""
    referred = {one.file for found in found_in(profile) for one in found.rests_on if isinstance(one, FileRow)}
    assert len(referred) > 5
    for rows in ({number} for number in referred), [referred]:
        for row in rows:
            folded = pl.when(pl.col("file").is_in(row)).then(pl.lit("others")).otherwise("kind")
            folded_profile = replace(profile, files=profile.files.with_columns(kind=folded))
            for found in found_in(folded_profile):
                assert row.isdisjoint(one.file for one in found.rests_on if isinstance(one, FileRow)), found


def test_opens_of_many_files_in_one_row_are_not_one_file_opened_again(load: Callable[..., Profile]) -> None:
    table = TableBuilder(folded_calls=50_680)
    table.file("", {"open": 50_680}, kind=FileKind.OTHERS)
    loaded = load(table)
    assert [one for one in found_in(loaded) if isinstance(one.evidence, ReopenEvidence)] == []
    assert ProfileFacts(loaded, Thresholds()).totals.of("metadata").calls == 50_680


def test_a_profile_of_which_nothing_is_known_has_no_finding(profile: Profile) -> None:
    nothing: dict[str, Any] = {name: schema.to_frame() for name, schema in FRAMES.items()}
    empty = replace(profile, **nothing)
    assert found_in(empty) == []


def test_warnings_come_first_and_those_that_took_most_time_before_others(profile: Profile) -> None:
    found = found_in(profile)
    order = [(one.severity != "warning", -(one.evidence.spent_ns or 0)) for one in found]  # type: ignore[attr-defined]
    assert order == sorted(order)
    assert all(one.rests_on and one.evidence.thresholds for one in found)  # type: ignore[attr-defined]


def test_small_requests_of_shared_files(profile: Profile) -> None:
    found = of_kind(profile, SmallRequestEvidence, direction="write")
    evidence = found.evidence
    assert isinstance(evidence, SmallRequestEvidence)
    assert (evidence.shared_only, evidence.small, evidence.requests) == (True, 20_000, 20_000)
    assert (evidence.common_bytes, evidence.files, evidence.small_files) == (1000, 1, 0)
    assert paths(profile, found) == ["/scratch/climate/diagnostics.bin"]


def test_a_limit_of_a_measured_run_replaces_that_of_the_rule(profile: Profile) -> None:
    measured = Thresholds(small_request_bytes=Threshold("small_request_bytes", 32 << 10, "measured", "runs/nfs"))
    small = [one.evidence for one in found_in(profile, measured) if isinstance(one.evidence, SmallRequestEvidence)]
    assert [(one.direction, one.thresholds[0].source) for one in small] == [("write", "runs/nfs")]


def test_reads_that_found_the_end_of_a_file_are_neither_small_nor_misaligned(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for at in range(2000):
        file = table.file(f"/data/{at}", inode=1 + at, size=4 * MIB)
        table.transfers(file, "read", {4 * MIB: 1, 0: 1}, consecutive=1)
    assert [one.kind for one in found_in(load(table))] == []


def test_small_requests_on_pipes_are_none(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    pipe = table.file("pipe", kind=FileKind.PIPE)
    table.transfers(pipe, "read", {10: 100_000}, ns=9 * S)
    assert found_in(load(table)) == []


def test_misaligned_transfers_with_the_block_of_the_file_system(profile: Profile) -> None:
    evidence = of_kind(profile, MisalignedEvidence, direction="write").evidence
    assert isinstance(evidence, MisalignedEvidence)
    assert (evidence.misaligned, evidence.requests, evidence.block_bytes) == (20_000, 29_216, 4096)
    assert evidence.thresholds[-1].origin == "file system"


def test_random_reads(profile: Profile) -> None:
    evidence = of_kind(profile, RandomEvidence, direction="read").evidence
    assert isinstance(evidence, RandomEvidence)
    assert (evidence.random, evidence.requests, evidence.files) == (RANKS * 2700 - RANKS, 28_000, 1)


def test_transfers_that_skip_forward_are_not_random(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/strided", inode=1)
    table.transfers(file, "read", {4 * MIB: 5000}, forward=4999, strided=4998, end=10**12)
    assert found_in(load(table)) == []


def test_data_that_is_read_again_and_data_that_every_process_reads(profile: Profile) -> None:
    again = of_kind(profile, RedundantReadEvidence)
    assert isinstance(again.evidence, RedundantReadEvidence)
    assert (again.evidence.redundant_bytes, again.evidence.worst_times) == (RANKS * 180 * MIB, 10)
    assert paths(profile, again) == ["/data/forcing.nc"]
    same = of_kind(profile, SameDataEvidence)
    assert isinstance(same.evidence, SameDataEvidence)
    assert (same.evidence.readers, same.evidence.distinct_bytes) == (RANKS, 320 * MIB)


def test_processes_that_read_a_part_each_do_not_read_the_same(load: Callable[..., Profile]) -> None:
    tables = []
    for rank in range(8):
        table = TableBuilder(10 + rank)
        file = table.file("/data/shared", inode=1)
        begin = rank * 100 * MIB
        table.transfers(file, "read", {4 * MIB: 25}, consecutive=24, begin=begin, end=begin + 100 * MIB)
        tables.append(table)
    assert found_in(load(*tables)) == []


def test_the_rank_that_spends_more_time_than_the_others(profile: Profile) -> None:
    found = of_kind(profile, TimeImbalanceEvidence)
    assert isinstance(found.evidence, TimeImbalanceEvidence)
    assert found.evidence.imbalance.most_name == "rank 3"
    assert found.evidence.spent_ns == found.evidence.imbalance.most - found.evidence.imbalance.median
    assert found.rests_on == (ProcessRow(3),)


def test_workers_that_do_not_write_equally_much(load: Callable[..., Profile]) -> None:
    tables = [TableBuilder(10 + at, command=["worker"]) for at in range(4)]
    for at, table in enumerate(tables):
        table.transfers(table.file(f"/out/{at}", inode=1 + at), "write", {4 * MIB: 10 if at else 30}, consecutive=29)
    evidence = of_kind(load(*tables), SizeImbalanceEvidence).evidence
    assert isinstance(evidence, SizeImbalanceEvidence)
    assert (evidence.imbalance.most, evidence.imbalance.median) == (120 * MIB, 40 * MIB)


def test_metadata_that_takes_a_large_share_of_the_time(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.file("/data/many", {"create": 500, "remove": 500}, ns=2 * S)
    table.second("create", 1, 500, ns=1500 * MS)
    table.second("remove", 2, 500, ns=500 * MS)
    evidence = of_kind(load(table), MetadataEvidence).evidence
    assert isinstance(evidence, MetadataEvidence)
    assert (evidence.share, evidence.operation, evidence.processes, evidence.spent_ns) == (1, "create", 0, 2 * S)


def test_metadata_of_more_than_half_a_minute_of_a_process(load: Callable[..., Profile]) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 3600 * S)
    table.file("/data/many", {"create": 900}, ns=31 * S)
    written = table.file("/data/out", inode=1)
    table.transfers(written, "write", {4 * MIB: 10_000}, ns=3000 * S, consecutive=9999)
    evidence = of_kind(load(table), MetadataEvidence).evidence
    assert isinstance(evidence, MetadataEvidence)
    assert (evidence.processes, evidence.most_ns, len(evidence.thresholds)) == (1, 31 * S, 1)


def test_streams_collectives_and_syncs(profile: Profile) -> None:
    stream = of_kind(profile, StreamEvidence).evidence
    assert isinstance(stream, StreamEvidence)
    assert (stream.stream_bytes, stream.files) == (RANKS * 10**9, RANKS)
    mpi = of_kind(profile, NoCollectiveEvidence).evidence
    assert isinstance(mpi, NoCollectiveEvidence)
    assert (mpi.direction, mpi.independent) == ("write", 20_000)
    sync = of_kind(profile, SyncEvidence).evidence
    assert isinstance(sync, SyncEvidence)
    assert (sync.syncs, sync.written_bytes) == (10_000, 20_000_000)


@pytest.mark.parametrize("kind", ["collective", "non-blocking collective", "split collective"])
def test_a_collective_operation_is_enough(load: Callable[..., Profile], kind: str) -> None:
    table = TableBuilder()
    file = table.file("/data/out", inode=1)
    table.transfers(file, "MPI write", {4 * MIB: 2000})
    table.transfers(file, f"MPI {kind} write", {4 * MIB: 1})
    assert found_in(load(table)) == []


def test_non_blocking_operations_are_independent_too(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/out", inode=1)
    table.transfers(file, "MPI write", {4 * MIB: 700})
    table.transfers(file, "MPI non-blocking write", {4 * MIB: 700})
    evidence = of_kind(load(table), NoCollectiveEvidence).evidence
    assert isinstance(evidence, NoCollectiveEvidence)
    assert (evidence.independent, evidence.files) == (1400, 1)


def test_syncs_after_much_data_are_no_storm(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/out", {"sync": 500}, inode=1)
    table.transfers(file, "write", {4 * MIB: 500}, consecutive=499)
    assert found_in(load(table)) == []


def test_files_that_are_opened_or_looked_up_again_and_again(profile: Profile) -> None:
    opened, looked_up = of_kind(profile, ReopenEvidence), of_kind(profile, RestatEvidence)
    assert isinstance(opened.evidence, ReopenEvidence)
    assert (opened.evidence.calls, opened.evidence.most_of_a_process) == (RANKS * 200, 200)
    assert paths(profile, opened) == ["/data/forcing.nc"]
    assert isinstance(looked_up.evidence, RestatEvidence)
    assert (looked_up.evidence.calls, looked_up.evidence.files) == (RANKS * 8000, 1)


def test_lookups_that_fail_with_the_directories_that_were_searched(profile: Profile) -> None:
    evidence = of_kind(profile, SearchEvidence).evidence
    assert isinstance(evidence, SearchEvidence)
    assert evidence.failed == RANKS * 1600
    assert evidence.directories[:3] == (("/home/user/lib", 4000), ("/opt/a", 4000), ("/opt/b", 4000))
    assert (evidence.names, evidence.searched) == (3, 2)


def test_calls_that_stalled_with_their_moments(profile: Profile) -> None:
    found = of_kind(profile, StallEvidence)
    assert isinstance(found.evidence, StallEvidence)
    assert (found.evidence.operation, found.evidence.slowest_ns, found.evidence.steps) == ("write", 12 * S, RANKS)
    assert found.rests_on[0] == StepRow(250, "write")


def test_a_reader_that_waits_at_a_pipe_is_no_stall(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.second("read", 1, 500, moved=5000, ns=500_000, slowest_ns=1000)
    table.latencies("read", {1000: 500})
    table.second("elsewhere read", 1, 500, moved=5000, ns=9 * S, slowest_ns=5 * S)
    table.latencies("elsewhere read", {1000: 499, 5 * S: 1})
    for name, kind, slowest in (("pipe", FileKind.PIPE, 5 * S), ("/data/in", FileKind.REGULAR, 1000)):
        file = table.file(name, kind=kind)
        table.transfers(file, "read", {10: 500}, slowest_ns=slowest, consecutive=499)
    assert found_in(load(table)) == []


def writers(*busy_s: int) -> list[TableBuilder]:
    """Ranks that write from second 10 on, each for so long."""
    tables = []
    for rank, length_s in enumerate(busy_s):
        table = TableBuilder(10 + rank, end_ns=BEGIN_NS + 200 * S, job={"PMI_RANK": str(rank)})
        for second in range(length_s):
            table.second("write", 10 + second, 10, moved=40 * MIB, ns=100 * MS)
        file = table.file(f"/out/{rank}", inode=1 + rank)
        table.transfers(file, "write", {4 * MIB: 10 * length_s}, consecutive=10 * length_s - 1)
        tables.append(table)
    return tables


def test_a_phase_that_one_of_many_ranks_prolongs(load: Callable[..., Profile]) -> None:
    found = of_kind(load(*writers(20, 20, 20, 60)), TailEvidence)
    assert isinstance(found.evidence, TailEvidence)
    assert (found.evidence.tail_s, found.evidence.phases_s, found.evidence.participants) == (40, 60, 4)
    assert found.rests_on == (ProcessRow(3),)


@pytest.mark.parametrize("busy_s", [(20, 20, 20, 21), (20, 60), (60, 60, 60, 60)])
def test_ranks_that_end_together_and_few_ranks_have_no_tail(load: Callable[..., Profile], busy_s: list[int]) -> None:
    assert not [one for one in found_in(load(*writers(*busy_s))) if isinstance(one.evidence, TailEvidence)]


def test_few_cached_bytes_beside_many_of_the_storage_are_no_finding(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for name, size, calls, call_ns in (("hot", 4 * KIB, 900, 5000), ("cold", MIB, 100, 500_000)):
        file = table.file(f"/data/{name}", inode=len(name))
        table.transfers(file, "read", {size: calls}, ns=calls * call_ns, consecutive=calls - 1)
    assert found_in(load(table)) == []


def test_reads_from_the_page_cache(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for name, size, calls, call_ns in (
        ("hot", 16 * KIB, 900, 5000),
        ("quick", MIB, 40, 90_000),
        ("cold", MIB, 9, 10**6),
    ):
        file = table.file(f"/data/{name}", inode=len(name))
        table.transfers(file, "read", {size: calls}, ns=calls * call_ns, consecutive=calls - 1)
    found = of_kind(load(table), CachedReadEvidence)
    assert isinstance(found.evidence, CachedReadEvidence)
    assert (found.evidence.cached_bytes, found.evidence.files) == (900 * 16 * KIB + 40 * MIB, 2)


def test_sources_that_know_neither_order_nor_sizes_are_judged_by_what_they_know(profile: Profile) -> None:
    unknown = ("consecutive", "forward", "strided", "misaligned", "failed", "processes", "slowest_ns")
    operations = profile.file_operations.with_columns(pl.lit(None, dtype=pl.Int64).alias(name) for name in unknown)
    poor = replace(
        profile,
        file_operations=operations,
        file_sizes=profile.file_sizes.clear(),
        common_sizes=profile.common_sizes.clear(),
        latencies=profile.latencies.clear(),
    )
    kinds = {one.kind for one in found_in(poor)}
    assert {"streams", "no-collectives", "sync-storm", "redundant-reads"} <= kinds
    assert not {"random-access", "misaligned", "small-requests", "failed-lookups", "stalled-calls"} & kinds


def test_time_that_a_source_does_not_know_is_unknown_and_not_0(profile: Profile) -> None:
    timeless = replace(
        profile,
        file_operations=profile.file_operations.with_columns(duration_ns=pl.lit(None, pl.Int64)),
        process_operations=profile.process_operations.with_columns(duration_ns=pl.lit(None, pl.Int64)),
    )
    spent = {one.kind: one.evidence.spent_ns for one in found_in(timeless)}  # type: ignore[attr-defined]
    assert {kind for kind, ns in spent.items() if ns is not None} == {"stalled-calls", "time-imbalance"}
    known = {one.kind for one in found_in(profile)}
    assert known - spent.keys() == set()
