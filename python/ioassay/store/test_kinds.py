"""What recognises stored directories, and that those of older versions stay readable."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ioassay.errors import UsageError
from ioassay.store.document import RunDocument
from ioassay.store.json_head import HEAD_BYTES
from ioassay.store.kinds import NET, RECORD, RUN, SWEEP, TUNE_IO500, Kind, recognise
from ioassay.store.net_directory import NetDirectory, read_net
from ioassay.store.origin import FrontEndOrigin, ImportOrigin, StudyOrigin
from ioassay.store.run_directory import load, read_document
from ioassay.store.run_writer import RunWriter
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.summary import Summary
from ioassay.store.sweep_directory import SweepDirectory
from ioassay.store.tune_io500_directory import TuneIo500Directory
from ioassay.testing import net_measurement
from ioassay.testing.artificial_device import sweep_document
from ioassay.testing.artificial_io500 import tune_document
from ioassay.testing.builder import RunBuilder
from ioassay.testing.record_tables import TableBuilder, store_record
from ioassay.testing.stored import store

OLD = Path(__file__).parents[3] / "tests/stored"
"""Directories that ioassay wrote in older versions: `KIND-VERSION`, of runs with their origin."""

OLD_RUNS = ("run-2-study", "run-2-front-end", "run-2-import", "run-3-study")


@pytest.fixture
def old(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an old directory."""
    return lambda name: shutil.copytree(OLD / name, tmp_path / name)


def _kind(path: Path) -> Kind[Any] | None:
    with StoredDirectory.open(path) as directory:
        return recognise(directory)


def _summary(path: Path, kind: Kind[Any]) -> Summary:
    with StoredDirectory.open(path) as directory:
        return kind.summary(directory)


def test_a_written_document_states_its_kind_and_version(tmp_path: Path) -> None:
    store(RunBuilder().workload("w").build(), tmp_path / "run")
    NetDirectory(tmp_path / "net", net_measurement.net(1, (1, 1, "to-servers", 9.4)))
    store_record(tmp_path / "record", TableBuilder())
    with SweepDirectory.create(tmp_path / "sweep", sweep_document({"size": ["1", "2"]}, {"size": "1"})):
        pass
    with TuneIo500Directory.create(tmp_path / "tune-io500", tune_document()):
        pass
    for kind in (RUN, NET, RECORD, SWEEP, TUNE_IO500):
        written = json.loads((tmp_path / kind.name / kind.document).read_text())
        assert list(written.items())[:2] == [("kind", kind.name), ("version", kind.version)]
        assert _kind(tmp_path / kind.name) is kind


def test_old_runs_are_read_with_their_origin(old: Callable[[str], Path]) -> None:
    study, front_end, imported, unrecorded = (load(old(name)) for name in OLD_RUNS)
    assert isinstance(study.document.origin, StudyOrigin)
    assert (study.document.storage, study.document.clients) == ("lab:tiny/nfs", "lab:tiny")
    assert study.document.lab is not None
    assert study.document.lab.hosts == ["client1", "client2"]
    assert study.document.ceilings is not None
    assert study.document.ceilings.kind == "net"
    assert front_end.document.origin == FrontEndOrigin(tool="ior")
    assert isinstance(imported.document.origin, ImportOrigin)
    assert [file.path for file in imported.document.origin.files] == ["ior/4.0.0.json"]
    assert [run.measurements.height for run in (study, front_end, imported, unrecorded)] == [4, 2, 4, 4]
    assert not unrecorded.document.recorded


@pytest.mark.parametrize("name", OLD_RUNS)
def test_reading_an_old_run_changes_nothing_on_disk(old: Callable[[str], Path], name: str) -> None:
    run = old(name)
    load(run)
    files = [file for file in run.rglob("*") if file.is_file()]
    assert {file: file.read_bytes() for file in files} == {
        run / file.relative_to(OLD / name): file.read_bytes() for file in (OLD / name).rglob("*") if file.is_file()
    }


def test_an_old_run_that_is_gone_on_with_is_stored_in_the_current_version(old: Callable[[str], Path]) -> None:
    run = old("run-2-study")
    before = load(run)
    with RunWriter.reopen(run) as again:
        again.save()
    assert json.loads((run / RUN.document).read_text())["version"] == RUN.version
    after = load(run)
    assert after.document == before.document
    assert after.measurements.equals(before.measurements)


def test_the_tables_of_an_old_run_are_rebuilt_from_its_logs(old: Callable[[str], Path]) -> None:
    run = old("run-2-study")
    before = load(run)
    (run / "measurements.parquet").unlink()
    assert load(run).measurements.equals(before.measurements)


def test_an_old_measurement_of_the_network_is_read(old: Callable[[str], Path]) -> None:
    path = old("net-1")
    assert [measurement.name for measurement in read_net(path).measurements] == ["1 client → 2 servers"]
    assert _kind(path) is NET


def test_an_old_run_of_two_origins_is_damaged(old: Callable[[str], Path]) -> None:
    run = old("run-2-import")
    document = json.loads((run / RUN.document).read_text())
    (run / RUN.document).write_text(json.dumps(document | {"front_end": "ior"}))
    with pytest.raises(UsageError, match=r"run\.json is damaged: origin"):
        load(run)


def test_a_kind_that_nobody_knows_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "census.json").write_text('{"kind": "census", "version": 1}')
    for opened in (load, read_document):
        with pytest.raises(UsageError, match="is of the kind census, which this ioassay does not know") as refused:
            opened(tmp_path)
        assert "newer" in refused.value.remedy


def test_a_document_of_another_kind_is_refused_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"kind": "record", "version": 3}')
    with pytest.raises(UsageError, match=r"run\.json is of the kind record, but run is expected"):
        load(tmp_path)


def test_a_directory_of_another_kind_is_no_run(tmp_path: Path) -> None:
    NetDirectory(tmp_path / "net", net_measurement.net(1, (1, 1, "to-servers", 9.4)))
    with pytest.raises(UsageError, match="is not a run: its kind is net"):
        load(tmp_path / "net")


@pytest.mark.parametrize("kind", [RUN, NET, RECORD, SWEEP, TUNE_IO500], ids=lambda kind: kind.name)
def test_a_newer_version_is_refused_with_kind_and_versions(tmp_path: Path, kind: Kind[Any]) -> None:
    (tmp_path / kind.document).write_text(json.dumps({"kind": kind.name, "version": 99}))
    readable = " and ".join(map(str, [*kind.upgrades, kind.version]))
    wanted = f"has version 99 of the kind {kind.name}; this ioassay reads version {readable}"
    for reads in (kind.read, kind.summary):
        with StoredDirectory.open(tmp_path) as directory, pytest.raises(UsageError, match=wanted):
            reads(directory)


@pytest.mark.parametrize("name", OLD_RUNS)
def test_the_summary_of_an_old_run_is_that_of_the_whole_document(name: str) -> None:
    with StoredDirectory.open(OLD / name) as directory:
        document, summary = RUN.read(directory), RUN.summary(directory)
    assert (document.run, document.model_dump()["origin"]["kind"], document.study.name) == (
        summary.name,
        summary.origin,
        summary.study,
    )
    assert (document.where, document.started, document.state) == (summary.target, summary.started, summary.state)


def test_the_beginning_of_a_run_is_enough_for_its_summary(tmp_path: Path, document: RunDocument) -> None:
    document.cases = [document.cases[0].model_copy(update={"id": f"seq-{number}"}) for number in range(100)]
    text = document.model_dump_json(indent=2)
    assert len(text) > 2 * HEAD_BYTES
    (tmp_path / RUN.document).write_text(text[: 2 * HEAD_BYTES])  # reading all of it fails
    assert _summary(tmp_path, RUN) == Summary("r", "study", "tiny", "/target", document.started, "running")


def test_a_long_value_before_the_summary_is_complete_has_the_whole_document_read(
    tmp_path: Path, document: RunDocument
) -> None:
    document.target = "/t" * HEAD_BYTES
    (tmp_path / RUN.document).write_text(document.model_dump_json(indent=2))
    assert _summary(tmp_path, RUN).target == document.target


@pytest.mark.parametrize("servers", [2, 1000])
def test_the_summary_of_a_measurement_of_the_network_has_all_servers(tmp_path: Path, servers: int) -> None:
    NetDirectory(tmp_path / "net", net_measurement.net(servers, (1, 1, "to-servers", 9.4)))
    summary = _summary(tmp_path / "net", NET)
    assert (summary.study, summary.state, summary.started) == ("iperf3", "complete", "2026-02-02T01:00:00+00:00")
    assert summary.target.split(", ") == [f"server{number}" for number in range(servers)]


def test_the_summary_of_a_record_has_its_program_and_its_node(tmp_path: Path) -> None:
    record = store_record(tmp_path / "r1", TableBuilder(), command=["/usr/bin/lmp", *["-in"] * 10_000], state="running")
    wanted = Summary("r1", None, "lmp", "node1", "2025-11-24T16:00:00+00:00", "running")
    assert _summary(record, RECORD) == wanted


def test_the_summary_of_a_sweep_has_its_study_and_target(tmp_path: Path) -> None:
    document = sweep_document({"size": ["1", "2"]}, {"size": "1"})
    with SweepDirectory.create(tmp_path / "sweep", document):
        pass
    wanted = Summary(document.sweep, None, "tune", "/mnt/store", document.started, "running")
    assert _summary(tmp_path / "sweep", SWEEP) == wanted


def test_the_summary_of_a_tuning_of_the_io500_has_its_target(tmp_path: Path) -> None:
    document = tune_document(command=["ioassay", *["--set"] * 10_000])
    with TuneIo500Directory.create(tmp_path / "t", document):
        pass
    wanted = Summary(document.tuning, None, "io500", "/mnt/store", "2026-02-02T02:40:00+00:00", "running")
    assert _summary(tmp_path / "t", TUNE_IO500) == wanted


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 3}', '{"kind": "run", "version": 3, "run": "../x"}'])
def test_a_damaged_document_has_no_summary(tmp_path: Path, content: str) -> None:
    (tmp_path / RUN.document).write_text(content)
    with pytest.raises(UsageError, match=r"run\.json is damaged"):
        _summary(tmp_path, RUN)
