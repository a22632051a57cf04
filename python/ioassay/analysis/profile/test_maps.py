"""Bounds of the bytes of maps, compared with simulated programs whose pages are all known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.profile.coverage import coverage
from ioassay.analysis.profile.findings import ProfileFacts
from ioassay.analysis.profile.findings.mapped_reads import MappedReadEvidence, mapped_reads
from ioassay.analysis.profile.maps import Range, maps
from ioassay.analysis.profile.phases import phases, with_maps
from ioassay.analysis.profile.steps import map_rates
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.profiles.model import (
    FILE_OPERATIONS,
    FILES,
    MAPS,
    PROCESS_OPERATIONS,
    PROCESSES,
    Direction,
    Loss,
    LossKind,
    Profile,
)
from ioassay.profiles.records.profile import load_profile
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record

MIB = 1 << 20
S = 10**9
PAGE = 64 << 10
PAGES = 400
"""Pages of a file: 25 MiB."""


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """A profile of ten seconds without I/O."""
    return load_profile([store_record(tmp_path_factory.mktemp("maps") / "record", TableBuilder())])


def rows(schema: pl.Schema, *values: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(values), schema=schema)


def process(number: int = 0, **about: Any) -> dict[str, Any]:
    usual = {"process": number, "pid": 100 + number, "begin_unix_ns": BEGIN_NS, "end_unix_ns": BEGIN_NS + 10 * S}
    storage = {"storage_read_bytes": 0, "storage_written_bytes": 0, "storage_cancelled_bytes": 0, "recorder_bytes": 0}
    return {"state": "ended", "kernel_read_bytes": 0, "kernel_written_bytes": 0, **usual, **storage, **about}


def mapped(number: int = 0, access: str = "read", extent: int = 64 * MIB, **about: Any) -> dict[str, Any]:
    usual = {"process": number, "file": 0, "access": access, "maps": 1, "first_map_s": 1.0, "last_unmap_s": 5.0}
    amounts = {"mapped_bytes": extent, "extent_bytes": extent, "syncs": 0, "synced_bytes": 0}
    return usual | amounts | about


def program(nothing: Profile, *map_rows: Mapping[str, Any], block: int = 4096, **about: Any) -> Profile:
    """One process that maps one file."""
    return replace(
        nothing,
        processes=rows(PROCESSES, process(**about)),
        files=rows(FILES, {"file": 0, "path": "/data/in", "kind": "file", "processes": 1, "block_bytes": block}),
        maps=rows(MAPS, *map_rows),
    )


def test_a_cold_file_that_a_map_reads_whole_has_equal_bounds(nothing: Profile) -> None:
    cold = mapped(resident_begin_bytes=0, resident_end_bytes=64 * MIB)
    result = maps(program(nothing, cold, storage_read_bytes=64 * MIB + 300_000))
    assert result.total("read") == Range(64 * MIB, 64 * MIB)
    assert result.bounds.select("read_least_by", "read_most_by").row(0) == ("residency grew", "mapped")
    assert result.total("write") == Range(0, 0)


def test_reads_of_a_file_in_memory_have_no_lower_bound(nothing: Profile) -> None:
    warm = mapped(resident_begin_bytes=64 * MIB, resident_end_bytes=64 * MIB)
    result = maps(program(nothing, warm))
    assert result.total("read") == Range(0, 64 * MIB)
    assert result.bounds["read_least_by"].item() == "no trace"


def test_reads_of_a_sparsely_resident_file_are_bounded_by_its_residency(nothing: Profile) -> None:
    sparse = mapped(resident_begin_bytes=0, resident_end_bytes=8 * MIB)
    result = maps(program(nothing, sparse, storage_read_bytes=8 * MIB))
    assert result.total("read") == Range(8 * MIB, 8 * MIB)
    assert result.bounds["read_most_by"].item() == "in memory"


def test_the_residency_of_a_large_file_is_marked_as_sampled(nothing: Profile) -> None:
    large = mapped(extent=1 << 30, resident_begin_bytes=0, resident_end_bytes=8 * MIB)
    result = maps(program(nothing, large, storage_read_bytes=8 * MIB))
    assert result.bounds.select("read_least_by", "read_most_by").row(0) == (
        "residency grew, sampled",
        "in memory, sampled",
    )


def test_partly_queried_residency_is_marked_as_sampled(nothing: Profile) -> None:
    half = mapped(resident_begin_bytes=0, resident_end_bytes=8 * MIB, is_scaled=True)
    bounds = maps(program(nothing, half, storage_read_bytes=8 * MIB)).bounds
    assert bounds.select("is_sampled", "read_least_by", "read_most_by").row(0) == (
        True, "residency grew, sampled", "in memory, sampled"
    )  # fmt: skip


def test_maps_have_rates_in_the_steps_in_which_files_were_mapped(nothing: Profile) -> None:
    whole = replace(nothing, end_unix_ns=nothing.origin_unix_ns + 10 * 10**9, timeline_step_s=1.0)
    early = mapped(first_map_s=1.2, last_unmap_s=4.5, resident_begin_bytes=0, resident_end_bytes=64 * MIB)
    late = mapped(access="write", first_map_s=8.0, last_unmap_s=None)
    profile = replace(program(whole, early, storage_read_bytes=64 * MIB), end_unix_ns=whole.end_unix_ns)
    frame = map_rates(profile, maps(profile).bounds)
    assert frame["line"].unique().to_list() == ["read"]
    assert frame.select("least_rate", "most_rate").rows() == [(0, 0), *[(16 * MIB, 16 * MIB)] * 4, *[(0, 0)] * 5]
    profile = replace(program(whole, late), end_unix_ns=whole.end_unix_ns)
    written = map_rates(profile, maps(profile).bounds).filter(pl.col("line") == "write")
    assert written.select("least_rate", "most_rate").rows() == [*[(0, 0)] * 8, *[(0, 32 * MIB)] * 2]
    assert map_rates(whole, maps(whole).bounds).is_empty()


@pytest.mark.parametrize("kind", ["unread-rings", "folded-calls", "lost-tables"])
def test_maps_are_bounded_only_by_their_extent_if_calls_are_missing(nothing: Profile, kind: LossKind) -> None:
    read = mapped(resident_begin_bytes=0, resident_end_bytes=8 * MIB)
    written = mapped(access="write", dirty_end_bytes=0, syncs=1, synced_bytes=64 * MIB)
    ways: tuple[tuple[dict[str, Any], Direction], ...] = ((read, "read"), (written, "write"))
    for row, way in ways:
        profile = program(nothing, row, storage_read_bytes=8 * MIB, storage_written_bytes=64 * MIB)
        result = maps(replace(profile, losses=(Loss(kind, 1, "process 100"),)))
        assert result.total(way) == Range(0, 64 * MIB)
        assert "unknown" in result.bounds.select("read_least_by", "written_least_by").row(0)


def test_maps_of_a_killed_process_are_bounded_only_by_their_extent(nothing: Profile) -> None:
    killed = mapped(last_unmap_s=None)
    result = maps(program(nothing, killed, storage_read_bytes=None, storage_written_bytes=None))
    assert result.total("read") == Range(0, 64 * MIB)
    assert result.bounds.select("read_least_by", "last_unmap_s").row(0) == ("unknown", None)


def test_pages_that_msync_wrote_back_show_in_the_traffic_of_the_process(nothing: Profile) -> None:
    synced = mapped(access="write", dirty_end_bytes=0, syncs=1, synced_bytes=64 * MIB)
    result = maps(program(nothing, synced, storage_written_bytes=64 * MIB))
    assert result.total("write") == Range(63 * MIB, 64 * MIB)
    assert result.bounds["written_least_by"].item() == "storage write_bytes less calls"


def test_storage_traffic_that_neither_calls_nor_maps_explain_is_a_loss(nothing: Profile) -> None:
    def losses(*map_rows: Mapping[str, Any], **about: Any) -> list[tuple[int, str]]:
        all_losses = coverage(program(nothing, *map_rows, **about)).losses
        return [
            (loss.amount, loss.reason.split()[0]) for loss in all_losses if loss.kind == "unexplained-storage-bytes"
        ]

    # 1 MiB is metadata of the file system, and 256 MiB may be loading of programs and read-ahead.
    assert losses(storage_read_bytes=256 * MIB, storage_written_bytes=MIB) == []
    assert losses(storage_read_bytes=257 * MIB, storage_written_bytes=9 * MIB) == [
        (257 * MIB, "read"),
        (8 * MIB, "written"),
    ]
    # Calls that bypassed the recorder are a separate loss.
    bypassed = {"kernel_read_bytes": 257 * MIB, "kernel_written_bytes": 8 * MIB}
    assert losses(storage_read_bytes=257 * MIB, storage_written_bytes=9 * MIB, **bypassed) == []
    # A map may have dirtied the same page repeatedly, and a call a large folio.
    assert losses(mapped(access="write", extent=MIB), storage_written_bytes=9 * MIB) == []
    calls = rows(PROCESS_OPERATIONS, {"process": 0, "operation": "write", "calls": 4, "failed": 0, "bytes": 4})
    rewritten = replace(program(nothing, storage_written_bytes=9 * MIB), process_operations=calls)
    assert "unexplained-storage-bytes" not in {loss.kind for loss in coverage(rewritten).losses}
    assert losses(storage_read_bytes=None, storage_written_bytes=None) == []


def test_pages_that_are_dirty_at_the_end_were_written(nothing: Profile) -> None:
    dirty = mapped(access="write", dirty_end_bytes=20 * MIB)
    result = maps(program(nothing, dirty, storage_written_bytes=200 * MIB))
    assert result.total("write") == Range(64 * MIB, 64 * MIB)
    two = [dirty, dirty | {"file": 1}]
    several = replace(program(nothing, *two, storage_written_bytes=200 * MIB))
    files = rows(FILES, *({"file": index, "path": f"/data/{index}", "kind": "file"} for index in range(2)))
    result = maps(replace(several, files=files))
    assert result.total("write") == Range(40 * MIB, 128 * MIB)
    assert set(result.bounds["written_least_by"]) == {"dirty pages"}


def test_private_maps_write_nothing_and_files_off_storage_are_left_out(nothing: Profile) -> None:
    private = program(nothing, mapped(access="private write"))
    assert maps(private).total("write") == Range(0, 0)
    assert maps(private).total("read").most == 64 * MIB
    kernel = private.files.with_columns(kind=pl.lit("kernel"))
    assert maps(replace(private, files=kernel)).bounds.is_empty()


@dataclass
class _Simulated:
    """A process, page by page."""

    mapped: dict[tuple[int, str], range] = field(default_factory=dict)
    fetched: int = 0
    dirtied: int = 0
    read_through_maps: dict[int, set[int]] = field(default_factory=dict)
    written_through_maps: dict[int, set[int]] = field(default_factory=dict)
    begin: dict[tuple[int, str], int] = field(default_factory=dict)
    syncs: dict[tuple[int, str], int] = field(default_factory=dict)
    written_bytes: int = 0
    write_calls: int = 0


class _Machine:
    """Files in a page cache with read-ahead, and processes that map, read, write, sync and load libraries."""

    def __init__(self, random: Random, processes: int, files: int) -> None:
        self.random = random
        self.resident: list[set[int]] = [set() for _ in range(files)]
        self.dirty: list[set[int]] = [set() for _ in range(files)]
        self.processes = [_Simulated() for _ in range(processes)]
        self.calls: dict[tuple[int, str], list[int]] = {}
        for pages in self.resident:
            pages.update(random.sample(range(PAGES), random.choice([0, 0, 50, PAGES])))

    def run(self) -> None:
        for index, simulated in enumerate(self.processes):
            for file in range(len(self.resident)):
                if self.random.random() < 0.7:
                    self.map(simulated, file, self.random.choice(["read", "write", "private write"]))
            if index == 0 or self.random.random() < 0.5:
                simulated.fetched += self.random.randrange(200)  # libraries
        for _ in range(self.random.randrange(40)):
            self.step(self.random.choice(self.processes))

    def map(self, simulated: _Simulated, file: int, access: str) -> None:
        first = self.random.randrange(PAGES - 1)
        extent = (
            range(first, self.random.randrange(first + 1, PAGES + 1)) if self.random.random() < 0.5 else range(PAGES)
        )
        simulated.mapped[file, access] = extent
        simulated.begin[file, access] = len(self.resident[file].intersection(extent))
        simulated.syncs[file, access] = 0

    def step(self, simulated: _Simulated) -> None:
        file = self.random.randrange(len(self.resident))
        start, length = self.random.randrange(PAGES), self.random.choice([1, 1, 5, PAGES])
        pages = range(start, min(PAGES, start + length))
        what = self.random.choice(
            ["touch", "touch", "touch", "store", "store", "msync", "fsync", "read", "write", "evict"]
        )
        if what == "evict":
            self.resident[file] -= {page for page in pages if page not in self.dirty[file]}
        elif what == "fsync":
            self.calls.setdefault((file, "sync"), [0, 0])[0] += 1
            self.dirty[file].clear()
        elif what in ("read", "write"):
            self.call(simulated, file, what, pages)
        else:
            for (mapped_file, access), extent in simulated.mapped.items():
                if mapped_file != file:
                    continue
                if what == "msync" and access == "write":
                    simulated.syncs[mapped_file, access] += 1
                    self.calls.setdefault((file, "sync"), [0, 0])[0] += 1
                    self.dirty[file] -= set(extent)
                elif what != "msync":
                    for page in pages:
                        if page in extent:
                            self.fault(simulated, file, page, extent)
                            if what == "store" and access == "write":
                                self.make_dirty(simulated, file, page)
                                simulated.written_through_maps.setdefault(file, set()).add(page)

    def fault(self, simulated: _Simulated, file: int, page: int, extent: range) -> None:
        touched = {page}
        if page not in self.resident[file]:
            new = set(range(page, min(PAGES, page + self.random.choice([1, 2, 8])))) - self.resident[file]
            simulated.fetched += len(new)
            self.resident[file] |= new
            touched |= new.intersection(extent)
        simulated.read_through_maps.setdefault(file, set()).update(touched)

    def make_dirty(self, simulated: _Simulated, file: int, page: int) -> None:
        simulated.dirtied += page not in self.dirty[file]
        self.dirty[file].add(page)
        self.resident[file].add(page)

    def call(self, simulated: _Simulated, file: int, what: str, pages: range) -> None:
        calls_and_bytes = self.calls.setdefault((file, what), [0, 0])
        calls_and_bytes[0] += 1
        calls_and_bytes[1] += len(pages) * PAGE
        if what == "read":
            ahead = range(pages.start, min(PAGES, pages.stop + self.random.choice([0, 2, 64])))
            new = set(ahead) - self.resident[file]
            simulated.fetched += len(new)
            self.resident[file] |= new
        else:
            simulated.written_bytes += len(pages) * PAGE
            simulated.write_calls += 1
            for page in pages:
                self.make_dirty(simulated, file, page)

    def profile(self, nothing: Profile) -> Profile:
        files = len(self.resident)
        map_rows = []
        for number, simulated in enumerate(self.processes):
            for (file, access), extent in simulated.mapped.items():
                size = len(extent) * PAGE
                ends = {
                    "resident_begin_bytes": simulated.begin[file, access] * PAGE,
                    "resident_end_bytes": len(self.resident[file].intersection(extent)) * PAGE,
                    "dirty_end_bytes": len(self.dirty[file].intersection(extent)) * PAGE,
                    "syncs": simulated.syncs[file, access],
                }
                map_rows.append(mapped(number, access, size, file=file, **ends))
        return replace(
            nothing,
            processes=rows(
                PROCESSES,
                *(
                    process(
                        index,
                        storage_read_bytes=simulated.fetched * PAGE,
                        storage_written_bytes=simulated.dirtied * PAGE,
                    )
                    for index, simulated in enumerate(self.processes)
                ),
            ),
            process_operations=rows(
                PROCESS_OPERATIONS,
                *(
                    {
                        "process": index,
                        "operation": "write",
                        "calls": simulated.write_calls,
                        "bytes": simulated.written_bytes,
                    }
                    for index, simulated in enumerate(self.processes)
                ),
            ),
            files=rows(FILES, *({"file": index, "path": f"/{index}", "kind": "file"} for index in range(files))),
            file_operations=rows(
                FILE_OPERATIONS,
                *(
                    {"file": file, "operation": what, "calls": calls, "bytes": moved, "consecutive": 0}
                    for (file, what), (calls, moved) in self.calls.items()
                ),
            ),
            maps=rows(MAPS, *map_rows),
        )


@given(seed=st.integers(0, 2**32), processes=st.integers(1, 3), files=st.integers(1, 2))
def test_bytes_of_maps_are_within_their_range(nothing: Profile, seed: int, processes: int, files: int) -> None:
    machine = _Machine(Random(seed), processes, files)
    machine.run()
    for row in maps(machine.profile(nothing)).bounds.iter_rows(named=True):
        simulated = machine.processes[row["process"]]
        read = len(simulated.read_through_maps.get(row["file"], ())) * PAGE
        written = len(simulated.written_through_maps.get(row["file"], ())) * PAGE
        assert row["read_least_bytes"] <= read <= row["read_most_bytes"], row
        assert row["written_least_bytes"] <= written <= row["written_most_bytes"], row


def spans(nothing: Profile, *times: tuple[float, float]) -> Profile:
    return program(nothing, *(mapped(first_map_s=begin, last_unmap_s=end) for begin, end in times))


def phase_times(profile: Profile) -> Sequence[tuple[float, float, bool]]:
    all_phases = with_maps(profile, phases(profile), maps(profile).bounds)
    return [(phase.start_s, phase.end_s, phase.is_mapped) for phase in all_phases]


def test_a_time_with_only_maps_is_a_phase(nothing: Profile, tmp_path: Path) -> None:
    assert phase_times(spans(nothing, (1.0, 1.25))) == [(1.0, 1.25, True)]
    table = TableBuilder(end_ns=BEGIN_NS + 60 * S)
    table.second("read", 10, 1, moved=MIB)
    busy = load_profile([store_record(tmp_path / "record", table)])
    profile = replace(spans(nothing, (5.0, 30.0)), timeline=busy.timeline, end_unix_ns=busy.end_unix_ns)
    assert phase_times(profile) == [(5.0, 10.0, True), (10.0, 11.0, False), (11.0, 30.0, True)]
    beside = replace(profile, maps=spans(nothing, (9.5, 11.5)).maps)
    assert phase_times(beside) == [(10.0, 11.0, False)]
    assert [with_map.mapped_bytes for with_map in with_maps(beside, phases(beside), maps(beside).bounds)] == [64 * MIB]


def mapped_read_evidence(profile: Profile) -> list[MappedReadEvidence]:
    evidences = []
    for finding in mapped_reads(ProfileFacts(profile, Thresholds())):
        assert isinstance(finding.evidence, MappedReadEvidence)
        assert (finding.severity == "warning") == finding.evidence.is_network
        evidences.append(finding.evidence)
    return evidences


def test_partly_read_maps_are_a_finding_and_fully_read_ones_only_on_a_network(nothing: Profile) -> None:
    sparse = mapped(resident_begin_bytes=0, resident_end_bytes=8 * MIB)
    dense = mapped(resident_begin_bytes=0, resident_end_bytes=64 * MIB)
    (local,) = mapped_read_evidence(program(nothing, sparse, storage_read_bytes=8 * MIB))
    assert (local.cause, local.is_network, local.fetched_bytes) == ("partial", False, 8 * MIB)
    facts = ProfileFacts(program(nothing, sparse, storage_read_bytes=8 * MIB), Thresholds())
    (message,) = (finding.message for finding in mapped_reads(facts))
    assert "scattered" not in message.headline  # it may be the first 8 MiB
    assert "is unknown" in message.details
    (remote,) = mapped_read_evidence(program(nothing, sparse, block=4 * MIB, storage_read_bytes=8 * MIB))
    assert (remote.cause, remote.is_network) == ("partial", True)
    (network,) = mapped_read_evidence(program(nothing, dense, block=4 * MIB, storage_read_bytes=64 * MIB))
    assert (network.cause, network.fetched_bytes) == ("network", 64 * MIB)
    assert not mapped_read_evidence(program(nothing, dense, storage_read_bytes=64 * MIB))
    warm = mapped(resident_begin_bytes=64 * MIB, resident_end_bytes=64 * MIB)
    assert not mapped_read_evidence(program(nothing, warm, block=4 * MIB))


def test_many_short_maps_are_one_phase_and_writing_is_another(nothing: Profile) -> None:
    assert phase_times(spans(nothing, *((1 + index / 100, 1.005 + index / 100) for index in range(200)))) == [
        (1.0, 2.995, True)
    ]
    written = mapped(access="write", first_map_s=2.0, last_unmap_s=6.0, file=0)
    phases_with_maps = with_maps(both := program(nothing, mapped(), written | {"process": 1}), [], maps(both).bounds)
    assert [(phase.direction, phase.start_s, phase.end_s) for phase in phases_with_maps] == [
        ("read", 1.0, 2.0),
        ("write", 2.0, 6.0),
    ]
