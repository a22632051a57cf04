"""Stored directories of every version (`stored`): what is reported of each is what was reported when it was written."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ioassay.cli import main
from ioassay.store.kinds import KINDS
from ioassay.tuning.journal.origin import boot_id, machine

from .stored.reported import ARGUMENTS, facts

STORED = Path(__file__).parent / "stored"
DIRECTORIES = sorted(path.name for kind in KINDS for path in STORED.glob(f"{kind.name}-*") if path.is_dir())
REPORTED = sorted(path.stem for path in STORED.glob("*.json"))
STUDIES = ("run-3-study", "run-4-study")
"""The same study, as stored by two versions."""


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ioassay(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """An `ioassay` command in this process, which has imported everything: exit code, standard output and error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ioassay", *map(str, arguments)])
        for stream in ("stdout", "stderr"):
            monkeypatch.setattr(sys, stream, getattr(sys, stream))  # it is wrapped, and put back after the test
        with pytest.raises(SystemExit) as exited:
            main()
        return int(exited.value.code or 0), *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all of them: some commands complete what they read."""
    return shutil.copytree(STORED, tmp_path_factory.mktemp("old") / "stored")


def test_a_directory_of_every_kind_and_version_is_kept_with_what_was_reported_of_it() -> None:
    for kind in KINDS:
        for version in (*kind.upgrades, kind.version):
            names = [name for name in DIRECTORIES if f"{name}-".startswith(f"{kind.name}-{version}-")]
            assert names, (kind.name, version)
            for name in names:
                assert json.loads((STORED / name / kind.document).read_text())["version"] == version
                assert (name in REPORTED) == (kind.name in ARGUMENTS)


@pytest.mark.parametrize("name", REPORTED)
def test_stored_directories_are_reported_as_they_were_then(ioassay: Command, stored: Path, name: str) -> None:
    (kind,) = (kind.name for kind in KINDS if name.startswith(f"{kind.name}-"))
    code, out, err = ioassay(*ARGUMENTS[kind], stored / name)
    assert code == 0, err
    assert facts(kind, json.loads(out)) == json.loads((STORED / f"{name}.json").read_text())


def test_all_are_listed(ioassay: Command, stored: Path) -> None:
    code, out, err = ioassay("list", stored, "--json")
    assert (code, err) == (0, "")
    listed = {Path(entry["path"]).name: entry["kind"] for entry in json.loads(out)["directories"]}
    assert sorted(listed) == DIRECTORIES
    assert all(name.startswith(f"{kind}-") for name, kind in listed.items())


def test_runs_of_two_versions_are_compared_point_by_point(ioassay: Command, stored: Path) -> None:
    code, out, err = ioassay("compare", *(stored / name for name in STUDIES), "--format", "json")
    assert code == 0, err
    peaks = {
        name: [peak["peak"] for peak in json.loads((STORED / f"{name}.json").read_text())["peaks"]] for name in STUDIES
    }
    ratios = [ratio["ratio"] for ratio in json.loads(out)["ratios"] if ratio["at"] == "peak"]
    assert ratios == pytest.approx([new / old for old, new in zip(*peaks.values(), strict=True)])


def test_a_run_of_an_older_version_is_a_baseline(ioassay: Command, stored: Path) -> None:
    old, new = (stored / name for name in STUDIES)
    code, out, err = ioassay("check", new, "--baseline", old, "--json")
    assert (code, err) == (1, "")  # its criteria are met, but one repetition is too few for a verdict
    judged = [verdict for verdict in json.loads(out)["checks"] if verdict["name"].startswith("1 client")]
    assert [verdict["judgement"] for verdict in judged] == ["not judged"] * 4


def test_a_trend_goes_over_runs_of_several_versions(ioassay: Command, stored: Path) -> None:
    code, out, _ = ioassay("trend", *(stored / name for name in STUDIES), "--any-target", "--format", "json")
    assert code == 1  # two runs are too few for a verdict
    points = json.loads(out)["points"]
    assert [(point["operation"], len(point["runs"])) for point in points] == [("write", 2), ("read", 2)] * 2


def test_the_record_of_a_runs_engines_is_a_profile(ioassay: Command, stored: Path) -> None:
    code, out, err = ioassay("profile", stored / "run-4-recorded", "--json")
    assert code == 0, err
    totals = json.loads(out)["totals"]
    assert [(totals[way]["calls"], totals[way]["bytes"]) for way in ("read", "write")] == [
        (72, 67117255),
        (70, 67115944),
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_a_measurement_of_the_network_gives_the_ceiling_of_a_run(ioassay: Command, stored: Path, version: int) -> None:
    net = stored / f"net-{version}"
    measured = json.loads((net / "net.json").read_text())["measurements"]
    rates = [measurement["rate_bits_per_s"] for measurement in measured if measurement["direction"] == "to-servers"]
    code, out, err = ioassay("report", stored / "run-4-study", "--ceilings", net, "--format", "json")
    assert code == 0, err
    writes = [row for row in json.loads(out)["measurements"] if row["operation"] == "write"]
    assert [row["ceiling_bytes_per_s"] * 8 for row in writes] == pytest.approx([min(rates)] * 2)


def test_a_prediction_is_compared_with_a_run(ioassay: Command, stored: Path) -> None:
    code, out, err = ioassay("compare", stored / "prediction-1.yaml", stored / "run-4-study")
    assert code == 0, err
    assert "predicted 7.57 to 25.0 GB/s" in " ".join(out.split())


def test_a_journal_of_settings_is_rolled_back(
    ioassay: Command, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was written on another machine: in the copy it is this one's."""
    (journal,) = (stored / "journal-1").iterdir()
    header, *lines = journal.read_text().splitlines()
    ours = {"host": socket.gethostname(), "machine": machine(), "boot_id": boot_id()}
    journal.write_text("\n".join([json.dumps(json.loads(header) | ours), *lines]) + "\n")
    (tmp_path / "width").write_text("8\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    code, _, err = ioassay("tune", "rollback", "--journal", stored / "journal-1")
    assert code == 0, err
    assert (tmp_path / "width").read_text() == "2\n"
