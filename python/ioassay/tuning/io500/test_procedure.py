"""The whole procedure on made-up systems with known curves: where it stops, what it recommends, how it goes on."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.execution.interruption import Interruption
from ioassay.store.tune_io500_directory import TuneIo500Directory
from ioassay.store.tune_io500_document import TuneIo500Document
from ioassay.testing.artificial_io500 import GB, ArtificialSystem, Curve, flat, peaked, saturating, tune_document
from ioassay.tuning.io500 import history
from ioassay.tuning.io500.answer import Answer, answer, front_end_command, front_end_config, study_command
from ioassay.tuning.io500.procedure import Procedure


def _tuned(path: Path, system: ArtificialSystem, document: TuneIo500Document | None = None) -> Answer:
    directory = TuneIo500Directory.create(path, document) if document else TuneIo500Directory.reopen(path)
    with directory:
        Procedure(directory, system, lambda line: None, Interruption()).run()
        return answer(directory.document)


def _decided(path: Path, system: ArtificialSystem, ceiling: float | None = None) -> Answer:
    result = _tuned(path, system, tune_document(ceiling))
    assert result.document.state == "complete"
    assert result.is_decided
    assert {measurement.run for measurement in result.document.measurements} == {
        f"{index:04}-{measurement.stage}-{measurement.ranks}"
        for index, measurement in enumerate(result.document.measurements, start=1)
    }
    return result


def test_a_curve_that_saturates_ends_at_the_ceiling(tmp_path: Path) -> None:
    def curve(ranks: int) -> float:
        return min(36 * GB, 5 * GB * ranks)

    result = _decided(tmp_path / "t", ArtificialSystem(curve, flat(50_000)), ceiling=36 * GB)
    assert (result.ramp.end, result.ramp.ranks) == ("ceiling", 8)


def test_one_rank_that_has_the_ceiling_already_ends_it_at_once(tmp_path: Path) -> None:
    result = _decided(tmp_path / "t", ArtificialSystem(flat(35 * GB), flat(50_000)), ceiling=36 * GB)
    assert (result.ramp.end, result.ramp.ranks) == ("ceiling", 1)


def test_a_ceiling_that_is_exceeded_stops_nothing(tmp_path: Path) -> None:
    result = _decided(tmp_path / "t", ArtificialSystem(peaked(36 * GB, 8), flat(50_000)), ceiling=10 * GB)
    assert (result.ramp.end, result.ramp.ranks) == ("loss", 8)


@pytest.mark.parametrize("peak", [1, 4, 32])
def test_a_peak_ends_the_ramp(tmp_path: Path, peak: int) -> None:
    result = _decided(tmp_path / "t", ArtificialSystem(peaked(20 * GB, peak), flat(50_000)))
    assert (result.ramp.end, result.ramp.ranks) == ("loss", peak)
    assert result.balance.best == peak


def test_a_curve_without_a_ceiling_ends_where_the_gain_does(tmp_path: Path) -> None:
    """Doubling brings 33 % from 4 to 8, 5 % and less beyond 32."""
    result = _decided(tmp_path / "t", ArtificialSystem(saturating(30 * GB, 2), flat(50_000), noise=0.005))
    assert (result.ramp.end, result.ramp.ranks) == ("no gain", 32)


def test_a_flat_curve_ends_at_one_rank(tmp_path: Path) -> None:
    result = _decided(tmp_path / "t", ArtificialSystem(flat(3 * GB), flat(50_000)))
    assert (result.ramp.end, result.ramp.ranks) == ("no gain", 1)


def test_a_curve_that_only_rises_ends_at_the_most_ranks(tmp_path: Path) -> None:
    result = _decided(tmp_path / "t", ArtificialSystem(lambda ranks: ranks * GB, flat(50_000)))
    assert (result.ramp.end, result.ramp.ranks) == ("most ranks", 64)


def test_a_steady_drift_is_not_taken_for_a_loss(tmp_path: Path) -> None:
    """1 % slower from run to run: 64 ranks are measured when half of the rate of the beginning is left."""
    result = _decided(tmp_path / "t", ArtificialSystem(lambda ranks: ranks * GB, flat(50_000), drift=0.01))
    assert result.ramp.ranks == 64


@pytest.mark.parametrize(
    ("metadata", "best"),
    [
        (flat(50_000), 16),
        (peaked(90_000, 4), 4),  # steeper than the bandwidth: beyond the neighbours of its optimum
        (lambda ranks: 1000.0 * ranks**2, 64),
    ],
)
def test_metadata_moves_the_optimum_of_bandwidth(tmp_path: Path, metadata: Curve, best: int) -> None:
    def bandwidth(ranks: int) -> float:
        return 20 * GB * min(math.pow(ranks / 16, 0.7), math.pow(16 / ranks, 0.4))

    result = _decided(tmp_path / "t", ArtificialSystem(bandwidth, metadata))
    assert result.ramp.ranks == 16
    assert result.balance.best == best


def test_a_procedure_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    whole = ArtificialSystem(peaked(20 * GB, 4), flat(50_000), noise=0)
    wanted = _decided(tmp_path / "whole", whole)
    first = ArtificialSystem(peaked(20 * GB, 4), flat(50_000), noise=0, interrupts_after=11)
    path = tmp_path / "parts"
    begun = _tuned(path, first, tune_document())
    assert begun.document.state == "interrupted"
    assert len(begun.document.measurements) == 11
    done = _tuned(path, ArtificialSystem(peaked(20 * GB, 4), flat(50_000), noise=0))
    assert done.document.state == "complete"
    assert done.document.measurements[:11] == begun.document.measurements
    assert (done.ramp, done.balance) == (wanted.ramp, wanted.balance) or done.balance.best == wanted.balance.best
    # Of the pair that was interrupted half is measured again.
    assert len(done.document.measurements) == len(wanted.document.measurements) + 1


def test_the_run_of_a_killed_procedure_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with TuneIo500Directory.create(path, tune_document(most_ranks=1)) as directory:
        directory.run("0001-balance-1").mkdir()
    result = _tuned(path, ArtificialSystem(flat(GB), flat(1000)))
    assert result.document.measurements[0].run == "0001-balance-1-again"


def test_a_rank_count_that_cannot_be_measured_ends_the_ramp(tmp_path: Path) -> None:
    system = ArtificialSystem(
        lambda ranks: ranks * GB,
        flat(50_000),
        why_invalid=lambda stage, ranks: "No space left on device" if ranks >= 8 else None,
    )
    result = _decided(tmp_path / "t", system)
    assert (result.ramp.end, result.ramp.ranks) == ("failed", 4)
    assert result.balance.best == 4
    assert max(ranks for stage, ranks in system.measured if stage == "balance") == 4


@pytest.mark.parametrize("stage", ["ior-easy", "balance"])
def test_a_system_that_cannot_be_measured_at_all_fails(tmp_path: Path, stage: str) -> None:
    system = ArtificialSystem(
        lambda ranks: ranks * GB,
        flat(50_000),
        why_invalid=lambda measured, ranks: "no space" if measured == stage else None,
    )
    with pytest.raises(CannotRun, match=r"No valid measurement with .*: no space"):
        _tuned(tmp_path / "t", system, tune_document(most_ranks=4))
    document = TuneIo500Directory.read(tmp_path / "t")
    assert document.state == "failed"
    assert document.reason is not None
    assert answer(document).best is None


def test_a_run_that_leaves_something_on_the_target_stops_it(tmp_path: Path) -> None:
    system = ArtificialSystem(flat(GB), flat(1000))
    untidy = system.run

    def run(*arguments: object) -> object:
        from dataclasses import replace  # noqa: PLC0415

        return replace(untidy(*arguments), leftovers=["/mnt/store/ioassay-r"])  # type: ignore[arg-type]

    system.run = run  # type: ignore[assignment, method-assign]
    with pytest.raises(CannotRun, match="left /mnt/store/ioassay-r on the target") as refused:
        _tuned(tmp_path / "t", system, tune_document())
    assert "ioassay clean" in refused.value.remedy


def test_the_command_lines_have_nodes_ranks_and_shifts() -> None:
    document = tune_document(launcher="srun", user_settings=["easy_transfer=1MiB", "easy_size=64MiB"])
    assert study_command(document, 16) == (
        "ioassay run io500 --target /mnt/store --launcher srun --set clients=1 --set ranks=16 --set easy_transfer=1MiB"
    )
    several = document.model_copy(update={"nodes": document.nodes.model_copy(update={"nodes": 3})})
    assert study_command(several, 16).endswith(
        "--set clients=3 --set ranks=16 --set stat_shift=16 --set read_shift=32 --set delete_shift=48 "
        "--set easy_transfer=1MiB"
    )
    assert front_end_command(several, 16) == "srun --nodes=3 --ntasks-per-node=16 ioassay-engine io500 config.ini"
    with_hosts = several.model_copy(update={"launcher": "mpirun", "hosts": ["a", "b", "c", "d"]})
    assert front_end_command(with_hosts, 2) == "mpirun --host a:2,b:2,c:2 -np 6 ioassay-engine io500 config.ini"
    assert front_end_command(tune_document(), 2) == "ioassay-engine io500 --ranks 2 config.ini"


def test_the_front_end_is_configured_as_the_study_runs() -> None:
    document = tune_document(user_settings=["easy_transfer=1MiB"])
    wanted = "[global]\ndatadir = /mnt/store\ndrop-caches = TRUE\n\n[ior-easy]\ntransferSize = 1048576\n"
    assert front_end_config(document) == wanted
    several = tune_document(nodes=document.nodes.model_copy(update={"nodes": 2}))
    assert front_end_config(several) == "[global]\ndatadir = /mnt/store\n"


def test_pairs_alternate(tmp_path: Path) -> None:
    system = ArtificialSystem(flat(GB), flat(1000))
    result = _decided(tmp_path / "t", system)
    turns = [
        [measurement.ranks for measurement in history.easy(result.document) if measurement.turn == turn]
        for turn in range(4)
    ]
    assert turns == [[1, 2], [2, 1], [1, 2], [2, 1]]
