"""What a front end left, as a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ioassay.errors import UsageError
from ioassay.protocol.event import Event
from ioassay.store import schema
from ioassay.store.front_ends import MOST_NAMED
from ioassay.store.lock import Lock
from ioassay.store.run_directory import load, read_document
from ioassay.store.run_files import table_path
from ioassay.store.run_writer import RunWriter
from ioassay.store.stored_directory import StoredDirectory
from ioassay.testing.front_end_run import ior_plan, leave

SCHEMAS = Path(__file__).parents[1] / "schemas"

Events = Callable[..., list[Any]]
Lines = Callable[[list[Event]], str]
Left = Callable[..., Path]


@pytest.fixture
def left(tmp_path: Path, events: Events, lines: Lines) -> Left:
    """`left(outcome, outcome, …)`: a run directory with a repetition for each; `None` is one without a last word."""

    def make(*outcomes: str | None, **more: Any) -> Path:
        run = tmp_path / "run"
        plans = [ior_plan(f"test-0.r{number}", Path("/scratch/test")) for number in range(1, len(outcomes) + 1)]
        for folder, outcome in zip(leave(run, {"test-0": plans}, **more), outcomes, strict=True):
            (folder / "events.jsonl").write_text(lines(events(folder.name, outcome)))
        return run

    return make


@pytest.mark.parametrize("exit_code", [0, None])
def test_files_that_these_tests_leave_follow_the_protocol(left: Left, exit_code: int | None) -> None:
    path = left("complete", exit_code=exit_code)
    for file, schema_file in (("front-end.json", "front-end.json"), ("logs/test-0.r1/plan.json", "plan.json")):
        jsonschema.validate(json.loads((path / file).read_text()), json.loads((SCHEMAS / schema_file).read_text()))


def test_it_becomes_a_run_directory_like_any_other(left: Left) -> None:
    path = left("complete", "complete")
    run = load(path)
    assert (run.document.state, run.document.front_end, run.document.run) == ("complete", "ior", "ior-1")
    assert [(case.id, case.workload, case.repetition, case.state) for case in run.document.cases] == [
        ("test-0.r1", "test-0", 1, "complete"),
        ("test-0.r2", "test-0", 2, "complete"),
    ]
    assert run.measurements.select("case", "phase", "ranks", "layout", "order").rows() == [
        (case, "write", 2, "N-N", "ior-shuffled") for case in ("test-0.r1", "test-0.r2")
    ]
    assert run.document.ended == "2026-02-02T02:41:00+00:00"
    stored = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    assert {"run.json", *(f"{name}.parquet" for name in schema.TABLES)} <= stored.keys()
    assert load(path).document == run.document
    assert {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()} == stored


def test_its_study_is_its_command_line(left: Left) -> None:
    study = load(left("complete")).document.study
    assert (study.name, study.title) == ("ior", "IOR on /scratch")
    assert study.question == study.text == "ior -F -t 256k -b 1m -s 2 -o '/scratch/my test'"
    assert [workload.name for workload in study.workloads] == ["test-0"]
    method = " ".join(study.method)
    assert "every rank has a file of its own; 1 MiB of each rank in each of 2 segments" in method
    assert "read, each rank a part that the plan names; remove the files." in method


def test_an_amount_that_was_divided_is_no_benchmark(left: Left) -> None:
    study = load(left("complete", scale_down=100)).document.study
    assert study.scale == "1/100: a trial, not the benchmark"
    assert "Amounts were divided by 100: this was a trial, not the benchmark." in study.method


def test_only_the_io500_asks_for_its_score(left: Left) -> None:
    path = left("complete")
    assert read_document(path).study.scores is None
    file = path / "front-end.json"
    file.write_text(file.read_text().replace('"ior", "command"', '"io500", "command"'))
    assert read_document(path).study.scores == "io500"


@pytest.mark.parametrize("outcome", ["failed", "interrupted"])
def test_it_ended_as_its_cases_did(left: Left, outcome: str) -> None:
    document = load(left("complete", outcome, exit_code=1)).document
    assert (document.state, [case.state for case in document.cases]) == (outcome, ["complete", outcome])


def test_one_that_was_killed_is_interrupted_and_keeps_what_was_measured(left: Left) -> None:
    path = left("complete", None, exit_code=None)
    with (path / "logs" / "test-0.r2" / "events.jsonl").open("a") as file:
        file.write('{"event":"phase","name":"re')
    run = load(path)
    assert run.document.state == "interrupted"
    assert [case.state for case in run.document.cases] == ["complete", "interrupted"]
    assert run.measurements["case"].to_list() == ["test-0.r1", "test-0.r2"]
    # Not the directory that holds them, which is the user's.
    assert run.document.leftovers == ["/scratch/test.00000000", "/scratch/test.00000001"]


def test_one_that_was_killed_between_cases_is_interrupted_too(left: Left) -> None:
    document = load(left("complete", exit_code=None)).document
    assert (document.state, document.leftovers) == ("interrupted", [])


def test_files_that_were_to_stay_are_no_leftovers(left: Left) -> None:
    path = left(None, exit_code=None)
    plan = path / "logs" / "test-0.r1" / "plan.json"
    content = json.loads(plan.read_text())
    content["target"]["in-place"]["keep"] = True
    plan.write_text(json.dumps(content))
    assert load(path).document.leftovers == []


def test_a_plan_that_the_engine_refuses_is_damaged(left: Left) -> None:
    path = left("complete")
    plan = path / "logs" / "test-0.r1" / "plan.json"
    content = json.loads(plan.read_text())
    content["files"]["test"]["block_bytes"] = 1 << 62
    plan.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"is damaged: files\.test\.segments: the files add up to"):
        load(path)


def test_work_of_a_plug_in_that_is_missing_here_is_counted(left: Left) -> None:
    path = left("complete")
    plan = path / "logs" / "test-0.r1" / "plan.json"
    content = json.loads(plan.read_text())
    content["storage"] = {"api": "mpi-io", "plugin": "/nowhere/mpi-io.so"}
    plan.write_text(json.dumps(content))
    (case,) = load(path).document.cases
    assert (case.written_bytes, case.job("write", "write").api) == (content["ranks"]["per_client"] * 2 << 20, "mpi-io")


def test_many_leftovers_are_counted(left: Left) -> None:
    path = left(None, exit_code=None)
    plan = path / "logs" / "test-0.r1" / "plan.json"
    plan.write_text(json.dumps(ior_plan("test-0.r1", Path("/scratch/test"), ranks=MOST_NAMED + 5)))
    leftovers = load(path).document.leftovers
    assert len(leftovers) == MOST_NAMED + 1
    assert any("and 5 more" in left for left in leftovers)


@pytest.mark.parametrize(("exit_code", "state"), [(2, "failed"), (None, "interrupted")])
@pytest.mark.parametrize("plan", [None, "{"])
def test_a_case_without_a_whole_plan_never_began(
    left: Left, plan: str | None, exit_code: int | None, state: str
) -> None:
    path = left("complete", "complete", exit_code=exit_code)
    case = path / "logs" / "test-0.r2"
    for file in case.iterdir():
        file.unlink()
    if plan is not None:
        (case / "plan.json").write_text(plan)
    document = load(path).document
    assert (document.state, document.cases[1].state, document.cases[1].phases) == (state, state, [])


def test_one_that_was_refused_at_once_failed(tmp_path: Path) -> None:
    leave(tmp_path, {}, exit_code=2)
    run = load(tmp_path)
    assert (run.document.state, run.measurements.height) == ("failed", 0)


def test_one_that_still_runs_is_refused_and_left_alone(left: Left) -> None:
    path = left("complete", None, exit_code=None)
    with (
        StoredDirectory.open(path) as held,
        Lock.acquire(held),
        pytest.raises(UsageError, match=f"in use by process {os.getpid()}"),
    ):
        load(path)
    assert not (path / "run.json").exists()


def test_one_that_has_ended_can_be_read_beside_another_reader(left: Left) -> None:
    path = left("complete")
    with StoredDirectory.open(path) as held, Lock.acquire(held):
        assert load(path).document.state == "complete"
    assert not (path / "run.json").exists()


def test_one_that_was_taken_for_killed_and_went_on_is_made_anew(left: Left) -> None:
    path = left("complete", exit_code=None)
    assert load(path).document.state == "interrupted"
    document = json.loads((path / "front-end.json").read_text())
    (path / "front-end.json").write_text(json.dumps(document | {"ended_unix_ns": 10**18, "exit_code": 0}))
    assert [load(path).document.state for _ in range(2)] == ["complete", "complete"]


def test_a_run_without_write_permission_can_be_read(left: Left, monkeypatch: pytest.MonkeyPatch) -> None:
    path = left("complete")

    def refused(run: StoredDirectory) -> Lock:
        raise PermissionError(13, "Permission denied", str(run.path))

    monkeypatch.setattr(Lock, "acquire", refused)
    run = load(path)
    assert (run.document.state, run.measurements.height) == ("complete", 1)


def test_until_run_json_is_there_the_tables_count_for_nothing(left: Left) -> None:
    path = left("complete", "complete")
    load(path)
    (path / "run.json").unlink()
    table_path(path, "measurements").write_bytes(b"of an opening that was killed")
    assert load(path).measurements.height == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"version": 2}', "is damaged: engine_version"),
        ('{"version": 99}', "has version 99"),
    ],
)
def test_a_damaged_or_newer_document_is_refused(left: Left, text: str, message: str) -> None:
    path = left("complete")
    (path / "front-end.json").write_text(text)
    for opened in (load, RunWriter.reopen):
        with pytest.raises(UsageError, match=message):
            opened(path)
