"""What `ioassay profile --against` takes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioassay.cli.profile import profile
from ioassay.errors import UsageError
from ioassay.testing.faulty_application import calm
from ioassay.testing.record_tables import TableBuilder, store_record


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return store_record(tmp_path / "runs" / "after", *calm())


def data_of(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_record_a_folder_of_them_or_tables_are_what_a_profile_is_compared_with(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = store_record(tmp_path / "before" / "node1", TableBuilder(node="node1"))
    store_record(tmp_path / "before" / "node2", TableBuilder(node="node2"))
    for against, processes in ((before, 1), (tmp_path / "before", 2), (next(before.glob("*.tables")), 1)):
        assert profile([record], against=[against], as_json=True) == 0
        reference = data_of(capsys)["reference"]
        assert isinstance(reference, dict)
        assert (reference["name"], reference["processes"]) == (against.name, processes)


def test_two_of_one_name_are_told_apart_by_their_paths(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = store_record(tmp_path / "other" / "after", TableBuilder())
    profile([record], against=[other], as_json=True)
    assert data_of(capsys)["reference"]["name"] == str(other)  # type: ignore[index]


def test_what_cannot_be_compared_with_is_named_with_what_to_do(record: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("nothing")
    for name in ("missing", "empty", "text"):
        with pytest.raises(UsageError, match=name) as error:
            profile([record], against=[tmp_path / name])
        assert error.value.remedy
