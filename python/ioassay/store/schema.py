"""The columns of the tables in a run directory: names, types, units.

Units stand in the names. Every row names its measurement by the columns of `KEY`; what the case is stands in
`run.json`, and its main axes are repeated in `measurements` so that this table alone answers most questions.
"""

from __future__ import annotations

import polars as pl

from ioassay.store.measurement import KEY

_KEY = dict.fromkeys(KEY, pl.String)

MEASUREMENTS = pl.Schema(
    {
        **_KEY,
        "workload": pl.String,
        "file_set": pl.String,  # name of the file set or tree; empty where a walk looks at everything
        "layout": pl.String,  # of a file set N-N, N-1, N-M; of a tree who shares it
        "order": pl.String,
        "clients": pl.Int64,
        "ranks": pl.Int64,  # those that did the job
        "files": pl.Int64,  # of the file set: its objects; 0 for trees
        "point": pl.String,  # the value of every swept axis, as a JSON object: `ioassay.store.point`
        "repetition": pl.Int64,
        "transfer_bytes": pl.Int64,  # null where nothing is moved
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
        "first_finished_operations": pl.Int64,
        "first_finished_rate_bytes_per_s": pl.Float64,
        "first_finished_rate_operations_per_s": pl.Float64,
        # null without a stonewall, or where all was done before it came
        "stonewall_ns": pl.Int64,
        "stonewall_bytes": pl.Int64,
        "stonewall_operations": pl.Int64,
        "stonewall_least_operations": pl.Int64,  # of the rank that had done least
        "stonewall_most_operations": pl.Int64,  # of the rank that had done most
        "stonewall_rate_bytes_per_s": pl.Float64,
        "stonewall_rate_operations_per_s": pl.Float64,
        "matched": pl.Int64,  # entries that a find matched, null elsewhere
        "start_spread_ns": pl.Int64,
        "finish_spread_ns": pl.Int64,
        "sample_interval_ns": pl.Int64,
        "resident_bytes_before": pl.Int64,  # null where nothing measured it
        "settled_ns": pl.Int64,  # for what was written before it the phase waited so long, null where it did not wait
        "short_transfers": pl.Int64,
    }
)

RANKS = pl.Schema(
    {
        **_KEY,
        "rank": pl.Int64,
        "node": pl.String,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "open_ns": pl.Int64,
        "fill_ns": pl.Int64,  # making the bytes that it wrote
        "transfer_ns": pl.Int64,
        "fsync_ns": pl.Int64,
        "close_ns": pl.Int64,
        "bytes": pl.Int64,
        "operations": pl.Int64,
        "short_transfers": pl.Int64,
        "slowest_ns": pl.Int64,
        "stonewall_bytes": pl.Int64,  # done when the stonewall came, null where it did not
        "stonewall_operations": pl.Int64,
        # What the kernel spent on the rank from the barrier to its end. A job with two operations has it in both.
        "user_ns": pl.Int64,
        "system_ns": pl.Int64,
        "voluntary_switches": pl.Int64,
        "involuntary_switches": pl.Int64,
        "minor_faults": pl.Int64,
        "major_faults": pl.Int64,
        "peak_memory_bytes": pl.Int64,  # the most that the rank had until then
        "device_read_bytes": pl.Int64,  # null where the kernel does not report it
        "device_write_bytes": pl.Int64,
        "waited_ns": pl.Int64,  # could have run and had no processor; null where the kernel does not report it
        "endpoint": pl.String,  # the server that it asked, null where the target has only one
    }
)

SAMPLES = pl.Schema(
    {
        **_KEY,
        "rank": pl.Int64,
        "sample": pl.Int64,  # covers [sample, sample + 1) × sample_interval_ns after the phase's first start
        "bytes": pl.Int64,
        "operations": pl.Int64,
        "suspended_ns": pl.Int64,  # how much of it the rank was suspended (Ctrl-Z)
    }
)

LATENCIES = pl.Schema(
    {
        **_KEY,
        "lowest_ns": pl.Int64,
        "highest_ns": pl.Int64,
        "count": pl.Int64,
    }
)

FIRST_BYTES = LATENCIES
"""The same of the times to the first byte of reads, where the storage API knows them."""

TRAINING = pl.Schema(
    {
        **_KEY,  # of the steps of an epoch
        "rank": pl.Int64,  # an accelerator
        "node": pl.String,
        "steps": pl.Int64,
        "samples": pl.Int64,
        "asked_bytes": pl.Int64,  # of these samples; the epoch's reads may have moved more, for alignment
        "asked_compute_ns": pl.Int64,  # of each step
        "compute_ns": pl.Int64,  # that it took in all
        "wait_ns": pl.Int64,  # for batches
        "sync_ns": pl.Int64,  # for other ranks after steps
        # Since the phase's start.
        "first_batch_ns": pl.Int64,
        "first_step_ns": pl.Int64,
        "last_step_ns": pl.Int64,
        "first_compute_ns": pl.Int64,  # that the first step computed
        "loader_threads": pl.Int64,
        "loader_busy_ns": pl.Int64,  # in which they loaded, the sum of all threads
        "loader_processor_ns": pl.Int64,
        "evaluation": pl.Boolean,  # of the model, between epochs of training
    }
)

KV_CACHE = pl.Schema(
    {
        **_KEY,  # of the requests of a phase
        "rank": pl.Int64,  # an inference server
        "node": pl.String,
        "users": pl.Int64,
        "first_token_deadline_ns": pl.Int64,  # null without a deadline
        "requests": pl.Int64,  # that had their first token
        # Of these requests; the first is the sum of the others.
        "prompt_tokens": pl.Int64,
        "memory_tokens": pl.Int64,  # that were in the server's memory
        "storage_tokens": pl.Int64,  # that were read
        "recomputed_tokens": pl.Int64,  # that had been stored, and were removed or lay behind one that was
        "new_tokens": pl.Int64,  # that were computed for the first time
        # Sums of the same requests, from the request to the first token; the others are parts of the first.
        "first_token_ns": pl.Int64,
        "read_ns": pl.Int64,
        "queue_ns": pl.Int64,  # waiting for the accelerator
        "prefill_ns": pl.Int64,
        "first_tokens_in_time": pl.Int64,  # null without a deadline
        "answers": pl.Int64,  # that were finished
        "answer_tokens": pl.Int64,
        "answer_ns": pl.Int64,  # from their first tokens to their ends
        "answers_in_time": pl.Int64,  # null without a deadline
        # Objects.
        "stored": pl.Int64,
        "evicted": pl.Int64,  # removed to make room
        "not_stored": pl.Int64,  # because all objects were in use
    }
)

CHECKPOINTS = pl.Schema(
    {
        **_KEY,
        "rank": pl.Int64,
        "node": pl.String,
        "generation": pl.Int64,  # of the case, from 0
        "bytes": pl.Int64,  # of the rank's files
        "begin_ns": pl.Int64,  # when it stopped training, since the phase's start
        "own_ns": pl.Int64,  # from then until its own files were complete, or read
        "fill_ns": pl.Int64,  # of that: making or comparing bytes
        "fsync_ns": pl.Int64,  # of that
        "stall_ns": pl.Int64,  # until all ranks were done
    }
)

DOUBTS = pl.Schema(
    {
        **_KEY,
        "kind": pl.String,
        "invalidates": pl.Boolean,
        "message": pl.String,
        "remedy": pl.String,
        "evidence": pl.String,  # JSON object, fields as in the protocol's Reason
    }
)

SOURCES = pl.Schema(
    {
        **_KEY,
        "file": pl.String,  # of an imported measurement: as it was named
        "line": pl.Int64,  # the line of it that tells the rate, from 1
        # Half the unit of the last digit of the rate that was printed, bytes or operations; null: it was not printed.
        "half_unit_per_s": pl.Float64,
        "repetitions": pl.Int64,  # how many the row stands for: more than 1 where the tool printed only their mean
        # Beside a mean, in the unit of its rate: of those repetitions, of ranks, or of both; null where not printed.
        "lowest_rate": pl.Float64,
        "highest_rate": pl.Float64,
        "rate_standard_deviation": pl.Float64,  # of repetitions alone
    }
)

ADDED = {"measurements": "point", "ranks": "endpoint", "samples": "suspended_ns"}
"""The column of a table that tables of older versions lack."""

TABLES = {
    "measurements": MEASUREMENTS,
    "ranks": RANKS,
    "samples": SAMPLES,
    "latencies": LATENCIES,
    "first_bytes": FIRST_BYTES,
    "training": TRAINING,
    "kv_cache": KV_CACHE,
    "checkpoints": CHECKPOINTS,
    "doubts": DOUBTS,
    "sources": SOURCES,
}
"""Every table of a run directory by name; the file is `NAME.parquet`."""

ADDED_TABLES = frozenset({"first_bytes", "training", "kv_cache", "checkpoints"})
"""Tables that runs of older versions lack: nothing of theirs was measured then."""

REBUILT = "Delete it: a missing table is rebuilt from the run's logs."
"""The remedy for a damaged table."""

_TOLD_BY_ALL = frozenset(
    {*KEY, "workload", "file_set", "layout", "order", "point", "repetition", "complete", "valid"}
    | {"rank", "sample", "lowest_ns", "highest_ns", "count"}
    | {"kind", "invalidates", "message", "remedy", "evidence", "file", "line", "repetitions"}
)
"""Columns without nulls in any run: what else an imported result has, its files may not tell."""

_MAY_BE_NULL = frozenset(
    {"transfer_bytes", "rate_bytes_per_s", "rate_operations_per_s", "matched", "resident_bytes_before", "settled_ns"}
    | {
        "waited_ns",
        "endpoint",
        "first_token_deadline_ns",
        "first_tokens_in_time",
        "answers_in_time",
        "device_read_bytes",
        "device_write_bytes",
        "half_unit_per_s",
        "lowest_rate",
        "highest_rate",
    }
    | {"rate_standard_deviation", "first_finished_rate_bytes_per_s", "first_finished_rate_operations_per_s"}
    | {name for columns in (MEASUREMENTS, RANKS) for name in columns if name.startswith("stonewall_")}
)
"""Columns with nulls in runs of our own."""


def required(table: str, *, imported: bool) -> frozenset[str]:
    """The columns of a table that hold no null."""
    columns = frozenset(TABLES[table])
    return columns & _TOLD_BY_ALL if imported else columns - _MAY_BE_NULL
