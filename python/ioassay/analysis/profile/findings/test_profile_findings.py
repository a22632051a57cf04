"""Findings of an application with every fault, and of one without any."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
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
from ioassay.analysis.profile.findings.profile_facts import DirectionEvidence
from ioassay.analysis.profile.findings.program_startup import StartupEvidence
from ioassay.analysis.profile.findings.random_access import RandomEvidence
from ioassay.analysis.profile.findings.repeated_lookups import ReopenEvidence, RestatEvidence
from ioassay.analysis.profile.findings.repeated_reads import RedundantReadEvidence, SameDataEvidence
from ioassay.analysis.profile.findings.search_paths import SearchEvidence
from ioassay.analysis.profile.findings.small_files import SmallFileEvidence
from ioassay.analysis.profile.findings.small_requests import SmallRequestEvidence
from ioassay.analysis.profile.findings.stalls import StallEvidence
from ioassay.analysis.profile.findings.streams import StreamEvidence
from ioassay.analysis.profile.findings.sync_storm import SyncEvidence
from ioassay.analysis.profile.findings.synchronous_writes import SynchronousWriteEvidence
from ioassay.analysis.profile.thresholds import Threshold, Thresholds
from ioassay.profiles.model import FRAMES, Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import FileKind
from ioassay.testing.faulty_application import KIB, MIB, MS, RANKS, S, calm, faulty
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Profile]:
    """The profile of a record of these tables."""
    return lambda *tables: load_profile([store_record(tmp_path / "record", *tables)])


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return load_profile([store_record(tmp_path_factory.mktemp("faulty") / "record", *faulty())])


def findings_of(profile: Profile, thresholds: Thresholds | None = None) -> list[Finding]:
    return findings(ProfileFacts(profile, thresholds or Thresholds()))


def finding_of_kind(profile: Profile, kind: type[Any], **fields: object) -> Finding:
    """The only finding with evidence of this type and these fields."""
    (match,) = (
        finding
        for finding in findings_of(profile)
        if isinstance(finding.evidence, kind)
        and all(getattr(finding.evidence, name) == fields[name] for name in fields)
    )
    return match


def kinds_of(profile: Profile) -> set[str]:
    return {finding.kind for finding in findings_of(profile)}


def paths(profile: Profile, finding: Finding) -> list[str]:
    names = dict(profile.files.select("file", "path").iter_rows())
    return [names[row.file] for row in finding.rests_on if isinstance(row, FileRow)]


def test_every_finder_has_its_kind_of_evidence() -> None:
    classes = {*ProfileEvidence.__subclasses__(), *DirectionEvidence.__subclasses__()} - {DirectionEvidence}
    kinds = [evidence.kind for evidence in classes]
    assert len(set(kinds)) == len(kinds) == len(FINDERS)


def test_an_application_with_every_fault_has_every_kind_of_finding(profile: Profile) -> None:
    facts = ProfileFacts(profile, Thresholds())
    silent = [find.__name__ for find in FINDERS if not list(find(facts))]
    # They have separate tests.
    assert silent == [
        "synchronous_writes", "metadata_time", "small_requests", "small_files", "random_access", "mapped_reads",
        "deleted_unread", "hand_overs", "idle_files", "phase_tails", "aggregators", "blocking_mpi_io",
        "failed_lookups", "misaligned", "size_imbalance", "cached_reads",
    ]  # fmt: skip


def test_an_application_that_writes_large_blocks_has_no_finding(load: Callable[..., Profile]) -> None:
    assert findings_of(load(*calm())) == []


def test_no_finding_treats_a_row_of_many_files_as_a_file(profile: Profile) -> None:
    """Folds each file in turn into such a row, then all files."""
    referred = {row.file for finding in findings_of(profile) for row in finding.rests_on if isinstance(row, FileRow)}
    assert len(referred) > 5
    for rows in ({number} for number in referred), [referred]:
        for row in rows:
            folded = pl.when(pl.col("file").is_in(row)).then(pl.lit("others")).otherwise("kind")
            folded_profile = replace(profile, files=profile.files.with_columns(kind=folded))
            for finding in findings_of(folded_profile):
                assert row.isdisjoint(item.file for item in finding.rests_on if isinstance(item, FileRow)), finding


def test_opens_of_many_files_in_one_row_are_no_reopened_file(load: Callable[..., Profile]) -> None:
    table = TableBuilder(folded_calls=50_680)
    table.file("", {"open": 50_680}, kind=FileKind.OTHERS)
    loaded = load(table)
    assert [finding for finding in findings_of(loaded) if isinstance(finding.evidence, ReopenEvidence)] == []
    assert ProfileFacts(loaded, Thresholds()).totals.of("metadata").calls == 50_680


def test_an_empty_profile_has_no_finding(profile: Profile) -> None:
    nothing: dict[str, Any] = {name: schema.to_frame() for name, schema in FRAMES.items()}
    empty = replace(profile, **nothing)
    assert findings_of(empty) == []


def test_warnings_come_first_and_then_findings_by_savings(profile: Profile) -> None:
    all_findings = findings_of(profile)
    order = [(finding.severity != "warning", -(finding.evidence.saves_ns or 0)) for finding in all_findings]  # type: ignore[attr-defined]
    assert order == sorted(order)
    assert len(set(order)) > len(all_findings) / 2
    assert all(finding.rests_on and finding.evidence.thresholds for finding in all_findings)  # type: ignore[attr-defined]


def test_small_requests_of_shared_files_and_of_files_of_a_process_are_two_causes(load: Callable[..., Profile]) -> None:
    tables = []
    for rank in range(4):
        table = TableBuilder(10 + rank, job={"SLURM_PROCID": str(rank)})
        shared = table.file("/out/shared", inode=1)
        table.transfers(shared, "write", {1000: 5000}, forward=4999, begin=rank * 10**9, end=rank * 10**9 + 10**8)
        own_file = table.file(f"/out/{rank}", inode=2 + rank)
        table.transfers(own_file, "write", {100: 30_000}, consecutive=29_999)
        tables.append(table)
    profile = load(*tables)
    shared_finding = finding_of_kind(profile, SmallRequestEvidence, shared_only=True)
    evidence = shared_finding.evidence
    assert isinstance(evidence, SmallRequestEvidence)
    assert (evidence.small, evidence.requests, evidence.common_bytes, evidence.files) == (20_000, 20_000, 1000, 1)
    assert evidence.by_ranks
    assert paths(profile, shared_finding) == ["/out/shared"]
    assert "collective MPI-IO" in shared_finding.message.remedy
    alone_finding = finding_of_kind(profile, SmallRequestEvidence, shared_only=False)
    alone = alone_finding.evidence
    assert (alone.files, alone.small, alone.requests) == (4, 120_000, 120_000)  # type: ignore[attr-defined]
    assert alone_finding.message.remedy == "Gather requests in a buffer of 1 MiB or more."


def test_collective_mpi_io_is_no_remedy_for_processes_that_are_no_ranks(load: Callable[..., Profile]) -> None:
    tables = []
    for pid in (10, 11):
        table = TableBuilder(pid, command=["worker"])
        table.transfers(table.file("/out/shared", inode=1), "write", {1000: 5000}, forward=4999)
        tables.append(table)
    finding = finding_of_kind(load(*tables), SmallRequestEvidence, shared_only=True)
    assert "MPI" not in finding.message.remedy


def test_a_limit_of_a_measured_run_replaces_that_of_the_rule(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.transfers(table.file("/out/a", inode=1), "write", {32 * KIB: 5000}, consecutive=4999)
    profile = load(table)
    measured = Thresholds(small_request_bytes=Threshold("small_request_bytes", 32 << 10, "measured", "runs/nfs"))
    assert findings_of(profile, measured) == []
    larger = Thresholds(small_request_bytes=Threshold("small_request_bytes", 64 << 10, "measured", "runs/nfs"))
    (small,) = findings_of(profile, larger)
    assert small.evidence.thresholds[0].source == "runs/nfs"  # type: ignore[attr-defined]


def test_independent_mpi_io_on_a_shared_file_is_the_cause_of_small_and_misaligned_requests(profile: Profile) -> None:
    finding = finding_of_kind(profile, NoCollectiveEvidence)
    assert paths(profile, finding) == ["/scratch/climate/diagnostics.bin"]
    evidence = finding.evidence
    assert isinstance(evidence, NoCollectiveEvidence)
    assert [(symptom.kind, symptom.count, symptom.of) for symptom in evidence.symptoms] == [
        ("small-requests", 20_000, 20_000),
        ("random-access", 10_000 - RANKS, 20_000),
        ("misaligned", 20_000, 20_000),
    ]
    assert "100 % of these requests are smaller than 1 MiB." in finding.message.text


def test_reads_that_found_the_end_of_a_file_are_neither_small_nor_misaligned(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for index in range(2000):
        file = table.file(f"/data/{index}", inode=1 + index, size=4 * MIB)
        table.transfers(file, "read", {4 * MIB: 1, 0: 1}, consecutive=1)
    assert [finding.kind for finding in findings_of(load(table))] == []


def test_small_requests_on_pipes_are_ignored(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    pipe = table.file("pipe", kind=FileKind.PIPE)
    table.transfers(pipe, "read", {10: 100_000}, ns=9 * S)
    assert findings_of(load(table)) == []


def modules(table: TableBuilder, count: int = 12) -> None:
    """Files that Python reads before it runs a script."""
    for index in range(count):
        module = table.file(f"/usr/lib/python3.11/m{index}.py", {"open": 1, "stat": 2}, inode=1000 + index, size=9000)
        compiled = f"/usr/lib/python3.11/__pycache__/m{index}.cpython-311.pyc"
        table.file(compiled, {"open": 1}, {"open": 1}, errno=2)
        table.transfers(module, "read", {9000: 1, 0: 1}, consecutive=1)


def one_large_file(verb: str = "read", size: int = 4 * KIB, **transfers: int) -> TableBuilder:
    """A Python program that moves a file of 64 MiB in requests of `size` bytes."""
    table = TableBuilder(command=["python3", "app.py"])
    modules(table)
    file = table.file("/data/large", {"open": 1}, inode=1, size=64 * MIB)
    calls = 64 * MIB // size
    table.transfers(file, verb, {size: calls}, ns=calls * 200_000, **({"end": 64 * MIB} | transfers))
    return table


@pytest.mark.parametrize("verb", ["read", "write"])
def test_random_requests_in_one_large_file_are_no_small_files(load: Callable[..., Profile], verb: str) -> None:
    profile = load(one_large_file(verb, forward=8000, misaligned=16_384))
    (finding,) = [finding for finding in findings_of(profile) if finding.severity == "warning"]
    evidence = finding.evidence
    assert isinstance(evidence, RandomEvidence)
    assert (evidence.random, evidence.requests, evidence.files, evidence.is_backward) == (8383, 16_384, 1, False)
    assert paths(profile, finding) == ["/data/large"]
    assert [symptom.kind for symptom in evidence.symptoms] == ["small-requests", "misaligned"]
    assert finding.message.remedy.startswith("Sort requests by offset")


def test_requests_from_the_end_of_a_file_to_its_beginning_are_backward(load: Callable[..., Profile]) -> None:
    finding = finding_of_kind(load(one_large_file()), RandomEvidence)
    evidence = finding.evidence
    assert evidence.is_backward  # type: ignore[attr-defined]
    assert finding.message.remedy == "Read in ascending order and in large blocks; reverse them in memory."


def test_whole_blocks_that_begin_between_blocks_are_misaligned_before_they_are_small(
    load: Callable[..., Profile],
) -> None:
    profile = load(one_large_file("write", consecutive=16_383, misaligned=16_384))
    (finding,) = findings_of(profile)
    evidence = finding.evidence
    assert finding.severity == "warning"  # they are small, too
    assert isinstance(evidence, MisalignedEvidence)
    assert (evidence.misaligned, evidence.requests, evidence.block_bytes) == (16_384, 16_384, 4096)
    assert evidence.thresholds[-1].origin == "file system"
    assert [symptom.kind for symptom in evidence.symptoms] == ["small-requests"]
    assert "Align records and headers to 4 KiB" in finding.message.remedy


def test_records_that_are_no_blocks_are_small_before_they_are_misaligned(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.transfers(table.file("/out", inode=1), "write", {1000: 9000}, ns=S, consecutive=8999, misaligned=8990)
    (finding,) = findings_of(load(table))
    assert isinstance(finding.evidence, SmallRequestEvidence)
    assert [symptom.kind for symptom in finding.evidence.symptoms] == ["misaligned"]
    assert finding.message.remedy == "Gather requests in a buffer of 1 MiB or more."


def test_small_requests_that_skip_ahead_have_another_remedy_than_a_buffer(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/in", inode=1, size=10**9)
    table.transfers(file, "read", {1000: 9000}, forward=8999, strided=8998, end=10**9)
    finding = finding_of_kind(load(table), SmallRequestEvidence)
    assert finding.message.remedy == (
        "Read 1 MiB or more at once and pick out of it, or store together what is read together."
    )


def small_inputs(table: TableBuilder, count: int) -> None:
    for index in range(count):
        calls = {"open": 1, "close": 1, "stat": 1}
        file = table.file(f"/data/{index}", calls, ns=MS, inode=5000 + index, size=2000)
        table.transfers(file, "read", {2000: 1, 0: 1}, ns=MS, consecutive=1)


def test_many_small_files_are_packed(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    small_inputs(table, 3000)
    (finding,) = [finding for finding in findings_of(load(table)) if finding.severity == "warning"]
    evidence = finding.evidence
    assert isinstance(evidence, SmallFileEvidence)
    assert (evidence.files, evidence.small, evidence.moved_bytes, evidence.opens) == (3000, 3000, 6_000_000, 3000)
    assert evidence.spent_ns == 6 * S  # with the calls that open them
    assert finding.message.remedy.startswith("Pack small files")


@pytest.mark.parametrize(
    ("operation", "processes", "calls", "remedy"),
    [
        ("write", 2000, 1, "Have one process gather"),
        ("write", 1, 2000, "Keep the file open"),
        ("read", 2000, 1, "Read it once and pass it on"),
        ("read", 1, 2000, "Read it once and keep it"),
    ],
)
def test_a_small_file_that_is_used_again_and_again_is_not_packed(
    load: Callable[..., Profile], operation: str, processes: int, calls: int, remedy: str
) -> None:
    tables = []
    for index in range(processes):
        table = TableBuilder(100 + index)
        file = table.file("/data/log", {"open": calls, "close": calls}, inode=7, ns=MS)
        table.transfers(
            file, operation, {50: calls}, ns=MS, begin=50 * index * (operation == "write"), end=50 * (index + 1)
        )
        tables.append(table)
    finding = finding_of_kind(load(*tables), SmallFileEvidence)
    evidence = finding.evidence
    assert isinstance(evidence, SmallFileEvidence)
    assert (evidence.files, evidence.opens, evidence.processes, evidence.is_again) == (1, 2000, processes, True)
    assert finding.message.remedy.startswith(remedy)
    assert ("by 2,000 processes" in finding.message.headline) == (processes > 1)
    assert evidence.saves_ns is not None
    assert evidence.saves_ns > 0.9 * (evidence.spent_ns or 0)  # one open is enough


@pytest.mark.parametrize("operation", ["copy from", "stream read"])
def test_small_files_are_detected_for_all_calls(load: Callable[..., Profile], operation: str) -> None:
    table = TableBuilder()
    for index in range(3000):
        file = table.file(f"/data/{index}", {"open": 1, "close": 1}, inode=5000 + index, size=2000)
        # Like lines of fgets, and like the end of the file in `copy_file_range`.
        table.transfers(file, operation, {200: 10, 0: 1} if operation == "stream read" else {2000: 1, 0: 1})
    profile = load(table)
    evidence = finding_of_kind(profile, SmallFileEvidence).evidence
    assert (evidence.files, evidence.small) == (3000, 3000)  # type: ignore[attr-defined]
    assert kinds_of(profile) & {"small-files", "small-requests", "random-access"} == {"small-files"}


def test_lines_of_a_large_file_read_by_a_stream_are_no_small_files(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/large", {"open": 1}, inode=1, size=64 * MIB)
    table.transfers(file, "stream read", {100: 10_000}, consecutive=9_999)
    assert "small-files" not in kinds_of(load(table))


def copied(program: str) -> TableBuilder:
    """A tree of small files that a program copies: it looks up each before it creates it, and opens its directory."""
    table = TableBuilder(command=[program])
    for index in range(2000):
        name = f"d{index % 20}/f{index // 20}"
        source = table.file(f"/in/{name}", {"open": 1, "close": 1, "stat": 1}, ns=MS, inode=5000 + index, size=4000)
        table.transfers(source, "copy from", {4000: 1, 0: 1}, ns=MS)
        table.file(f"/out/{name}", {"stat": 1}, {"stat": 1}, errno=2, ns=MS)
        table.transfers(
            table.file(f"/out/.{name}", {"open": 1, "rename": 1}, ns=MS, inode=9000 + index), "copy to", {4000: 1}
        )
    for number in range(20):
        table.file(f"/out/d{number}", {"open": 102}, kind=FileKind.DIRECTORY, inode=100 + number)
    return table


def test_a_program_that_copies_a_tree_has_the_remedy_of_copies(load: Callable[..., Profile]) -> None:
    warnings = [finding for finding in findings_of(load(copied("rsync"))) if finding.severity == "warning"]
    tools = [(finding.kind, finding.evidence.tool) for finding in warnings]  # type: ignore[attr-defined]
    assert tools == [("small-files", "copy"), ("small-files", "copy")]
    for finding in warnings:
        assert finding.message.remedy.startswith("Pack the tree into one file and copy that")


def test_absent_names_in_a_copied_tree_are_on_no_search_path(load: Callable[..., Profile]) -> None:
    profile = load(copied("app"))
    assert {"small-files", "reopened-files", "failed-lookups"} <= kinds_of(profile)
    evidence = finding_of_kind(profile, SearchEvidence).evidence
    assert isinstance(evidence, SearchEvidence)
    assert (evidence.failed, evidence.names, evidence.is_search_path) == (2000, 100, False)


def test_a_lookup_before_a_file_is_created_is_no_failed_lookup(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for index in range(500):
        made = table.file(f"/out/{index}", {"stat": 3, "open": 1}, {"stat": 3}, errno=2, inode=10 + index)
        table.transfers(made, "write", {100: 1})
    awaited = table.file("/out/result", {"stat": 300, "open": 1}, {"stat": 299}, errno=2, inode=1)
    table.transfers(awaited, "write", {100: 1})
    evidence = finding_of_kind(load(table), SearchEvidence).evidence
    assert isinstance(evidence, SearchEvidence)
    assert (evidence.failed, evidence.names, evidence.is_polling) == (299, 1, True)


@pytest.mark.parametrize(
    ("program", "operation", "remedy"),
    [
        ("rm", "remove", "Remove parts of the tree at the same time"),
        ("ls", "stat", "Ask the file system's own catalogue"),
        ("git", "open", "Keep the work tree on a node-local disk"),
        ("app", "remove", "Use fewer and larger files, each process"),
    ],
)
def test_metadata_time_of_a_program_for_trees_has_its_remedy(
    load: Callable[..., Profile], program: str, operation: str, remedy: str
) -> None:
    table = TableBuilder(command=[program])
    for index in range(2000):
        table.file(f"/data/{index}", {operation: 1}, ns=MS)
    table.second(operation, 0, 2000, ns=2 * S)
    finding = finding_of_kind(load(table), MetadataEvidence)
    assert finding.message.remedy.startswith(remedy)


def test_a_program_for_trees_beside_an_application_changes_no_remedy(load: Callable[..., Profile]) -> None:
    tool, application = TableBuilder(command=["cp"]), TableBuilder(200, command=["app"])
    tool.file("/data/0", {"open": 1}, ns=MS, inode=1)
    for index in range(2000):
        application.file(f"/data/{index}", {"remove": 1}, ns=MS)
    evidence = finding_of_kind(load(tool, application), MetadataEvidence).evidence
    assert evidence.tool is None  # type: ignore[attr-defined]


def test_small_files_and_a_large_file_in_random_order_are_two_findings(
    load: Callable[..., Profile],
) -> None:
    table = one_large_file(forward=8000)
    small_inputs(table, 3000)
    warnings = [finding for finding in findings_of(load(table)) if finding.severity == "warning"]
    assert [finding.kind for finding in warnings] == ["small-files", "random-access"]  # 6 s and 3 s
    requests = [(finding.evidence.requests, finding.evidence.files) for finding in warnings]  # type: ignore[attr-defined]
    assert requests == [(19_384, 3000), (19_384, 1)]


def test_a_partly_read_large_file_is_no_small_file(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for index in range(3000):
        file = table.file(f"/data/{index}", {"open": 1}, inode=1 + index, size=64 * MIB)
        table.transfers(file, "read", {4 * KIB: 1}, ns=MS)
    assert "small-files" not in {finding.kind for finding in findings_of(load(table))}


def test_a_file_that_is_opened_and_read_again_and_again_is_not_in_random_order(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/in", {"open": 5000, "close": 5000}, inode=1, size=2 * MIB)
    table.transfers(file, "read", {2 * MIB: 5000}, ns=S, end=2 * MIB)
    profile = load(table)
    assert "random-access" not in {finding.kind for finding in findings_of(profile)}
    evidence = finding_of_kind(profile, RedundantReadEvidence).evidence
    assert isinstance(evidence, RedundantReadEvidence)
    assert (evidence.worst_times, evidence.saves_ns) == (5000, round(S * 4999 / 5000))


def test_transfers_that_skip_forward_are_not_random(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/strided", inode=1)
    table.transfers(file, "read", {4 * MIB: 5000}, forward=4999, strided=4998, end=10**12)
    assert findings_of(load(table)) == []


def test_redundant_reads_and_data_that_every_process_reads(profile: Profile) -> None:
    again = finding_of_kind(profile, RedundantReadEvidence)
    assert isinstance(again.evidence, RedundantReadEvidence)
    assert (again.evidence.redundant_bytes, again.evidence.worst_times) == (RANKS * 180 * MIB, 10)
    assert paths(profile, again) == ["/data/forcing.nc"]
    assert [symptom.kind for symptom in again.evidence.symptoms] == [
        "small-requests", "random-access", "misaligned", "same-data"
    ]  # fmt: skip
    same = finding_of_kind(profile, SameDataEvidence)
    assert isinstance(same.evidence, SameDataEvidence)
    assert (same.evidence.readers, same.evidence.distinct_bytes) == (RANKS, 300 * MIB)
    assert paths(profile, same) == ["/data/grid.nc"]
    assert same.evidence.saves_ns == 14 * S  # seven of eight ranks need not read


def test_processes_that_read_a_part_each_do_not_read_the_same(load: Callable[..., Profile]) -> None:
    tables = []
    for rank in range(8):
        table = TableBuilder(10 + rank)
        file = table.file("/data/shared", inode=1)
        begin = rank * 100 * MIB
        table.transfers(file, "read", {4 * MIB: 25}, consecutive=24, begin=begin, end=begin + 100 * MIB)
        tables.append(table)
    assert findings_of(load(*tables)) == []


def test_a_rank_that_spends_more_time_than_the_others_is_reported(profile: Profile) -> None:
    finding = finding_of_kind(profile, TimeImbalanceEvidence)
    assert isinstance(finding.evidence, TimeImbalanceEvidence)
    assert finding.evidence.imbalance.most_name == "rank 3"
    assert finding.evidence.spent_ns == finding.evidence.imbalance.most - finding.evidence.imbalance.median
    assert finding.rests_on == (ProcessRow(3),)


def test_workers_that_write_unequally_are_reported(load: Callable[..., Profile]) -> None:
    tables = [TableBuilder(10 + index, command=["worker"]) for index in range(4)]
    for index, table in enumerate(tables):
        table.transfers(
            table.file(f"/out/{index}", inode=1 + index), "write", {4 * MIB: 10 if index else 30}, consecutive=29
        )
    evidence = finding_of_kind(load(*tables), SizeImbalanceEvidence).evidence
    assert isinstance(evidence, SizeImbalanceEvidence)
    assert (evidence.imbalance.most, evidence.imbalance.median) == (120 * MIB, 40 * MIB)


def test_an_imbalance_of_bytes_explains_an_imbalance_of_time(load: Callable[..., Profile]) -> None:
    tables = [TableBuilder(10 + index, command=["worker"]) for index in range(4)]
    for index, table in enumerate(tables):
        calls = 10 if index else 30
        file = table.file(f"/out/{index}", inode=1 + index)
        table.transfers(file, "write", {4 * MIB: calls}, ns=calls * 100 * MS, consecutive=calls - 1)
    (finding,) = findings_of(load(*tables))
    assert isinstance(finding.evidence, TimeImbalanceEvidence)
    message = finding.message
    assert message.details == "It also wrote most: 120 MiB, the median is 40 MiB."
    assert (message.remedy, finding.evidence.saves_ns) == ("Distribute the data evenly.", 2 * S)


def test_unequal_start_up_times_are_no_imbalance(load: Callable[..., Profile]) -> None:
    tables = [TableBuilder(10 + index, command=["python3", "worker.py"]) for index in range(4)]
    for index, table in enumerate(tables):
        table.file("/usr/lib/python3.11/os.py", {"open": 1}, inode=1, ns=900 * MS if not index else 300 * MS)
        table.second("open", 0, 1, ns=900 * MS if not index else 300 * MS)
    kinds = {finding.kind for finding in findings_of(load(*tables))}
    assert "time-imbalance" not in kinds


def test_stats_after_opens_belong_to_reopened_files(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.file("/data/in", {"open": 3000, "stat": 3000, "close": 3000}, inode=1, size=64 * MIB)
    assert [finding.kind for finding in findings_of(load(table))] == ["reopened-files"]


def test_metadata_with_a_large_share_of_the_time_is_reported(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.file("/data/many", {"create": 500, "remove": 500}, ns=2 * S)
    table.second("create", 1, 500, ns=1500 * MS)
    table.second("remove", 2, 500, ns=500 * MS)
    evidence = finding_of_kind(load(table), MetadataEvidence).evidence
    assert isinstance(evidence, MetadataEvidence)
    assert (evidence.share, evidence.operation, evidence.processes, evidence.spent_ns) == (1, "create", 0, 2 * S)


@pytest.mark.parametrize(
    ("operation", "words", "remedy", "saves_ns"),
    [
        ("seek", "to seek", "Use calls that name the offset", 2 * S),
        ("list", "to list directories", "Keep an index of the files", 1998 * MS),
        ("open", "to open and close files", "Use fewer and larger files", 1998 * MS),
        ("remove", "to create, rename and remove files", "Use fewer and larger files", None),
        ("lock", "to wait for locks", "Lock larger ranges", None),
        ("sync", "to wait for the storage (fsync)", "Sync once after many writes", None),
    ],
)
def test_metadata_time_has_the_remedy_of_its_slowest_operation(
    load: Callable[..., Profile], operation: str, words: str, remedy: str, saves_ns: int | None
) -> None:
    table = TableBuilder()
    # Fewer than a separate finding needs.
    calls = 90 if operation == "sync" else 1000
    table.file("/data/many", {operation: calls, "attribute": 10}, ns=2100 * MS)
    table.second(operation, 1, calls, ns=2 * S)
    table.second("attribute", 1, 10, ns=100 * MS)
    finding = finding_of_kind(load(table), MetadataEvidence)
    evidence = finding.evidence
    assert isinstance(evidence, MetadataEvidence)
    message = finding.message
    assert f"95 % of it {words} ({operation} 2.00 s in {calls:,} calls" in message.headline
    assert message.remedy.startswith(remedy)
    assert evidence.saves_ns == saves_ns


def test_lock_files_of_mpi_io_are_distinguished_from_the_application_s(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.file("/data/many", {"create": 500, "remove": 500}, ns=2 * S)
    for rank in range(3):
        table.file(f"/data/out.h5.locktest.{rank}", {"create": 1, "remove": 1}, ns=S)
    table.second("create", 1, 503, ns=4 * S)
    table.second("remove", 2, 503, ns=S)
    message = finding_of_kind(load(table), MetadataEvidence).message
    assert "3 files called NAME.locktest.RANK, which Open MPI's own MPI-IO creates and removes" in message.details
    assert message.remedy.endswith("Try ROMIO (OMPI_MCA_io=^ompio), which has no such files.")


def test_metadata_time_of_another_finding_is_not_reported_again(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/journal", {"sync": 600, "open": 1}, ns=4 * S, inode=1)
    table.second("sync", 1, 600, ns=4 * S)
    table.transfers(file, "write", {4096: 600}, ns=10 * MS, consecutive=599)
    (finding,) = findings_of(load(table))
    assert isinstance(finding.evidence, SyncEvidence)
    # 2.4 MB need one sync for each MiB.
    assert finding.evidence.saves_ns == round(4 * S * (1 - 600 * 4096 / MIB / 600))


def test_little_metadata_time_is_no_finding(load: Callable[..., Profile]) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 30 * MS)
    table.file("/data/repository", {"stat": 200, "rename": 1}, ns=14 * MS)
    table.second("rename", 0, 1, ns=13 * MS)
    table.second("stat", 0, 200, ns=MS)
    assert findings_of(load(table)) == []


def test_small_writes_before_fsyncs_are_a_symptom_of_the_syncs(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/journal", {"sync": 1500}, ns=4 * S, inode=1)
    table.second("sync", 1, 1500, ns=4 * S)
    table.transfers(file, "write", {512: 3000}, ns=40 * MS, consecutive=2999)
    (finding,) = findings_of(load(table))
    assert isinstance(finding.evidence, SyncEvidence)
    assert [symptom.kind for symptom in finding.evidence.symptoms] == ["small-requests"]


@pytest.mark.parametrize("flags", [os.O_DSYNC, os.O_SYNC, os.O_SYNC | os.O_DIRECT])
def test_slow_writes_with_o_sync_are_a_finding(load: Callable[..., Profile], flags: int) -> None:
    table = TableBuilder()
    file = table.file("/data/log", {"open": 1}, inode=1, open_flags=flags | os.O_WRONLY)
    table.transfers(file, "write", {4096: 300}, ns=3 * S, consecutive=299)
    (finding,) = findings_of(load(table))
    evidence = finding.evidence
    assert isinstance(evidence, SynchronousWriteEvidence)
    assert (finding.severity, evidence.writes, evidence.files, evidence.spent_ns) == ("warning", 300, 1, 3 * S)
    assert evidence.saves_ns == round(3 * S * (1 - 300 * 4096 / MIB / 300))
    assert "300 writes to files opened with O_SYNC or O_DSYNC wait for the storage" in finding.message.headline


def test_direct_writes_are_not_synchronous(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/log", {"open": 1}, inode=1, open_flags=os.O_DIRECT | os.O_WRONLY)
    table.transfers(file, "write", {4096: 300}, ns=3 * S, consecutive=299)
    assert findings_of(load(table)) == []


def test_no_finding_saves_more_than_the_time_in_io(profile: Profile) -> None:
    io_ns = ProfileFacts(profile, Thresholds()).totals.io_ns
    assert io_ns is not None
    savings = [finding.evidence.saves_ns for finding in findings_of(profile)]  # type: ignore[attr-defined]
    assert all(saving is None or 0 <= saving <= io_ns for saving in savings)
    assert any(savings)


def test_more_than_half_a_minute_of_metadata_in_a_process_is_reported(load: Callable[..., Profile]) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 3600 * S)
    table.file("/data/many", {"create": 900}, ns=31 * S)
    written = table.file("/data/out", inode=1)
    table.transfers(written, "write", {4 * MIB: 10_000}, ns=3000 * S, consecutive=9999)
    evidence = finding_of_kind(load(table), MetadataEvidence).evidence
    assert isinstance(evidence, MetadataEvidence)
    assert (evidence.processes, evidence.most_ns, len(evidence.thresholds)) == (1, 31 * S, 1)


def test_streams_collectives_and_syncs_are_reported(profile: Profile) -> None:
    stream = finding_of_kind(profile, StreamEvidence).evidence
    assert isinstance(stream, StreamEvidence)
    assert (stream.stream_bytes, stream.files) == (RANKS * 10**9, RANKS)
    mpi = finding_of_kind(profile, NoCollectiveEvidence).evidence
    assert isinstance(mpi, NoCollectiveEvidence)
    assert (mpi.direction, mpi.independent) == ("write", 20_000)
    sync = finding_of_kind(profile, SyncEvidence).evidence
    assert isinstance(sync, SyncEvidence)
    assert (sync.syncs, sync.written_bytes) == (10_000, 20_000_000)


@pytest.mark.parametrize("kind", ["collective", "non-blocking collective", "split collective"])
def test_a_collective_operation_is_enough(load: Callable[..., Profile], kind: str) -> None:
    table = TableBuilder()
    file = table.file("/data/out", inode=1)
    table.transfers(file, "MPI write", {4 * MIB: 2000})
    table.transfers(file, f"MPI {kind} write", {4 * MIB: 1})
    assert findings_of(load(table)) == []


def test_non_blocking_operations_are_also_independent(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/out", inode=1)
    table.transfers(file, "MPI write", {4 * MIB: 700})
    table.transfers(file, "MPI non-blocking write", {4 * MIB: 700})
    evidence = finding_of_kind(load(table), NoCollectiveEvidence).evidence
    assert isinstance(evidence, NoCollectiveEvidence)
    assert (evidence.independent, evidence.files) == (1400, 1)


def test_syncs_after_much_data_are_no_storm(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    file = table.file("/data/out", {"sync": 500}, inode=1)
    table.transfers(file, "write", {4 * MIB: 500}, consecutive=499)
    assert findings_of(load(table)) == []


def test_files_that_are_opened_or_looked_up_again_and_again_are_reported(profile: Profile) -> None:
    opened, looked_up = finding_of_kind(profile, ReopenEvidence), finding_of_kind(profile, RestatEvidence)
    assert isinstance(opened.evidence, ReopenEvidence)
    assert (opened.evidence.calls, opened.evidence.most_of_a_process) == (RANKS * 200, 200)
    assert paths(profile, opened) == ["/data/forcing.nc"]
    assert isinstance(looked_up.evidence, RestatEvidence)
    assert (looked_up.evidence.calls, looked_up.evidence.files) == (RANKS * 8000, 1)


def test_library_lookups_of_every_rank_along_a_path_are_start_up(profile: Profile) -> None:
    finding = finding_of_kind(profile, StartupEvidence)
    evidence = finding.evidence
    assert isinstance(evidence, StartupEvidence)
    assert (evidence.processes, evidence.calls, evidence.files) == (RANKS, RANKS * 1500, 6)
    failed = evidence.failed_lookups
    assert (failed.count, failed.names, failed.searched, failed.is_search_path) == (RANKS * 1500, 2, 2, True)
    assert failed.directories == (("/home/user/lib", 4000), ("/opt/a", 4000), ("/opt/b", 4000))
    assert finding.message.remedy.startswith("Shorten search paths")


def looked_up(paths: Iterable[str], times: int = 1, errno: int = 2) -> TableBuilder:
    table = TableBuilder()
    for path in paths:
        table.file(path, {"stat": times}, {"stat": times}, errno=errno)
    return table


def test_failed_lookups_name_their_top_directories_and_a_remedy(load: Callable[..., Profile], tmp_path: Path) -> None:
    searched = [f"/data/{directory}/{index}.h" for directory in ("a", "b", "c") for index in range(70)]
    names = [f"/in/step{index}" for index in range(300)]
    for number, (table, directory, remedy) in enumerate(
        (
            (looked_up(searched), ("/data/a", 70), "Shorten search paths"),
            (looked_up(names), ("/in", 300), "List these directories once"),
            (looked_up(["/run/stop"], 500), ("/run", 500), "Wait for files with inotify"),
        )
    ):
        profile = load_profile([store_record(tmp_path / str(number), table)])
        finding = finding_of_kind(profile, SearchEvidence)
        assert finding.evidence.directories[0] == directory  # type: ignore[attr-defined]
        assert finding.message.remedy.startswith(remedy)
    assert (
        "All 70 names are looked for in several directories."
        in finding_of_kind(load(looked_up(searched)), SearchEvidence).message.text
    )


def test_absent_attributes_are_no_failed_lookups(load: Callable[..., Profile]) -> None:
    enodata = 61
    assert findings_of(load(looked_up([f"/data/{index}" for index in range(500)], 2, enodata))) == []


def test_stalled_calls_are_reported_with_their_times(profile: Profile) -> None:
    finding = finding_of_kind(profile, StallEvidence)
    assert isinstance(finding.evidence, StallEvidence)
    assert (finding.evidence.operation, finding.evidence.slowest_ns, finding.evidence.steps) == ("write", 12 * S, RANKS)
    assert finding.rests_on[0] == StepRow(250, "write")


def test_a_reader_that_waits_at_a_pipe_is_no_stall(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    table.second("read", 1, 500, moved=5000, ns=500_000, slowest_ns=1000)
    table.latencies("read", {1000: 500})
    table.second("elsewhere read", 1, 500, moved=5000, ns=9 * S, slowest_ns=5 * S)
    table.latencies("elsewhere read", {1000: 499, 5 * S: 1})
    for name, kind, slowest in (("pipe", FileKind.PIPE, 5 * S), ("/data/in", FileKind.REGULAR, 1000)):
        file = table.file(name, kind=kind)
        table.transfers(file, "read", {10: 500}, slowest_ns=slowest, consecutive=499)
    assert findings_of(load(table)) == []


def writers(*busy_s: int) -> list[TableBuilder]:
    """Ranks that write from second 10 on, each for `busy_s` seconds."""
    tables = []
    for rank, length_s in enumerate(busy_s):
        table = TableBuilder(10 + rank, end_ns=BEGIN_NS + 200 * S, job={"PMI_RANK": str(rank)})
        for second in range(length_s):
            table.second("write", 10 + second, 10, moved=40 * MIB, ns=100 * MS)
        file = table.file(f"/out/{rank}", inode=1 + rank)
        table.transfers(file, "write", {4 * MIB: 10 * length_s}, consecutive=10 * length_s - 1)
        tables.append(table)
    return tables


def test_a_phase_that_one_of_many_ranks_prolongs_is_reported(load: Callable[..., Profile]) -> None:
    finding = finding_of_kind(load(*writers(20, 20, 20, 60)), TailEvidence)
    assert isinstance(finding.evidence, TailEvidence)
    assert (finding.evidence.tail_s, finding.evidence.phases_s, finding.evidence.participants) == (40, 60, 4)
    assert finding.rests_on == (ProcessRow(3),)


@pytest.mark.parametrize("busy_s", [(20, 20, 20, 21), (20, 60), (60, 60, 60, 60)])
def test_ranks_that_end_together_or_are_few_have_no_tail(load: Callable[..., Profile], busy_s: list[int]) -> None:
    assert not [
        finding for finding in findings_of(load(*writers(*busy_s))) if isinstance(finding.evidence, TailEvidence)
    ]


def test_few_cached_bytes_are_no_finding(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for name, size, calls, call_ns in (("hot", 4 * KIB, 900, 5000), ("cold", MIB, 100, 500_000)):
        file = table.file(f"/data/{name}", inode=len(name))
        table.transfers(file, "read", {size: calls}, ns=calls * call_ns, consecutive=calls - 1)
    assert findings_of(load(table)) == []


def test_reads_from_the_page_cache_are_reported(load: Callable[..., Profile]) -> None:
    table = TableBuilder()
    for name, size, calls, call_ns in (
        ("hot", 16 * KIB, 900, 5000),
        ("quick", MIB, 40, 90_000),
        ("cold", MIB, 9, 10**6),
    ):
        file = table.file(f"/data/{name}", inode=len(name))
        table.transfers(file, "read", {size: calls}, ns=calls * call_ns, consecutive=calls - 1)
    finding = finding_of_kind(load(table), CachedReadEvidence)
    assert isinstance(finding.evidence, CachedReadEvidence)
    assert (finding.evidence.cached_bytes, finding.evidence.files) == (900 * 16 * KIB + 40 * MIB, 2)


def test_sources_without_order_and_sizes_are_judged_by_their_other_data(profile: Profile) -> None:
    unknown = ("consecutive", "forward", "strided", "misaligned", "failed", "processes", "slowest_ns")
    operations = profile.file_operations.with_columns(pl.lit(None, dtype=pl.Int64).alias(name) for name in unknown)
    poor = replace(
        profile,
        file_operations=operations,
        file_sizes=profile.file_sizes.clear(),
        common_sizes=profile.common_sizes.clear(),
        latencies=profile.latencies.clear(),
    )
    kinds = {finding.kind for finding in findings_of(poor)}
    assert {"streams", "no-collectives", "sync-storm", "redundant-reads"} <= kinds
    assert not {"random-access", "misaligned", "small-requests", "failed-lookups", "stalled-calls"} & kinds


def test_unknown_times_are_unknown_and_not_0(profile: Profile) -> None:
    timeless = replace(
        profile,
        file_operations=profile.file_operations.with_columns(duration_ns=pl.lit(None, pl.Int64)),
        process_operations=profile.process_operations.with_columns(duration_ns=pl.lit(None, pl.Int64)),
        files=profile.files.with_columns(metadata_ns=pl.lit(None, pl.Int64)),
    )
    spent = {finding.kind: finding.evidence.spent_ns for finding in findings_of(timeless)}  # type: ignore[attr-defined]
    assert {kind for kind, ns in spent.items() if ns is not None} == {"stalled-calls", "time-imbalance"}
    known = {finding.kind for finding in findings_of(profile)}
    assert known - spent.keys() == set()
