"""The columns of the tables in a run directory: names, types, units.

Units stand in the names. Every row names its case; what the case is stands in `run.json`, and its main
axes are repeated in `measurements` so that this table alone answers most questions.
"""

from __future__ import annotations

import polars as pl

MEASUREMENTS = pl.Schema(
    {
        "case": pl.String,
        "workload": pl.String,
        "layout": pl.String,
        "order": pl.String,
        "clients": pl.Int64,
        "ranks": pl.Int64,
        "repetition": pl.Int64,
        "phase": pl.String,
        "operation": pl.String,
        "transfer_bytes": pl.Int64,
        "file_set_bytes": pl.Int64,
        "started_unix_ns": pl.Int64,
        # complete: every rank did all it had to do. valid: complete, and no doubt invalidates it.
        "complete": pl.Boolean,
        "valid": pl.Boolean,
        "bytes": pl.Int64,
        "operations": pl.Int64,
        "duration_ns": pl.Int64,
        "rate_bytes_per_s": pl.Float64,  # last-finished: bytes / duration
        "rate_operations_per_s": pl.Float64,  # last-finished: operations / duration
        "first_finished_ns": pl.Int64,
        "first_finished_bytes": pl.Int64,
        "first_finished_rate_bytes_per_s": pl.Float64,
        "start_spread_ns": pl.Int64,
        "finish_spread_ns": pl.Int64,
        "sample_interval_ns": pl.Int64,
        "resident_bytes_before": pl.Int64,  # null where nothing measured it
        "short_transfers": pl.Int64,
    }
)

RANKS = pl.Schema(
    {
        "case": pl.String,
        "phase": pl.String,
        "rank": pl.Int64,
        "node": pl.String,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "open_ns": pl.Int64,
        "transfer_ns": pl.Int64,
        "fsync_ns": pl.Int64,
        "close_ns": pl.Int64,
        "bytes": pl.Int64,
        "operations": pl.Int64,
        "short_transfers": pl.Int64,
        "slowest_ns": pl.Int64,
    }
)

SAMPLES = pl.Schema(
    {
        "case": pl.String,
        "phase": pl.String,
        "rank": pl.Int64,
        "sample": pl.Int64,  # covers [sample, sample + 1) × sample_interval_ns after the phase's first start
        "bytes": pl.Int64,
        "operations": pl.Int64,
    }
)

LATENCIES = pl.Schema(
    {
        "case": pl.String,
        "phase": pl.String,
        "lowest_ns": pl.Int64,
        "highest_ns": pl.Int64,
        "count": pl.Int64,
    }
)

DOUBTS = pl.Schema(
    {
        "case": pl.String,
        "phase": pl.String,
        "kind": pl.String,
        "invalidates": pl.Boolean,
        "message": pl.String,
        "remedy": pl.String,
        "evidence": pl.String,  # JSON object, fields as in the contract's Reason
    }
)

TABLES = {
    "measurements": MEASUREMENTS,
    "ranks": RANKS,
    "samples": SAMPLES,
    "latencies": LATENCIES,
    "doubts": DOUBTS,
}
"""Every table of a run directory by name; the file is `NAME.parquet`."""
