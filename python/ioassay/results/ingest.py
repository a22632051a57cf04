"""Phase events become rows of the tables in `schema.py`, one to one.

Every number is the engine's; only the rates are divided here, so that each reader divides the same way.
Events without a table (cold-cache steps, removal) stay in `logs/CASE/events.jsonl`; what a cold-cache step
measured travels in the next phase's `resident_bytes_before`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from ioassay.results import schema
from ioassay.results.document import CaseEntry
from ioassay.results.events import Event

Tables = dict[str, pl.DataFrame]
"""Every table of `schema.TABLES` by name."""

NS_PER_S = 1_000_000_000


def empty_tables() -> Tables:
    """All tables, without a row."""
    return {name: pl.DataFrame(schema=columns) for name, columns in schema.TABLES.items()}


class Inconsistent(ValueError):
    """Events that have the contract's shape, and contradict each other or the case."""


def case_tables(case: CaseEntry, events: Iterable[Event]) -> Tables:
    """The rows that one case contributes: those of every phase that ended, well or not. Raises `Inconsistent`."""
    nodes: list[str] = []
    rows: dict[str, list[pl.DataFrame]] = {name: [frame] for name, frame in empty_tables().items()}
    for event in events:
        if event["event"] == "started":
            nodes = [node["host"] for node in event["nodes"]]
        elif event["event"] == "phase":
            _refuse_inconsistent(case, nodes, event)
            for name, frame in _phase_tables(case, nodes, event).items():
                rows[name].append(frame)
    return {name: pl.concat(frames) for name, frames in rows.items()}


def _refuse_inconsistent(case: CaseEntry, nodes: list[str], phase: Event) -> None:
    name = f"{phase['name']} {phase['job']} {phase['operation']}"
    if tuple(_key(case, phase).values()) not in case.measured:
        raise Inconsistent(f"the case does not measure {name}")
    latencies = phase["latencies"]
    if len({len(latencies[column]) for column in ("lowest_ns", "highest_ns", "count")}) > 1:
        raise Inconsistent(f"the latencies of {name} are columns of different lengths")
    for rank in phase["ranks"]:
        if len(rank["sample_bytes"]) != len(rank["sample_operations"]):
            raise Inconsistent(f"the samples of rank {rank['rank']} in {name} are columns of different lengths")
        if rank["node"] >= len(nodes):
            raise Inconsistent(f"rank {rank['rank']} in {name} is on a node that did not start")


def joined_tables(parts: Iterable[Tables]) -> Tables:
    """The tables of several cases, one below the other in the order given."""
    every = [empty_tables(), *parts]
    return {name: pl.concat([part[name] for part in every]) for name in schema.TABLES}


def _phase_tables(case: CaseEntry, nodes: list[str], phase: Event) -> Tables:
    return {
        "measurements": _measurement(case, phase),
        "ranks": _ranks(case, nodes, phase),
        "samples": _samples(case, phase),
        "latencies": _latencies(case, phase),
        "doubts": _doubts(case, phase),
    }


def rate(amount: int, duration_ns: int) -> float | None:
    """Amount per second; `None` of no time."""
    return amount * NS_PER_S / duration_ns if duration_ns > 0 else None


def _key(case: CaseEntry, phase: Event) -> dict[str, str]:
    """The columns of `schema.KEY`."""
    return {"case": case.id, "phase": phase["name"], "job": phase["job"], "operation": phase["operation"]}


def _measurement(case: CaseEntry, phase: Event) -> pl.DataFrame:
    job = case.job(phase["name"], phase["job"])
    stonewall = phase["stonewall"] or {}
    row = _key(case, phase) | {
        "workload": case.workload,
        "file_set": job.file_set,
        "layout": job.layout,
        "order": job.order,
        "clients": case.clients,
        "ranks": len(phase["ranks"]),
        "files": job.files,
        "repetition": case.repetition,
        "file_set_bytes": job.file_set_bytes,
        "transfer_bytes": job.transfer_bytes,
        "valid": phase["complete"] and not any(doubt["invalidates"] for doubt in phase["doubts"]),
        "rate_bytes_per_s": rate(phase["bytes"], phase["duration_ns"]),
        "rate_operations_per_s": rate(phase["operations"], phase["duration_ns"]),
        "first_finished_rate_bytes_per_s": rate(phase["first_finished_bytes"], phase["first_finished_ns"]),
        "first_finished_rate_operations_per_s": rate(phase["first_finished_operations"], phase["first_finished_ns"]),
        "stonewall_ns": stonewall.get("at_ns"),
        "stonewall_bytes": stonewall.get("bytes"),
        "stonewall_operations": stonewall.get("operations"),
        "stonewall_least_operations": stonewall.get("least_operations"),
        "stonewall_most_operations": stonewall.get("most_operations"),
        "stonewall_rate_bytes_per_s": rate(stonewall.get("bytes", 0), stonewall.get("at_ns", 0)),
        "stonewall_rate_operations_per_s": rate(stonewall.get("operations", 0), stonewall.get("at_ns", 0)),
        "short_transfers": sum(rank["short_transfers"] for rank in phase["ranks"]),
    }
    return _frame([row | {name: phase[name] for name in schema.MEASUREMENTS if name not in row}], schema.MEASUREMENTS)


def _ranks(case: CaseEntry, nodes: list[str], phase: Event) -> pl.DataFrame:
    key = _key(case, phase)
    rows = [rank | rank["usage"] | _at_stonewall(rank) | {"node": nodes[rank["node"]]} | key for rank in phase["ranks"]]
    return _frame(rows, schema.RANKS)


def _at_stonewall(rank: Event) -> Event:
    done = rank["at_stonewall"] or {}
    return {"stonewall_bytes": done.get("bytes"), "stonewall_operations": done.get("operations")}


def _samples(case: CaseEntry, phase: Event) -> pl.DataFrame:
    # Columns, not rows: a long phase of many ranks has millions of samples.
    columns: dict[str, list[Any]] = {"rank": [], "sample": [], "bytes": [], "operations": []}
    for rank in phase["ranks"]:
        count = len(rank["sample_bytes"])
        columns["rank"].extend([rank["rank"]] * count)
        columns["sample"].extend(range(count))
        columns["bytes"].extend(rank["sample_bytes"])
        columns["operations"].extend(rank["sample_operations"])
    return labelled(_key(case, phase), columns, schema.SAMPLES)


def _latencies(case: CaseEntry, phase: Event) -> pl.DataFrame:
    return labelled(_key(case, phase), phase["latencies"], schema.LATENCIES)


def evidence(values: Mapping[str, object]) -> str:
    """The evidence of a doubt, as its column has it."""
    return json.dumps(dict(values), sort_keys=True, separators=(",", ":"))


def _doubts(case: CaseEntry, phase: Event) -> pl.DataFrame:
    rows = [
        doubt
        | _key(case, phase)
        # A kind without evidence has none in the event either.
        | {"evidence": evidence(doubt.get("evidence", {}))}
        for doubt in phase["doubts"]
    ]
    return _frame(rows, schema.DOUBTS)


def _frame(rows: list[dict[str, Any]], columns: pl.Schema) -> pl.DataFrame:
    """A table of exactly `columns`; what else the rows hold has no column."""
    return pl.DataFrame({name: [row[name] for row in rows] for name in columns}, schema=columns)


def labelled(key: Mapping[str, str], values: Mapping[str, Sequence[Any]], columns: pl.Schema) -> pl.DataFrame:
    """A table of `columns` whose rows are all of one measurement."""
    own = {name: kind for name, kind in columns.items() if name not in schema.KEY}
    frame = pl.DataFrame({name: values[name] for name in own}, schema=own)
    return frame.select(*(pl.lit(value).alias(name) for name, value in key.items()), *own)
