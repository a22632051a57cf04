"""A run of any study, as if its cases had been measured: events from a rate model, taken in as the engine's are.

    run = measured(STUDY, lambda case, key: 1e9)

Beside `RunBuilder`, which makes runs of writes and reads with many features of results, this makes runs of
everything that a study can say.
"""

from __future__ import annotations

from collections.abc import Callable

from ioassay.protocol.event import EventPhase, EventStarted, RankRecord
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.store.document import CaseEntry, JobEntry, RunDocument
from ioassay.store.ingest import TableRows
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import Measurement
from ioassay.studies.cases import expand
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.testing.builder import STARTED_UNIX_NS, environment
from ioassay.yaml_models.source import parse_source

Operations = Callable[[CaseEntry, Measurement], float]
"""The rate of a measurement in operations per second."""


def measured(text: str, rate: Operations = lambda case, key: 1000.0) -> LoadedRun:
    """The run of the study in `text`."""
    resolved = resolve(parse_source(text, "study.yaml", "study"), None, [])
    cases = [case.entry for case in expand(resolved, "example", Target("directory", "/mnt/store"), "local")]
    rows = TableRows()
    for case in cases:
        case.state = "complete"
        rows.add(case, [_STARTED, *(_event(case, key, rate(case, key)) for key in case.measured)])
    document = RunDocument(
        run="20260202-024000-example",
        study=resolved.entry,
        cases=cases,
        target="/mnt/store",
        launcher="local",
        command=["ioassay", "run", "example", "--target", "/mnt/store"],
        ioassay_version="0.1.0",
        engine_version="0.1.0",
        environment=[environment("client00")],
        state="complete",
        started="2026-02-02T02:40:00+00:00",
        ended="2026-02-02T02:44:10+00:00",
    )
    joined = rows.tables()
    return LoadedRun(document=document, samples=joined.pop("samples").lazy(), watch=None, **joined)


_STARTED: EventStarted = {
    "event": "started",
    "version": PROTOCOL_VERSION,
    "engine_version": "0.1.0",
    "run": "example",
    "case": "any",
    "unix_ns": STARTED_UNIX_NS,
    "workspace": "/mnt/store/ioassay-example",
    "nodes": [environment("client00")],
}


def _event(case: CaseEntry, key: Measurement, rate: float) -> EventPhase:
    _, phase, name, measured_operation = key
    job = case.job(phase, name)
    [operation] = [job_operation for job_operation in job.operations if job_operation == measured_operation]
    operations = max(1, job.planned_operations // len(job.operations))
    transfer_bytes = job.transfer_bytes or 0
    duration_ns = max(1, round(operations / rate * 1e9))
    ranks = [_rank(job, number, operations // job.ranks, transfer_bytes, duration_ns) for number in range(job.ranks)]
    operations_done = sum(rank["operations"] for rank in ranks)
    return {
        "event": "phase",
        "step": 0,
        "name": phase,
        "job": name,
        "operation": operation,
        "started_unix_ns": STARTED_UNIX_NS + case.measured.index(key) * 10**9,
        "complete": True,
        "bytes": operations_done * transfer_bytes,
        "operations": operations_done,
        "duration_ns": duration_ns,
        "first_finished_ns": duration_ns,
        "first_finished_bytes": operations_done * transfer_bytes,
        "first_finished_operations": operations_done,
        "stonewall": {
            "at_ns": duration_ns // 2,
            "bytes": operations_done // 2 * transfer_bytes,
            "operations": operations_done // 2,
            "least_operations": operations_done // 2 // job.ranks,
            "most_operations": operations_done // 2 // job.ranks,
        },
        "matched": operations_done // 2 if operation == "find" else None,
        "start_spread_ns": 0,
        "finish_spread_ns": 0,
        "sample_interval_ns": 10**9,
        "resident_bytes_before": None,
        "latencies": {"lowest_ns": [1000], "highest_ns": [1010], "count": [operations_done]},
        "ranks": ranks,
        "doubts": [],
    }


def _rank(job: JobEntry, number: int, operations: int, transfer_bytes: int, duration_ns: int) -> RankRecord:
    samples = -(-duration_ns // 10**9)
    spread = [operations // samples + (sample < operations % samples) for sample in range(samples)]
    return {
        "rank": number,
        "node": 0,
        "start_ns": 0,
        "end_ns": duration_ns,
        "open_ns": 0,
        "fill_ns": 0,
        "transfer_ns": duration_ns,
        "fsync_ns": 0,
        "close_ns": 0,
        "bytes": operations * transfer_bytes,
        "operations": operations,
        "short_transfers": 0,
        "slowest_ns": 1010,
        "at_stonewall": {"bytes": operations // 2 * transfer_bytes, "operations": operations // 2},
        "usage": {
            "user_ns": duration_ns // 20,
            "system_ns": duration_ns // 10,
            "voluntary_switches": operations,
            "involuntary_switches": 1,
            "minor_faults": 10,
            "major_faults": 0,
            "peak_memory_bytes": 8 << 20,
            "device_read_bytes": None,
            "device_write_bytes": operations * transfer_bytes,
            "waited_ns": 0,
        },
        "sample_bytes": [count * transfer_bytes for count in spread],
        "sample_operations": spread,
    }
