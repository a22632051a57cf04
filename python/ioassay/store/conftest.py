"""A case of a run and the events that an engine would report for it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ioassay.protocol.event import Event, EventPhase, Outcome, RankRecord
from ioassay.store.document import CaseEntry, JobEntry, PhaseEntry, RunDocument, StudyEntry, WorkloadEntry
from ioassay.testing.builder import environment

MIB = 1 << 20


def _case(name: str = "seq-1") -> CaseEntry:
    return CaseEntry(
        id=name,
        workload="seq",
        point={"clients": 2, "ranks_per_client": 1},
        repetition=1,
        file_set_bytes=6 * MIB,
        written_bytes=6 * MIB,
        phases=[PhaseEntry(name=name, jobs=[_job(name)]) for name in ("write", "read")],
    )


def _job(name: str) -> JobEntry:
    return JobEntry(
        name=name,
        operations=["write"],
        ranks=2,
        file_set="data",
        layout="N-N",
        order="sequential",
        files=2,
        transfer_bytes=MIB,
        file_set_bytes=6 * MIB,
        planned_bytes=6 * MIB,
        planned_operations=6,
        command="ior -w",
    )


def _phase(name: str = "write") -> EventPhase:
    def rank(number: int, samples: list[int]) -> RankRecord:
        return {
            "rank": number,
            "node": 0,
            "start_ns": number,
            "end_ns": 2_000_000_000,
            "open_ns": 10,
            "fill_ns": 0,
            "transfer_ns": 20,
            "fsync_ns": 30,
            "close_ns": 40,
            "bytes": sum(samples) * MIB,
            "operations": sum(samples),
            "short_transfers": number,
            "slowest_ns": 99,
            "at_stonewall": {"bytes": MIB, "operations": 1},
            "usage": {
                "user_ns": 5,
                "system_ns": 7,
                "voluntary_switches": 3,
                "involuntary_switches": 1,
                "minor_faults": 2,
                "major_faults": 0,
                "peak_memory_bytes": 4096,
                "device_read_bytes": None,
                "device_write_bytes": sum(samples) * MIB,
            },
            "sample_bytes": [count * MIB for count in samples],
            "sample_operations": samples,
        }

    return {
        "event": "phase",
        "step": 0,
        "name": name,
        "job": name,
        "operation": "write",
        "started_unix_ns": 1_700_000_000_000_000_000,
        "complete": True,
        "bytes": 6 * MIB,
        "operations": 6,
        "duration_ns": 2_000_000_000,
        "first_finished_ns": 1_000_000_000,
        "first_finished_bytes": 4 * MIB,
        "first_finished_operations": 4,
        "stonewall": {
            "at_ns": 500_000_000,
            "bytes": 2 * MIB,
            "operations": 2,
            "least_operations": 1,
            "most_operations": 1,
        },
        "matched": None,
        "start_spread_ns": 1,
        "finish_spread_ns": 2,
        "sample_interval_ns": 1_000_000_000,
        "resident_bytes_before": None,
        "latencies": {"lowest_ns": [10, 50], "highest_ns": [11, 52], "count": [4, 2]},
        "first_byte": {"lowest_ns": [5], "highest_ns": [5], "count": [6]},
        "ranks": [rank(0, [2, 1]), rank(1, [1, 1, 1])],
        "doubts": [
            {
                "kind": "short-phase",
                "evidence": {"wanted_ns": 9, "duration_ns": 2},
                "invalidates": False,
                "message": "It was short.",
                "remedy": "Take longer.",
            }
        ],
    }


def _events(case: str, outcome: Outcome | None = "complete", phases: list[str] | None = None) -> list[Event]:
    started: Event = {
        "event": "started",
        "version": 2,
        "engine_version": "0.1.0",
        "run": "r",
        "case": case,
        "unix_ns": 1_700_000_000_000_000_000,
        "workspace": "/target/ioassay-r",
        "nodes": [environment("n1")],
    }
    events: list[Event] = [started, *[_phase(name) for name in (["write"] if phases is None else phases)]]
    if outcome is not None:
        events.append({"event": "removed", "files": 2, "left": []})
        events.append({"event": "finished", "outcome": outcome, "signal": None, "unix_ns": 1_700_000_009_000_000_000})
    return events


@pytest.fixture
def case() -> CaseEntry:
    return _case()


@pytest.fixture
def phase() -> EventPhase:
    return _phase()


@pytest.fixture
def events() -> Callable[..., list[Event]]:
    """The events of a case: `events(case, outcome, phases)`; without an outcome the engine was killed."""
    return _events


@pytest.fixture
def lines() -> Callable[[list[Event]], str]:
    """Events as the engine writes them."""
    return lambda events: "".join(json.dumps(event) + "\n" for event in events)


@pytest.fixture
def document() -> RunDocument:
    """A run of two cases, neither of which has begun."""
    return RunDocument(
        run="r",
        study=StudyEntry(
            name="tiny",
            title="Tiny",
            question="?",
            source=None,
            scale=None,
            settings={},
            text="",
            method=[],
            workloads=[WorkloadEntry(name="seq", title="Sequential")],
            figures=[],
            summary=[],
            acceptance=[],
        ),
        cases=[_case("seq-1"), _case("seq-2")],
        target="/target",
        launcher="local",
        command=["ioassay", "run"],
        ioassay_version="0.1.0",
        started="2026-01-01T00:00:00+00:00",
    )
