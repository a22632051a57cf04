"""Repetitions until medians are known well enough, and the order of cases.

Whether a point is narrow must not hang on what this machine does: `until 100000 %` is met by whatever was measured
three times, and no two phases take the same time to within `until 0.0000001 %`.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

from ioassay.store.document import RunDocument
from ioassay.store.events import ProgressTail
from ioassay.store.run_directory import load, read_document

from .support import Measurement, ioassay, measure, study, until, workload

SOON = "until 100000 %, at most 5"
NEVER = "until 0.0000001 %, at most 4"


def states(document: RunDocument, name: str) -> list[str]:
    """The states of a workload's cases in the order of their repetitions."""
    return [case.state for case in document.cases if case.workload == name]


def test_narrow_points_stop_early_and_wide_ones_are_repeated_to_the_most_and_named(
    target: Path, tmp_path: Path
) -> None:
    file = study(tmp_path, workload("soon", repetitions=SOON), workload("never", repetitions=NEVER))
    code, out, err = ioassay("run", file, "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    assert "at most 9 cases" in err
    assert "Writes at most 9.00 MiB" in err
    assert "soon.c002.r4 and later repetitions are not needed. After 3 repetitions" in err
    assert "[14/14]" in err

    run = load(tmp_path / "run")
    assert run.document.state == "complete"
    assert states(run.document, "soon") == ["complete"] * 3 + ["not needed"] * 2
    assert states(run.document, "never") == ["complete"] * 4
    assert Counter(run.measurements["workload"]) == {"soon": 6, "never": 8}
    assert not (tmp_path / "run/logs/soon.c002.r4/events.jsonl").exists()
    assert "1 point of the sweep still spread too much" in out

    code, markdown, _ = ioassay("report", tmp_path / "run", "--format", "md")
    assert code == 0
    assert "The run is complete. 7 of 9 cases complete, 2 not needed" in markdown
    assert "were not made" not in markdown
    assert "- never, 2 clients: write ±" in markdown
    code, text, _ = ioassay("report", tmp_path / "run", "--format", "json")
    document = json.loads(text)
    assert [point["workload"] for point in document["still_wide"]] == ["never"]
    assert [case["state"] for case in document["run"]["cases"]].count("not needed") == 2


def test_unneeded_repetitions_are_not_resumed_and_the_order_stays(target: Path, tmp_path: Path) -> None:
    steps = "[{write: {limit: {stonewall: 2s}}}]"  # long enough to be interrupted
    walled = workload("long", transfer="4", total="256MiB", steps=steps, repetitions="3")
    file = study(tmp_path, workload("soon", repetitions=SOON), walled)
    file.write_text(file.read_text().replace("workloads:", "case_order: interleaved\nworkloads:", 1))
    run = Measurement(file, target, tmp_path / "run")
    last = tmp_path / "run/logs/long.c002.r3/progress.jsonl"
    until(lambda: any(line["bytes"] > 0 for line in ProgressTail(last).new()), "the last case to move data")
    run.process.send_signal(signal.SIGTERM)
    run.end()
    before = read_document(tmp_path / "run")
    assert before.state == "interrupted"
    assert states(before, "soon") == ["complete"] * 3 + ["not needed"] * 2
    for _ in range(2):
        code, _, err = ioassay("run", "--resume", tmp_path / "run")
        assert code == 0, err
        after = load(tmp_path / "run")
        assert after.document.state == "complete"
        assert [case.id for case in after.document.cases] == [case.id for case in before.cases]
        assert states(after.document, "soon") == ["complete"] * 3 + ["not needed"] * 2
        assert Counter(after.measurements["workload"]) == {"soon": 6, "long": 3}


def test_every_second_sweep_of_interleaved_cases_is_reversed(target: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("a", repetitions="2"), workload("b", repetitions="2"))
    file.write_text(file.read_text().replace("workloads:", "case_order: interleaved\nworkloads:", 1))
    run = measure(file, target, tmp_path / "run")
    order = run.measurements.filter(phase="write").sort("started_unix_ns")["case"].to_list()
    assert order == ["a.c002.r1", "b.c002.r1", "b.c002.r2", "a.c002.r2"]
    assert "Every second sweep runs in reverse order" in " ".join(run.document.study.method)
