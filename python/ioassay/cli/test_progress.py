from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any, Literal, cast

import pytest
from rich.console import Console

from ioassay.cli.progress import Lines, LiveView, _SurvivingStream
from ioassay.cli.remaining_time import Remaining, RemainingPhases, units_of
from ioassay.execution.plan_check import Need
from ioassay.execution.watcher import Watcher
from ioassay.protocol.event import Event
from ioassay.protocol.progress import Progress
from ioassay.store.document import (
    OPERATIONS,
    CaseEntry,
    JobEntry,
    Operation,
    PhaseEntry,
    RunDocument,
    StopRule,
    StudyEntry,
    SummaryRow,
    WorkloadEntry,
)

GB = 10**9


def _case(workload: str = "sequential", clients: int = 1) -> CaseEntry:
    return CaseEntry(
        id=f"{workload}-{clients}",
        workload=workload,
        point={"clients": clients, "ranks_per_client": 1},
        repetition=1,
        file_set_bytes=4 * GB,
        written_bytes=4 * GB,
        phases=[PhaseEntry(name=name, jobs=[_job(name)]) for name in OPERATIONS[:2]],
    )


def _job(name: Operation) -> JobEntry:
    return JobEntry(
        name=name,
        operations=[name],
        ranks=1,
        file_set="data",
        layout="N-N",
        order="sequential",
        files=1,
        transfer_bytes=1,
        file_set_bytes=4 * GB,
        planned_bytes=4 * GB,
        planned_operations=8000,
        command="",
    )


def _document(cases: list[CaseEntry]) -> RunDocument:
    study = StudyEntry(
        name="study",
        title="",
        question="",
        source=None,
        scale="quick",
        settings={},
        text="",
        method=[],
        workloads=[WorkloadEntry(name=name, title=name) for name in ("sequential", "random")],
        figures=[],
        summary=[SummaryRow(label="", workload="random", unit="kIOPS")],
        acceptance=[],
    )
    return RunDocument(
        run="r",
        study=study,
        cases=cases,
        target="/mnt/scratch",
        launcher="local",
        command=[],
        ioassay_version="",
        started="",
    )


def _phase(name: Literal["write", "read"], seconds: float, complete: bool = True, **more: Any) -> Event:
    moved = {"bytes": 4 * GB, "operations": 8000, "duration_ns": int(seconds * 1e9)}
    names = {"name": name, "job": name, "operation": name}
    return cast(Event, {"event": "phase", **names, "complete": complete, "doubts": [], **moved, **more})


NEED = Need(written_bytes=8 << 30, at_once_bytes=4 << 30, at_once_files=1, free_bytes=90 << 30, file_system="lustre")


def _show(watcher: Watcher) -> None:
    """A run of two cases that is stopped in the second."""
    cases = [_case(), _case("random", 64)]
    document = _document(cases)
    watcher.run_begins(document)
    watcher.case_begins(cases[0])
    watcher.progress(cases[0], _moving("write", 0.5))
    doubts = [{"kind": "shared-node"}, {"kind": "short-phase"}]
    watcher.event(cases[0], _phase("write", 2, doubts=doubts))
    watcher.event(cases[0], cast(Event, {"event": "cold-cache"}))
    watcher.event(cases[0], _phase("read", 1))
    cases[0].state = "complete"
    watcher.case_ends(cases[0])
    watcher.case_begins(cases[1])
    watcher.progress(cases[1], _moving("write", 0.25))
    watcher.notice("SIGINT: stopping.")
    watcher.event(cases[1], _phase("write", 1, complete=False))
    cases[1].state, cases[1].error = "interrupted", "stopped by SIGINT; run again."
    watcher.case_ends(cases[1])
    document.state = "interrupted"
    watcher.run_ends(document)


def _moving(name: str, share: float) -> Progress:
    return {"step": 0, "name": name, "elapsed_ns": 10**9, "bytes": int(4 * GB * share), "operations": 500}


def test_output_to_a_pipe_has_a_line_per_phase() -> None:
    stream = io.StringIO()
    _show(Lines(Console(file=stream, width=40), NEED))
    assert stream.getvalue().splitlines() == [
        "study (quick) on /mnt/scratch: 2 cases",
        "Writes 8.00 GiB, at most 4.00 GiB at once; lustre has 90.0 GiB free.",
        "[1/4] sequential, 1 client write   2000 MB/s  4.00 GB in 2.00 s   shared-node, short-phase",
        "[2/4] sequential, 1 client read    4000 MB/s  4.00 GB in 1.00 s",
        "SIGINT: stopping.",
        "random-64 interrupted: stopped by SIGINT; run again.",
    ]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"walled": True}, "Writes at most 8.00 GiB, and less where stonewalls end a phase; "),
        ({"again": True}, "Writes at least 8.00 GiB: phases that last a set time write their files again until "),
        (
            {"again": True, "walled": True},
            "Writes at most 8.00 GiB in one pass: phases that last a set time write their ",
        ),
        (
            {"again": True, "stops_early": True},
            "Writes at most 8.00 GiB in one pass: phases that last a set time write their ",
        ),
    ],
)
def test_the_amount_that_a_run_will_write_is_shown_as_far_as_it_is_known(
    changed: dict[str, Any], sentence: str
) -> None:
    stream = io.StringIO()
    _show(Lines(Console(file=stream, width=200), replace(NEED, **changed)))
    line = stream.getvalue().splitlines()[1]
    assert line.startswith(sentence)
    assert ("; at most 4.00 GiB at once; " in line) == ("again" in changed)


def test_progress_with_a_stop_rule_counts_the_most_cases_that_can_come() -> None:
    cases = [_case(), _case("random", 64), _case("random", 65)]
    document = _document(cases)
    document.study.workloads[1].until = StopRule(share=0.05, at_least=3, at_most=10)
    stream = io.StringIO()
    need = replace(NEED, stops_early=True)
    view = LiveView(Console(file=stream, width=100, height=24, force_terminal=True, color_system=None), need)
    view.run_begins(document)
    assert "on /mnt/scratch: at most 3 cases" in stream.getvalue()
    assert "Writes at most 8.00 GiB" in stream.getvalue()
    view.case_begins(cases[0])
    view.event(cases[0], _phase("write", 2))
    assert "1 of 6 measured" in stream.getvalue()
    assert "at most about " in stream.getvalue()
    for case in cases[1:]:
        case.state = "not needed"
    view.notice("They are not needed.")
    stream.truncate(0)
    view.event(cases[0], _phase("read", 2))
    assert "2 of 2 measured" in stream.getvalue()
    assert "at most" not in stream.getvalue()
    view.run_ends(document)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_live_view_fits_its_terminal_and_ends_with_the_rates(width: int) -> None:
    stream = io.StringIO()
    _show(LiveView(Console(file=stream, width=width, height=24, force_terminal=True, color_system=None), NEED))
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", line) for line in stream.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    last = "\n".join(lines[-8:])
    assert "2 of 4 measured" in last
    assert re.search(r"sequential write MB/s +2000", last)
    assert "2 doubts: " in last
    assert "random" not in last, "a phase that was stopped has no rate"
    running = "\n".join(lines)
    assert "random, 64 clients  write   25%  0.500 kIOPS  1 s" in running
    assert "SIGINT: stopping." in running


@pytest.mark.parametrize(("running", "shown"), [(1, "1       2       3"), (9, "7       8       9")])
def test_a_sweep_wider_than_the_terminal_shows_the_part_that_runs(running: int, shown: str) -> None:
    cases = [_case(clients=clients) for clients in range(1, 10)]
    stream = io.StringIO()
    view = LiveView(Console(file=stream, width=50, height=24, force_terminal=True, color_system=None), None)
    view.run_begins(_document(cases))
    view.case_begins(cases[running - 1])
    view.event(cases[running - 1], _phase("write", 1))
    assert re.search(rf"clients +{shown} *[\r\n]", stream.getvalue())
    view.run_ends(_document(cases))


def test_a_display_outlives_its_terminal() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

        def flush(self) -> None:
            raise OSError(5, "Input/output error")

    stream = _SurvivingStream(Gone())
    assert stream.write("text") == 4
    stream.flush()


def test_metadata_is_shown_in_operations_by_their_name_even_where_its_items_hold_bytes() -> None:
    case = _case()
    [job] = case.phases[0].jobs
    job.operations, job.files, job.planned_bytes = ["create"], 0, 8000 * 3901
    stream = io.StringIO()
    view = LiveView(Console(file=stream, width=100, height=24, force_terminal=True, color_system=None), None)
    view.run_begins(_document([case]))
    view.case_begins(case)
    moving: Progress = {"step": 0, "name": "write", "elapsed_ns": 10**9, "bytes": 6000 * 3901, "operations": 6000}
    view.progress(case, moving)
    assert "write   75%  6000 creates/s  1 s" in stream.getvalue()
    job.planned_bytes = job.planned_operations = 0  # a walk: the number of entries is unknown
    view.progress(case, moving)
    assert "write  6000 creates/s  1 s" in stream.getvalue()
    created = _phase("write", 2, operation="create", bytes=8000 * 3901)
    view.event(case, created)
    assert re.search(r"sequential write \(create\) creates/s +4000", stream.getvalue())
    view.run_ends(_document([case]))

    stream = io.StringIO()
    lines = Lines(Console(file=stream, width=100), None)
    lines.run_begins(_document([case]))
    lines.event(case, created)
    assert stream.getvalue().splitlines() == [
        "study (quick) on /mnt/scratch: 1 case",
        "[1/2] sequential, 1 client write (create)  4000 creates/s  8000 operations in 2.00 s",
    ]


def test_kinds_of_metadata_side_by_side_are_counted_together() -> None:
    case = _case()
    [job] = case.phases[0].jobs
    job.operations, job.files = ["stat"], 0
    case.phases[0].jobs.append(job.model_copy(update={"name": "second", "operations": ["remove"]}))
    stream = io.StringIO()
    view = LiveView(Console(file=stream, width=100, height=24, force_terminal=True, color_system=None), None)
    view.run_begins(_document([case]))
    view.case_begins(case)
    view.progress(case, _moving("write", 0.5))
    assert "500 ops/s" in stream.getvalue()
    view.run_ends(_document([case]))


def _left(case: CaseEntry, *phases: PhaseEntry) -> RemainingPhases:
    left = RemainingPhases()
    left.add(case, phases)
    return left


def test_the_time_that_remains_is_judged_by_workload_and_phase() -> None:
    remaining = Remaining()
    first = _case()
    write, read = first.phases
    assert remaining.seconds(1, _left(first, write)) is None

    remaining.phase_took(first, write, 10, units_of(write))
    remaining.phase_took(first, read, 2, units_of(read))
    remaining.case_took(15)
    begun = ((first.workload, "write"), 0.5, units_of(write))
    assert remaining.seconds(0, _left(first, read), begun) == pytest.approx(5 + 2)
    assert remaining.seconds(0, _left(first, read, read)) == pytest.approx(4)
    assert remaining.seconds(1, RemainingPhases()) == pytest.approx(3), "what a case takes beside its phases"
    other = first.model_copy(update={"workload": "random"})
    assert remaining.seconds(0, _left(other, read)) == pytest.approx(2), "unknown: as the same phase elsewhere"


def test_a_phase_that_its_amount_ends_takes_longer_for_more_and_one_that_a_time_ends_does_not() -> None:
    case = _case()
    write, read = case.phases
    twice = write.model_copy(deep=True)
    twice.jobs[0].planned_bytes *= 2
    for done, expected in ((units_of(write), 20), (units_of(write) // 2, 10), (3 * units_of(write), 10)):
        remaining = Remaining()
        remaining.phase_took(case, write, 10, done)
        assert remaining.seconds(0, _left(case, twice)) == pytest.approx(expected)
        assert remaining.seconds(0, _left(case, read)) == pytest.approx(10), "unknown: as long as the others"
