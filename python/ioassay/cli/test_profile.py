"""What `ioassay profile --against` takes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioassay.cli.profile import profile
from ioassay.errors import UsageError
from ioassay.testing.faulty_application import calm
from ioassay.testing.measured_study import measured
from ioassay.testing.record_tables import TableBuilder, store_record
from ioassay.testing.stored import store


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return store_record(tmp_path / "runs" / "after", *calm())


def data_of(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_a_record_a_folder_of_them_or_tables_are_what_a_profile_is_compared_with(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = store_record(tmp_path / "before" / "node1", TableBuilder(node="node1"))
    store_record(tmp_path / "before" / "node2", TableBuilder(101, node="node2"))
    for against, processes in ((before, 1), (tmp_path / "before", 2), (next(before.glob("*.tables")), 1)):
        assert profile([record], against=[against], as_json=True) == 0
        reference = data_of(capsys)["reference"]
        assert isinstance(reference, dict)
        assert (reference["name"], reference["processes"]) == (against.name, processes)


def test_two_profiles_of_one_name_are_distinguished_by_their_paths(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = store_record(tmp_path / "other" / "after", TableBuilder())
    profile([record], against=[other], as_json=True)
    assert data_of(capsys)["reference"]["name"] == str(other)  # type: ignore[index]


SWEEP = """
name: sweep
title: Sizes
question: How small?
clients: [1]
repetitions: 1
steps: [write]
workloads:
  sizes:
    title: Sizes
    layout: N-N
    order: sequential
    total: 64MiB
    sweep: {transfer: [4KiB, 1MiB, 4MiB]}
"""


def test_a_run_gives_limits_and_beside_a_record_both_are_judged_by_them(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = store(measured(SWEEP), tmp_path / "stored" / "nfs")
    before = store_record(tmp_path / "before", *calm())
    for named in (run, run.parent):  # a folder of runs too
        profile([record], against=[named], as_json=True)
        limits = data_of(capsys)["limits"]
        assert isinstance(limits, list)
        assert [
            (limit["name"], limit["about"], limit["value"]) for limit in limits if limit["origin"] == "measured"
        ] == [("small_request_bytes", "write", 4 << 20)]
    profile([record], against=[run, before], as_json=True)
    assert data_of(capsys)["other"]["name"] == "after"  # type: ignore[index]


def test_a_run_that_says_nothing_of_limits_is_refused_with_what_to_run(record: Path, tmp_path: Path) -> None:
    one_size = SWEEP.replace("[4KiB, 1MiB, 4MiB]", "[4KiB]")
    run = store(measured(one_size), tmp_path / "run")
    with pytest.raises(UsageError, match="run measured nothing that a limit could come from") as error:
        profile([record], against=[run])
    assert "ioassay run examples/limits-of-my-storage.yaml" in error.value.remedy


def test_a_folder_of_runs_and_records_says_that_it_holds_both(record: Path, tmp_path: Path) -> None:
    store(measured(SWEEP), tmp_path / "runs" / "nfs")
    with pytest.raises(UsageError, match="holds runs and records"):
        profile([record], against=[record.parent])


@pytest.mark.parametrize(
    ("name", "document", "reason"),
    [
        ("net.json", {"kind": "net", "version": 2}, "measurement of the network"),
        ("tune.json", {"kind": "tune", "version": 1}, "of the kind tune, which this ioassay does not know"),
        ("run.json", {"kind": "run", "version": 99}, "version 99"),
        ("record.json", {"kind": "record", "version": 99}, "version 99"),
    ],
)
def test_another_kind_and_a_newer_version_are_named(
    record: Path, tmp_path: Path, name: str, document: dict[str, object], reason: str
) -> None:
    directory = tmp_path / "stored"
    directory.mkdir()
    (directory / name).write_text(json.dumps(document))
    with pytest.raises(UsageError, match=reason) as error:
        profile([record], against=[directory])
    assert error.value.remedy


def test_an_argument_that_cannot_be_compared_is_refused_with_a_remedy(record: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("nothing")
    for path, reason in (
        (tmp_path / "missing", "There is no"),
        (tmp_path / "empty", "holds no run, no record, no Darshan log and no trace"),
        (tmp_path / "text", "is text, not a profile"),
        (record / "record.json", "is the document of a record, not all of it"),
    ):
        with pytest.raises(UsageError, match=reason) as error:
            profile([record], against=[path])
        assert str(path) in error.value.message
        assert error.value.remedy
