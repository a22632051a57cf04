"""Faithfulness of replays, with synthetic measurements."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from ioassay.analysis.replay.faithful import Faithfulness, Order, faithfulness
from ioassay.store.loaded import LoadedRun
from ioassay.store.schema import RANKS, SAMPLES
from ioassay.testing.measured_study import measured

S = 10**9

STUDY = """\
name: app
title: Replay of app
question: Q?
clients: [1]
ranks_per_client: 2
sample_interval: 1s
workloads:
  replay:
    title: Replay of app
    trees:
      in: {items: 4, sharing: shared-items}
      out: {items: 4, sharing: shared-items}
    steps:
      - create-tree: {name: tree-in, tree: in}
      - create-tree: {name: tree-out, tree: out}
      - replay: {name: prepare, streams: [{fill: {tree: in, file_size: 8MiB}}]}
      - replay:
          name: phase-1
          duration: 2s
          streams:
            - read: {tree: in, count: 8, opens: 2, file_size: 4MiB, sizes: 1MiB}
      - pause: 2s
      - replay:
          name: phase-2
          duration: 4s
          streams:
            - write: {tree: out, count: 4, file_size: 4MiB, sizes: 1MiB}
replays:
  source: app
  processes: 2
  duration: 8s
  phases: [phase-1, phase-2]
  read:
    {operations: 16, bytes: 16MiB, sizes: {1MiB: 16}, timeline: [1, 1, 0, 0, 0, 0, 0, 0],
     order: {consecutive: 8, forward: 4, backward: 4}, rank_bytes: {least: 4MiB, most: 12MiB}}
  write: {operations: 16, bytes: 16MiB, sizes: {4KiB: 8, 2MiB: 8}, timeline: [0, 0, 0, 0, 1, 1, 1, 1]}
  metadata: {operations: 12, timeline: [4, 0, 0, 0, 4, 0, 0, 4]}
  left_out: [{operation: list, calls: 3, time: 2ms}]
"""


def run(samples: dict[str, dict[int, int]], *, complete: bool = True) -> LoadedRun:
    """A run whose phases took 2 s and 4 s with 2 s between them; MiB by second of each phase."""
    planned = measured(STUDY)
    begins = {"phase-1": 100 * S, "phase-2": 104 * S}
    taken = {"phase-1": 2 * S, "phase-2": 4 * S}
    moving = {"phase-1": "read", "phase-2": "write"}
    begin = pl.col("phase").replace_strict(begins, default=0, return_dtype=pl.Int64)
    took = pl.col("phase").replace_strict(taken, default=S, return_dtype=pl.Int64)
    sums = {phase: sum(seconds.values()) for phase, seconds in samples.items()}
    operation = pl.col("phase").replace_strict(moving, default="", return_dtype=pl.String) == pl.col("operation")
    moved = pl.when(operation).then(pl.col("phase").replace_strict(sums, default=0, return_dtype=pl.Int64)).otherwise(0)
    measurements = planned.measurements.with_columns(
        started_unix_ns=begin,
        duration_ns=took,
        bytes=moved * (1 << 20),
        operations=pl.when(operation).then(moved).otherwise(4),
        complete=pl.lit(complete),
    )
    case = planned.document.cases[0].id
    rows = [
        (case, phase, phase, moving[phase], 0, second, amount << 20, amount, 0)
        for phase, amounts in samples.items()
        for second, amount in amounts.items()
    ]
    return replace(planned, measurements=measurements, samples=pl.DataFrame(rows, schema=SAMPLES, orient="row").lazy())


def only(of: LoadedRun) -> Faithfulness:
    (faithfulness_of_case,) = faithfulness(of)
    return faithfulness_of_case


AS_RECORDED = {"phase-1": {0: 8, 1: 8}, "phase-2": {0: 2, 1: 2, 2: 2, 3: 2}}


def test_operations_and_bytes_are_those_of_the_replayed_phases_alone() -> None:
    read, write, metadata = only(run(AS_RECORDED)).classes
    assert (read.operations, read.bytes, read.operations_ratio, read.bytes_ratio) == (16, 16 << 20, 1, 1)
    assert (write.operations, write.bytes, write.operations_ratio, write.bytes_ratio) == (8, 8 << 20, 0.5, 0.5)
    # Opens and closes of both phases; preparation does not count.
    assert (metadata.operations, metadata.bytes, metadata.bytes_ratio) == (16, 0, None)


def test_sizes_are_compared_in_the_buckets_of_the_recorder() -> None:
    read, write, metadata = only(run(AS_RECORDED)).classes
    assert read.size_distance == 0
    assert write.size_distance == 0.5
    assert metadata.size_distance is None


def test_equal_time_lines_have_no_distance_and_others_the_largest_cumulative_difference() -> None:
    read, write, _ = only(run(AS_RECORDED)).classes
    assert read.timeline_distance == pytest.approx(0, abs=0.01)
    assert write.timeline_distance == pytest.approx(0, abs=0.01)
    read, write, _ = only(run(AS_RECORDED | {"phase-2": {0: 7, 3: 1}})).classes
    assert write.timeline_distance == pytest.approx(7 / 8 - 1 / 4)


def test_the_duration_is_that_of_all_phases_with_the_pauses_between() -> None:
    replay = only(run(AS_RECORDED))
    assert (replay.recorded_ns, replay.duration_ns, replay.duration_ratio) == (8 * S, 8 * S, 1)
    assert replay.is_complete
    assert not only(run(AS_RECORDED, complete=False)).is_complete


def test_a_damaged_duration_has_no_ratio() -> None:
    assert replace(only(run(AS_RECORDED)), recorded_ns=0).duration_ratio is None


def test_a_run_without_phases_has_no_faithfulness_and_one_that_lacks_some_is_incomplete() -> None:
    whole = run(AS_RECORDED)
    none = replace(whole, measurements=whole.measurements.filter(~pl.col("phase").str.starts_with("phase")))
    assert faithfulness(none) == []
    first = replace(whole, measurements=whole.measurements.filter(pl.col("phase") != "phase-2"))
    assert not only(first).is_complete


def test_other_studies_replay_nothing() -> None:
    study = STUDY.partition("replays:")[0]
    assert faithfulness(measured(study)) == []


def test_the_planned_order_is_compared() -> None:
    read, write, metadata = only(run(AS_RECORDED)).classes
    assert read.recorded_order == Order(backward=0.25, consecutive=0.5, forward=0.25)
    assert read.order == Order(backward=0, consecutive=1, forward=0)
    assert read.order_distance == 0.25
    assert (write.recorded_order, write.order_distance, metadata.order) == (None, None, None)


def test_ranks_are_compared_by_the_least_and_the_most_bytes_of_a_rank() -> None:
    measured_run = run(AS_RECORDED)
    case = measured_run.document.cases[0].id
    rows = [
        {"case": case, "phase": "phase-1", "operation": "read", "rank": index, "bytes": index + 5} for index in range(2)
    ]
    rows += [{"case": case, "phase": "phase-2", "operation": "write", "rank": 1, "bytes": 7}]
    read, write, metadata = only(replace(measured_run, ranks=pl.DataFrame(rows, schema=RANKS))).classes
    assert (read.recorded_rank_bytes, read.rank_bytes) == ((4 << 20, 12 << 20), (5, 6))
    # A rank without a row moved nothing.
    assert (write.recorded_rank_bytes, write.rank_bytes, metadata.rank_bytes) == (None, (0, 7), None)
