"""Builds a `LoadedRun` as a real study would leave it, from a rate model instead of a storage system.

    run = RunBuilder().workload("sequential-n-n").clients(1, 2, 4).repetitions(3).build()

The same calls always build the same run: every number comes from a generator seeded with its case and phase.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from ioassay.protocol.event import Environment
from ioassay.store import schema
from ioassay.store.document import (
    CaseEntry,
    CaseState,
    Criterion,
    FigureEntry,
    JobEntry,
    PhaseEntry,
    RunDocument,
    StudyEntry,
    SummaryRow,
    WorkloadEntry,
)
from ioassay.store.loaded import LoadedRun
from ioassay.store.point import CLIENTS, RANKS_PER_CLIENT, AxisUnit
from ioassay.store.point import text as point_text
from ioassay.store.point_types import Axis
from ioassay.store.states import RunState
from ioassay.text.units import RateUnit

GIB = 1 << 30
STARTED_UNIX_NS = 1_770_000_000_000_000_000

_HOW: Mapping[str, Any] = {"api": "posix", "direct": False, "depth": 1, "fsync": "at-close", "payload": "repeated"}


@dataclass
class _Workload:
    name: str
    title: str
    layout: Literal["N-N", "N-1"]
    order: Literal["sequential", "random"]
    transfer_bytes: int
    unit: RateUnit
    file_set_bytes: int
    peak: dict[str, float]
    """Rate in bytes/s that many clients approach, by operation."""
    how: Mapping[str, Any]
    """How it does its I/O: fields of `JobEntry`."""
    half_at: float = 2.0
    """Clients at which half of the peak is reached."""


@dataclass
class RunBuilder:
    """Builds a run. Every method returns the builder, so calls chain."""

    sweep: tuple[int, ...] = (1, 2, 4, 8)
    repeated: int = 1
    sample_interval_ns: int = 100_000_000
    workloads: list[_Workload] = field(default_factory=list)
    criteria: list[Criterion] = field(default_factory=list)
    doubts: list[dict[str, Any]] = field(default_factory=list)
    invalid_cases: set[tuple[str, str]] = field(default_factory=set)
    fixed_rates: dict[tuple[str, str, int], list[float]] = field(default_factory=dict)
    stopped: tuple[int, CaseState, str | None] | None = None
    titled: str = "I/O performance against the number of clients"
    other: Axis | None = None
    values: tuple[int | str, ...] = ()
    """The values of the axis `other`: each of them halves the rates of the one before."""

    def title(self, title: str) -> RunBuilder:
        """Sets the title of the study."""
        self.titled = title
        return self

    def clients(self, *clients: int) -> RunBuilder:
        """Sets the numbers of clients of the sweep."""
        self.sweep = clients
        return self

    def over(self, axis: str, unit: AxisUnit, *values: int | str) -> RunBuilder:
        """Another axis of the sweep: each value makes all rates half of those of the value before."""
        self.other, self.values = Axis(name=axis, unit=unit), values
        return self

    def repetitions(self, repetitions: int) -> RunBuilder:
        """Sets the number of repetitions of each case."""
        self.repeated = repetitions
        return self

    def workload(
        self,
        name: str,
        title: str | None = None,
        *,
        layout: Literal["N-N", "N-1"] = "N-N",
        order: Literal["sequential", "random"] = "sequential",
        transfer_bytes: int = 1 << 20,
        unit: RateUnit = "GB/s",
        file_set_bytes: int = GIB,
        write: float = 1.2e9,
        read: float = 2.1e9,
        **how: Any,
    ) -> RunBuilder:
        """Adds a workload whose rates approach `write` and `read` (bytes/s) with many clients.

        `how` it does its I/O: `JobEntry`'s `api`, `direct`, `depth`, `fsync`, `payload`.
        """
        peak = {"write": write, "read": read}
        self.workloads.append(
            _Workload(name, title or name, layout, order, transfer_bytes, unit, file_set_bytes, peak, how)
        )
        return self

    def rates(self, workload: str, operation: str, clients: int, *bytes_per_s: float) -> RunBuilder:
        """Fixes the rates of a sweep point, one per repetition."""
        self.fixed_rates[workload, operation, clients] = list(bytes_per_s)
        return self

    def doubt(
        self,
        case: str,
        phase: str,
        kind: str,
        message: str = "something is odd",
        remedy: str = "do it again",
        *,
        invalidates: bool = False,
        evidence: Mapping[str, Any] | None = None,
    ) -> RunBuilder:
        """Adds a doubt; one that invalidates makes its measurement invalid."""
        self.doubts.append(
            {
                "case": case,
                "phase": phase,
                "job": phase,
                "operation": phase,
                "kind": kind,
                "invalidates": invalidates,
                "message": message,
                "remedy": remedy,
                "evidence": json.dumps(evidence or {}),
            }
        )
        if invalidates:
            self.invalid_cases.add((case, phase))
        return self

    def criterion(
        self,
        measure: str,
        *,
        unit: str,
        of: str = "all",
        phase: str | None = None,
        operation: Literal["write", "read", "all"] = "all",
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> RunBuilder:
        """Adds an acceptance criterion."""
        self.criteria.append(
            Criterion(
                measure=measure,
                of=of,
                phase=phase,
                operation=operation,
                at_most=at_most,
                at_least=at_least,
                unit=unit,
                because="the tender asks for it",
            )
        )
        return self

    def stop_after(self, cases: int, state: CaseState = "interrupted", error: str | None = None) -> RunBuilder:
        """The case after the first `cases` ends with `state` and without a measurement; the rest stay pending."""
        self.stopped = (cases, state, error)
        return self

    def build(self) -> LoadedRun:
        cases = self._cases()
        tables: dict[str, list[dict[str, Any]]] = {name: [] for name in schema.TABLES}
        started = STARTED_UNIX_NS
        for case in cases:
            if case.state != "complete":
                continue
            for phase in case.phases:
                started += 2_000_000_000
                self._measure(tables, case, phase, started)
        tables["doubts"] = list(self.doubts)
        frames = {name: pl.DataFrame(rows, schema=schema.TABLES[name]) for name, rows in tables.items()}
        return LoadedRun(document=self._document(cases), samples=frames.pop("samples").lazy(), watch=None, **frames)

    def _cases(self) -> list[CaseEntry]:
        cases = [
            self._case(workload, clients, repetition, value)
            for repetition in range(1, self.repeated + 1)
            for workload in self.workloads
            for clients in self.sweep
            for value in self.values or [None]
        ]
        if self.stopped is not None:
            number, state, error = self.stopped
            cases[number].state, cases[number].error = state, error
            for case in cases[number + 1 :]:
                case.state = "pending"
        return cases

    def _case(self, workload: _Workload, clients: int, repetition: int, value: int | str | None) -> CaseEntry:
        other = {} if self.other is None or value is None else {self.other.name: value}
        block = workload.file_set_bytes // clients
        layout = "" if workload.layout == "N-1" else " -F"
        order = " -z" if workload.order == "random" else ""
        return CaseEntry(
            id=f"{workload.name}-c{clients}{''.join(f'-{value}' for value in other.values())}-r{repetition}",
            workload=workload.name,
            point={CLIENTS: clients, RANKS_PER_CLIENT: 1, **other},
            repetition=repetition,
            file_set_bytes=workload.file_set_bytes,
            written_bytes=workload.file_set_bytes,
            phases=[
                self._phase(
                    workload,
                    clients,
                    name,
                    f"mpirun -np {clients} --map-by ppr:1:node ior -a POSIX -v -i 1 -d 3 -e{layout}{order} -k "
                    f"-o /mnt/store/test -{name[0]} -s 1 -t {workload.transfer_bytes} -b {block}",
                )
                for name in ("write", "read")
            ],
            state="complete",
        )

    def _phase(self, workload: _Workload, clients: int, name: Literal["write", "read"], command: str) -> PhaseEntry:
        job = JobEntry(
            name=name,
            operations=[name],
            ranks=clients,
            file_set="data",
            layout=workload.layout,
            order=workload.order,
            files=clients if workload.layout == "N-N" else 1,
            transfer_bytes=workload.transfer_bytes,
            file_set_bytes=workload.file_set_bytes,
            planned_bytes=workload.file_set_bytes,
            planned_operations=workload.file_set_bytes // workload.transfer_bytes,
            command=command,
            **{**_HOW, **workload.how, **({} if name == "write" else {"fsync": None})},
        )
        return PhaseEntry(name=name, jobs=[job])

    def _rate(self, case: CaseEntry, operation: str, dice: random.Random) -> float:
        fixed = self.fixed_rates.get((case.workload, operation, case.clients))
        if fixed is not None:
            return fixed[case.repetition - 1]
        workload = next(workload for workload in self.workloads if workload.name == case.workload)
        saturation = case.clients / (case.clients + workload.half_at)
        halved = 0.5 ** self.values.index(case.point[self.other.name]) if self.other else 1.0
        return workload.peak[operation] * saturation * halved * dice.uniform(0.94, 1.06)

    def _measure(
        self, tables: dict[str, list[dict[str, Any]]], case: CaseEntry, phase: PhaseEntry, started_unix_ns: int
    ) -> None:
        (job,) = phase.jobs
        (operation,) = job.operations
        assert job.transfer_bytes is not None
        dice = random.Random(f"{case.id} {phase.name}")
        rate = self._rate(case, operation, dice)
        ranks = case.clients * case.ranks_per_client
        operations = case.file_set_bytes // job.transfer_bytes
        duration_ns = round(case.file_set_bytes / rate * 1e9)
        first_ns = round(duration_ns * dice.uniform(0.86, 0.99)) if ranks > 1 else duration_ns
        ends = sorted(dice.randint(first_ns, duration_ns) for _ in range(ranks))
        ends[0], ends[-1] = first_ns, duration_ns
        dice.shuffle(ends)
        where = {"case": case.id, "phase": phase.name, "job": job.name, "operation": operation}
        ideal_ns = max(1, round(duration_ns * ranks / max(1, operations)))
        for rank, end_ns in enumerate(ends):
            self._rank(tables, where, (rank, end_ns), (case.file_set_bytes // ranks, operations // ranks), dice)
        self._latencies(tables, where, operations, ideal_ns, dice)
        first_bytes = round(case.file_set_bytes * (0.97 if ranks > 1 else 1))
        tables["measurements"].append(
            where
            | {
                "workload": case.workload,
                "file_set": job.file_set,
                "layout": job.layout,
                "order": job.order,
                "clients": case.clients,
                "ranks": ranks,
                "files": job.files,
                "point": point_text(case.point),
                "repetition": case.repetition,
                "transfer_bytes": job.transfer_bytes,
                "file_set_bytes": case.file_set_bytes,
                "started_unix_ns": started_unix_ns,
                "complete": (case.id, phase.name) not in self.invalid_cases,
                "valid": (case.id, phase.name) not in self.invalid_cases,
                "bytes": case.file_set_bytes,
                "operations": operations,
                "duration_ns": duration_ns,
                "rate_bytes_per_s": case.file_set_bytes * 1e9 / duration_ns,
                "rate_operations_per_s": operations * 1e9 / duration_ns,
                "first_finished_ns": first_ns,
                "first_finished_bytes": first_bytes,
                "first_finished_operations": first_bytes // job.transfer_bytes,
                "first_finished_rate_operations_per_s": first_bytes // job.transfer_bytes * 1e9 / first_ns,
                "first_finished_rate_bytes_per_s": first_bytes * 1e9 / first_ns,
                "start_spread_ns": dice.randint(1_000, 400_000) if ranks > 1 else 0,
                "finish_spread_ns": duration_ns - first_ns,
                "sample_interval_ns": self.sample_interval_ns,
                "resident_bytes_before": 0 if operation == "read" else None,
                "settled_ns": None,
                "short_transfers": 0,
            }
        )

    def _rank(
        self,
        tables: dict[str, list[dict[str, Any]]],
        where: dict[str, str],
        rank: tuple[int, int],
        moved: tuple[int, int],
        dice: random.Random,
    ) -> None:
        """One rank's (number, end_ns), which moved (bytes, operations)."""
        number, end_ns = rank
        bytes_moved, operations = moved
        start_ns = dice.randint(1_000, 50_000)
        fsync_ns = round(end_ns * 0.08) if where["phase"] == "write" else 0
        open_ns, close_ns = 200_000, 30_000
        tables["ranks"].append(
            where
            | {
                "rank": number,
                "node": f"client{number:02d}",
                "start_ns": start_ns,
                "end_ns": end_ns,
                "open_ns": open_ns,
                "fill_ns": 0,
                "transfer_ns": end_ns - start_ns - fsync_ns - open_ns - close_ns,
                "fsync_ns": fsync_ns,
                "close_ns": close_ns,
                "bytes": bytes_moved,
                "operations": operations,
                "short_transfers": 0,
                "slowest_ns": round(end_ns * dice.uniform(0.01, 0.06)),
                "user_ns": round(end_ns * 0.04),
                "system_ns": round(end_ns * 0.3),
                "voluntary_switches": operations,
                "involuntary_switches": operations // 50,
                "minor_faults": 400,
                "major_faults": 0,
                "peak_memory_bytes": 8 << 20,
                "device_read_bytes": 0 if where["phase"] == "write" else bytes_moved,
                "device_write_bytes": bytes_moved if where["phase"] == "write" else 0,
                "waited_ns": round(end_ns * 0.01),
            }
        )
        # Equal shares of the time, each a little lucky or unlucky; the fsync at the end moves nothing.
        interval = self.sample_interval_ns
        count = -(-end_ns // interval)
        moving_ns = end_ns - fsync_ns
        weights = [
            max(0, min((sample + 1) * interval, moving_ns) - sample * interval) * dice.uniform(0.8, 1.2)
            for sample in range(count)
        ]
        total_weight = sum(weights)
        for sample, weight in enumerate(weights):
            share = weight / total_weight
            tables["samples"].append(
                where
                | {
                    "rank": number,
                    "sample": sample,
                    "bytes": round(bytes_moved * share),
                    "operations": round(operations * share),
                    "suspended_ns": 0,
                }
            )

    def _latencies(
        self,
        tables: dict[str, list[dict[str, Any]]],
        where: dict[str, str],
        operations: int,
        ideal_ns: int,
        dice: random.Random,
    ) -> None:
        """A log-normal body with a heavy tail, in buckets 1 % wide."""
        drawn = min(operations, 3000)
        buckets: dict[int, int] = {}
        for _ in range(drawn):
            value = ideal_ns * dice.lognormvariate(-0.1, 0.4) * (dice.uniform(5, 60) if dice.random() < 0.01 else 1)
            lowest = max(1, round(float(f"{value:.2g}")))
            buckets[lowest] = buckets.get(lowest, 0) + operations // drawn
        for lowest, count in sorted(buckets.items()):
            tables["latencies"].append(
                where | {"lowest_ns": lowest, "highest_ns": lowest + max(0, lowest // 101), "count": count}
            )

    def _document(self, cases: list[CaseEntry]) -> RunDocument:
        state: RunState = "complete"
        if self.stopped is not None:
            state = "failed" if self.stopped[1] == "failed" else "interrupted"
        return RunDocument(
            run="20260202-024000-example",
            study=self._study(),
            cases=cases,
            target="/mnt/store/iotest",
            launcher="local",
            command=["ioassay", "run", "example", "--target", "/mnt/store/iotest"],
            ioassay_version="0.1.0",
            engine_version="0.1.0",
            environment=[environment("client00")],
            state=state,
            started="2026-02-02T02:40:00+00:00",
            ended="2026-02-02T02:44:10+00:00",
        )

    def _study(self) -> StudyEntry:
        return StudyEntry(
            name="example",
            title=self.titled,
            question="How does the rate grow with the number of clients, and where does it stop growing?",
            source="Dell EMC Isilon F800 and H600 I/O Performance, white paper, January 2018",
            scale="quick",
            settings={"total": "1GiB", "clients": list(self.sweep), "repetitions": self.repeated},
            text="name: example\nquestion: How does the rate grow with the number of clients?\n"
            "# a comment with <angle> & ampersand\nsweep:\n  clients: [1, 2, 4, 8]\n",
            method=[
                "A fixed total of 1 GiB is divided among the clients.",
                "Write and read are separate phases; the fsync at the end of the write counts in its time.",
            ],
            workloads=[
                WorkloadEntry(name=workload.name, title=workload.title, axes=[self.other] if self.other else [])
                for workload in self.workloads
            ],
            figures=[
                FigureEntry(
                    title=f"{workload.title}: {operation}",
                    workloads=[workload.name],
                    operation=operation,
                    unit=workload.unit,
                )
                for workload in self.workloads
                for operation in ("write", "read")
            ],
            summary=[
                SummaryRow(label=workload.title, workload=workload.name, unit=workload.unit)
                for workload in self.workloads
            ],
            acceptance=self.criteria,
        )


CALM = (1.0e9, 1.01e9, 0.99e9, 1.005e9, 0.995e9)
"""Rates (bytes/s) of five repetitions that hardly scatter."""


def run_of_writes(*rates: float, clients: tuple[int, ...] = (8,), **workload: Any) -> LoadedRun:
    """A run of the workload `seq`: with each of `clients` writes at `rates`, one a repetition, and calm reads."""
    builder = RunBuilder().clients(*clients).repetitions(len(rates)).workload("seq", **workload)
    for count in clients:
        builder.rates("seq", "write", count, *rates).rates("seq", "read", count, *CALM[: len(rates)])
    return builder.build()


def environment(host: str) -> Environment:
    """A node as the engine describes it."""
    return {
        "host": host,
        "cpu_model": "Intel(R) Xeon(R) CPU E5-2697 v4 @ 2.30GHz",
        "processors": 36,
        "memory_bytes": 128 * GIB,
        "kernel": "3.10.0-327.13.1.el7.x86_64",
        "operating_system": "Red Hat Enterprise Linux Server 7.2 (Maipo)",
        "clock": {"source": "tsc", "resolution_ns": 1},
        "mount": {
            "mount_point": "/mnt/store",
            "source": "/dev/vda1",
            "file_system": "ext4",
            "options": ["rw", "relatime", "errors=remount-ro"],
            "total_bytes": 500 * GIB,
            "free_bytes": 321 * GIB,
            "block_bytes": 4096,
        },
        "block_device": {
            "name": "vda",
            "model": None,
            "size_bytes": 512 * GIB,
            "queue": {"scheduler": "[none] mq-deadline", "read_ahead_kb": "128", "nr_requests": "256"},
        },
    }
