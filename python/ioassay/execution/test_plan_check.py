"""Of thousands of cases, each plan is checked once for all its repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.execution.places import places
from ioassay.execution.prepare import Request, prepare
from ioassay.processes import engine
from ioassay.yaml_models.source import SourceError

STUDY = """\
name: many
title: Many
question: What does a case cost?
clients: [1]
repetitions: 1000
steps: [write, read]
workloads:
"""
WORKLOAD = "  {name}: {{title: {name}, layout: N-N, order: sequential, transfer: 4KiB, per_client: {size}}}\n"


def _request(tmp_path: Path, *sizes: str) -> Request:
    study = tmp_path / "study.yaml"
    study.write_text(
        STUDY + "".join(WORKLOAD.format(name=f"w{number}", size=size) for number, size in enumerate(sizes))
    )
    target = tmp_path / "target"
    target.mkdir()
    return Request(
        study=str(study),
        places=places([str(target)], None, None),
        scale=None,
        settings=[],
        launcher="local",
        hosts=[],
        launcher_options=[],
        time_limit_ns=None,
        ceilings=None,
        out=tmp_path / "run",
        recorded=False,
        command=[],
    )


def test_ten_thousand_cases_are_ten_plans_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked_plans: list[int] = []
    arguments = engine.check_arguments

    def counted(events: Path, plans: Sequence[Path]) -> list[str]:
        checked_plans.extend(len(file.read_text().splitlines()) for file in plans)
        return arguments(events, plans)

    monkeypatch.setattr(engine, "check_arguments", counted)
    (prepared,) = prepare(_request(tmp_path, *(f"{4 * number}KiB" for number in range(1, 11))))
    assert checked_plans == [10]
    assert len(prepared.plans) == len(prepared.document.cases) == 10_000
    assert prepared.need.written_bytes == 1000 * sum(4096 * number for number in range(1, 11))
    seeds = {plan["seed"] for plan in prepared.plans.values()}
    commands = {job.command for case in prepared.document.cases for phase in case.phases for job in phase.jobs}
    assert (len(seeds), len(commands)) == (10_000, 20_000)
    assert all(
        case.id in job.command for case in prepared.document.cases for phase in case.phases for job in phase.jobs
    )


def test_a_phase_with_a_minimum_time_needs_more_than_is_counted(tmp_path: Path) -> None:
    request = _request(tmp_path, "4KiB")
    (plain,) = prepare(request)
    study = Path(request.study)
    study.write_text(study.read_text().replace("[write, read]", "[{write: {limit: {minimum: 1s}}}, read]"))
    (timed,) = prepare(request)
    assert (plain.need.again, timed.need.again) == (False, True)
    assert plain.need.written_bytes == timed.need.written_bytes == 1000 * 4096


def test_refusals_of_the_engine_name_the_line_and_key_of_the_study(tmp_path: Path) -> None:
    request = _request(tmp_path, "4KiB", "8KiB")
    study = Path(request.study)
    study.write_text(study.read_text().replace("[write, read]", "[{write: {order: zipf 1.1}}, read]"))
    with pytest.raises(SourceError) as refused:
        prepare(request)
    (problem,) = refused.value.problems
    assert str(problem).startswith(
        f"{study}:6: steps[1]: the job reads files that no earlier phase writes in full; add an "
    )


def test_a_refusal_names_the_first_case_and_counts_the_others(tmp_path: Path) -> None:
    with pytest.raises((CannotRun, UsageError), match=r"^Case w1\.c001\.r1 \(and 999 more\): "):
        prepare(_request(tmp_path, "4KiB", "4PiB"))
