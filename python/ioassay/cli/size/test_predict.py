from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.cli.size.predict import predict
from ioassay.errors import UsageError
from ioassay.testing.predicted_study import CATALOGUE, CONFIGURATION, STUDY


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "catalogue.yaml").write_text(CATALOGUE)
    (tmp_path / "config.yaml").write_text(CONFIGURATION)
    (tmp_path / "study.yaml").write_text(STUDY)
    return str(tmp_path / "config.yaml")


def test_a_prediction_is_shown_and_saved_with_what_to_do_next(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save = tmp_path / "prediction.yaml"
    assert predict(config, study=str(tmp_path / "study.yaml"), save=save) == 0
    printed = capsys.readouterr()
    assert "Sequential, write" in printed.out
    assert f"ioassay run {tmp_path / 'study.yaml'} --target DIR" in printed.out.replace("\n", " ")
    assert printed.err == f"{save}\n"
    assert "predicts: sweep" in save.read_text()


def test_a_mistyped_study_is_refused_with_the_nearest(config: str) -> None:
    with pytest.raises(UsageError, match="did you mean `quick`"):
        predict(config, study="quik")


def test_a_file_of_several_configurations_needs_a_name(config: str, tmp_path: Path) -> None:
    other = CONFIGURATION[CONFIGURATION.index("  two:") :].replace("two:", "another:")
    (tmp_path / "config.yaml").write_text(CONFIGURATION + other)
    with pytest.raises(UsageError, match="mine has 2 configurations") as refused:
        predict(config, study="quick")
    assert "--configuration with one of two, another" in (refused.value.remedy or "")
    with pytest.raises(UsageError, match="has no configuration"):
        predict(config, study="quick", name="tow")
