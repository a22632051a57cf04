"""The faithfulness of a replay in every format."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console

from ioassay import reports
from ioassay.analysis.replay.test_faithful import AS_RECORDED, STUDY, run
from ioassay.reports.document.terminal import rendered
from ioassay.reports.run import RunReport, terminal
from ioassay.reports.run.content import assemble
from ioassay.testing.measured_study import measured


def test_the_report_has_a_row_for_each_class_and_what_is_not_replayed() -> None:
    text = reports.build(RunReport(run(AS_RECORDED)), "md").decode()
    assert "## Results" in text
    assert "### Faithfulness of the replay" in text
    assert "| Reads | operations | 16 | 16 | 1.000 | – |" in text
    assert "| Writes | bytes | 16.0 MiB | 8.00 MiB | 0.500 | – |" in text
    assert "| Writes | sizes | – | – | – | 0.500 |" in text
    assert "| Metadata | time line | – | – | – | " in text
    assert "| All | duration | 8.00 s | 8.00 s | 1.000 | – |" in text
    assert "list: 3 calls, 2.00 ms" in text


def test_json_has_it_unrounded() -> None:
    document = json.loads(reports.build(RunReport(run(AS_RECORDED)), "json"))
    (replayed,) = document["replays"]
    assert (replayed["recorded_ns"], replayed["duration_ns"], replayed["complete"]) == (8 * 10**9, 8 * 10**9, True)
    write = replayed["classes"][1]
    assert (write["direction"], write["bytes_ratio"], write["size_distance"]) == ("write", 0.5, 0.5)
    assert document["run"]["study"]["replays"]["left_out"] == [{"operation": "list", "calls": 3, "time_ns": 2 * 10**6}]


def test_an_incomplete_replay_says_so() -> None:
    text = reports.build(RunReport(run(AS_RECORDED, complete=False)), "md").decode()
    assert "The replay is incomplete: some phases did not do all they had to do." in text


@pytest.mark.parametrize("form", ["md", "html"])
def test_other_runs_have_no_such_section(form: str) -> None:
    study = STUDY.partition("replays:")[0]
    assert b"Faithfulness" not in reports.build(RunReport(measured(study)), form)  # type: ignore[arg-type]


def test_the_terminal_shows_it_when_the_run_has_ended() -> None:
    console = Console(width=160, file=StringIO(), record=True)
    console.print(rendered(terminal.blocks(assemble(run(AS_RECORDED)))))
    assert "Faithfulness of the replay" in console.export_text()
