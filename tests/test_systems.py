"""`ioassay systems`: output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

from .support import ioassay

OWN = """\
name: mine
title: Twice the F800
sources: {lab: {title: Our notebook}}
figures:
  - {id: reading, test: sequential N-N, operation: read, value: 24.0 GB/s, at: "lab:7"}
claims:
  - {id: times-f800, says: SAYS, at: "lab:9", how: ratio, of: [reading, isilon-f800/sequential-read-n-n]}
"""


def own_system(directory: Path, says: str) -> Path:
    file = directory / "mine.yaml"
    file.write_text(OWN.replace("SAYS", says))
    return file


def test_all_systems_are_listed_as_a_table_and_as_one_document(tmp_path: Path) -> None:
    code, out, err = ioassay("systems", directory=tmp_path)
    assert (code, err) == (0, "")
    assert "isilon-f800" in out
    code, printed, err = ioassay("systems", "--json", directory=tmp_path)
    assert (code, err) == (0, "")
    assert all(system["name"] in out for system in json.loads(printed)["systems"])


def test_one_system_is_shown_with_hardware_figures_and_claims(tmp_path: Path) -> None:
    code, out, _ = ioassay("systems", "isilon-f800", directory=tmp_path)
    assert code == 0
    for phrase in ("PowerEdge C6320", "~12GB/sec", "paper:198", "does not follow", "7x"):
        assert phrase in out


def test_the_yaml_of_a_system_can_be_used_as_a_users_own(tmp_path: Path) -> None:
    code, out, _ = ioassay("systems", "astra", "--yaml", directory=tmp_path)
    assert code == 0
    (tmp_path / "copy.yaml").write_text(out)
    documents = [
        json.loads(ioassay("systems", name, "--json", directory=tmp_path)[1]) for name in ("astra", "./copy.yaml")
    ]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(("says", "code", "verdict"), [("2x", 0, "follows"), ("3x", 1, "does not follow")])
def test_a_check_exits_with_1_where_a_claim_does_not_follow(says: str, code: int, verdict: str, tmp_path: Path) -> None:
    file = own_system(tmp_path, says)
    exited, out, err = ioassay("systems", file, "--check", directory=tmp_path)
    assert (exited, err) == (code, "")
    assert verdict in out
    exited, out, err = ioassay("systems", file, "--check", "--json", directory=tmp_path)
    assert (exited, err) == (code, "")
    assert [claim["verdict"] for claim in json.loads(out)["claims"]] == [verdict]


def test_a_run_is_written_as_a_system_that_every_command_accepts(tmp_path: Path) -> None:
    store(RunBuilder().clients(1, 8).workload("seq", "Sequential").build(), tmp_path / "run")
    code, out, err = ioassay("systems", "--from", "run", "-o", "ours.yaml", directory=tmp_path)
    assert (code, out, err) == (0, "", "ours.yaml\n")
    code, out, _ = ioassay("systems", "ours.yaml", directory=tmp_path)
    assert code == 0
    assert "peak write, 8 clients" in out
    assert ioassay("systems", "ours.yaml", "--check", directory=tmp_path)[0] == 0
    ratios = [
        json.loads(ioassay("compare", subject, "isilon-f800", "--json", directory=tmp_path)[1])["ratios"]
        for subject in ("run", "ours.yaml")
    ]
    assert ratios[0]
    rates = [[(ratio["at"], ratio["other_rate"]) for ratio in document_ratios] for document_ratios in ratios]
    assert rates[0] == rates[1]
    assert [ratio["ratio"] for ratio in ratios[1]] == pytest.approx([ratio["ratio"] for ratio in ratios[0]], rel=1e-8)
    code, printed, err = ioassay("systems", "--from", "run", directory=tmp_path)
    assert (code, err) == (0, "")
    assert printed.replace("name: run", "name: ours") == (tmp_path / "ours.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["isilon-f80"], "did you mean `isilon-f800`?"),
        (["./absent.yaml"], "absent.yaml: cannot be read: No such file"),
        (["./"], "Is a directory"),
        (["mine.yaml"], 'mine.yaml:7: claims[0]: "fast" is not a number with a unit'),
        (["empty.yaml"], "empty.yaml:1: the file is empty"),
        (["--from", "."], "is not a run directory"),
        (["--from", "absent"], "is not a run directory"),
        (["--from", ".", "--check"], "--from cannot be combined with NAME, --check, --yaml or --json."),
        (["-o", "ours.yaml"], "Write `ioassay systems --from RUN -o FILE`."),
        (["--yaml"], "Write `ioassay systems NAME --yaml`."),
    ],
)
def test_wrong_input_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    own_system(tmp_path, "fast")
    (tmp_path / "empty.yaml").touch()
    code, out, err = ioassay("systems", *arguments, directory=tmp_path)
    assert (code, out) == (2, "")
    assert message in err
