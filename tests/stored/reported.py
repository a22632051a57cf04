"""What commands report of a stored directory that must stay the same in later versions: what was counted and timed.

Not: what statistics make of it, which may get better.
"""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]

ARGUMENTS = {
    "run": ("report", "--format", "json"),
    "record": ("profile", "--json"),
    "sweep": ("report", "--format", "json"),
    "tune-io500": ("report", "--format", "json"),
}
"""The command for each kind; its last argument is the directory. The network has none: runs show it as ceilings."""


def facts(kind: str, report: dict[str, Any]) -> Facts:
    """The parts of the printed JSON that must stay the same."""
    return {"run": _run, "record": _record, "sweep": _sweep, "tune-io500": _tune_io500}[kind](report)


def _run(report: dict[str, Any]) -> Facts:
    """Peaks of the oldest documents have neither job nor operation, so only their rates are kept."""
    return {
        "measurements": [
            {name: row[name] for name in ("case", "phase", "job", "operation", "bytes", "operations", "duration_ns")}
            | {"valid": row["valid"], "ranks": row["ranks"], "rate_bytes_per_s": row["rate_bytes_per_s"]}
            for row in report["measurements"]
        ],
        "peaks": [
            {"workload": row["workload"], "phase": series["phase"], "peak": _rate(series["peak"])}
            for row in report["peak_sustained"]
            for series in row["series"]
        ],
        "doubts": sorted([row["case"], row["phase"], row["operation"], row["kind"]] for row in report["doubts"]),
    }


def _rate(peak: dict[str, Any]) -> float:
    rate: float = peak["rate_bytes_per_s"] if "rate_bytes_per_s" in peak else peak["rate_operations_per_s"]
    return rate


def _record(report: dict[str, Any]) -> Facts:
    totals = report["totals"]
    return {
        "totals": {name: [totals[name]["calls"], totals[name]["bytes"]] for name in ("read", "write", "metadata")},
        "begin_unix_ns": report["begin_unix_ns"],
        "end_unix_ns": report["end_unix_ns"],
    }


def _sweep(report: dict[str, Any]) -> Facts:
    return {
        "verdict": report["verdict"],
        "recommended": report["recommended"],
        "pairs": report["confirmed"]["pairs"],
        "gain": report["confirmed"]["gain"]["estimate"],
    }


def _tune_io500(report: dict[str, Any]) -> Facts:
    return {
        "recommended": report["recommended"],
        "scores": {str(balance["ranks_per_node"]): balance["score"]["values"] for balance in report["balance"]},
    }
