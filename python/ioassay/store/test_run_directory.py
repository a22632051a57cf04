from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.errors import UsageError
from ioassay.protocol.event import Event
from ioassay.reports.document.markdown import rendered
from ioassay.reports.run import document as run_document
from ioassay.reports.run.content import assemble
from ioassay.store import run_directory, run_writer, schema, stored_tables
from ioassay.store.document import RunDocument
from ioassay.store.run_directory import load, read_document
from ioassay.store.run_writer import RunWriter
from ioassay.store.stored_directory import StoredDirectory
from ioassay.testing.front_end_run import ior_plan

Events = Callable[..., list[Any]]
Lines = Callable[[list[Event]], str]

PLANS: dict[str, Any] = {case: ior_plan(case, Path("/target/file")) for case in ("seq-1", "seq-2")}


@pytest.fixture
def run(tmp_path: Path, document: RunDocument) -> RunWriter:
    return RunWriter.create(tmp_path / "run", document, PLANS)


def _report(run: RunWriter, case: str, text: str) -> None:
    """What the engine would have written."""
    run.files(case).events.write_text(text)


def _complete_first_case(run: RunWriter, events: Events, lines: Lines) -> None:
    first = run.document.cases[0]
    run.begin(first)
    _report(run, first.id, lines(events(first.id)))
    first.state = "complete"
    run.end(first)


def _kill_during_second_case(run: RunWriter, text: str) -> None:
    run.begin(run.document.cases[1])
    _report(run, "seq-2", text)
    run.close()  # what the system does for a killed process


def _end(run: RunWriter) -> None:
    run.document.state = "complete"
    run.save()
    run.close()


def _files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_new_run_holds_all_plans_and_empty_tables(run: RunWriter) -> None:
    assert [json.loads(line) for line in (run.path / "logs" / "plans.jsonl").open()] == [*PLANS.values()]
    loaded = load(run.path)
    assert loaded.document.model_dump() == run.document.model_dump()
    assert loaded.measurements.schema == schema.MEASUREMENTS
    assert loaded.measurements.height == 0


def test_results_are_on_disk_after_every_case(run: RunWriter, events: Events, lines: Lines) -> None:
    _complete_first_case(run, events, lines)
    loaded = load(run.path)
    assert loaded.document.state == "running"
    assert [node["host"] for node in loaded.document.environment] == ["n1"]
    assert loaded.document.engine_version == "0.1.0"
    assert loaded.measurements["case"].to_list() == ["seq-1"]
    assert loaded.samples.collect().height == 5


def _many(path: Path, document: RunDocument, count: int) -> RunWriter:
    first = document.cases[0]
    document.cases = [first.model_copy(update={"id": f"seq-{number}"}) for number in range(1, count + 1)]
    return RunWriter.create(path, document, {case.id: PLANS["seq-1"] | {"case": case.id} for case in document.cases})


def _complete(run: RunWriter, number: int, text: str) -> None:
    case = run.document.cases[number]
    run.begin(case)
    _report(run, case.id, text)
    case.state = "complete"
    run.end(case)


def test_the_bytes_written_for_a_case_do_not_grow_with_the_number_of_cases(
    tmp_path: Path, document: RunDocument, events: Events, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _many(tmp_path / "many", document, 400)
    assert [file.name for file in (run.path / "logs").iterdir()] == ["plans.jsonl"], "a file for all plans"
    written: list[int] = []
    replace = os.replace

    def counted(source: Path, target: Path, **more: Any) -> None:
        written.append(os.stat(source, dir_fd=more.get("src_dir_fd")).st_size)
        replace(source, target, **more)

    monkeypatch.setattr(os, "replace", counted)
    text = lines(events("seq-1"))
    for number in range(400):
        _complete(run, number, text)
    run.document.state = "complete"
    run.save()
    once = sum(file.stat().st_size for file in run.path.iterdir() if file.is_file())
    logs = sum(file.stat().st_size for file in run.path.glob("logs/*/*"))
    assert sum(written) < 2 * logs + 2 * once, "tables and run.json are rewritten for as many bytes of logs"
    assert load(run.path).measurements["case"].n_unique() == 400


def test_a_killed_run_has_every_case_that_had_ended(
    tmp_path: Path, document: RunDocument, events: Events, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_writer, "_ALWAYS_REWRITTEN_BYTES", 0)
    run = _many(tmp_path / "many", document, 80)
    text = lines(events("seq-1"))
    complete = stored = 0
    # Tables are rewritten now and then: until a case has ended since.
    while not 0 < stored < complete:
        _complete(run, complete, text)
        complete += 1
        stored = pl.read_parquet(run.path / "measurements.parquet")["case"].n_unique()
    run.begin(run.document.cases[complete])
    run.close()
    loaded = load(run.path)
    ended = [f"seq-{number + 1}" for number in range(complete)]
    assert loaded.measurements["case"].unique(maintain_order=True).to_list() == ended
    assert [case.state for case in loaded.document.cases] == ["complete"] * complete + ["pending"] * (80 - complete)
    assert loaded.document.state == "interrupted"
    with RunWriter.reopen(run.path) as again:
        again.begin(again.document.cases[complete])
        plan = json.loads(again.files(f"seq-{complete + 1}").plan.read_text())
        assert plan == PLANS["seq-1"] | {"case": f"seq-{complete + 1}"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: [lines[0]], "it has 1 plans, but the run has 2 cases"),
        (lambda lines: lines[::-1], "it is the plan of the case seq-1"),
        (lambda lines: [lines[0], lines[1][:100]], "the plan of the case seq-2 is cut short"),
        (lambda lines: [lines[0], "{}"], "[a-z]+: Field required"),
    ],
)
def test_a_case_does_not_begin_with_a_damaged_plan(
    run: RunWriter, events: Events, lines: Lines, change: Callable[[list[str]], list[str]], why: str
) -> None:
    _complete_first_case(run, events, lines)
    run.close()
    plans = run.path / "logs" / "plans.jsonl"
    plans.write_text("".join(line + "\n" for line in change(plans.read_text().splitlines())))
    with RunWriter.reopen(run.path) as again:
        second = again.document.cases[1]
        with pytest.raises(UsageError, match=rf"plans\.jsonl is damaged: {why}"):
            again.begin(second)
        assert second.state == "pending"
        assert not again.files("seq-2").directory.exists()


def test_a_case_does_not_begin_without_its_plan(run: RunWriter) -> None:
    (run.path / "logs" / "plans.jsonl").unlink()
    with pytest.raises(UsageError, match=r"plans\.jsonl is missing, and the case seq-1 has no plan"):
        run.begin(run.document.cases[0])


@pytest.mark.parametrize("tail", ["", '{"event":"phase","name":"re'])
def test_a_killed_run_is_completed_from_its_logs_and_shown_as_interrupted(
    run: RunWriter, events: Events, lines: Lines, tail: str
) -> None:
    _complete_first_case(run, events, lines)
    _kill_during_second_case(run, lines(events("seq-2", None, ["write"])) + tail)

    loaded = load(run.path)
    assert loaded.document.state == "interrupted"
    assert [case.state for case in loaded.document.cases] == ["complete", "interrupted"]
    assert loaded.document.leftovers == ["/target/ioassay-r"]
    assert loaded.measurements["case"].to_list() == ["seq-1", "seq-2"]

    stored = _files(run.path)
    assert load(run.path).document == loaded.document
    assert _files(run.path) == stored, "recovery is done once"


def test_a_run_killed_after_its_last_case_is_complete(run: RunWriter, events: Events, lines: Lines) -> None:
    _complete_first_case(run, events, lines)
    _kill_during_second_case(run, lines(events("seq-2")))
    document = load(run.path).document
    assert (document.state, document.leftovers) == ("complete", [])
    assert document.ended == "2023-11-14T22:13:29+00:00"


def test_recovering_in_memory_gives_the_same_as_recovering_on_disk(
    run: RunWriter, events: Events, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    _kill_during_second_case(run, lines(events("seq-2", None)))
    before = _files(run.path)

    def denied(path: Path) -> RunWriter:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "reopen", denied)
        in_memory = load(run.path)
    assert _files(run.path) == before
    on_disk = load(run.path)
    assert in_memory.document == on_disk.document
    assert in_memory.samples.collect().equals(on_disk.samples.collect())


def test_a_run_in_use_is_read_as_it_is_and_cannot_be_reopened(run: RunWriter) -> None:
    assert load(run.path).document.state == "running"
    with pytest.raises(UsageError, match="in use by process"):
        RunWriter.reopen(run.path)


def test_a_case_that_runs_again_keeps_its_earlier_attempts_and_replaces_their_rows(
    run: RunWriter, events: Events, lines: Lines
) -> None:
    _complete_first_case(run, events, lines)
    for attempt in (1, 2):
        case = run.document.cases[0]
        run.begin(case)
        assert read_document(run.path).cases[0].state == "running"
        assert run.loaded().measurements.height == 1, "the earlier rows stay until there are new ones"
        _report(run, case.id, lines(events(case.id)))
        run.end(case)
        assert (run.files(case.id).directory / f"attempt-{attempt}" / "events.jsonl").exists()
        assert load(run.path).measurements.height == 1


def test_a_directory_that_holds_anything_is_no_place_for_a_new_run(
    run: RunWriter, document: RunDocument, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="already holds a run") as refused:
        RunWriter.create(run.path, document, PLANS)
    assert f"--resume {run.path}" in refused.value.remedy

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").touch()
    with pytest.raises(UsageError, match="is not empty"):
        RunWriter.create(tmp_path / "mine", document, PLANS)
    with pytest.raises(UsageError, match="is not a directory"):
        RunWriter.create(tmp_path / "mine" / "thesis", document, PLANS)


@pytest.mark.parametrize("name", ["absent", "empty", "file"])
def test_a_directory_that_is_no_run_is_refused_as_such(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"is not a run directory: it has no run\.json"):
        load(tmp_path / name)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"version": 2}', '{"version": "1"}'])
def test_a_damaged_run_json_is_named(run: RunWriter, content: str) -> None:
    (run.path / "run.json").write_text(content)
    with pytest.raises(UsageError, match=r"run\.json is damaged"):
        load(run.path)


def test_a_newer_run_is_refused_with_a_remedy(run: RunWriter) -> None:
    (run.path / "run.json").write_text('{"version": 99, "what": "ever"}')
    with pytest.raises(UsageError, match="version 99") as refused:
        load(run.path)
    assert "newer" in refused.value.remedy


def test_a_damaged_table_is_named_and_deleting_it_restores_it(run: RunWriter, events: Events, lines: Lines) -> None:
    _complete_first_case(run, events, lines)
    _end(run)
    whole = load(run.path).samples.collect()
    table = run.path / "samples.parquet"
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(UsageError, match=r"samples\.parquet is damaged") as refused:
        load(run.path)
    assert refused.value.remedy.startswith("Delete it")
    table.unlink()
    assert load(run.path).samples.collect().equals(whole)


def test_a_table_of_other_columns_is_not_read(run: RunWriter) -> None:
    _end(run)
    (run.path / "ranks.parquet").write_bytes((run.path / "doubts.parquet").read_bytes())
    with pytest.raises(UsageError, match=r"ranks\.parquet does not have the columns"):
        load(run.path)


def test_a_table_is_not_rebuilt_from_logs_that_are_gone(run: RunWriter, events: Events, lines: Lines) -> None:
    _complete_first_case(run, events, lines)
    (run.path / "samples.parquet").unlink()
    run.files("seq-1").events.unlink()
    with pytest.raises(UsageError, match=r"events\.jsonl is missing"):
        load(run.path)


def test_a_full_disk_leaves_the_document_as_it_was(run: RunWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (run.path / "run.json").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    run.document.state = "failed"
    with pytest.raises(OSError, match="No space"):
        run.save()
    assert (run.path / "run.json").read_bytes() == before
    assert not [file for file in run.path.iterdir() if file.name.startswith(".")]


def test_a_run_that_is_being_written_is_read_as_it_was_at_one_moment(
    tmp_path: Path, document: RunDocument, events: Events, lines: Lines
) -> None:
    def write(run: RunWriter) -> None:
        for case in run.document.cases:
            run.begin(case)
            _report(run, case.id, lines(events(case.id)))
            case.state = "complete"
            run.end(case)

    read = 0
    for number in range(5):
        run = RunWriter.create(tmp_path / f"run-{number}", document.model_copy(deep=True), PLANS)
        writer = threading.Thread(target=write, args=(run,))
        writer.start()
        while writer.is_alive():
            loaded = load(run.path)
            assert loaded.document.state == "running"
            assert loaded.document.live_at is not None
            complete = {case.id for case in loaded.document.cases if case.state == "complete"}
            assert set(loaded.measurements["case"]) >= complete
            assert set(loaded.samples.collect()["case"]) == set(loaded.measurements["case"])
            read += 1
        writer.join()
        _end(run)
        assert load(run.path).document.live_at is None
    assert read >= 5


@pytest.mark.parametrize("damage", [b"", b"PAR1 of somebody else PAR1", None])
def test_a_damaged_table_is_named_and_rebuilt_where_a_run_goes_on(
    run: RunWriter, events: Events, lines: Lines, damage: bytes | None
) -> None:
    _complete_first_case(run, events, lines)
    _end(run)
    whole = load(run.path)
    table = run.path / "ranks.parquet"
    table.unlink()
    if damage is None:
        table.symlink_to("/dev/zero")
    else:
        table.write_bytes(damage)
    with RunWriter.reopen(run.path) as again:
        wrong = again.repair_tables()
        assert wrong.startswith(f"{table} is ")
        assert again.repair_tables() == ""
        assert again.loaded().ranks.equals(whole.ranks)
    assert load(run.path).ranks.equals(whole.ranks)


def test_a_run_is_opened_without_its_tables_where_they_are_not_needed(
    run: RunWriter, events: Events, lines: Lines
) -> None:
    _complete_first_case(run, events, lines)
    _end(run)
    (run.path / "samples.parquet").write_bytes(b"damaged")
    before = _files(run.path)
    with RunWriter.reopen(run.path) as again:
        again.document.leftovers = ["/target/file"]
        again.save()
    assert read_document(run.path).leftovers == ["/target/file"]
    assert {name for name, content in _files(run.path).items() if content != before[name]} == {"run.json"}


def test_a_table_is_not_rebuilt_of_logs_that_are_gone(run: RunWriter, events: Events, lines: Lines) -> None:
    _complete_first_case(run, events, lines)
    _end(run)
    run.files("seq-1").events.unlink()
    table = run.path / "ranks.parquet"
    table.write_bytes(b"damaged")
    with RunWriter.reopen(run.path) as again, pytest.raises(UsageError, match="a table has to be rebuilt from it"):
        again.repair_tables()
    assert table.read_bytes() == b"damaged"


def test_a_run_that_is_resumed_while_it_is_read_is_never_half_of_each(
    run: RunWriter, events: Events, lines: Lines
) -> None:
    _complete_first_case(run, events, lines)
    _end(run)
    whole = load(run.path)
    read_tables = stored_tables.read_tables

    def resumed(directory: StoredDirectory, document: RunDocument) -> tuple[dict[str, pl.DataFrame], pl.LazyFrame]:
        """As the tables are read, another process goes on with the run."""
        tables = read_tables(directory, document)
        monkeypatch.undo()
        with RunWriter.reopen(run.path) as again:
            case = again.document.cases[1]
            again.begin(case)
            _report(again, case.id, lines(events(case.id)))
            case.state = "complete"
            again.end(case)
        return tables

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(run_directory, "read_tables", resumed)
        loaded = load(run.path)
    assert whole.measurements["case"].to_list() == ["seq-1"]
    assert loaded.measurements["case"].to_list() == ["seq-1", "seq-2"]
    assert [case.state for case in loaded.document.cases] == ["complete", "complete"]


def test_a_live_run_says_so(run: RunWriter, events: Events, lines: Lines) -> None:
    _complete_first_case(run, events, lines)
    assert "is in progress" in rendered(run_document.document(assemble(load(run.path))))


@pytest.mark.parametrize("name", ["measurements", "ranks", "doubts", "latencies"])
def test_a_small_table_of_very_many_rows_is_refused_before_it_is_unpacked(run: RunWriter, name: str) -> None:
    _end(run)
    values = {pl.Int64: 0, pl.Float64: 0.0, pl.String: "seq-1", pl.Boolean: True}
    row = {column: values[kind.base_type()] for column, kind in schema.TABLES[name].items()}
    table = pl.DataFrame([row], schema=schema.TABLES[name])
    file = run.path / f"{name}.parquet"
    table[pl.zeros(1_000_000, dtype=pl.UInt32, eager=True)].write_parquet(file)
    assert file.stat().st_size < 200_000
    with pytest.raises(UsageError, match=rf"{name}\.parquet is damaged: it has [0-9]+ rows"):
        load(run.path)
