"""The IO500 as a study, from beginning to end."""

from __future__ import annotations

import json
from pathlib import Path

from ioassay.analysis.io500 import STANDARD
from ioassay.store.run_directory import load

from .support import ioassay

# Amounts end the writes, so that no machine is too slow to create what find is to match.
SMALL = ("stonewall=10s", "easy_size=16MiB", "hard_size=4700800B", "easy_items=2000", "hard_items=1000")


def test_a_trial_of_the_io500_runs_every_phase_and_is_marked_as_invalid(target: Path, tmp_path: Path) -> None:
    settings = [word for setting in SMALL for word in ("--set", setting)]
    code, out, err = ioassay(
        "run", "io500", "--scale", "quick", *settings, "--target", target, "--out", tmp_path / "run", "--json"
    )
    assert code == 1, err  # the score is invalid
    document = json.loads(out)
    (score,) = document["io500"]
    assert [phase["phase"] for phase in score["phases"]] == [rule.phase for rule in STANDARD]
    assert [phase["phase"] for phase in score["phases"] if not phase["valid"]] == [
        rule.phase for rule in STANDARD if rule.walled
    ], score["phases"]
    assert all(phase["score"] > 0 for phase in score["phases"])
    assert score["total"] > 0
    assert (score["valid"], score["official"], score["reasons"]) == (False, False, [])

    run = load(tmp_path / "run")
    assert run.document.state == "complete"
    assert run.measurements["valid"].all()
    assert "not an official submission" in (tmp_path / "run" / "report.html").read_text()
    _, markdown, _ = ioassay("report", tmp_path / "run", "--format", "md")
    assert "## IO500 score with 2 ranks on 1 client" in markdown
    assert "| Total | " in markdown
    assert list(target.iterdir()) == []


def test_the_extended_list_has_a_score_of_its_own_beside_that_of_the_standard_list(
    target: Path, tmp_path: Path
) -> None:
    settings = [word for setting in (*SMALL, "precreate=10ms") for word in ("--set", setting)]
    code, out, err = ioassay(
        "run", "io500-extended", "--scale", "quick", *settings, "--target", target, "--out", tmp_path / "run", "--json"
    )
    assert code == 1, err  # the scores are invalid
    standard, extended = json.loads(out)["io500"]
    assert (standard["list"], extended["list"]) == ("standard", "extended")
    phases = {phase["phase"]: phase for phase in extended["phases"]}
    assert all(phase["score"] > 0 for phase in phases.values()), phases
    invalid_phases = [name for name, phase in phases.items() if not phase["valid"]]
    assert invalid_phases == [rule.phase for rule in STANDARD if rule.walled], phases
    assert [name for name, phase in phases.items() if not phase["counts"]] == [
        "mdworkbench-create",
        "mdworkbench-delete",
    ]
    assert extended["total"] > 0
    replaced = load(tmp_path / "run").measurements.filter(phase="mdworkbench-bench")
    assert sorted(replaced["operation"].to_list()) == ["create", "read", "remove", "stat"]
    assert replaced["operations"].n_unique() == 1
    assert replaced["valid"].all()
    assert "IO500 extended score" in (tmp_path / "run" / "report.html").read_text()
    assert list(target.iterdir()) == []
