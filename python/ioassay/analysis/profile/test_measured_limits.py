"""The limits that a run replaces, and those that it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.profile.findings import ProfileFacts, findings
from ioassay.analysis.profile.measured_limits import MeasuredLimits, NamedRun, measured_limits
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.store.document import CaseEntry
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import Measurement
from ioassay.store.point import of_text
from ioassay.testing.faulty_application import KIB, MIB, MS, US, S
from ioassay.testing.measured_study import measured
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record

SWEEP = """
name: sweep
title: Sizes
question: How small?
clients: [1]
ranks_per_client: [1, 4]
repetitions: 3
steps: [write, read]
workloads:
  sizes:
    title: Sizes
    layout: N-N
    order: sequential
    total: 64MiB
    storage: {direct: yes}
    sweep: {transfer: [4KiB, 64KiB, 256KiB, 1MiB]}
"""

ORDERS = """
name: orders
title: Orders
question: In order, or not?
clients: [1]
ranks_per_client: [1]
repetitions: 3
steps: [write, read]
workloads:
  ordered: {title: In order, layout: N-N, order: sequential, transfer: 64KiB, total: 64MiB}
  random: {title: At random, layout: N-N, order: random, transfer: 64KiB, total: 64MiB}
"""

SMALL = ORDERS.replace("64KiB", "16KiB")

TREES = """
name: trees
title: Trees
question: How many?
clients: [1]
ranks_per_client: [1]
repetitions: 3
steps: [create-tree, create, stat, remove]
workloads:
  items: {title: Items, tree: {items: 1000}}
"""


def run_of(text: str, rate: Callable[[CaseEntry, Measurement], float] = lambda case, key: 1000.0) -> LoadedRun:
    return measured(text, rate)


def sizes_that_reach(limits: Mapping[str, int]) -> LoadedRun:
    """A sweep whose operations reach the full rate from `limits` bytes on, and half of it below."""

    def rate(case: CaseEntry, key: Measurement) -> float:
        transfer = case.job(key.phase, key.job).transfer_bytes or 1
        return 1e9 / transfer * (1 if transfer >= limits[key.operation] else 0.5)

    return run_of(SWEEP, rate)


def resident(run: LoadedRun, share: float | None) -> LoadedRun:
    """The run with this share of each file set in the page cache before reads."""
    known = (pl.col("file_set_bytes") * share).cast(pl.Int64) if share is not None else pl.lit(None, pl.Int64)
    return replace(run, measurements=run.measurements.with_columns(resident_bytes_before=known))


def lasting(run: LoadedRun, operation: str, *buckets: tuple[int, int], workload: str = "") -> LoadedRun:
    """The run with these buckets of latencies, (latency, count), of an operation."""
    rows = run.latencies.filter(pl.col("operation") == operation, pl.col("case").str.contains(workload))
    key = rows.select("case", "phase", "job", "operation").unique(maintain_order=True)
    histograms = [
        key.with_columns(lowest_ns=pl.lit(ns), highest_ns=pl.lit(ns + ns // 100), count=pl.lit(count))
        for ns, count in buckets
    ]
    every = pl.concat([run.latencies.join(key, on=key.columns, how="anti"), *histograms], how="vertical_relaxed")
    return replace(run, latencies=every.select(run.latencies.columns))


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """A process that reads and writes 16 KiB at a time, a quarter of it in random order."""
    table = TableBuilder(end_ns=BEGIN_NS + 100 * S)
    file = table.file("/mnt/store/data", {"open": 1, "stat": 3000}, inode=1, ns=S)
    for operation in ("read", "write"):
        table.transfers(file, operation, {16 * KIB: 20_000}, ns=2 * S, consecutive=15_000, end=320 * MIB)
        table.second(operation, 1, 20_000, moved=320 * MIB, ns=2 * S, slowest_ns=500 * MS)
        table.latencies(operation, {100 * US: 19_999, 500 * MS: 1})
    table.second("stat", 1, 3000, ns=S, slowest_ns=MS)
    return load_profile([store_record(tmp_path / "record", table)])


def limits_of(run: LoadedRun, profile: Profile) -> MeasuredLimits:
    return measured_limits([NamedRun("run", run)], profile)


def values(limits: MeasuredLimits) -> dict[tuple[str, str], float]:
    return {(threshold.name, about): threshold.value for about, threshold in limits.measured}


def test_requests_below_the_size_that_nearly_reaches_the_peak_are_small(profile: Profile) -> None:
    limits = limits_of(sizes_that_reach({"write": 256 * KIB, "read": 64 * KIB}), profile)
    assert values(limits)["small_request_bytes", "write"] == 256 * KIB
    assert values(limits)["small_request_bytes", "read"] == 64 * KIB
    limit = limits.thresholds.limit("small_request_bytes", "read")
    assert (limit.origin, limit.source) == ("measured", "run: sizes, read, 1 rank, direct")
    assert limits.thresholds.limit("small_requests", "read").origin == "rule"


def test_the_sweep_with_the_number_of_processes_nearest_to_the_application_counts(tmp_path: Path) -> None:
    tables = [TableBuilder(10 + rank, job={"PMI_RANK": str(rank)}) for rank in range(5)]
    for table in tables:
        table.transfers(table.file(f"/{table.pid}", inode=table.pid), "write", {MIB: 1})
    several = load_profile([store_record(tmp_path / "record", *tables)])
    limits = limits_of(sizes_that_reach({"write": MIB, "read": MIB}), several)
    assert "4 ranks" in limits.thresholds.limit("small_request_bytes", "write").source


def test_reads_count_only_if_they_are_known_to_be_uncached(profile: Profile) -> None:
    run = run_of(SWEEP.replace("{direct: yes}", "{direct: no}"))
    for share, counts in ((None, False), (0.5, False), (0.0, True)):
        names = set(values(limits_of(resident(run, share), profile)))
        assert (("small_request_bytes", "read") in names) == counts
        assert ("small_request_bytes", "write") in names


def test_invalid_measurements_are_no_limit(profile: Profile) -> None:
    run = sizes_that_reach({"write": MIB, "read": MIB})
    invalid = replace(run, measurements=run.measurements.with_columns(valid=pl.lit(False)))
    limits = limits_of(invalid, profile)
    assert limits.measured == ()
    assert limits.needs == ()
    assert limits.unused == ("transfer sizes", "random order", "uncached reads", "latencies")


@pytest.mark.parametrize(("slower", "share"), [(2, 0.1), (5, 0.025), (1.05, 1), (0.5, 1)])
def test_the_random_share_is_the_one_that_costs_a_tenth_more_time(
    profile: Profile, slower: float, share: float
) -> None:
    def rate(case: CaseEntry, key: Measurement) -> float:
        return 1000 / (slower if case.workload == "random" and key.operation == "read" else 1)

    measured_values = values(limits_of(resident(run_of(ORDERS, rate), 0), profile))
    assert measured_values["random_share", "read"] == pytest.approx(share)
    assert measured_values["random_share", "write"] == 1


def test_random_access_without_cost_is_no_finding(profile: Profile) -> None:
    limits = limits_of(resident(run_of(ORDERS), 0), profile).thresholds
    ruled = [finding.kind for finding in findings(ProfileFacts(profile, type(limits)()))]
    measured_kinds = [finding.kind for finding in findings(ProfileFacts(profile, limits))]
    assert ruled.count("random-access") == 2
    assert "random-access" not in measured_kinds


def test_a_read_is_cached_if_no_direct_read_is_as_fast(profile: Profile) -> None:
    direct = run_of(SMALL.replace("transfer: 16KiB", "transfer: 16KiB, storage: {direct: yes}"))
    measured_values = values(limits_of(lasting(direct, "read", (3000, 5), (70_000, 995)), profile))
    assert measured_values["cached_read_ns", ""] == 70_000
    # Read-ahead makes buffered reads fast, whatever the storage is.
    buffered = lasting(resident(run_of(SMALL), 0), "read", (3000, 5), (70_000, 995))
    assert ("cached_read_ns", "") not in values(limits_of(buffered, profile))
    assert ("stall_s", "read") not in values(limits_of(buffered, profile))


def test_without_direct_reads_those_from_memory_give_the_limit_of_cached_reads(profile: Profile) -> None:
    run = lasting(resident(run_of(SMALL), 1), "read", (12_000, 990), (90_000, 10))
    assert values(limits_of(run, profile))["cached_read_ns", ""] == pytest.approx(12_120 - 1638.4)


def test_the_latency_of_large_reads_is_no_limit_of_cached_reads(profile: Profile) -> None:
    direct = run_of(ORDERS.replace("transfer: 64KiB", "transfer: 64KiB, storage: {direct: yes}"))
    assert ("cached_read_ns", "") not in values(limits_of(lasting(direct, "read", (70_000, 9)), profile))


def test_a_stall_is_a_thousand_median_latencies_of_the_storage(profile: Profile) -> None:
    run = lasting(sizes_that_reach({"write": MIB, "read": MIB}), "read", (300 * US, 10))
    limits = limits_of(run, profile)
    assert values(limits)["stall_s", "read"] == pytest.approx(0.303)
    assert values(limits)["stall_s", "write"] == 0.1  # not less
    stalled = [
        finding for finding in findings(ProfileFacts(profile, limits.thresholds)) if finding.kind == "stalled-calls"
    ]
    assert [finding.evidence.operation for finding in stalled] == ["read", "write"]  # type: ignore[attr-defined]
    assert not [
        finding
        for finding in findings(ProfileFacts(profile, type(limits.thresholds)()))
        if finding.kind == "stalled-calls"
    ]


def test_the_limit_of_stats_is_the_number_that_takes_a_second(profile: Profile) -> None:
    limits = limits_of(lasting(run_of(TREES), "stat", (500 * US, 10)), profile)
    assert values(limits)["stat_calls", ""] == round(1e9 / (505 * US))
    (need,) = limits.needs
    assert (need.operation, need.calls, need.needed_ns, need.spent_ns) == ("stat", 3000, 3000 * 505 * US, S)


def test_earlier_runs_take_precedence_and_later_ones_add_limits(profile: Profile) -> None:
    runs = [
        NamedRun("sizes", sizes_that_reach({"write": 4 * KIB, "read": 4 * KIB})),
        NamedRun("again", sizes_that_reach({"write": MIB, "read": MIB})),
        NamedRun("trees", lasting(run_of(TREES), "stat", (500 * US, 10))),
    ]
    limits = measured_limits(runs, profile)
    assert values(limits)["small_request_bytes", "write"] == 4 * KIB
    assert limits.thresholds.stat_calls.source.startswith("trees: ")
    assert {threshold.origin for _, threshold in limits.thresholds.every()} == {"rule", "measured"}


def test_a_run_of_other_storage_is_named(profile: Profile) -> None:
    run = sizes_that_reach({"write": MIB, "read": MIB})
    for mount_point, elsewhere in (("/mnt/store", ()), ("/mnt/other", ("run",)), ("/mnt/st", ("run",))):
        for node in run.document.environment:
            node["mount"] = {
                "mount_point": mount_point, "file_system": "nfs4", "block_bytes": MIB, "free_bytes": 0,
                "total_bytes": 0, "options": [],
            }  # fmt: skip
        assert limits_of(run, profile).elsewhere == elsewhere


def test_the_values_of_other_axes_are_separate_sweeps(profile: Profile) -> None:
    text = SWEEP.replace("1MiB]}", "1MiB], depth: [1, 8]}").replace("{direct: yes}", "{api: uring, direct: yes}")

    def rate(case: CaseEntry, key: Measurement) -> float:
        transfer = case.job(key.phase, key.job).transfer_bytes or 1
        peak = 256 * KIB if case.point["depth"] == 1 else 4 * KIB
        return 1e9 / transfer * (1 if transfer >= peak else 0.5)

    run = run_of(text, rate)
    assert {of_text(point)["depth"] for point in run.measurements["point"]} == {1, 8}
    assert values(limits_of(run, profile))["small_request_bytes", "read"] == 256 * KIB


def test_two_profiles_reduce_a_run_once(profile: Profile) -> None:
    named = NamedRun("sizes", sizes_that_reach({"write": 4 * KIB, "read": 4 * KIB}))
    series = named.series
    assert measured_limits([named], profile) == measured_limits([named], profile)
    assert named.series is series
