"""No control character of a stored run reaches a terminal or a document."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.store import schema
from ioassay.store.document import RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.testing.record_tables import TableBuilder, store_record
from ioassay.testing.stored import store

from .support import ioassay

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b2J\x7f\r\u202elru\u2066"
"""Sets the title of a terminal, clears it, and writes from right to left."""

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

FREE = {
    *("name", "title", "label", "question", "source", "scale", "text", "method", "because", "settings", "total"),
    *("workload", "workloads", "of", "order", "file_set", "error", "target", "launcher", "hosts", "launcher_options"),
    *("command", "leftovers", "ioassay_version", "engine_version", "hostname", "kernel", "tool"),
}
"""Keys of `run.json` that may hold any text."""


def _spoiled(value: Any, key: str = "") -> Any:
    match value:
        case dict():
            return {name: _spoiled(inner, name) for name, inner in value.items()}
        case list():
            return [_spoiled(inner, key) for inner in value]
        case str() if key in FREE:
            return value + HOSTILE
    return value


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with control characters in every text."""
    builder = RunBuilder().clients(1, 4).repetitions(3).workload("seq", "Sequential").stop_after(5, "failed", "why")
    builder.criterion("reads_per_s", unit="bytes/s", of="seq", at_least=1e9)
    built = builder.doubt("seq-c1-r1", "read", "odd", "odd " + HOSTILE, "again " + HOSTILE).build()
    tables = {
        name: _with_hostile_texts(
            getattr(built, name).lazy(), {"phase", "job", "workload", "file_set", "order", "node"}
        )
        for name in schema.TABLES
    }
    document = RunDocument.model_validate(_spoiled(built.document.model_dump(mode="json")))
    samples = tables.pop("samples")
    frames = {name: table.collect() for name, table in tables.items()}
    return store(LoadedRun(document=document, samples=samples, **frames), tmp_path_factory.mktemp("others") / "run")


def _with_hostile_texts(table: pl.LazyFrame, columns: set[str]) -> pl.LazyFrame:
    present = columns.intersection(table.collect_schema().names())
    return table.with_columns((pl.col(name) + HOSTILE) for name in sorted(present))


@pytest.mark.parametrize(
    "command",
    [
        ["report", "RUN"],
        *(["report", "RUN", "--format", form] for form in ("md", "csv", "json")),
        ["check", "RUN"],
        ["check", "RUN", "--baseline", "RUN"],
        ["check", "RUN", "--json"],
        ["compare", "RUN", "RUN"],
        *(["compare", "RUN", "RUN", "--format", form] for form in ("md", "csv", "json")),
        ["trend", "RUN", "RUN", "RUN"],
        ["systems", "--from", "RUN"],
        ["clean", "RUN"],
        ["list", "RUN"],
        ["list", "RUN", "--json"],
        ["run", "--resume", "RUN"],
        ["net", "--clients", HOSTILE, "--servers", HOSTILE],
        ["studies", HOSTILE],
        ["import", HOSTILE, "x"],
    ],
    ids=" ".join,
)
def test_no_command_prints_a_control_character(run: Path, tmp_path: Path, command: list[str]) -> None:
    typed = [str(run) if word == "RUN" else word for word in command]
    code, out, err = ioassay(*typed, directory=tmp_path)
    assert code in range(4)
    assert "Traceback" not in err
    assert out + err
    assert CONTROL.search(out + err) is None


def test_no_profile_has_a_control_character(tmp_path: Path) -> None:
    table = TableBuilder(command=["app", HOSTILE], node=HOSTILE)
    table.transfers(table.file(f"/data/{HOSTILE}", inode=1), "read", {10: 5000})
    record = store_record(tmp_path / "record", table, command=["app", HOSTILE])
    for options in ([], *(["--format", form] for form in ("md", "csv", "json"))):
        code, out, err = ioassay("profile", record, *options, directory=tmp_path)
        assert (code, err) == (0, "")
        assert "\ufffd" in out
        assert CONTROL.search(out) is None


def test_the_text_around_a_control_character_is_still_shown(run: Path) -> None:
    _, out, _ = ioassay("report", run, "--format", "md")
    assert "\ufffd]0;owned\ufffd\ufffd[2J\ufffd2J\ufffd\ufffd\ufffdlru\ufffd" in out


def test_no_file_of_a_published_run_has_a_control_character(run: Path, tmp_path: Path) -> None:
    code, _, err = ioassay("publish", run, "-o", tmp_path / "published")
    assert code == 0, err
    files = [
        file for file in (tmp_path / "published").rglob("*") if file.suffix in (".html", ".md", ".json", ".csv", ".svg")
    ]
    assert {file.suffix for file in files} == {".html", ".md", ".json", ".csv", ".svg"}
    for file in files:
        text = file.read_bytes().decode()
        assert CONTROL.search(text) is None, file
        assert "%1B" not in text, file
