from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.analysis.test_feeding import swept as swept_accelerators
from ioassay.analysis.test_training import MS
from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Origin
from ioassay.sizing.quantities import Rate
from ioassay.sizing.runs import measured_by_ranks, measured_rate
from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S
from ioassay.testing.builder import RunBuilder
from ioassay.testing.measured_study import measured
from ioassay.testing.stored import store

REAL = Path(__file__).parents[3] / "tests" / "stored"

TREES = """\
name: trees
title: Metadata
question: How fast?
clients: [1]
ranks_per_client: [1]
workloads:
  flat:
    title: Flat
    tree: {depth: 0, items: 100}
    steps: [create-tree, create, stat, read, remove]
"""


def of(run: str, workload: str | None = None) -> Rate:
    return Rate.model_validate({"run": run, "workload": workload})


def stored(folder: Path, builder: RunBuilder) -> Path:
    store(builder.build(), folder / "run")
    return folder


def swept() -> RunBuilder:
    builder = RunBuilder().clients(1, 2, 4).repetitions(3).workload("seq", "Sequential")
    for clients, rates in {1: (1e9, 1.1e9, 1.2e9), 2: (2e9, 2.2e9, 2.1e9), 4: (1.5e9, 1.6e9, 1.7e9)}.items():
        builder.rates("seq", "write", clients, *rates)
    return builder


def test_the_rate_is_the_peak_of_the_sweep_with_the_interval_of_its_repetitions(tmp_path: Path) -> None:
    value = measured_rate(of("run"), "write rate of a brick", "write", stored(tmp_path, swept()))
    assert [float(end) for end in value.interval] == pytest.approx([2e9, 2.1e9, 2.2e9])
    assert value.dimension == BYTES_PER_S
    assert value.origin == Origin("measured", "run, Sequential, write")


def test_the_curve_has_a_rate_for_each_number_of_ranks(tmp_path: Path) -> None:
    curve = measured_by_ranks(of("run"), "write", stored(tmp_path, swept()))
    assert [ranks for ranks, _ in curve] == [1, 2, 4]
    assert [value.nominal for _, value in curve] == pytest.approx([1.1e9, 2.1e9, 1.6e9])


def test_a_real_run_tells_sequential_from_random_io() -> None:
    sequential = measured_rate(of("run-3-study"), "write rate", "write", REAL)
    random = measured_rate(of("run-3-study"), "random write rate", "random_write", REAL)
    assert (sequential.dimension, random.dimension) == (BYTES_PER_S, OPERATIONS_PER_S)
    assert "Sequential 1 MiB" in sequential.origin.source
    assert "Random 4 KiB" in random.origin.source


def test_several_workloads_are_named_to_choose_from(tmp_path: Path) -> None:
    folder = stored(tmp_path, RunBuilder().workload("own").workload("shared", layout="N-1"))
    with pytest.raises(UsageError, match="run has several workloads with sequential reads: own, shared") as error:
        measured_rate(of("run"), "read rate", "read", folder)
    assert "`workload`" in error.value.remedy
    assert measured_rate(of("run", "shared"), "read rate", "read", folder).nominal > 0


def test_a_workload_without_such_a_rate_is_refused_with_those_that_have_one(tmp_path: Path) -> None:
    folder = stored(tmp_path, RunBuilder().workload("seq").workload("small", order="random", transfer_bytes=4096))
    with pytest.raises(UsageError, match=r"workload seq of .*run has no valid rate of random reads") as error:
        measured_rate(of("run", "seq"), "random read rate", "random_read", folder)
    assert error.value.remedy == "These have: small."


def test_random_io_of_another_size_is_no_rate_of_4_kib(tmp_path: Path) -> None:
    folder = stored(tmp_path, RunBuilder().workload("large", order="random", transfer_bytes=1 << 20))
    with pytest.raises(UsageError, match="no valid rate of random writes of 4 KiB"):
        measured_rate(of("run"), "random write rate", "random_write", folder)


def test_a_run_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no-such-run"):
        measured_rate(of("no-such-run"), "write rate", "write", REAL)


@pytest.mark.parametrize("kind", ["create", "stat", "read_files", "remove"])
def test_metadata_operations_are_counted_by_themselves(tmp_path: Path, kind: str) -> None:
    store(
        measured(TREES, lambda case, key: {"create": 100.0, "stat": 400.0, "read": 300.0}.get(key[3], 200.0)),
        tmp_path / "run",
    )
    expected = {"create": 100.0, "stat": 400.0, "read_files": 300.0, "remove": 200.0}
    value = measured_rate(of("run"), "rate", kind, tmp_path)
    assert value.nominal == pytest.approx(expected[kind], rel=0.01)
    assert value.dimension == OPERATIONS_PER_S


def test_reads_of_small_files_in_trees_are_no_sequential_reads(tmp_path: Path) -> None:
    store(measured(TREES), tmp_path / "run")
    with pytest.raises(UsageError, match="no valid rate of sequential reads"):
        measured_rate(of("run"), "rate", "read", tmp_path)


COMPUTING = {1: 240 * MS, 2: 228 * MS, 4: 180 * MS, 8: 100 * MS}


def test_the_reads_of_training_are_those_of_the_accelerators_that_were_fed(tmp_path: Path) -> None:
    run = swept_accelerators(COMPUTING)
    store(run, tmp_path / "run")
    bytes_read = run.measurements.filter(phase="epoch-1", operation="read")["bytes"][0]
    value = measured_rate(of("run"), "read rate of a brick", "read", tmp_path)
    assert value.nominal == pytest.approx(bytes_read / 0.240)
    assert value.dimension == BYTES_PER_S
    assert value.origin == Origin("measured", "run, training with 2 accelerators, 95 % busy")
    curve = measured_by_ranks(of("run"), "read", tmp_path)
    assert [accelerators for accelerators, _ in curve] == [1, 2, 4, 8]
    assert "8 accelerators, 42 % busy" in str(curve[-1][1].origin)


def test_a_run_that_feeds_no_accelerator_is_refused(tmp_path: Path) -> None:
    store(swept_accelerators(dict.fromkeys(COMPUTING, 100 * MS)), tmp_path / "run")
    with pytest.raises(UsageError, match="feeds not even 1 accelerator") as error:
        measured_rate(of("run"), "read rate", "read", tmp_path)
    assert "fewer accelerators" in error.value.remedy


def test_a_workload_that_does_not_train_has_no_reads_of_training(tmp_path: Path) -> None:
    store(swept_accelerators(COMPUTING), tmp_path / "run")
    with pytest.raises(UsageError, match="no valid rate of sequential reads"):
        measured_rate(of("run", "other"), "read rate", "read", tmp_path)
