"""What the rules of MLPerf Storage say of a study, before I/O begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ioassay.studies.cases import expand
from ioassay.studies.library import find_study
from ioassay.studies.mlperf_storage import MODELS, of_training
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target

if TYPE_CHECKING:
    from ioassay.protocol.plan import Plan

TIB = 1 << 40


def cases(study: str, scale: str, *settings: str) -> list[tuple[Plan, int]]:
    resolved = resolve(find_study(study), scale, settings)
    expanded = expand(resolved, "run", Target("directory", "/t"), "local")
    return [(case.plan, case.entry.file_set_bytes) for case in expanded]


@pytest.mark.parametrize("model", MODELS)
def test_the_built_in_studies_keep_the_rules_at_full_scale(model: str) -> None:
    text = of_training(model, cases(model, "full"), TIB // 100).text
    assert f"{model} with 8 accelerators would be closed" in text
    assert "No result of ioassay is one of MLPerf Storage" in text
    assert "would be invalid" in of_training(model, cases(model, "laptop"), TIB // 100).text


@pytest.mark.parametrize(
    ("settings", "verdict", "reason"),
    [
        (["batch=8"], "invalid", "batches of 8, not 7"),
        (["epochs=4"], "invalid", "4 epochs, not 5"),
        (["compute=324ms"], "invalid", "324 ms of computation for a batch, not 636 ms (A100) or 323 ms (H100)"),
        (["accelerators=16"], "invalid", "28,000 samples, where 500 steps need 56,000"),
        (["sample=146600629B"], "invalid", "other samples than of 146,600,628 bytes (standard deviation 68,341,808)"),
        (["loader_threads=16"], "closed", "Its goal: accelerators 90 % busy"),
    ],
)
def test_each_rule_that_is_not_kept_is_named(settings: list[str], verdict: str, reason: str) -> None:
    text = of_training("unet3d", cases("unet3d", "full", *settings), None).text
    assert f"would be {verdict}" in text
    assert reason in text
    assert "Not checked: a dataset of 5 times the memory" in text


def test_a_dataset_that_memory_could_hold_is_invalid() -> None:
    text = of_training("unet3d", cases("unet3d", "full"), 4 * TIB).text
    assert "would be invalid: a dataset of 3.74 TiB, where 5 times the memory is 20.0 TiB" in text


def test_formats_and_samples_of_a_file_are_open_and_the_worst_decides() -> None:
    def changed(**dataset: object) -> list[tuple[Plan, int]]:
        ((plan, stored),) = cases("resnet50", "full")
        images: Any = {**plan["datasets"]["images"], **dataset}
        return [({**plan, "datasets": {"images": images}}, stored)]

    text = of_training("resnet50", changed(container="raw", samples_per_file=417), None).text
    assert "would be open: files are raw, not tfrecord; 417 samples in a file, not 1,251" in text
    text = of_training("resnet50", changed(container="raw", samples=1251), None).text
    assert "would be invalid: 1,251 samples" in text
