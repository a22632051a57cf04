"""What the index finds below a folder, and what it leaves alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ioassay.errors import UsageError
from ioassay.store import index as module
from ioassay.store.index import MOST_LEVELS, index, runs
from ioassay.store.kinds import RUN
from ioassay.store.lock import Lock
from ioassay.store.net_directory import NetDirectory
from ioassay.store.run_directory import load
from ioassay.store.states import RunState
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.summary import Summary
from ioassay.testing import net_measurement
from ioassay.testing.builder import RunBuilder
from ioassay.testing.front_end_run import ior_plan, leave
from ioassay.testing.stored import store

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Stores a run below the folder: `make(name, started, state)`."""

    def made(name: str, started: str = "2026-01-01T00:00:00+00:00", state: RunState = "complete") -> Path:
        run = RunBuilder().workload("w").clients(1).build()
        run.document.started, run.document.state = started, state
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        return store(run, tmp_path / name)

    return made


def _names(folder: Path) -> list[str]:
    return [str(entry.path.relative_to(folder)) for entry in index(folder).entries]


def _state(run: Path) -> str:
    (entry,) = index(run).entries
    return entry.summary.state


def test_runs_and_measurements_of_the_network_are_found_with_what_they_are(make: Make, tmp_path: Path) -> None:
    run = make("run")
    NetDirectory(tmp_path / "net", net_measurement.net(1, (1, 1, "to-servers", 9.4)))
    listed = index(tmp_path)
    document = load(run).document
    assert [(entry.path, entry.kind) for entry in listed.entries] == [(tmp_path / "net", "net"), (run, "run")]
    assert listed.entries[1].summary == Summary(
        document.run, "study", document.study.name, document.target, document.started, "complete"
    )
    assert listed.unreadable == ()


def test_the_newest_comes_first_and_what_is_not_dated_last(make: Make, tmp_path: Path) -> None:
    make("earlier", "2026-01-01T05:00:00+09:00")
    make("undated", "")
    make("later", "2025-12-31T21:00:00+00:00")
    make("first", "0001-01-01T00:00:00+23:00")
    assert _names(tmp_path) == ["later", "earlier", "first", "undated"]


def test_folders_are_looked_into_and_stored_directories_are_not(make: Make, tmp_path: Path) -> None:
    make("group/a")
    make("group/a/logs/b")
    make("/".join("d" * MOST_LEVELS))
    make("/".join("e" * (MOST_LEVELS + 1)))
    make(".hidden")
    assert _names(tmp_path) == ["group/a", "/".join("d" * MOST_LEVELS)]
    assert _names(tmp_path / "group/a") == ["."]


def test_no_link_is_followed_below_the_folder_that_was_named(make: Make, tmp_path: Path) -> None:
    make("elsewhere/run")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/link").symlink_to(tmp_path / "elsewhere/run")
    (tmp_path / "folder/up").symlink_to(tmp_path)
    fake = tmp_path / "folder/fake"
    fake.mkdir()
    (fake / RUN.document).symlink_to(tmp_path / "elsewhere/run" / RUN.document)
    listed = index(tmp_path / "folder")
    assert listed.entries == ()
    assert [(unreadable.path, unreadable.kind) for unreadable in listed.unreadable] == [(fake, "run")]
    assert "symbolic link" in listed.unreadable[0].reason
    (tmp_path / "typed").symlink_to(tmp_path / "elsewhere")
    assert _names(tmp_path / "typed") == ["run"]


def test_unreadable_directories_hide_no_others(make: Make, tmp_path: Path) -> None:
    good = make("good")
    for name, content in {
        "damaged": "{",
        "newer": '{"kind": "run", "version": 99}',
        "strange": '{"kind": "record", "version": 3}',
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / RUN.document).write_text(content)
    (tmp_path / "unknown").mkdir()
    (tmp_path / "unknown/census.json").write_text('{"kind": "census", "version": 1}')
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / RUN.document)
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    listed = index(tmp_path)
    assert [entry.path for entry in listed.entries] == [good]
    reasons = {os.fsencode(unreadable.path.name): unreadable.reason for unreadable in listed.unreadable}
    wanted = {
        b"damaged": "is damaged",
        b"newer": "version 99 of the kind run",
        b"strange": "of the kind record",
        b"unknown": "of the kind census",
        b"fifo": "is not a regular file",
        b"\xff": "is not UTF-8",
    }
    assert reasons.keys() == wanted.keys()
    assert all(part in reasons[name] for name, part in wanted.items())


def test_tables_are_not_opened(make: Make, tmp_path: Path) -> None:
    for table in make("run").glob("*.parquet"):
        table.unlink()
        os.mkfifo(table)  # opening it blocks
    assert _names(tmp_path) == ["run"]


def test_a_run_whose_process_is_gone_was_interrupted(make: Make) -> None:
    run = make("run", state="running")
    with StoredDirectory.open(run) as directory, Lock.acquire(directory):
        assert _state(run) == "running"
    assert _state(run) == "interrupted"


@pytest.mark.parametrize(("exit_code", "state"), [(0, "complete"), (1, "ended"), (None, "interrupted")])
def test_results_of_a_front_end_are_found_before_they_are_loaded(
    tmp_path: Path, exit_code: int | None, state: str
) -> None:
    leave(tmp_path / "ior", {"test": [ior_plan("test.r1", Path("/scratch/test"))]}, exit_code=exit_code)
    (entry,) = index(tmp_path).entries
    assert entry.kind == "run"
    assert entry.summary == Summary("ior-1", "front-end", "ior", "", "2026-02-02T02:40:00+00:00", state)  # type: ignore[arg-type]
    assert not (tmp_path / "ior" / RUN.document).exists(), "an index writes nothing"


def test_a_run_that_was_rewritten_with_the_same_age_and_size_is_read_again(make: Make) -> None:
    run = make("run")
    assert _state(run) == "complete"
    before = (run / RUN.document).stat()
    document: dict[str, Any] = json.loads((run / RUN.document).read_text())
    text = json.dumps(document | {"state": "failed"}, indent=2).ljust(before.st_size)
    (run / RUN.document).write_text(text)
    os.utime(run / RUN.document, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert _state(run) == "failed", "nothing is believed because it has the same age and size"


def test_a_folder_of_too_many_directories_is_refused(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_DIRECTORIES", 3)
    for name in ("a", "b"):
        make(name)
    assert len(index(tmp_path).entries) == 2
    make("c")
    with pytest.raises(UsageError, match="holds more than 3 directories"):
        index(tmp_path)


@pytest.mark.parametrize("name", ["absent", "file"])
def test_a_path_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="There is no directory"):
        index(tmp_path / name)


def test_a_folder_stands_for_its_runs_the_oldest_first(make: Make, tmp_path: Path) -> None:
    new, old = make("group/new", "2026-01-02T00:00:00+00:00"), make("group/old")
    NetDirectory(tmp_path / "group/net", net_measurement.net(1, (1, 1, "to-servers", 9.4)))
    assert runs([tmp_path / "group", new]) == [old, new, new]


def test_a_damaged_run_of_a_folder_is_not_passed_over(make: Make, tmp_path: Path) -> None:
    make("group/good")
    (make("group/bad") / RUN.document).write_text("{")
    assert runs([tmp_path / "group"]) == [tmp_path / "group/good", tmp_path / "group/bad"]


def test_a_path_that_is_no_folder_of_runs_stays_as_it_was_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    paths = [tmp_path / "empty", tmp_path / "absent"]
    assert runs(paths) == paths
