"""`ioassay check --baseline` with runs of the real engine: what was not measured alike is refused until it is accepted.

Every check allows a loss of nearly everything, so that no verdict hangs on what this machine does meanwhile.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from .support import ioassay, measure

STUDY = """\
name: conditions
title: A study for tests
question: Does it work?
clients: [1]
repetitions: 3
sample_interval: 100ms
storage: {api: posix}
steps:
  - write: {fsync: at-close}
  - read
workloads:
  sequential:
    title: Sequential
    layout: N-N
    order: sequential
    transfer: 64KiB
    total: 1MiB
    payload: repeated
  items:
    title: Items
    tree: {sharing: unique, items: 8}
    steps: [create-tree, {create: {bytes: 4KiB}}, {replace: {bytes: 4KiB}}, stat, remove, remove-tree]
"""

Measured = Callable[..., Path]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Measures the study with `old` replaced by `new` in its text, each variation once."""
    runs: dict[tuple[str, str], Path] = {}
    directory = tmp_path_factory.mktemp("runs")

    def do(old: str = "", new: str = "") -> Path:
        if (old, new) not in runs:
            run = directory / f"run{len(runs)}"
            target = directory / f"target{len(runs)}"
            target.mkdir()
            assert old in STUDY
            file = directory / f"study{len(runs)}.yaml"
            file.write_text(STUDY.replace(old, new) if old else STUDY)
            measure(file, target, run)
            runs[old, new] = run
        return runs[old, new]

    return do


def check(run: Path, baseline: Path, *accepted: str) -> tuple[int, str, str]:
    although = [word for condition in accepted for word in ("--although", condition)]
    return ioassay("check", run, "--baseline", baseline, "--tolerance", "99.99%", "--json", *although)


def messages_of(printed: str) -> list[str]:
    return [check_entry["says"] for check_entry in json.loads(printed)["checks"]]


@pytest.mark.parametrize(
    ("old", "new", "conditions", "difference"),
    [
        ("write: {fsync: at-close}", "write: {fsync: never}", ["fsync"], "fsync never against at-close"),
        ("{api: posix}", "{api: posix, direct: yes}", ["direct"], "direct I/O yes against no"),
        ("payload: repeated", "payload: zero", ["payload"], "payload zero against repeated"),
        ("{api: posix}", "{api: uring, depth: 4}", ["api", "depth"], "storage API uring against posix"),
    ],
)
def test_a_run_under_other_conditions_is_judged_only_when_each_is_accepted(
    old: str, new: str, conditions: Sequence[str], difference: str, measured: Measured
) -> None:
    run, baseline = measured(old, new), measured()
    for already in range(len(conditions)):
        code, out, err = check(run, baseline, *conditions[:already])
        assert (code, out) == (2, "")
        assert already or f"different conditions: {difference} of {baseline.name}" in err
        remedy = " ".join(f"--although {condition}" for condition in conditions[already:])
        assert f"accept the difference: {remedy}\n" in err
    code, out, err = check(run, baseline, *conditions)
    assert (code, err) == (0, "")
    assert any("different conditions: " in message for message in messages_of(out))


def test_runs_under_the_same_conditions_are_never_refused(measured: Measured) -> None:
    code, out, err = check(measured("A study", "The same study, measured again"), measured())
    assert (code, err) == (0, "")
    assert not any("alike" in message for message in messages_of(out))


def test_a_run_without_a_recorded_condition_is_not_refused(measured: Measured, tmp_path: Path) -> None:
    earlier = shutil.copytree(measured(), tmp_path / "earlier")
    document = json.loads((earlier / "run.json").read_text())
    for job in [job for case in document["cases"] for phase in case["phases"] for job in phase["jobs"]]:
        for condition in ("api", "direct", "depth", "fsync", "payload"):  # not stored by earlier versions
            job.pop(condition, None)
    (earlier / "run.json").write_text(json.dumps(document))
    for run, baseline in ((earlier, measured()), (measured("{api: posix}", "{api: uring, depth: 4}"), earlier)):
        code, _, err = check(run, baseline)
        assert (code, err) == (0, "")
