"""What accelerators read and what checkpoints have, by model: as published, and refused where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.sizing.models import CHECKPOINT_BYTES, parameters, read_rate
from ioassay.sizing.search.needs import needs
from ioassay.sizing.search.read import read
from ioassay.studies.checkpoint import MODELS
from ioassay.systems.amounts import BYTES_PER_S
from ioassay.yaml_models.source import SourceError

GIB = 2**30


@pytest.mark.parametrize(
    ("model", "model_gib", "optimizer_gib"),
    [
        ("llama3-8b", 15.0, 89.7),
        ("llama3-70b", 130.2, 781.0),
        ("llama3-405b", 756.0, 4535.8),
        ("llama3-1t", 2203.6, 13221.0),
    ],
)
def test_checkpoints_have_the_sizes_of_dlio(model: str, model_gib: float, optimizer_gib: float) -> None:
    count = parameters(MODELS[model])
    assert 2 * count / GIB == pytest.approx(model_gib, abs=0.06)
    assert 12 * count / GIB == pytest.approx(optimizer_gib, abs=0.6)
    assert CHECKPOINT_BYTES[model] == 14 * count


def test_an_accelerator_reads_a_batch_in_the_time_of_its_computation_as_often_as_it_must() -> None:
    rate = read_rate("unet3d", "h100", None)
    assert rate.dimension == BYTES_PER_S
    assert rate.nominal == pytest.approx(0.9 * 7 * 146_600_628 / 0.323)
    assert read_rate("cosmoflow", "a100", None).nominal == pytest.approx(0.7 * 2_828_486 / 0.00551)
    assert read_rate("retinanet", "b200", None).nominal == pytest.approx(0.85 * 24 * 322_957 / 0.04755)


def written(folder: Path, line: str) -> Path:
    file = folder / "needs.yaml"
    file.write_text(f"name: needs\n{line}\n")
    return file


def test_requirements_by_model_are_rates_and_space(tmp_path: Path) -> None:
    lines = (
        "usable: 1PB\naccelerators: {count: 64, model: resnet50, accelerator: a100, utilisation: 80%}\n"
        "checkpoint: {model: llama3-70b, longest: 20s, kept: 2}"
    )
    requirements, _ = read(written(tmp_path, lines))
    amounts = {need.what: need.value.nominal for need in needs(requirements)}
    assert amounts["read"] == pytest.approx(64 * 0.8 * 400 * 114_660 / 0.435)
    assert amounts["write"] == pytest.approx(978.4e9 / 20, rel=1e-3)
    assert amounts["usable"] == pytest.approx(1e15 + 2 * 978.4e9, rel=1e-3)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("accelerators: 64", "{count: 64, model: unet3d}"),
        ("accelerators: {count: 64}", "exactly one of `read_each` and `model`"),
        ("accelerators: {count: 64, model: unet3d, read_each: 1GB/s}", "exactly one of `read_each` and `model`"),
        ("accelerators: {count: 64, model: unet}", "did you mean `unet3d`"),
        ("accelerators: {count: 64, model: unet3d, accelerator: b200}", "on b200 is not known; use a100 or h100"),
        ("accelerators: {count: 64, model: unet3d, accelerator: v100}", "is not a known accelerator"),
        ("accelerators: {count: 64, model: unet3d, utilisation: 120%}", "too high; write for example 90%"),
        ("accelerators: {count: 64, read_each: 1GB/s, accelerator: h100}", "goes with `model`"),
        ("checkpoint: {model: llama, longest: 20s}", "did you mean `llama3-8b`"),
        ("checkpoint: {model: llama3-8b, size: 1TB, longest: 20s}", "leave one out"),
        ("checkpoint: {longest: 20s}", "is missing"),
        ("checkpoint: {model: llama3-8b}", "is missing"),
    ],
)
def test_wrong_requirements_are_refused_with_what_to_write(line: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as refused:
        read(written(tmp_path, line))
    (problem,) = refused.value.problems
    assert says in f"{problem.wrong}; {problem.meant}"
