"""Phase events become rows of the tables in `schema.py`, one to one.

Every number is the engine's; only the rates are divided here, so that each reader divides the same way.
Events without a table (cold-cache steps, removal) stay in `logs/CASE/events.jsonl`; what a cold-cache step
measured travels in the next phase's `resident_bytes_before`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from ioassay.store import schema
from ioassay.store.document import CaseEntry
from ioassay.store.measurement import KEY
from ioassay.store.point import text as point_text
from ioassay.store.stored_struct import LARGEST

if TYPE_CHECKING:
    from ioassay.protocol.event import Event, EventPhase, Histogram, RankRecord, Stonewall, Suspension

Tables = dict[str, pl.DataFrame]
"""Every table of `schema.TABLES` by name."""

Key = dict[str, str]
"""The columns of `measurement.KEY`."""

Columns = Mapping[str, Sequence[Any]]
"""Rows of one table and measurement, by column."""

Row = dict[str, Any]
"""A row of a table by column."""

NS_PER_S = 1_000_000_000


def empty_tables() -> Tables:
    """All tables, without a row."""
    return {name: pl.DataFrame(schema=columns) for name, columns in schema.TABLES.items()}


class Inconsistent(ValueError):
    """Events that have the protocol's shape, and contradict each other or the case."""


class TableRows:
    """Rows of all tables, gathered from case after case. A frame for each case would cost more than what is in it."""

    def __init__(self) -> None:
        self._tables = {name: _Rows(columns) for name, columns in schema.TABLES.items()}

    def add(self, case: CaseEntry, events: Iterable[Event]) -> list[Row]:
        """Adds the rows that one case contributes: those of every phase that ended, well or not.

        Returns its measurements. Raises `Inconsistent`; none of its rows is there then.
        """
        nodes: list[str] = []
        phases = []
        for event in events:
            if event["event"] == "started":
                nodes = [node["host"] for node in event["nodes"]]
            elif event["event"] == "phase":
                _refuse_inconsistent(case, nodes, event)
                phases.append((_key(case, event), _phase_columns(case, nodes, event)))
        for key, tables in phases:
            for name, columns in tables.items():
                self._tables[name].add(key, columns)
        return [key | {name: value for name, (value,) in tables["measurements"].items()} for key, tables in phases]

    def tables(self) -> Tables:
        """All that was added, in that order."""
        return {name: rows.frame() for name, rows in self._tables.items()}


class _Rows:
    """Rows of one table, measurement after measurement."""

    def __init__(self, columns: pl.Schema) -> None:
        self._columns = columns
        self._own = pl.Schema({name: kind for name, kind in columns.items() if name not in KEY})
        self._frames = [pl.DataFrame(schema=columns)]
        self._reset()

    def add(self, key: Key, columns: Columns) -> None:
        """Adds the rows of a measurement."""
        count = len(next(iter(columns.values())))
        if count == 0:
            return
        self._keys.append((*key.values(), count))
        for name, values in self._values.items():
            column = columns[name]
            values.extend(_bounded(column) if self._own[name] == pl.Int64 else column)
        self._count += count
        if self._count > _MOST_ROWS_OF_PYTHON:
            self._make_frame()

    def frame(self) -> pl.DataFrame:
        """All of them."""
        self._make_frame()
        return pl.concat(self._frames)

    def _reset(self) -> None:
        self._keys: list[tuple[Any, ...]] = []
        """The key of each measurement, and how many rows it has."""
        self._values: dict[str, list[Any]] = {name: [] for name in self._own}
        self._count = 0

    def _make_frame(self) -> None:
        if self._count == 0:
            return
        keys = pl.DataFrame(self._keys, schema={**_STRINGS, "count": pl.UInt32}, orient="row")
        each_row = keys.select(pl.col(KEY).repeat_by("count")).explode(KEY)
        values = pl.DataFrame(self._values, schema=self._own)
        self._frames.append(each_row.hstack(values).select(self._columns.names()))
        self._reset()


_STRINGS = dict.fromkeys(KEY, pl.String)

_MOST_ROWS_OF_PYTHON = 200_000
"""As lists of Python's numbers they take ten times the memory of a frame."""


def _bounded(values: Sequence[int | None]) -> Sequence[int | None]:
    """Numbers as a column holds them: the protocol's are unsigned, and those of a kernel or file system may be absurd.

    The largest number that a column holds is as absurd, and damages no run.
    """
    if max((value for value in values if value is not None), default=0) <= LARGEST:
        return values
    return [value if value is None else min(value, LARGEST) for value in values]


def case_tables(case: CaseEntry, events: Iterable[Event]) -> Tables:
    """The rows that one case contributes. Raises `Inconsistent`."""
    rows = TableRows()
    rows.add(case, events)
    return rows.tables()


def _refuse_inconsistent(case: CaseEntry, nodes: list[str], phase: EventPhase) -> None:
    name = f"{phase['name']} {phase['job']} {phase['operation']}"
    if tuple(_key(case, phase).values()) not in case.measured:
        raise Inconsistent(f"the case does not measure {name}")
    for what, histogram in (("latencies", phase["latencies"]), ("first bytes", _first_byte(phase))):
        if len({len(histogram[column]) for column in ("lowest_ns", "highest_ns", "count")}) > 1:
            raise Inconsistent(f"the columns of the {what} of {name} differ in length")
    for rank in phase["ranks"]:
        if len(rank["sample_bytes"]) != len(rank["sample_operations"]):
            raise Inconsistent(f"the columns of the samples of rank {rank['rank']} in {name} differ in length")
        if rank["node"] >= len(nodes):
            raise Inconsistent(f"rank {rank['rank']} in {name} is on a node that never started")


def joined_tables(parts: Iterable[Tables]) -> Tables:
    """The tables of several cases, one below the other in the order given."""
    every = [empty_tables(), *parts]
    return {name: pl.concat([part[name] for part in every]) for name in schema.TABLES}


def _phase_columns(case: CaseEntry, nodes: list[str], phase: EventPhase) -> dict[str, Columns]:
    """The columns beside the key, of each table to which a phase contributes."""
    return {
        "measurements": _measurement(case, phase),
        "ranks": _ranks(nodes, phase),
        "samples": _samples(phase),
        "latencies": _buckets(phase["latencies"]),
        "first_bytes": _buckets(_first_byte(phase)),
        "training": _training(nodes, phase),
        "kv_cache": _kv_cache(nodes, phase),
        "checkpoints": _checkpoints(nodes, phase),
        "doubts": _doubts(phase),
    }


def rate(amount: int, duration_ns: int) -> float | None:
    """Amount per second; `None` of no time."""
    return amount * NS_PER_S / duration_ns if duration_ns > 0 else None


def _key(case: CaseEntry, phase: EventPhase) -> Key:
    """The columns of `measurement.KEY`."""
    return {"case": case.id, "phase": phase["name"], "job": phase["job"], "operation": phase["operation"]}


def _measurement(case: CaseEntry, phase: EventPhase) -> Columns:
    job = case.job(phase["name"], phase["job"])
    settled = phase.get("settled")
    valid = phase["complete"] and not any(doubt["invalidates"] for doubt in phase["doubts"])
    # What found everything done, such as the creation of a dataset that is there, has no rate.
    duration_ns = 0 if valid and phase["operations"] == 0 else phase["duration_ns"]
    row = {
        "workload": case.workload,
        "file_set": job.file_set,
        "layout": job.layout,
        "order": job.order,
        "clients": case.clients,
        "ranks": len(phase["ranks"]),
        "files": job.files,
        "point": point_text(case.point),
        "repetition": case.repetition,
        "file_set_bytes": job.file_set_bytes,
        "transfer_bytes": job.transfer_bytes,
        "valid": valid,
        "rate_bytes_per_s": rate(phase["bytes"], duration_ns),
        "rate_operations_per_s": rate(phase["operations"], duration_ns),
        "first_finished_rate_bytes_per_s": rate(phase["first_finished_bytes"], phase["first_finished_ns"]),
        "first_finished_rate_operations_per_s": rate(phase["first_finished_operations"], phase["first_finished_ns"]),
        "settled_ns": settled["waited_ns"] if settled else None,
        "short_transfers": sum(rank["short_transfers"] for rank in phase["ranks"]),
    }
    return _columns([{**phase, **_stonewall(phase.get("stonewall")), **row}], schema.MEASUREMENTS)


def _stonewall(met: Stonewall | None) -> Row:
    if met is None:
        return {}
    return {
        "stonewall_ns": met["at_ns"],
        "stonewall_bytes": met["bytes"],
        "stonewall_operations": met["operations"],
        "stonewall_least_operations": met.get("least_operations"),
        "stonewall_most_operations": met.get("most_operations"),
        "stonewall_rate_bytes_per_s": rate(met["bytes"], met["at_ns"]),
        "stonewall_rate_operations_per_s": rate(met["operations"], met["at_ns"]),
    }


def _ranks(nodes: list[str], phase: EventPhase) -> Columns:
    rows = [{**rank, **rank["usage"], **_at_stonewall(rank), "node": nodes[rank["node"]]} for rank in phase["ranks"]]
    return _columns(rows, schema.RANKS)


def _training(nodes: list[str], phase: EventPhase) -> Columns:
    rows = [
        {
            "evaluation": False,
            **training,
            "rank": rank["rank"],
            "node": nodes[rank["node"]],
            "steps": rank["operations"],
        }
        for rank in phase["ranks"]
        if (training := rank.get("training")) is not None
    ]
    return _columns(rows, schema.TRAINING)


def _kv_cache(nodes: list[str], phase: EventPhase) -> Columns:
    rows = [
        {**served, "rank": rank["rank"], "node": nodes[rank["node"]]}
        for rank in phase["ranks"]
        if (served := rank.get("kv_cache")) is not None
    ]
    return _columns(rows, schema.KV_CACHE)


def _checkpoints(nodes: list[str], phase: EventPhase) -> Columns:
    rows = [
        {**generation, "rank": rank["rank"], "node": nodes[rank["node"]]}
        for rank in phase["ranks"]
        for generation in rank.get("checkpoints", [])
    ]
    return _columns(rows, schema.CHECKPOINTS)


def _at_stonewall(rank: RankRecord) -> Row:
    done = rank.get("at_stonewall")
    return {"stonewall_bytes": done["bytes"], "stonewall_operations": done["operations"]} if done else {}


def _samples(phase: EventPhase) -> Columns:
    # Columns, not rows: a long phase of many ranks has millions of samples.
    columns: dict[str, list[Any]] = {name: [] for name in schema.SAMPLES if name not in KEY}
    for rank in phase["ranks"]:
        count = len(rank["sample_bytes"])
        columns["rank"].extend([rank["rank"]] * count)
        columns["sample"].extend(range(count))
        columns["bytes"].extend(rank["sample_bytes"])
        columns["operations"].extend(rank["sample_operations"])
        columns["suspended_ns"].extend(_suspended(rank.get("suspended", []), count, phase["sample_interval_ns"]))
    return columns


def _suspended(times: Sequence[Suspension], samples: int, interval_ns: int) -> list[int]:
    """How much of each sample a rank was suspended."""
    suspended_ns = [0] * samples
    for time in times:
        for sample in range(time["begin_ns"] // interval_ns, min(time["end_ns"] // interval_ns + 1, samples)):
            begin_ns, end_ns = sample * interval_ns, (sample + 1) * interval_ns
            suspended_ns[sample] += max(0, min(time["end_ns"], end_ns) - max(time["begin_ns"], begin_ns))
    return suspended_ns


def _first_byte(phase: EventPhase) -> Histogram:
    return phase.get("first_byte") or {"lowest_ns": [], "highest_ns": [], "count": []}


def _buckets(histogram: Histogram) -> Columns:
    return {"lowest_ns": histogram["lowest_ns"], "highest_ns": histogram["highest_ns"], "count": histogram["count"]}


def evidence(values: Mapping[str, object]) -> str:
    """The evidence of a doubt, as its column has it."""
    return json.dumps(dict(values), sort_keys=True, separators=(",", ":"))


def _doubts(phase: EventPhase) -> Columns:
    # A kind without evidence has none in the event either.
    rows = [
        {**doubt, "evidence": evidence(cast(Mapping[str, object], doubt.get("evidence", {})))}
        for doubt in phase["doubts"]
    ]
    return _columns(rows, schema.DOUBTS)


def _columns(rows: list[Row], columns: pl.Schema) -> Columns:
    """The rows by column, without the key; what else they hold has no column, what they leave out is null."""
    return {name: [row.get(name) for row in rows] for name in columns if name not in KEY}


def labelled(key: Mapping[str, str], values: Mapping[str, Sequence[Any]], columns: pl.Schema) -> pl.DataFrame:
    """A table of `columns` whose rows are all of one measurement."""
    own_columns = {name: kind for name, kind in columns.items() if name not in KEY}
    frame = pl.DataFrame({name: values[name] for name in own_columns}, schema=own_columns)
    return frame.select(*(pl.lit(value).alias(name) for name, value in key.items()), *own_columns)
