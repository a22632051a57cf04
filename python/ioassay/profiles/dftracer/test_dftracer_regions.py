"""What an application annotated, as regions: of real traces (`testdata/README.md`), and of lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ioassay.analysis.profile.regions import OUTSIDE, regions
from ioassay.profiles.dftracer.regions import Regions, Thread, is_annotated
from ioassay.profiles.model import Profile
from ioassay.profiles.sources import load_profile

TRACES = Path(__file__).parent / "testdata"
THREAD = Thread("node", 1, 1)
UNIT_NS = 1000


@pytest.fixture(scope="module")
def training() -> Profile:
    return load_profile([TRACES / "training.pfw.gz", TRACES / "training-worker.pfw.gz"])


def moved(profile: Profile) -> dict[str, tuple[int, int, int]]:
    """Of each region how often it was entered, and the bytes read and written in it without those within it."""
    rows = profile.region_operations.group_by("region", "operation").agg(pl.col("bytes").sum())
    sizes = {(region, operation): size for region, operation, size in rows.iter_rows()}
    entries = profile.regions.group_by("region").agg(pl.col("entries").sum()).sort("region")
    return {
        region: (count, sizes.get((region, "read"), 0), sizes.get((region, "write"), 0))
        for region, count in entries.iter_rows()
    }


def test_calls_are_in_the_innermost_function_or_block_of_their_thread(training: Profile) -> None:
    step = "pipeline.epoch.block > dataloader.fetch.block > step"
    assert moved(training) == {
        "pipeline.epoch.iter": (2, 0, 0),
        "pipeline.epoch.block": (2, 0, 0),
        "pipeline.epoch.block > checkpoint.capture": (2, 0, 2 * 777),
        "pipeline.epoch.block > dataloader.fetch.iter": (6, 0, 0),
        "pipeline.epoch.block > dataloader.fetch.block": (6, 0, 0),
        step: (6, 0, 0),
        f"{step} > load": (6, 6 * 1000, 0),
        f"{step} > load > decode": (6, 6 * 500, 0),
        f"{step} > compute": (6, 0, 0),
        f"{step} > checkpoint": (2, 0, 2 * 10_000),
        "join": (1, 0, 0),
        "prefetch": (1, 0, 0),
        "prefetch > load": (1, 1000, 0),
        "prefetch > load > decode": (1, 500, 0),
        "worker": (1, 0, 2000),
    }


def test_what_has_no_end_is_in_no_region(training: Profile) -> None:
    """`fail` ended by an exception, `unfinished` never: DFTracer writes no event for either."""
    outside = regions(training)[-1]
    assert outside.region == OUTSIDE
    assert outside.written_bytes == 5000 + 300 + 100


def test_time_in_a_region_is_that_of_its_events(training: Profile) -> None:
    by_region = {row["region"]: row for row in training.regions.iter_rows(named=True)}
    epoch, fetch = by_region["pipeline.epoch.block"], by_region["pipeline.epoch.block > dataloader.fetch.block"]
    assert epoch["stayed_ns"] > fetch["stayed_ns"] > 6 * 30_000
    assert epoch["longest_ns"] < epoch["stayed_ns"]
    assert 0 < epoch["first_s"] < fetch["first_s"] < fetch["last_s"] < epoch["last_s"] < training.duration_s


def test_functions_of_c_that_are_shorter_than_the_clock_are_beside_each_other_and_recursion_within() -> None:
    profile = load_profile([TRACES / "annotated.pfw.gz"])
    by_region = moved(profile)
    assert profile.processes.height == 1
    assert by_region["loop"] == (1, 0, 100 * 3)
    assert by_region["loop > tiny"] == (300, 0, 100 * 10)
    assert "loop > tiny > tiny" not in by_region
    deepest = " > ".join(["recurse"] * 16)
    assert by_region[deepest] == (1, 0, (21 - 15) * 5)
    assert [(loss.kind, loss.amount) for loss in profile.losses] == [("lost-regions", 5)]


def nested(events: Iterable[tuple[str, int, int]]) -> Regions:
    """Events (name, begin, end) of a thread in the order of their lines."""
    regions = Regions()
    for name, begin, end in events:
        regions.add(THREAD, {"name": name, "cat": "APP", "ts": begin, "dur": end - begin}, UNIT_NS)
    regions.nest()
    return regions


def entered(regions: Regions) -> dict[str, int]:
    return dict(regions.stays({THREAD[:2]: 0}, 0).select("region", "entries").iter_rows())


def bytes_of(regions: Regions) -> dict[str, int]:
    return dict(regions.operations({THREAD[:2]: 0}).select("region", "bytes").iter_rows())


def test_what_is_within_what_follows_from_times_in_any_order_of_lines() -> None:
    events = [("step", 0, 100), ("load", 10, 20), ("save", 30, 60), ("sync", 40, 60), ("step", 100, 200)]
    assert entered(nested(events)) == entered(nested(reversed(events))) == {
        "step": 2, "step > load": 1, "step > save": 1, "step > save > sync": 1,
    }  # fmt: skip


def test_where_two_events_touch_the_one_written_first_is_within() -> None:
    assert entered(nested([("inner", 10, 10), ("outer", 0, 10)])) == {"outer": 1, "outer > inner": 1}
    assert entered(nested([("before", 0, 10), ("after", 10, 10)])) == {"before": 1, "after": 1}


def test_a_call_that_begins_when_an_event_has_ended_is_not_in_it() -> None:
    regions = nested([("load", 5, 10), ("step", 0, 20)])
    regions.add_call(THREAD, "read", 10 * UNIT_NS, 0, 1)
    regions.pass_event(THREAD)
    regions.add_call(THREAD, "read", 10 * UNIT_NS, 0, 100)
    assert bytes_of(regions) == {"step > load": 1, "step": 100}


def test_blocks_that_overlap_have_what_began_since_they_did() -> None:
    """Generators and coroutines leave blocks in another order than they entered them."""
    regions = nested([("first", 0, 10), ("second", 5, 15)])
    for begin in (2, 7, 12):
        regions.add_call(THREAD, "read", begin * UNIT_NS, UNIT_NS, begin)
    assert bytes_of(regions) == {"first": 2, "second": 7 + 12}


def test_a_call_is_in_no_region_of_another_thread() -> None:
    regions = nested([("step", 0, 10)])
    regions.add_call(Thread("node", 1, 2), "read", 5 * UNIT_NS, UNIT_NS, 1)
    assert bytes_of(regions) == {}


def test_many_names_are_those_around_them_and_counted() -> None:
    regions = nested([*((f"step {number}", number, number + 1) for number in range(1000)), ("run", 0, 1000)])
    for number in range(1000):
        regions.add_call(THREAD, "read", number * UNIT_NS, UNIT_NS, 1)
    assert len(entered(regions)) == 256
    assert sum(bytes_of(regions).values()) == 1000
    assert bytes_of(regions)["run"] == 1000 - 255
    assert list(regions.lost()) == [(1, 1000 - 255)]


def test_a_name_that_was_entered_many_times_is_one_region() -> None:
    regions = nested([*(("step", 2 * number, 2 * number + 1) for number in range(50_000)), ("run", 0, 100_000)])
    assert entered(regions) == {"run": 1, "run > step": 50_000}


def test_events_of_libraries_are_no_regions() -> None:
    event = {"name": "step", "cat": "APP", "ph": 1}
    assert [kind for kind in range(15) if is_annotated(event | {"type": kind})] == [2, 6, 9]
    assert is_annotated(event | {"ph": "X", "cat": "CPP_APP"})
    assert not any(is_annotated(event | {"cat": library}) for library in ("POSIX", "STDIO", "MPI", "HDF5", "dftracer"))


class RandomProgram:
    """A random tree of functions and reads, written as DFTracer does: each when it ends."""

    def __init__(self, seed: int) -> None:
        self._dice = np.random.default_rng(seed)
        self._clock = 1_000_000
        self.lines: list[dict[str, object]] = []
        self.expected: dict[str, int] = {}
        self._run(())
        self.expected.pop("", None)

    def _run(self, path: tuple[str, ...]) -> None:
        for _ in range(self._dice.integers(1, 4)):
            begin = self._clock
            self._clock += int(self._dice.integers(1, 5))
            if len(path) < 5 and self._dice.random() < 0.6:
                name = f"f{self._dice.integers(0, 3)}"
                self._run((*path, name))
                self._clock += int(self._dice.integers(1, 5))
                self._end({"name": name, "cat": "APP", "type": 6}, begin)
            else:
                size, region = int(self._dice.integers(1, 1000)), " > ".join(path)
                self._end({"name": "read", "cat": "POSIX", "args": {"fname": "/data", "ret": size}}, begin)
                self.expected[region] = self.expected.get(region, 0) + size
            self._clock += int(self._dice.integers(1, 3))

    def _end(self, line: dict[str, object], begin: int) -> None:
        self.lines.append(line | {"pid": 7, "tid": 7, "ts": begin, "dur": self._clock - begin, "ph": 1})


@pytest.mark.parametrize("seed", range(20))
def test_the_reads_of_each_function_of_a_random_program_are_found(tmp_path: Path, seed: int) -> None:
    program = RandomProgram(seed)
    read = {"name": "read", "cat": "POSIX", "args": {"fname": "/data", "ret": 0}, "ts": 1, "pid": 8, "tid": 8, "ph": 1}
    (tmp_path / "trace.pfw").write_text("".join(f"{json.dumps(line)}\n" for line in [*program.lines, read]))
    profile = load_profile([tmp_path / "trace.pfw"])
    assert dict(profile.region_operations.select("region", "bytes").iter_rows()) == program.expected


def test_no_damage_of_annotated_events_ends_in_a_traceback(tmp_path: Path) -> None:
    profile = load_profile([TRACES / "annotated.pfw.gz"])
    line = {"name": "f", "cat": "C_APP", "type": 2, "pid": 1, "tid": 1, "ts": 5, "dur": 5, "ph": 1}
    odd: tuple[object, ...] = (None, -1, 2**80, "x", [], {}, True, 1.5)
    call = {"name": "read", "cat": "POSIX", "type": 3, "pid": 1, "tid": 1, "ts": 6, "dur": 1, "ph": 1}
    lines = [line | {key: value} for key in line for value in odd]
    content = "".join(f"{json.dumps(document)}\n" for document in [*lines, call | {"args": {"fname": "/f", "ret": 9}}])
    (tmp_path / "odd.pfw").write_text(content)
    damaged_profile = load_profile([tmp_path / "odd.pfw"])
    assert damaged_profile.process_operations["bytes"].sum() == 9
    assert profile.regions.schema == damaged_profile.regions.schema
