"""Comparison of two profiles: ratios, distances, files, findings, and differing conditions."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ioassay.analysis.distances import Spread, distance
from ioassay.analysis.profile.comparison import Sizes, compare, timeline_distance
from ioassay.analysis.profile.condition_differences import condition_differences
from ioassay.analysis.profile.file_changes import file_changes
from ioassay.analysis.profile.finding_changes import finding_changes
from ioassay.analysis.profile.findings import ProfileFacts, findings
from ioassay.analysis.profile.patterns import pattern
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.profiles.darshan import profile as darshan
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import FileKind
from ioassay.testing.faulty_application import KIB, MIB, MS, S, calm, faulty
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record

Load = Callable[..., Profile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """The profile of a record of these tables."""
    records: list[Path] = []

    def loaded(*tables: TableBuilder) -> Profile:
        records.append(store_record(tmp_path / str(len(records)), *tables))
        return load_profile([records[-1]])

    return loaded


@pytest.fixture
def darshan_profile(tmp_path: Path) -> Profile:
    log = tmp_path / "log.txt"
    log.write_bytes(gzip.decompress((Path(darshan.__file__).parent / "testdata" / "mpi.txt.gz").read_bytes()))
    return darshan.load_profile([log])


def writer(
    sizes: dict[int, int], *, seconds: tuple[int, ...] = (), path: str = "/out/data", ns: int = 0
) -> TableBuilder:
    """A process that writes `sizes` (transfers by size), spread evenly over these seconds."""
    table = TableBuilder(end_ns=BEGIN_NS + 100 * S)
    calls, moved = sum(sizes.values()), sum(size * count for size, count in sizes.items())
    for second in seconds:
        table.second("write", second, calls // len(seconds), moved=moved // len(seconds), ns=ns // len(seconds))
    table.transfers(table.file(path, {"open": 1}, inode=1), "write", sizes, ns=ns, consecutive=calls - 1)
    return table


def test_a_profile_does_not_differ_from_itself(load: Load) -> None:
    profile = load(*faulty())
    comparison = compare(profile, profile)
    for direction in (*comparison.directions, *comparison.operations):
        assert direction.size_distance in (None, 0)
        assert direction.timeline_distance in (None, 0)
        assert {direction.ratio(name) for name in ("calls", "bytes", "spent_ns")} <= {None, 1}
    assert comparison.of("write").size_distance == 0
    assert comparison.of("metadata").timeline_distance == 0
    assert comparison.span_ratio == 1
    assert condition_differences(profile, profile) == ()
    assert all(change.is_same for change in file_changes(profile, profile).changed)


def test_ratios_are_of_the_other_to_the_reference(load: Load) -> None:
    small, large = load(writer({4 * KIB: 1024}, ns=8 * S)), load(writer({MIB: 4}, ns=2 * S))
    writes = compare(small, large).of("write")
    assert (writes.ratio("calls"), writes.ratio("bytes"), writes.ratio("spent_ns")) == (4 / 1024, 1, 0.25)
    assert compare(small, large).of("read").ratio("calls") is None  # the reference has none


def test_the_distance_of_sizes_is_the_share_of_calls_with_another_size(load: Load) -> None:
    def size_distance(first: dict[int, int], second: dict[int, int]) -> float | None:
        return compare(load(writer(first)), load(writer(second))).of("write").size_distance

    assert size_distance({4 * KIB: 100}, {4 * KIB: 7}) == 0
    assert size_distance({4 * KIB: 100}, {MIB: 1}) == 1
    assert size_distance({4 * KIB: 75, MIB: 25}, {4 * KIB: 25, MIB: 75}) == pytest.approx(0.5)
    assert size_distance({4 * KIB: 75, MIB: 25}, {64 * KIB: 3, 2 * MIB: 1}) == pytest.approx(0.75)
    # Both are in the bucket from 1 to 2 MiB; the most frequent sizes of a file are known exactly.
    assert size_distance({MIB: 10}, {MIB + MIB // 2: 10}) == 1


def test_different_buckets_give_the_smallest_possible_distance() -> None:
    def spread(*rows: tuple[float, float, float]) -> Spread:
        return Spread(*(np.array(column) for column in zip(*rows, strict=True)))

    wide, fine = spread((0.0, 100.0, 10.0)), spread((0.0, 50.0, 4.0), (50.0, 100.0, 6.0))
    assert distance(wide, fine) == 0
    assert distance(spread((0.0, 60.0, 1.0), (60.0, np.inf, 1.0)), spread((70.0, 80.0, 1.0))) == 0.5
    assert distance(wide, spread((200.0, np.inf, 3.0))) == 1


def test_the_distance_of_time_lines_ignores_their_length(load: Load) -> None:
    early = load(writer({MIB: 40}, seconds=(10, 11, 12, 13)))
    slow = load(writer({MIB: 40}, seconds=tuple(range(30, 38))))
    assert timeline_distance(early, slow, ["write"]) == 0
    assert compare(early, slow).span_ratio == 2
    halting = load(writer({MIB: 40}, seconds=(10, 19)))
    assert timeline_distance(early, halting, ["write"]) == pytest.approx(0.25)
    assert timeline_distance(early, halting, ["read"]) is None


def test_the_time_line_of_metadata_counts_calls(load: Load) -> None:
    def lookups(*seconds: int) -> Profile:
        table = TableBuilder(end_ns=BEGIN_NS + 100 * S)
        for second in seconds:
            table.second("stat", second, 10)
        table.file("/a", {"stat": 10 * len(seconds)})
        return load(table)

    assert timeline_distance(lookups(1, 2, 3, 4), lookups(1, 2, 3, 4), ["stat"]) == 0
    assert timeline_distance(lookups(1, 2, 3, 4), lookups(1, 4), ["stat"]) == pytest.approx(0.25)


def test_the_time_line_of_calls_on_open_mpi_files_counts_calls(load: Load) -> None:
    def used(*seconds: int) -> Profile:
        table = TableBuilder(end_ns=BEGIN_NS + 100 * S)
        for second in range(1, 5):
            table.second("stat", second, 1)
        for second in seconds:
            table.second("MPI file", second, 10)
        table.file("/a", {"stat": 4, "MPI file": 10 * len(seconds)})
        return load(table)

    assert timeline_distance(used(1, 2, 3, 4), used(1, 4), ["MPI file"]) == pytest.approx(0.25)


def test_quantiles_of_sizes_are_as_exact_as_the_source_knows_them(load: Load, darshan_profile: Profile) -> None:
    sizes = compare(load(writer({1000: 60, 3 * MIB: 40})), darshan_profile).of("write")
    assert {quantile: size_range.exact_bytes for quantile, size_range in sizes.reference.sizes.items()} == {
        "p10": 1000, "p50": 1000, "p90": 3 * MIB
    }  # fmt: skip
    assert sizes.other.sizes["p50"] == (1025, 10241)


def test_operations_that_a_source_does_not_count_are_no_difference(load: Load, darshan_profile: Profile) -> None:
    table = TableBuilder()
    table.file("/a", {"open": 9, "close": 9, "remove": 100}, inode=1, ns=S)
    table.second("open", 0, 9, ns=S)
    comparison = compare(load(table), darshan_profile)
    assert comparison.uncounted == ("close", "remove")
    assert [operation.name for operation in comparison.operations if operation.name in ("close", "remove", "open")] == [
        "open"
    ]
    metadata = comparison.of("metadata")
    assert metadata.reference.calls == 9
    assert metadata.reference.spent_ns is None
    assert metadata.ratio("spent_ns") is None
    assert metadata.timeline_distance is None
    assert comparison.of("write").reference.p50_ns is None


def test_latencies_of_a_direction_are_those_of_all_its_operations(load: Load) -> None:
    table = TableBuilder()
    for name, count, each in (("open", 300, 1000), ("stat", 100, 8000)):
        table.second(name, 0, count, ns=count * each, slowest_ns=each)
        table.latencies(name, {each: count})
        table.file(f"/{name}", {name: count})
    profile = load(table)
    metadata = compare(profile, profile).of("metadata").reference
    assert (metadata.p50_ns, metadata.slowest_ns) == (1024, 8000)
    without = load(writer({MIB: 2}, seconds=(1,)))
    assert compare(without, without).of("write").reference.p50_ns is None


def test_shares_of_the_order_of_requests(load: Load) -> None:
    table = TableBuilder()
    file = table.file("/a", inode=1)
    table.transfers(file, "write", {4 * KIB: 101}, consecutive=50, forward=20, strided=10, misaligned=101)
    shares = pattern(load(table), "write")
    assert shares.misaligned == 1
    orders = (shares.consecutive, shares.forward, shares.strided, shares.random)
    assert [round(101 * (share or 0)) for share in orders] == [50, 20, 10, 30]
    assert pattern(load(table), "read").consecutive is None


def test_files_match_by_their_path_or_by_the_end_of_it(load: Load) -> None:
    def files(*paths: str) -> Profile:
        table = TableBuilder()
        for index, path in enumerate(paths):
            table.transfers(table.file(path, inode=1 + index), "write", {MIB: 1 + index}, ns=(1 + index) * MS)
        return load(table)

    result = file_changes(
        files("/etc/same", "/lustre/run1/a/out", "/lustre/run1/b/out", "/lustre/old"),
        files("/etc/same", "/nvme/run2/a/out", "/nvme/run2/b/out", "/nvme/new"),
    )
    assert {(change.reference.path, change.other.path) for change in result.changed} == {
        ("/etc/same", "/etc/same"),
        ("/lustre/run1/a/out", "/nvme/run2/a/out"),
        ("/lustre/run1/b/out", "/nvme/run2/b/out"),
    }
    assert [file_amounts.path for file_amounts in result.only_reference] == ["/lustre/old"]
    assert [file_amounts.path for file_amounts in result.only_other] == ["/nvme/new"]


def test_the_file_with_the_largest_change_of_time_comes_first(load: Load) -> None:
    def run(first_ns: int, second_ns: int) -> Profile:
        table = TableBuilder()
        for index, ns in enumerate((first_ns, second_ns)):
            table.transfers(table.file(f"/{index}", inode=1 + index), "read", {MIB: 1}, ns=ns)
        return load(table)

    changed = file_changes(run(100, 900), run(110, 400)).changed
    assert [(change.other.path, change.spent_change_ns) for change in changed] == [("/1", -500), ("/0", 10)]


def changes(reference: Profile, other: Profile) -> dict[tuple[str, str], str]:
    mine, theirs = (findings(ProfileFacts(profile, Thresholds())) for profile in (reference, other))
    return {
        (change.kind, getattr((change.other or change.reference).evidence, "direction", "")): change.change  # type: ignore[union-attr]
        for change in finding_changes(reference, mine, other, theirs)
    }


def test_findings_are_new_gone_or_in_both(load: Load) -> None:
    bad, good = load(*faulty()), load(*calm())
    assert set(changes(bad, good).values()) == {"gone"}
    assert set(changes(good, bad).values()) == {"new"}
    assert set(changes(bad, bad).values()) == {"in both"}
    assert changes(bad, good)["no-collectives", "write"] == "gone"
    assert changes(bad, good)["redundant-reads", ""] == "gone"


def test_a_finding_that_is_a_symptom_in_the_other_profile_is_in_both(load: Load) -> None:
    def journal(syncs: int) -> Profile:
        table = TableBuilder()
        file = table.file("/journal", {"sync": syncs}, inode=1, ns=syncs * 3 * MS)
        table.transfers(file, "write", {512: 3000}, ns=40 * MS, consecutive=2999)
        table.second("sync", 1, syncs, ns=syncs * 3 * MS)
        return load(table)

    synced, unsynced = journal(1500), journal(0)
    assert changes(synced, unsynced) == {("sync-storm", ""): "gone", ("small-requests", "write"): "in both"}
    assert changes(unsynced, synced) == {("sync-storm", ""): "in both"}


def test_a_finding_that_the_other_source_could_not_have_is_not_gone(load: Load, darshan_profile: Profile) -> None:
    changes_to_darshan = changes(load(*faulty()), darshan_profile)
    assert changes_to_darshan["stalled-calls", ""] == "unknown"  # it has no latencies
    assert changes_to_darshan["stat-storm", ""] == "unknown"
    assert changes_to_darshan["program-startup", ""] == "unknown"  # it leaves out the system's directories
    assert changes_to_darshan["same-data", ""] == "gone"


def test_failed_lookups_that_darshan_does_not_count_are_not_gone(load: Load, darshan_profile: Profile) -> None:
    table = TableBuilder()
    for index in range(200):
        table.file(f"/data/{index}", {"stat": 1}, {"stat": 1}, errno=2)
    assert changes(load(table), darshan_profile)["failed-lookups", ""] == "unknown"


def test_differing_conditions_have_both_values(load: Load, darshan_profile: Profile) -> None:
    differences = {
        difference.what: (difference.reference, difference.other)
        for difference in condition_differences(load(*calm()), darshan_profile)
    }
    assert next(iter(differences)) == "source"
    assert differences["source"] == ("record", "darshan")
    assert differences["processes"] == (8, 4)
    assert differences["ranks"] == (8, 4)
    assert "nodes" not in differences  # Darshan does not know them
    assert set(differences) == {"source", "command", "processes", "ranks", "duration", "steps"}
    elsewhere = load(TableBuilder(1, node="b"))
    assert [difference.what for difference in condition_differences(load(TableBuilder(1, node="a")), elsewhere)] == [
        "names of nodes"
    ]


def test_empty_profiles_have_an_empty_comparison(load: Load) -> None:
    empty = load(TableBuilder())
    comparison = compare(empty, empty)
    assert comparison.operations == ()
    assert comparison.span_ratio is None
    assert all(
        direction.size_distance is None and direction.timeline_distance is None for direction in comparison.directions
    )
    ranges = Sizes(empty).ranges(["read"])
    assert ranges is not None
    assert ranges.is_empty()


def test_sizes_that_a_source_does_not_know_have_no_distance(load: Load) -> None:
    profile = load(writer({MIB: 4}))
    unknown = replace(profile, file_sizes=profile.file_sizes.clear(), common_sizes=profile.common_sizes.clear())
    assert compare(profile, unknown).of("write").size_distance is None
    assert Sizes(unknown).quantiles(["write"]) == {}
    assert compare(profile, unknown).of("read").size_distance is None


def test_operations_only_on_pipes_are_not_compared(load: Load) -> None:
    table = TableBuilder()
    table.second("read", 0, 5, moved=50, ns=9)
    table.transfers(table.file("pipe", kind=FileKind.PIPE), "read", {10: 5})
    assert compare(load(table), load(TableBuilder())).operations == ()
