from __future__ import annotations

import pytest

from ioassay.store.plan_times import TimeRange, case_time, summed, unlimited
from ioassay.studies.cases import expand
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import parse_source

SECOND = 10**9


def timed(steps: str) -> tuple[TimeRange, list[str]]:
    """The time of a case of these steps on 2 ranks with 64 MiB in all, and its phases without a limit."""
    study = f"""\
name: timed
title: Timed
question: How long?
clients: [1]
ranks_per_client: [2]
workloads:
  w:
    title: W
    files: {{data: {{layout: N-N, order: sequential, transfer: 1MiB, total: 64MiB}}}}
    checkpoints: {{c: {{parameters: 1000}}}}
    steps: {steps}
"""
    resolved = resolve(parse_source(study, "timed.yaml", "study"), None, [])
    ((entry, plan, _),) = expand(resolved, "run", Target("directory", "/t"), "local")
    return case_time(plan, entry), unlimited(plan, entry)


@pytest.mark.parametrize(
    ("steps", "least_s", "most_s"),
    [
        ("[write]", 0, None),
        ("[write, {pause: 3s}, read]", 3, None),
        ("[{write: {limit: {stonewall: 5s}}}, {pause: 3s}, {read: {limit: {stonewall: 2s}}}]", 3, 10),
        ("[{write: {limit: {stonewall: 5s, wear_out: yes}}}]", 0, None),
        ("[{write: {limit: {minimum: 4s}}}]", 4, None),
        ("[{write: {limit: {minimum: 4s, stonewall: 6s}}}]", 4, 6),
        ("[{write: {rate: 16MiB/s}}]", 4, None),
        ("[{write: {rate: 16IOPS}}]", 4, None),
        ("[{write: {rate: 16MiB/s, limit: {stonewall: 1s}}}]", 1, 1),
        ("[{save-checkpoint: {count: 3, every: 20s}}, restore-checkpoint]", 60, None),
    ],
)
def test_a_case_takes_its_pauses_limits_and_rates(steps: str, least_s: int, most_s: int | None) -> None:
    assert timed(steps)[0] == TimeRange(least_s * SECOND, None if most_s is None else most_s * SECOND)


def test_phases_that_end_when_their_work_is_done_are_named() -> None:
    assert timed("[write, {read: {limit: {stonewall: 2s}}}]")[1] == ["write"]


def test_cases_follow_one_another() -> None:
    assert summed([TimeRange(1, 2), TimeRange(3, 4)]) == TimeRange(4, 6)
    assert summed([TimeRange(1, 2), TimeRange(3, None)]) == TimeRange(4, None)
