"""Documents of agents as they are found in a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.protocol.watch_kinds import JOB_KINDS, NODE_KINDS
from ioassay.store.run_files import WATCH_DOCUMENT
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.watch_document import WatchDocument, WatchedHost
from ioassay.store.watched import COLUMNS, Watch, watch_of


def _line(kind: str, second: int, **values: str | int) -> str:
    fields = {**NODE_KINDS, **JOB_KINDS}[kind].fields
    document: dict[str, str | int] = {"kind": kind, "second": second, "part": 0}
    document |= {field.name: "" if field.kind == "label" else 0 for field in fields}
    return json.dumps(document | values)


def _watch(path: Path, *lines: str, end: str = "\n") -> Watch:
    host = WatchedHost(name="oss1", role="server", file="oss1.jsonl")
    lost = WatchedHost(name="oss2", role="server", file="oss2.jsonl", remark="No route to host")
    (path / "watch").mkdir()
    (path / WATCH_DOCUMENT).write_text(WatchDocument(hosts=[host, lost]).model_dump_json())
    (path / "watch/oss1.jsonl").write_text("\n".join(lines) + end)
    with StoredDirectory.open(path) as directory:
        watch = watch_of(directory)
    assert watch is not None
    return watch


def test_each_value_is_a_row_with_its_host_device_and_second(tmp_path: Path) -> None:
    watch = _watch(tmp_path, _line("disk", 7, node="oss1", device="sda", write_bytes=512), _line("cpu", 7))
    rows = watch.rows()
    assert rows.schema == COLUMNS
    written = rows.filter(field="write_bytes").rows()
    assert written == [("oss1", "server", "disk", "sda", 7, "write_bytes", 512)]
    assert rows.filter(kind="cpu")["name"].unique().to_list() == [""]


def test_two_labels_name_a_thing_together(tmp_path: Path) -> None:
    watch = _watch(tmp_path, _line("nfs", 7, mount_point="/data", export="nas:/data"))
    assert watch.table("nfs")["name"].to_list() == ["/data nas:/data"]


def test_a_last_line_that_is_cut_is_no_damage(tmp_path: Path) -> None:
    watch = _watch(tmp_path, _line("cpu", 7), _line("cpu", 8)[:40], end="")
    assert watch.table("cpu")["second"].to_list() == [7]
    assert (watch.tables.damaged_lines, watch.tables.unknown_lines) == (0, 0)


@pytest.mark.parametrize(
    "line",
    ["nonsense", "[]", "{}", '{"kind":1,"second":7}', '{"kind":"cpu"}', '{"kind":"cpu","second":-1}', "\ufffd\x00"],
)
def test_damaged_lines_are_counted_and_left_out(tmp_path: Path, line: str) -> None:
    watch = _watch(tmp_path, line, _line("cpu", 7))
    assert watch.table("cpu")["second"].to_list() == [7]
    assert (watch.tables.damaged_lines, watch.tables.unknown_lines) == (1, 0)


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"tape","second":7}',
        '{"kind":"disk","second":7,"device":"sda"}',
        _line("disk", 7, device=1),
        _line("disk", 7, device="sda", reads=-1),
        _line("disk", 7, device="sda", reads=2**63),
        _line("disk", 7, device="sda", reads="1"),
    ],
)
def test_documents_of_another_version_are_counted_and_left_out(tmp_path: Path, line: str) -> None:
    watch = _watch(tmp_path, line, _line("cpu", 7))
    assert watch.rows()["kind"].unique().to_list() == ["cpu"]
    assert (watch.tables.damaged_lines, watch.tables.unknown_lines) == (0, 1)


def test_documents_of_jobs_and_phases_are_passed_over(tmp_path: Path) -> None:
    watch = _watch(tmp_path, _line("phase", 7), _line("io", 7))
    assert watch.rows().is_empty()
    assert (watch.tables.damaged_lines, watch.tables.unknown_lines) == (0, 0)


def test_a_field_that_is_missing_is_not_known(tmp_path: Path) -> None:
    document = json.loads(_line("cpu", 7, user_ns=5))
    del document["steal_ns"]
    watch = _watch(tmp_path, json.dumps(document))
    assert watch.table("cpu").select("user_ns", "steal_ns").row(0) == (5, None)
    assert watch.rows().filter(field="steal_ns").is_empty()


def test_a_link_in_the_place_of_documents_is_not_followed(tmp_path: Path) -> None:
    watch = _watch(tmp_path, _line("cpu", 7))
    file = tmp_path / "watch/oss1.jsonl"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="symbolic link"):
        watch.rows()


@pytest.mark.parametrize(
    "text", ["{", '{"version":2}', '{"version":1,"hosts":[{"name":"a","role":"server","file":"../run.json"}]}']
)
def test_a_damaged_document_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "watch").mkdir()
    (tmp_path / WATCH_DOCUMENT).write_text(text)
    with StoredDirectory.open(tmp_path) as directory, pytest.raises(UsageError, match=r"watch\.json"):
        watch_of(directory)


def test_a_run_that_was_not_watched_has_none(tmp_path: Path) -> None:
    with StoredDirectory.open(tmp_path) as directory:
        assert watch_of(directory) is None
