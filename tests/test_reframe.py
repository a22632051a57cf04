"""The example for ReFrame, by the real ReFrame: its verdict is that of `ioassay check`, its rates have references."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .support import DEADLINE_S

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/reframe"
REFRAME = ROOT / "target/reframe/bin/reframe"

HARD = """\
criteria:
  - {name: contract, operation: write, layout: N-N, peak: 900TB/s, because: the contract says so}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where ReFrame works, with a directory `bin` that has the `ioassay` under test."""
    if not REFRAME.is_file():
        pytest.skip("ReFrame is not installed: make reframe")
    command = tmp_path / "bin/ioassay"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ioassay "$@"\n')
    command.chmod(0o755)
    # Its references are those of a disk that nobody else uses: here any rate above a thousandth of them will do.
    tests = (EXAMPLE / "storage.py").read_text()
    assert tests.count("(50, -0.5,") == 2
    (tmp_path / "storage.py").write_text(tests.replace("(50, -0.5,", "(50, -0.999,"))
    shutil.copytree(EXAMPLE / "src", tmp_path / "src")
    return tmp_path


def reframe(place: Path, **variables: str | Path) -> tuple[int, str, dict[str, Any]]:
    """Runs the example: exit code, what was printed, and what ReFrame's report says of the test."""
    report = place / "report.json"
    result = subprocess.run(
        [
            REFRAME,
            f"--config-file={EXAMPLE}/site.py",
            f"--checkpath={place}/storage.py",
            f"--prefix={place}",
            f"--report-file={report}",
            *(f"--setvar={name}={value}" for name, value in variables.items()),
            "--run",
        ],
        cwd=place,
        env=os.environ | {"PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(place), "TMPDIR": str(place)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    (test,) = json.loads(report.read_text())["runs"][0]["testcases"]
    return result.returncode, result.stdout, test


SMALL = "ranks:1,repetitions:1,time:50ms,write_time:50ms"


def test_storage_that_meets_the_criteria_passes_with_units_and_references_of_rates(place: Path, target: Path) -> None:
    code, output, test = reframe(place, target=target, settings=SMALL)
    assert (code, test["result"]) == (0, "pass"), output
    rates = {name.rpartition(":")[2]: rate for name, rate in test["perfvalues"].items()}
    rate_measured, reference, lower, _, unit, _ = rates["sequential_write_sustained"]
    assert rate_measured > 0
    assert (reference, lower, unit) == (50, -0.999, "MB/s")
    assert rates["random_read_peak"][4] == "kIOPS"
    assert list(target.iterdir()) == []


def test_storage_that_fails_a_criterion_fails_with_the_verdict_as_the_reason(place: Path, target: Path) -> None:
    hard = place / "hard.yaml"
    hard.write_text(HARD)
    code, output, test = reframe(place, target=target, settings=SMALL, criteria=hard)
    assert (code, test["result"], test["fail_phase"]) == (1, "fail", "sanity")
    assert "contract: Sequential 1 MiB, write, peak: " in output
    assert "at least 900000 GB/s" in output


def test_a_missing_target_fails_with_the_message_of_ioassay(place: Path) -> None:
    code, output, test = reframe(place, target=place / "absent", settings=SMALL)
    assert (code, test["result"], test["fail_phase"]) == (1, "fail", "sanity")
    assert f"Reason: sanity error: ioassay: {place / 'absent'} does not exist." in output
