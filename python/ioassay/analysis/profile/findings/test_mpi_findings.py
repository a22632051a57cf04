"""Findings of MPI-IO: calls that block, and aggregators."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.finding import FileRow, Finding, Message
from ioassay.analysis.profile.findings import ProfileFacts
from ioassay.analysis.profile.findings.aggregators import AggregatorEvidence, aggregators
from ioassay.analysis.profile.findings.blocking_mpi_io import BlockingEvidence, blocking_mpi_io
from ioassay.analysis.profile.findings.no_collectives import NoCollectiveEvidence, no_collectives
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.profiles.darshan import profile as darshan
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.testing.faulty_application import MIB, S
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record

RANKS, NODES = 8, 4


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Profile]:
    """A job of 100 s in which `writers` ranks write the bytes of all ranks, each in `seconds`."""

    def job_profile(
        writers: int, *, seconds: int = 1, calls: int = 100, nodes: int = NODES, known: bool = True
    ) -> Profile:
        tables = []
        for rank in range(RANKS):
            table = TableBuilder(
                10 + rank,
                node=f"node{rank * nodes // RANKS}",
                job={"PMI_RANK": str(rank)},
                end_ns=BEGIN_NS + 100 * S,
            )
            file = table.file("/out/shared", {"open": 1}, inode=1)
            table.transfers(file, "MPI collective write", {MIB: calls}, ns=seconds * S)
            if rank < writers:
                table.transfers(file, "write", {MIB: calls * RANKS // writers}, ns=seconds * S)
            tables.append(table)
        profile = load_profile([store_record(tmp_path / "record", *tables)])
        return replace(profile, uncounted=frozenset()) if known else profile

    return job_profile


def blocking_evidence(profile: Profile) -> list[BlockingEvidence]:
    evidences = [finding.evidence for finding in blocking_mpi_io(ProfileFacts(profile, Thresholds()))]
    assert all(isinstance(evidence, BlockingEvidence) for evidence in evidences)
    return evidences  # type: ignore[return-value]


def aggregator_evidence(profile: Profile) -> list[AggregatorEvidence]:
    evidences = [aggregator.evidence for aggregator in aggregators(ProfileFacts(profile, Thresholds()))]
    assert all(isinstance(evidence, AggregatorEvidence) for evidence in evidences)
    return evidences  # type: ignore[return-value]


def messages(finder: Callable[[ProfileFacts], Iterable[Finding]], profile: Profile) -> list[Message]:
    return [finding.message for finding in finder(ProfileFacts(profile, Thresholds()))]


def with_operation(profile: Profile, operation: str, other: str) -> Profile:
    """The profile with an operation replaced by another."""
    operations = profile.file_operations.with_columns(pl.col("operation").replace({operation: other}))
    return replace(profile, file_operations=operations)


def test_mpi_io_that_only_blocks_for_much_of_the_run_time(job: Callable[..., Profile]) -> None:
    profile = job(RANKS, seconds=20)
    (evidence,) = blocking_evidence(profile)
    assert (evidence.direction, evidence.calls, evidence.share, evidence.spent_ns) == ("write", 800, 0.2, 160 * S)
    (message,) = messages(blocking_mpi_io, profile)
    assert message.text == ("All 800 writes of MPI-IO block: the ranks spend 160 s in them, 20 % of their run time.")
    (finding,) = blocking_mpi_io(ProfileFacts(profile, Thresholds()))
    assert finding.rests_on == (FileRow(0),)


def test_little_time_in_blocking_calls_is_no_finding(job: Callable[..., Profile]) -> None:
    assert blocking_evidence(job(RANKS, seconds=5)) == []


@pytest.mark.parametrize(
    "operation", ["MPI non-blocking write", "MPI non-blocking collective write", "MPI split collective write"]
)
def test_one_kind_of_non_blocking_call_is_enough(job: Callable[..., Profile], operation: str) -> None:
    profile = job(RANKS, seconds=20)
    assert blocking_evidence(with_operation(profile, "MPI collective write", operation)) == []


def test_a_source_without_separate_non_blocking_calls_has_no_finding(job: Callable[..., Profile]) -> None:
    profile = job(RANKS, seconds=20)
    unknown = replace(profile, uncounted=frozenset({"MPI non-blocking write"}))
    assert blocking_evidence(unknown) == []
    partly = replace(profile, uncounted=frozenset({"MPI non-blocking collective write"}))
    assert "does not count: MPI non-blocking collective write." in messages(blocking_mpi_io, partly)[0].text


def test_non_blocking_independent_calls_are_independent(job: Callable[..., Profile]) -> None:
    profile = with_operation(job(RANKS, calls=200), "MPI collective write", "MPI non-blocking write")
    (finding,) = no_collectives(ProfileFacts(profile, Thresholds()))
    assert isinstance(finding.evidence, NoCollectiveEvidence)
    assert finding.evidence.independent == 1600
    split = with_operation(profile, "write", "MPI split collective write")
    assert list(no_collectives(ProfileFacts(split, Thresholds()))) == []


def test_a_log_of_darshan_whose_collective_calls_block(tmp_path: Path) -> None:
    source = Path(darshan.__file__).parent / "testdata" / "mpi.txt.gz"
    text = gzip.decompress(source.read_bytes()).decode().replace("MPIIO_INDEP_READS\t16\t", "MPIIO_INDEP_READS\t0\t")
    log = tmp_path / "log.txt"
    log.write_text(text)
    (evidence,) = blocking_evidence(darshan.load_profile([log]))
    assert (evidence.direction, evidence.calls, evidence.uncounted) == (
        "read",
        16,
        ("MPI non-blocking collective read",),
    )
    log.write_text(text.replace("MPIIO_NB_READS\t0\t", "MPIIO_NB_READS\t1\t"))
    assert blocking_evidence(darshan.load_profile([log])) == []


def test_fewer_aggregators_than_nodes(job: Callable[..., Profile]) -> None:
    profile = job(1)
    (evidence,) = aggregator_evidence(profile)
    assert (evidence.aggregators, evidence.nodes, evidence.participants, evidence.is_few) == (1, NODES, RANKS, True)
    (message,) = messages(aggregators, profile)
    assert message.headline == ("Collective writes of 8 processes on 4 nodes go through 1 process: fewer than nodes.")
    assert "cb_nodes to 4" in message.remedy


def test_more_aggregators_than_nodes_are_a_notice(job: Callable[..., Profile]) -> None:
    profile = job(4, nodes=2)
    (finding,) = aggregators(ProfileFacts(profile, Thresholds()))
    assert finding.severity == "notice"
    assert [threshold.name for threshold in finding.evidence.thresholds] == [  # type: ignore[attr-defined]
        "aggregators_by_node", "moved_bytes"
    ]  # fmt: skip


@pytest.mark.parametrize("writers", [4, 8])
def test_an_aggregator_for_each_node_and_ranks_that_all_write_are_no_finding(
    job: Callable[..., Profile], writers: int
) -> None:
    assert aggregator_evidence(job(writers)) == []


def test_aggregators_of_one_node_and_of_unknown_nodes_are_not_judged(job: Callable[..., Profile]) -> None:
    profile = job(1, nodes=1)
    assert aggregator_evidence(profile) == []
    unknown = profile.processes.with_columns(node=pl.lit(None, pl.String))
    assert aggregator_evidence(replace(profile, processes=unknown)) == []


def test_a_file_that_few_ranks_open_may_be_on_few_nodes(job: Callable[..., Profile]) -> None:
    profile = job(1)
    few = pl.when(pl.col("operation") == "MPI collective write").then(2).otherwise("processes")
    assert (
        aggregator_evidence(replace(profile, file_operations=profile.file_operations.with_columns(processes=few))) == []
    )
