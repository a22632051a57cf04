"""`ioassay list`, and folders of runs as arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioassay.store.net_directory import NetDirectory
from ioassay.testing import net_measurement
from ioassay.testing.builder import RunBuilder
from ioassay.testing.nightly_runs import night
from ioassay.testing.stored import store

from .support import ioassay

NIGHTS = ["night-0", "night-1", "night-2"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with `runs`, in which are three nights and a measurement of the network."""
    for number, name in enumerate(NIGHTS):
        builder = RunBuilder().clients(1).repetitions(3).workload("seq", "Sequential")
        store(night(number, builder), tmp_path / "runs/nightly" / name)
    NetDirectory(tmp_path / "runs/net", net_measurement.net(2, (1, 2, "to-servers", 9.4)))
    return tmp_path


def test_each_stored_directory_is_a_line_the_newest_first(folder: Path) -> None:
    code, out, err = ioassay("list", directory=folder)
    assert (code, err) == (0, "")
    heading, *lines = out.splitlines()
    assert heading.split("  ")[0] == "Started"
    assert heading.split()[-3:] == ["Target", "State", "Directory"]
    newest_first = [f"runs/nightly/{name}" for name in reversed(NIGHTS)]
    assert [line.split()[-1] for line in lines] == [*newest_first, "runs/net"]
    assert lines[-1].split()[2:] == ["net", "–", "iperf3", "server0,", "server1", "complete", "runs/net"]


def test_json_has_all_fields_of_each_directory(folder: Path) -> None:
    code, out, _ = ioassay("list", "runs/nightly", "--json", directory=folder)
    assert code == 0
    document = json.loads(out)
    assert document["unreadable"] == []
    assert [Path(entry["path"]).name for entry in document["directories"]] == NIGHTS[::-1]
    first = document["directories"][0]
    assert (first["kind"], first["origin"], first["state"]) == ("run", "study", "complete")
    assert first.keys() == {"path", "kind", "name", "origin", "study", "target", "started", "state"}


def test_an_unreadable_directory_is_named_and_the_rest_is_listed(folder: Path) -> None:
    (folder / "runs/nightly/night-1/run.json").write_text('{"kind": "run", "version": 99}')
    code, out, err = ioassay("list", directory=folder)
    assert code == 0
    assert len(out.splitlines()) == 1 + 3
    assert "Not readable: runs/nightly/night-1: runs/nightly/night-1/run.json has version 99 of the kind run" in err


def test_a_run_with_hostile_text_is_listed_in_one_line(folder: Path) -> None:
    file = folder / "runs/nightly/night-1/run.json"
    document = json.loads(file.read_text())
    document |= {"target": "/a\n/b\t\x1b[2J\u202e" + "c" * 1000}
    file.write_text(json.dumps(document))
    code, out, _ = ioassay("list", "runs/nightly", directory=folder)
    assert code == 0
    assert len(out.splitlines()) == 1 + 3
    assert max(map(len, out.splitlines())) < 200
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "/a /b" in out


def test_an_empty_and_a_missing_folder_are_reported(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert ioassay("list", "empty", directory=folder) == (0, "", "No stored runs in empty.\n")
    code, _, err = ioassay("list", "nowhere", directory=folder)
    assert code == 2
    assert "There is no directory nowhere." in err


def test_a_folder_stands_for_its_runs_in_every_command_that_takes_several(folder: Path) -> None:
    code, out, err = ioassay("trend", "runs", "--json", directory=folder)
    assert code in (0, 1), err
    assert json.loads(out) == json.loads(
        ioassay("trend", *(f"runs/nightly/{n}" for n in NIGHTS), "--json", directory=folder)[1]
    )
    code, out, err = ioassay("compare", "runs/nightly", "--format", "md", directory=folder)
    assert code == 0, err
    assert all(name in out for name in NIGHTS)
    code, _, err = ioassay("report", "runs", "--format", "md", "-o", "reports", directory=folder)
    assert code == 0, err
    assert sorted(file.name for file in (folder / "reports").iterdir()) == [f"{name}.md" for name in NIGHTS]
