"""Every study in `examples/` and every check in the documentation runs, so that copies of them work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

from .support import ioassay, measure

SMALL = {"total": "16MiB", "samples": "256", "items": "50", "warm_time": "10ms", "repetitions": "1"}
"""What keeps an example short, where it has such a setting."""

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
DOCUMENTS = ["docs/reference/criteria.md", "docs/guides/continuous-integration.md"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_example_runs(example: Path, target: Path, tmp_path: Path) -> None:
    settings = resolve(find_study(str(example)), None, []).entry.settings
    small = [option for name, value in SMALL.items() if name in settings for option in ("--set", f"{name}={value}")]
    measure(example, target, tmp_path / "run", *small)
    assert list(target.iterdir()) == []


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A directory with the runs `RUN` and `BASELINE`, of sequential writes and random reads."""
    for name in ("RUN", "BASELINE"):
        builder = RunBuilder().clients(8, 16).repetitions(3).criterion("failed_phases", unit="1", at_most=0)
        builder.workload("sequential", write=30e9).workload("random", order="random", read=9e9)
        store(builder.build(), tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_checks_of_a_document_judge_a_run_by_its_criteria(document: str, stored: Path) -> None:
    text = (ROOT / document).read_text()
    criteria = re.findall(r"^```yaml\n(criteria:.*?)^```", text, re.DOTALL | re.MULTILINE)
    checks = re.findall(r"^ioassay (check RUN[^|\n]*)", text, re.MULTILINE)
    assert criteria
    assert checks
    for written in criteria:
        (stored / "criteria.yaml").write_text(written)
        for check in checks:
            code, out, err = ioassay(*shlex.split(check, comments=True), directory=stored)
            assert (code in (0, 1), err) == (True, ""), check
            assert re.search(r'"judgement": "passed"|checks?: ', out)
