from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from ioassay.analysis.finding import Evidence
from ioassay.analysis.findings import FINDERS, Finding, RunFacts, findings
from ioassay.analysis.findings.changes import ChangeEvidence
from ioassay.analysis.findings.counted_bytes import CountedBytesEvidence
from ioassay.analysis.findings.counter_clock import CounterClockEvidence
from ioassay.analysis.findings.open_time import OpenTimeEvidence
from ioassay.analysis.findings.outliers import OutlierEvidence
from ioassay.analysis.findings.peaks import PeakEvidence
from ioassay.analysis.findings.printed_scores import PrintedScoreEvidence
from ioassay.analysis.findings.slow_nodes import SlowNodeEvidence
from ioassay.analysis.findings.stalls import StallEvidence
from ioassay.analysis.findings.stragglers import StragglerEvidence
from ioassay.analysis.findings.trends import TrendEvidence
from ioassay.analysis.findings.wide_intervals import WideIntervalEvidence
from ioassay.store import schema
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, POINT
from ioassay.store.watch_document import Role, WatchedHost
from ioassay.testing.builder import RunBuilder
from ioassay.testing.faulty_run import faulty_run
from ioassay.testing.watched import HostSecond, watched


@pytest.fixture(scope="module")
def run_findings() -> list[Finding]:
    return findings(RunFacts(faulty_run()))


def _of(run_findings: list[Finding], kind: str, case: str, operation: str) -> Finding:
    (match,) = [
        finding
        for finding in run_findings
        if finding.kind == kind
        and (first := finding.measurements[0]).case.startswith(case)
        and first.operation == operation
    ]
    return match


def test_a_run_with_every_fault_has_every_kind_of_finding(run_findings: list[Finding]) -> None:
    of_runs = [kind for kind in Evidence.__subclasses__() if kind.__module__.startswith("ioassay.analysis.findings.")]
    kinds = {kind.kind for kind in of_runs}
    assert len(kinds) == len(FINDERS)
    # Only imported runs have printed scores, or counters of servers.
    imported = {PrintedScoreEvidence.kind, CountedBytesEvidence.kind, CounterClockEvidence.kind}
    assert {finding.kind for finding in run_findings} == kinds - imported


def test_warnings_come_first_and_then_the_order_of_the_study(run_findings: list[Finding]) -> None:
    severities = [finding.severity for finding in run_findings]
    assert severities == sorted(severities, reverse=True)
    facts = RunFacts(faulty_run())
    for severity in ("warning", "notice"):
        positions = [
            facts.position(finding.measurements[0]) for finding in run_findings if finding.severity == severity
        ]
        assert positions == sorted(positions)


def test_every_finding_rests_on_distinct_measurements_of_the_run(run_findings: list[Finding]) -> None:
    made = set(faulty_run().measurements.select(*KEY).iter_rows())
    for finding in run_findings:
        assert finding.rests_on
        assert set(finding.rests_on) <= made
        assert len(set(finding.rests_on)) == len(finding.rests_on)


def test_every_finding_has_a_headline_and_a_remedy_in_sentences(run_findings: list[Finding]) -> None:
    for finding in run_findings:
        for text in (finding.message.headline, finding.message.remedy):
            assert text[0].isalnum(), text
            assert text.endswith("."), text


def test_a_sweep_that_still_rises_has_a_warning(run_findings: list[Finding]) -> None:
    peak = _of(run_findings, "peak", "rising", "write")
    assert isinstance(peak.evidence, PeakEvidence)
    assert (peak.severity, peak.evidence.reach) == ("warning", "not reached")
    assert len(peak.rests_on) == 24


@pytest.mark.parametrize(("clients", "warns"), [((1, 2), False), ((1, 2, 4), True)])
def test_a_sweep_of_two_points_is_not_expected_to_peak(clients: tuple[int, ...], warns: bool) -> None:
    run = RunBuilder().clients(*clients).repetitions(1).workload("w")
    for count in clients:
        run = run.rates("w", "write", count, count * 1e9).rates("w", "read", count, 1e9)
    kinds = [finding.kind for finding in findings(RunFacts(run.build())) if finding.severity == "warning"]
    assert kinds == [PeakEvidence.kind] * warns


def test_a_sweep_off_the_law_has_no_law(run_findings: list[Finding]) -> None:
    peak = _of(run_findings, "peak", "uneven", "write")
    assert isinstance(peak.evidence, PeakEvidence)
    assert peak.evidence.sweep.fit is not None
    assert peak.evidence.sweep.law is None


def test_outliers_of_a_series_are_one_finding(run_findings: list[Finding]) -> None:
    outliers = _of(run_findings, "outliers", "uneven", "write")
    assert isinstance(outliers.evidence, OutlierEvidence)
    assert [outlier.repetition for outlier in outliers.evidence.outliers] == [6, 6, 6, 6]


def test_an_uncertain_median_is_reported_with_its_interval(run_findings: list[Finding]) -> None:
    wide = _of(run_findings, "wide-interval", "rising", "write")
    assert isinstance(wide.evidence, WideIntervalEvidence)
    assert wide.evidence.widest.reach == pytest.approx(0.2, abs=0.01)
    assert (wide.evidence.points, wide.evidence.of) == (4, 4)


def test_a_decline_a_drop_and_a_stall_are_distinguished(run_findings: list[Finding]) -> None:
    decline, fall = _of(run_findings, "trend", "falling", "read"), _of(run_findings, "change", "falling", "write")
    stall = _of(run_findings, "stalls", "stopping", "write")
    assert isinstance(decline.evidence, TrendEvidence)
    assert isinstance(fall.evidence, ChangeEvidence)
    assert isinstance(stall.evidence, StallEvidence)
    assert decline.evidence.trend.change.estimate < -0.5
    assert fall.evidence.change.after == pytest.approx(0.4 * fall.evidence.change.before, rel=0.2)
    assert stall.evidence.longest.length_s > 1
    kinds = {
        (finding.kind, finding.measurements[0].case.split("-")[0], finding.measurements[0].operation)
        for finding in run_findings
    }
    assert ("change", "falling", "read") not in kinds
    assert ("trend", "falling", "write") not in kinds
    assert ("change", "stopping", "write") not in kinds


@pytest.mark.parametrize(
    ("kind", "case", "operation", "severity"),
    [
        ("disk-amplification", "falling", "write", "notice"),
        ("reads-from-memory", "rising", "read", "warning"),
        ("late-writes", "uneven", "write", "warning"),
        ("uneven-servers", "falling", "read", "warning"),
        ("full-links", "stopping", "read", "notice"),
    ],
)
def test_faults_of_servers_are_reported_only_where_they_are(
    run_findings: list[Finding], kind: str, case: str, operation: str, severity: str
) -> None:
    assert _of(run_findings, kind, case, operation).severity == severity
    cases = {
        (finding.measurements[0].case.split("-")[0], finding.measurements[0].operation)
        for finding in run_findings
        if finding.kind == kind
    }
    also = {("rising", "write"), ("stopping", "write")} if kind == "disk-amplification" else set()
    assert cases == {(case, operation)} | also


def _watched(writes: float, reads: float, late: float = 0.0, role: Role = "server") -> set[str]:
    """The kinds of findings about servers in a run; the arguments are disk bytes per byte of the clients."""
    run = RunBuilder().workload("w", write=0.25e9, read=0.25e9).clients(1).repetitions(3).build()
    second = 10**9
    begin = pl.col("duration_ns").cum_sum().shift(fill_value=0) + 20 * second * pl.int_range(pl.len())
    first = run.measurements["started_unix_ns"][0] // second * second
    run = replace(run, measurements=run.measurements.with_columns((begin + first).alias("started_unix_ns")))
    seconds = []
    for row in run.measurements.iter_rows(named=True):
        start, length = row["started_unix_ns"] // second, row["duration_ns"] // second + 1
        for index in range(length + 15):
            each = row["bytes"] / length if index < length else 0.0
            later = row["bytes"] * late / 10 if length <= index < length + 10 else 0.0
            wrote = row["phase"] == "write"
            moved = (
                HostSecond("h", start + index, 0, int(each * writes + later))
                if wrote
                else HostSecond("h", start + index)
            )
            seconds.append(moved if wrote else moved._replace(read=int(each * reads)))
    watch = watched([WatchedHost(name="h", role=role, file="h.jsonl")], seconds)
    kinds = {finding.kind for finding in findings(RunFacts(replace(run, watch=watch)))}
    return kinds & {"disk-amplification", "reads-from-memory", "late-writes", "uneven-servers", "full-links"}


def test_disks_that_move_what_the_clients_move_have_no_finding() -> None:
    assert _watched(1.0, 1.0) == set()
    assert _watched(1.1, 0.9) == set()
    assert _watched(1.0, 1.0, late=0.05) == set()


def test_late_writes_are_no_amplification_unless_they_are_more() -> None:
    assert _watched(0.3, 1.0, late=0.7) == {"late-writes"}
    assert _watched(0.5, 1.0, late=1.5) == {"disk-amplification", "late-writes"}


def test_disks_without_the_data_do_not_imply_reads_from_memory() -> None:
    assert _watched(1.0, 0.01) == {"reads-from-memory"}
    assert _watched(0.01, 0.01) == set()


def test_disks_of_clients_have_findings_only_about_late_writes() -> None:
    assert _watched(2.0, 0.01, role="client") == set()
    assert _watched(0.3, 0.01, late=0.7, role="client") == {"late-writes"}


def test_a_finish_long_after_the_stonewall_is_reported_with_its_ranks(run_findings: list[Finding]) -> None:
    stragglers = _of(run_findings, "stragglers", "stopping", "write")
    assert isinstance(stragglers.evidence, StragglerEvidence)
    assert stragglers.severity == "warning"
    assert stragglers.evidence.worst.stretch == pytest.approx(3, rel=0.01)
    assert stragglers.evidence.worst.imbalance == 249.5
    assert stragglers.evidence.worst.behind[0].rank == 0


def test_a_node_that_is_always_last_is_named(run_findings: list[Finding]) -> None:
    (node,) = [finding.evidence for finding in run_findings if isinstance(finding.evidence, SlowNodeEvidence)]
    assert node.node == "client03"


def test_reads_that_mostly_open_files_have_a_warning(run_findings: list[Finding]) -> None:
    opens = _of(run_findings, "open-time", "uneven", "read")
    assert isinstance(opens.evidence, OpenTimeEvidence)
    assert opens.severity == "warning"
    assert opens.evidence.share == pytest.approx(0.5, abs=0.05)
    assert (opens.evidence.phases, opens.evidence.of) == (24, 24)
    assert opens.evidence.file_bytes == 2**30 / opens.evidence.files
    assert "of their time opening files (" in opens.message.headline
    assert [finding.measurements[0].operation for finding in run_findings if finding.kind == "open-time"] == ["read"]


def _opening(share: float, rate: float = 0.5e9, *, is_replay: bool = False) -> bool:
    """Whether a run whose writes spend this share of their time opening files, at a rate in bytes/s, has the finding.

    1 GiB is written, so that rates of more than 1.07e9 bytes/s end within a second.
    """
    run = RunBuilder().workload("w").clients(1).repetitions(2).rates("w", "write", 1, rate, rate).build()
    for case in run.document.cases:
        case.phases[0].jobs[0].sizes = {"write": [(1 << 20, 1024)]} if is_replay else {}
    opened = (pl.col("end_ns") * share).cast(pl.Int64).alias("open_ns")
    ranks = run.ranks.with_columns(pl.when(pl.col("phase") == "write").then(opened).otherwise("open_ns"))
    return "open-time" in {finding.kind for finding in findings(RunFacts(replace(run, ranks=ranks)))}


def test_opens_are_reported_from_a_fifth_of_the_time_on() -> None:
    assert _opening(0.25)
    assert not _opening(0.15)


def test_opens_of_short_phases_and_of_replays_are_not_reported() -> None:
    assert not _opening(0.5, rate=2e9)
    assert not _opening(0.5, is_replay=True)


def test_a_faultless_run_has_no_warning() -> None:
    run = RunBuilder().workload("w").clients(1, 2, 4, 8, 16, 32, 64).repetitions(5).build()
    assert [finding for finding in findings(RunFacts(run)) if finding.severity == "warning"] == []


@pytest.mark.parametrize(
    "unknown",
    [
        ("ranks", lambda table: table.clear()),
        ("samples", lambda table: table.clear()),
        ("ranks", lambda table: table.with_columns(pl.lit(None, pl.String).alias("node"))),
        (
            "measurements",
            lambda table: table.with_columns(
                pl.lit(None, kind).alias(name)
                for name, kind in schema.MEASUREMENTS.items()
                if name not in (*KEY, *POINT, "repetition", "complete", "valid", "rate_bytes_per_s")
            ),
        ),
        ("measurements", lambda table: table.clear()),
    ],
    ids=["no ranks", "no samples", "no nodes", "nothing but rates", "nothing"],
)
def test_missing_tables_give_fewer_findings_and_no_error(
    unknown: tuple[str, Callable[[pl.DataFrame], pl.DataFrame]],
) -> None:
    table, forget = unknown
    whole = faulty_run()
    tables = {name: getattr(whole, name) for name in schema.TABLES}
    tables[table] = forget(tables[table])
    known = {finding.kind for finding in findings(RunFacts(whole))}
    less = {finding.kind for finding in findings(RunFacts(LoadedRun(document=whole.document, **tables)))}
    assert less < known
