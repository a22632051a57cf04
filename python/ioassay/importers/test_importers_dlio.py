"""DLIO's folders become epochs and checkpoints: as printed, doubted where they contradict themselves, or refused."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioassay.importers.dlio import gather
from ioassay.importers.model import Case, Measurement
from ioassay.importers.stored import Gathered
from ioassay.testing.importer_samples import FILES, damages

RELEASE = FILES / "dlio" / "2.0.0-two-ranks"
NEWER = FILES / "dlio" / "e1919d7-two-ranks"
GENERATED = FILES / "dlio" / "e1919d7-generate-and-train"
CHECKPOINTS = FILES / "dlio" / "e1919d7-checkpoints"


def gathered(*paths: Path) -> Gathered:
    """The run of a folder."""
    (run,) = gather(paths)
    return run


def cases(folder: Path, phase: str) -> list[Case]:
    """The run's cases that have this phase."""
    run = gathered(folder)
    assert run.refused == []
    return [case for case in run.cases if any(measurement.phase == phase for measurement in case.measured)]


def measured(folder: Path, phase: str) -> list[Measurement]:
    """The measurements of this phase."""
    return [measurement for case in cases(folder, phase) for measurement in case.measured if measurement.phase == phase]


def doubts(folder: Path, phase: str = "train") -> list[set[str]]:
    """The kinds of doubts of each measurement."""
    return [{doubt.kind for doubt in measurement.doubts} for measurement in measured(folder, phase)]


def summary(folder: Path) -> Any:
    """The summary of a sample."""
    return json.loads((folder / "summary.json").read_text())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what two ranks of the newer version wrote, to be changed."""
    return shutil.copytree(NEWER, tmp_path / "out")


def change(folder: Path, **values: Any) -> None:
    """Sets fields of the summary, those of its metric by their name."""
    document = summary(folder)
    for name, value in values.items():
        (document["metric"] if name in document["metric"] else document)[name] = value
    (folder / "summary.json").write_text(json.dumps(document, indent=4))


def reason(folder: Path) -> str:
    """Why a folder is refused."""
    run = gathered(folder)
    assert run.cases == []
    (refused,) = run.refused
    return refused.reason


@pytest.mark.parametrize("folder", [RELEASE, NEWER])
def test_an_epoch_is_a_repetition_with_the_printed_samples_per_second(folder: Path) -> None:
    training = cases(folder, "train")
    printed = summary(folder)["metric"]["train_throughput_samples_per_second"]
    assert [case.measured[0].rate_operations_per_s for case in training] == printed
    assert len({tuple(case.settings) for case in training}) == 1
    assert {(case.ranks, case.clients) for case in training} == {(2, 1)}


@pytest.mark.parametrize("folder", [RELEASE, NEWER])
def test_bytes_are_samples_times_the_configured_size_and_doubted(folder: Path) -> None:
    for measurement in measured(folder, "train"):
        assert measurement.rate_bytes_per_s == pytest.approx((measurement.rate_operations_per_s or 0) * 65536)
        assert (measurement.operations, measurement.bytes) == (96, 96 * 65536)
        assert "nominal-size" in {doubt.kind for doubt in measurement.doubts}


@pytest.mark.parametrize("folder", [RELEASE, NEWER])
def test_each_rank_has_the_samples_of_its_own_file(folder: Path) -> None:
    for measurement in measured(folder, "train"):
        assert measurement.each is not None
        assert measurement.each.select("rank", "node", "operations").rows() == [(0, "node001", 48), (1, "node001", 48)]


def test_an_epoch_took_as_long_as_its_blocks_and_names_its_line() -> None:
    stats = json.loads((NEWER / "0_per_epoch_stats.json").read_text())
    for number, measurement in enumerate(measured(NEWER, "train"), start=1):
        assert measurement.duration_ns == round(float(stats[str(number)]["block1"]["duration"]) * 1e9)
        line = (NEWER / "summary.json").read_text().splitlines()[measurement.line - 1]
        assert float(line.strip(" ,")) == measurement.rate_operations_per_s


def test_a_save_has_the_printed_size_time_and_rate_in_binary_units() -> None:
    stats = json.loads((CHECKPOINTS / "0_per_epoch_stats.json").read_text())
    size = round(summary(CHECKPOINTS)["metric"]["checkpoint_size_GB"] * 2**30)
    steps = [step for epoch in stats.values() for name, step in epoch.items() if name.startswith("save_ckpt")]
    measurements = measured(CHECKPOINTS, "save")
    assert [(measurement.bytes, measurement.rate_bytes_per_s) for measurement in measurements] == [
        (size, step["throughput"] * 2**30) for step in steps
    ]
    assert [measurement.duration_ns for measurement in measurements] == [
        round(step["duration"] * 1e9) for step in steps
    ]
    assert [measurement.line for measurement in measurements] == sorted(
        {measurement.line for measurement in measurements}
    )


def test_a_load_of_a_checkpoint_saved_before_may_come_from_the_cache() -> None:
    assert [measurement.operation for measurement in measured(CHECKPOINTS, "load")] == ["read", "read"]
    assert all("may-be-cached" in kinds for kinds in doubts(CHECKPOINTS, "load"))


def test_saves_without_fsync_are_doubted() -> None:
    assert all("unsynced-write" in kinds for kinds in doubts(NEWER, "save"))
    assert not any("unsynced-write" in kinds for kinds in doubts(CHECKPOINTS, "save"))


def test_checkpoints_without_a_printed_size_are_not_measurements() -> None:
    assert {measurement.phase for case in gathered(RELEASE).cases for measurement in case.measured} == {"train"}
    facts = {fact.name: fact.value for fact in cases(RELEASE, "train")[0].facts}
    assert facts["checkpoints of unknown size"].startswith("2 saves of ")


def test_checkpoints_of_a_summary_alone_are_means(copy: Path) -> None:
    for stats in copy.glob("*per_epoch_stats.json"):
        stats.unlink()
    (measurement,) = measured(copy, "save")
    printed = summary(NEWER)["metric"]["save_checkpoint_io_mean_GB_per_second"]
    assert measurement.rate_bytes_per_s == pytest.approx(printed * 2**30)
    assert "mean-only" in {doubt.kind for doubt in measurement.doubts}


def test_ranks_are_summed_without_a_summary(copy: Path) -> None:
    (copy / "summary.json").unlink()
    printed = summary(NEWER)["metric"]["train_throughput_samples_per_second"]
    assert [measurement.rate_operations_per_s for measurement in measured(copy, "train")] == pytest.approx(printed)


def test_utilisation_below_the_goal_is_doubted(copy: Path) -> None:
    assert all("utilisation-goal-missed" in kinds for kinds in doubts(NEWER))
    change(copy, train_au_percentage=[95.0] * 3, train_au_mean_percentage=95.0, train_au_meet_expectation="success")
    assert not any("utilisation-goal-missed" in kinds for kinds in doubts(copy))
    change(copy, train_au_percentage=[80.0] * 3, train_au_mean_percentage=80.0)
    assert all({"utilisation-goal-missed", "does-not-add-up"} <= kinds for kinds in doubts(copy))


@pytest.mark.parametrize("percent", [100.5, -1.0, float("nan"), 1e300])
def test_an_impossible_utilisation_is_refused(copy: Path, percent: float) -> None:
    change(copy, train_au_percentage=[95.0, percent, 95.0])
    assert reason(copy)


def test_a_throughput_of_zero_in_every_epoch_is_refused(copy: Path) -> None:
    change(copy, train_throughput_samples_per_second=[0.0, 0.0, 0.0])
    assert "nothing was measured" in reason(copy)


def test_bytes_of_another_size_than_configured_are_doubted() -> None:
    """DLIO at e1919d7 prints 0.00003 MB/s where one execution generates the data and trains on them."""
    measurements = measured(GENERATED, "train")
    assert [measurement.rate_bytes_per_s for measurement in measurements] == [
        (measurement.rate_operations_per_s or 0) * 65536 for measurement in measurements
    ]
    messages = [
        doubt.message for measurement in measurements for doubt in measurement.doubts if doubt.kind == "does-not-add-up"
    ]
    assert len(messages) == 3
    assert "samples of 1 bytes" in messages[0]


def test_throughput_that_contradicts_samples_and_time_is_doubted(copy: Path) -> None:
    assert not any("does-not-add-up" in kinds for kinds in doubts(NEWER))
    for rank in (0, 1):
        (copy / f"{rank}_output.json").unlink()
    rates = summary(NEWER)["metric"]["train_throughput_samples_per_second"]
    mean = sum(rates) * 2 / 3
    change(
        copy,
        train_throughput_samples_per_second=[2 * rate for rate in rates],
        train_throughput_mean_samples_per_second=mean,
        train_io_mean_MB_per_second=mean / 16,
    )
    assert all("does-not-add-up" in kinds for kinds in doubts(copy))


def test_an_edited_epoch_contradicts_the_mean_and_the_ranks(copy: Path) -> None:
    rates = summary(NEWER)["metric"]["train_throughput_samples_per_second"]
    change(copy, train_throughput_samples_per_second=[rates[0] * 1.1, *rates[1:]])
    messages = {doubt.message for doubt in measured(copy, "train")[0].doubts if doubt.kind == "does-not-add-up"}
    assert any("printed mean" in message for message in messages)
    assert any("ranks' own files" in message for message in messages)


def test_epochs_after_the_first_may_come_from_memory() -> None:
    assert ["may-be-cached" in kinds for kinds in doubts(NEWER)] == [False, True, True]
    assert ["may-be-cached" in kinds for kinds in doubts(GENERATED)] == [True, True, True]


def test_the_files_of_mlperf_storage_are_found(copy: Path) -> None:
    plain = [case.settings for case in gathered(copy).cases]
    for place in ("configs", "dlio_config"):
        shutil.move(copy / ".hydra", copy / place)
        assert [case.settings for case in gathered(copy).cases] == plain
        shutil.move(copy / place, copy / ".hydra")


def test_several_folders_are_one_run(tmp_path: Path) -> None:
    for name in ("run1", "run2"):
        shutil.copytree(NEWER, tmp_path / name)
    (tmp_path / "run1" / "dlio.log").write_text("[INFO] started\n")
    run = gathered(tmp_path)
    assert run.refused == []
    assert len(run.cases) == 2 * len(gathered(NEWER).cases)


@pytest.mark.parametrize(
    "values",
    [
        {"num_files_train": 10**30},
        {"num_accelerators": 10**400},
        {"num_files_train": 10**9, "num_samples_per_file": 10**9},
        {"checkpoint_size_GB": 1e17},
        {"train_throughput_samples_per_second": [1.0, 10**400, 1.0]},
    ],
)
def test_numbers_beyond_the_tables_are_refused(copy: Path, values: dict[str, Any]) -> None:
    for rank in (0, 1):
        (copy / f"{rank}_output.json").unlink()
    change(copy, **values)
    refusal = reason(copy)
    assert any(words in refusal for words in ("more than any", "checkpoint", "should have a whole number"))
    assert len(refusal) < 300


def test_a_time_before_1970_is_ignored(copy: Path) -> None:
    for stats in copy.glob("*per_epoch_stats.json"):
        stats.write_text(stats.read_text().replace("2026-11-28", "0001-01-01"))
    assert {measurement.started_unix_ns for measurement in measured(copy, "train")} == {None}


def test_an_execution_that_only_generated_data_is_refused(copy: Path) -> None:
    for stats in copy.glob("*per_epoch_stats.json"):
        stats.unlink()
    change(copy, metric={})
    assert "only generated" in reason(copy)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "results.json"
    other.write_text("{}")
    assert "none of DLIO's" in reason(other)
    assert "has no summary.json" in reason(tmp_path)
    (tmp_path / "summary.json").write_text('{"jobs": []}')
    assert "not a summary of DLIO" in reason(tmp_path)


FILES_OF_SAMPLES = [
    (folder, path.relative_to(folder))
    for folder in (RELEASE, NEWER, CHECKPOINTS)
    for path in sorted(folder.rglob("*"))
    if path.is_file()
]


@settings(deadline=None)
@given(st.data(), st.sampled_from(FILES_OF_SAMPLES))
def test_damage_changes_no_rate(data: st.DataObject, place: tuple[Path, Path]) -> None:
    folder, name = place
    _, damaged = data.draw(damages([(folder / name).read_text()]))
    original = [
        (measurement.phase, measurement.rate_operations_per_s, measurement.rate_bytes_per_s)
        for measurement in _all(folder)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        copied = shutil.copytree(folder, Path(scratch) / "out")
        (copied / name).write_text(damaged)
        for measurement in _all(copied):
            assert any(_same(measurement, rates) for rates in original), measurement


def _all(folder: Path) -> list[Measurement]:
    return [
        measurement for case in gathered(folder).cases for measurement in case.measured if not _is_mean(measurement)
    ]


def _is_mean(measurement: Measurement) -> bool:
    return any(doubt.kind == "mean-only" for doubt in measurement.doubts)


def _same(measurement: Measurement, rates: tuple[str, float | None, float | None]) -> bool:
    phase, samples, moved = rates
    measured_rates = (measurement.rate_operations_per_s, measurement.rate_bytes_per_s)
    return measurement.phase == phase and all(
        a is None or b is None or a == pytest.approx(b) for a, b in zip(measured_rates, (samples, moved), strict=True)
    )
