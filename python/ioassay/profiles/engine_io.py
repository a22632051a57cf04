"""What engines did through io_uring: from their events into the profile of their records.

Older recorders do not read rings, and newer ones cannot where an engine enters them without the C library; the
engine counts what goes through them. Operations, bytes, latencies and samples are its own. The time of a rank is
that from its first to its last transfer; each of its operations has an equal part of it. A case of which the record
has such transfers already is left as it is: nothing is counted twice.

Not: which records those of a run are (`recorded_runs`), the tables of a run (`run_directory`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from ioassay.profiles.model import (
    COMMON_SIZES,
    FILE_OPERATIONS,
    FILE_SIZES,
    FILES,
    HEAT,
    LATENCIES,
    PROCESS_OPERATIONS,
    TIMELINE,
    Profile,
    Supplement,
)
from ioassay.profiles.recorded_runs import RecordedCase
from ioassay.profiles.spreading import spread
from ioassay.protocol.facts import URING_APIS
from ioassay.protocol.record_layout import OPERATIONS, SIZE_BEGINS_BYTES
from ioassay.store.document import CaseEntry
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.store.run_directory import load, read_document

_SUBMIT = {"read": "submit read", "write": "submit write"}
"""What recorders call an operation that is handed to the kernel, by what the engine calls it."""

_COLUMNS = {"submit read": ("read_bytes", "read_ns"), "submit write": ("written_bytes", "write_ns")}
"""Of `PROCESSES` and `HEAT`."""

_AMOUNTS = ("calls", "bytes", "duration_ns")

_ORDER = pl.col("operation").cast(pl.Enum(OPERATIONS))


def with_engine_io(profile: Profile, recorded: Iterable[RecordedCase]) -> Profile:
    """The profile of records, with what the engines of these cases did through io_uring. Raises `UsageError`."""
    added = _Added(profile)
    for run, cases in groupby(recorded, key=lambda recording: recording.run):
        names = {recording.case for recording in cases}
        wanted = [case for case in read_document(run).cases if case.id in names and any(_through_rings(case))]
        loaded = load(run) if wanted else None
        for case in wanted:
            assert loaded is not None
            added.add(loaded, case, f"{run}, case {case.id}")
    return added.profile()


def _through_rings(case: CaseEntry) -> Iterator[tuple[str, str]]:
    """Phase and job of what goes through rings: transfers of file sets. Files of trees are moved by calls."""
    for phase in case.phases:
        yield from ((phase.name, job.name) for job in phase.jobs if job.api in URING_APIS and job.files)


class _Added:
    """A profile, and what comes in addition."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._supplements: list[Supplement] = []
        self._of_ranks: list[pl.DataFrame] = []
        self._of_files: list[pl.DataFrame] = []
        self._timeline: list[pl.DataFrame] = []
        self._heat: list[pl.DataFrame] = []
        self._latencies: list[pl.DataFrame] = []
        self._unattributed: set[int] = set()
        """Processes of which it is unknown which rank they are."""

    def add(self, run: LoadedRun, case: CaseEntry, where: str) -> None:
        """Adds a case."""
        jobs = set(_through_rings(case))
        of_case = run.measurements.filter(pl.col("case") == case.id, pl.col("operation").is_in([*_SUBMIT]))
        rows = [row for row in of_case.iter_rows(named=True) if (row["phase"], row["job"]) in jobs]
        if not rows:
            return
        engines = self._engines(case, rows[0]["started_unix_ns"])
        if self._has_transfers(engines):
            return
        process_of = _ranks(engines, case.clients * case.ranks_per_client)
        if not process_of:
            self._unattributed |= set((self._profile.processes if engines.is_empty() else engines)["process"])
        for row in rows:
            self._add(run, case, row, process_of)
        calls, moved = (sum(row[name] for row in rows) for name in ("operations", "bytes"))
        self._supplements.append(Supplement("io_uring", calls, moved, where))

    def _engines(self, case: CaseEntry, at_ns: int) -> pl.DataFrame:
        """The processes of a case: their command names its events."""
        return self._profile.processes.filter(
            pl.col("command").str.contains(f"/{case.id}/events.jsonl", literal=True),
            pl.col("begin_unix_ns") <= at_ns,
            pl.col("end_unix_ns") >= at_ns,
        )

    def _has_transfers(self, engines: pl.DataFrame) -> bool:
        operations = self._profile.process_operations.join(engines.select("process"), on="process", how="semi")
        return operations["operation"].is_in([*_COLUMNS]).any()

    def _add(self, run: LoadedRun, case: CaseEntry, row: Mapping[str, Any], process_of: Mapping[int, int]) -> None:
        """Adds a measurement."""
        is_it = [pl.col(name) == row[name] for name in KEY]
        operation = pl.lit(_SUBMIT[row["operation"]]).alias("operation")
        # A mix of reads and writes has one time for both.
        of_job = run.ranks.filter(is_it[:-1]).group_by("rank").agg(each_ns=_each_ns())
        ranks = (
            run.ranks.filter(is_it)
            .join(of_job, on="rank")
            .sort("rank")
            .select(
                "rank",
                operation,
                "bytes",
                "slowest_ns",
                "each_ns",
                calls="operations",
                duration_ns=(pl.col("operations") * pl.col("each_ns")).round().cast(pl.Int64),
                process=pl.col("rank").replace_strict(process_of, default=None, return_dtype=pl.Int64),
            )
        )
        self._of_ranks.append(ranks.drop("rank", "each_ns"))
        file_set = case.job(row["phase"], row["job"]).file_set
        of_files = _of_files(ranks, self._paths(run, f"{case.id}.{file_set}"))
        self._of_files.append(of_files.with_columns(transfer_bytes=pl.lit(row["transfer_bytes"], pl.Int64)))
        latencies = run.latencies.filter(is_it)
        self._latencies.append(latencies.select(operation, begin_ns="lowest_ns", end_ns="highest_ns", calls="count"))
        samples = run.samples.filter(is_it).collect().join(ranks.select("rank", "process", "each_ns"), on="rank")
        duration_ns = pl.col("operations") * pl.col("each_ns")
        self._add_over_time(
            samples.select("sample", "process", "bytes", calls="operations", duration_ns=duration_ns), row
        )

    def _paths(self, run: LoadedRun, name: str) -> list[str]:
        """The files of a file set as the record has them, else one that stands for all."""
        path = posixpath.join(run.document.workspace or "", name)
        rest = pl.col("path").str.strip_prefix(path)
        files = self._profile.files.filter(pl.col("path").str.starts_with(path), rest.str.contains(r"^(\.\d{8})?$"))
        return sorted(files["path"]) or [f"{path}.*"]

    def _add_over_time(self, samples: pl.DataFrame, row: Mapping[str, Any]) -> None:
        """Adds samples to the time line and the heat."""
        profile, operation = self._profile, _SUBMIT[row["operation"]]
        begin_s = (row["started_unix_ns"] - profile.origin_unix_ns) / 1e9
        interval_s, end_s = row["sample_interval_ns"] / 1e9, begin_s + row["duration_ns"] / 1e9

        def in_steps(of_process: pl.DataFrame, step_s: float) -> pl.DataFrame:
            """start_s, calls, bytes, duration_ns."""
            start = begin_s + of_process["sample"].to_numpy().astype(np.float64) * interval_s
            end = np.maximum(start, np.minimum(start + interval_s, end_s))
            bins = int(profile.end_s / step_s) + 2
            amounts = {name: of_process[name].cast(pl.Float64).to_numpy() for name in _AMOUNTS}
            sums = {name: spread(start, end, of, step_s, bins) for name, of in amounts.items()}
            (busy,) = np.nonzero(sums["calls"])
            return pl.DataFrame({"start_s": busy * step_s} | {name: of[busy] for name, of in sums.items()})

        together = in_steps(samples.group_by("sample").agg(pl.col(_AMOUNTS).sum()), profile.timeline_step_s)
        self._timeline.append(_shaped(together.with_columns(operation=pl.lit(operation)), TIMELINE))
        moved, spent = _COLUMNS[operation]
        none = [pl.lit(0.0).alias(name) for name in list(HEAT)[2:] if name not in (moved, spent)]
        for (process,), of_process in samples.drop_nulls("process").group_by("process", maintain_order=True):
            cells = in_steps(of_process, profile.heat_step_s).rename({"bytes": moved, "duration_ns": spent})
            self._heat.append(_shaped(cells.with_columns(*none, process=pl.lit(process)), HEAT))

    def profile(self) -> Profile:
        """The profile with all that was added."""
        profile = self._profile
        if not self._supplements:
            return profile
        ranks, by_path = pl.concat(self._of_ranks), pl.concat(self._of_files)
        files = _with_all(profile.files, by_path["path"].unique(maintain_order=True).to_list())
        of_files = by_path.join(files.unique("path", keep="first").select("path", "file"), on="path")
        # Of equal transfers all sizes are known.
        sized = of_files.filter(pl.col("bytes") == pl.col("calls") * pl.col("transfer_bytes"), pl.col("calls") > 0)
        sizes = sized.with_columns(begin_bytes=pl.col("transfer_bytes").map_elements(_bucket, return_dtype=pl.Int64))
        ends = dict(zip(SIZE_BEGINS_BYTES, [*SIZE_BEGINS_BYTES[1:], None], strict=True))
        sizes = sizes.with_columns(end_bytes=pl.col("begin_bytes").replace_strict(ends, return_dtype=pl.Int64))
        operations = of_files.group_by("file", "operation").agg(
            pl.col(_AMOUNTS).sum(), pl.col("slowest_ns").max(), pl.col("processes").max()
        )
        return replace(
            profile,
            processes=_with_sums(profile.processes, ranks, self._unattributed),
            process_operations=_joined(profile.process_operations, [ranks], PROCESS_OPERATIONS, _AMOUNTS).sort(
                "process", _ORDER, nulls_last=True
            ),
            timeline=_joined(profile.timeline, self._timeline, TIMELINE, _AMOUNTS).sort("start_s", _ORDER),
            heat=_joined(profile.heat, self._heat, HEAT, list(HEAT)[2:]).sort("process", "start_s"),
            files=files,
            file_operations=pl.concat([profile.file_operations, _shaped(operations, FILE_OPERATIONS)]).sort(
                "file", _ORDER
            ),
            file_sizes=_joined(profile.file_sizes, [sizes], FILE_SIZES, ["calls"]).sort("file", _ORDER, "begin_bytes"),
            common_sizes=_joined(
                profile.common_sizes, [sized.with_columns(bytes="transfer_bytes")], COMMON_SIZES, ["calls"]
            ).sort("file", _ORDER, "bytes"),
            latencies=_joined(profile.latencies, self._latencies, LATENCIES, ["calls"]).sort(_ORDER, "begin_ns"),
            supplements=(*profile.supplements, *self._supplements),
        )


def _ranks(engines: pl.DataFrame, count: int) -> dict[int, int]:
    """The process of each rank, by the launcher's numbers, or in the order of processes that the engine forked; empty:
    unknown.
    """
    leaves = engines.join(
        engines.select("node", pid="parent_pid"), on=["node", "pid"], how="anti", maintain_order="left"
    ).sort("rank", "pid", nulls_last=True)
    if leaves.height != count:
        return {}
    numbered = leaves["rank"].to_list()
    if numbered != [*range(count)] and leaves["rank"].count():
        return {}
    return dict(enumerate(leaves["process"]))


def _each_ns() -> pl.Expr:
    """The time of each of a rank's operations in a job."""
    return pl.col("transfer_ns").first() / pl.col("operations").sum().clip(1)


def _of_files(ranks: pl.DataFrame, paths: Sequence[str]) -> pl.DataFrame:
    """path, operation, calls, bytes, duration_ns, slowest_ns, processes: where each rank has a file, each file has
    what its rank did; else all have equal parts.
    """
    if len(paths) == ranks.height:
        files = ranks.with_columns(path=pl.Series(paths, dtype=pl.String), processes=pl.lit(1, pl.Int64))
    else:
        sums = ranks.group_by("operation").agg(pl.col(_AMOUNTS).sum(), pl.col("slowest_ns").max())
        number, count = pl.int_range(pl.len()), len(paths)
        files = (
            pl.DataFrame({"path": paths})
            .join(sums, how="cross")
            .with_columns(
                *(pl.col(name) * (number + 1) // count - pl.col(name) * number // count for name in _AMOUNTS),
                processes=pl.lit(ranks.height if count == 1 else None, pl.Int64),
            )
        )
    return files.select("path", "operation", *_AMOUNTS, "slowest_ns", "processes")


def _with_all(files: pl.DataFrame, paths: Sequence[str]) -> pl.DataFrame:
    """`FILES`, with rows for paths that it lacks."""
    known = set(files["path"])
    new = [path for path in paths if path not in known]
    numbers = range(files.height, files.height + len(new))
    more = pl.DataFrame({"file": numbers, "path": new}, schema={"file": pl.Int64, "path": pl.String})
    return pl.concat([files, _shaped(more.with_columns(kind=pl.lit("file"), names=pl.lit(1)), FILES)])


def _with_sums(processes: pl.DataFrame, ranks: pl.DataFrame, unattributed: set[int]) -> pl.DataFrame:
    """`PROCESSES`, with bytes and times added; unknown of those that cannot be distinguished."""
    for operation, names in _COLUMNS.items():
        of_operation = ranks.filter(pl.col("operation") == operation).drop_nulls("process")
        sums = of_operation.group_by("process").agg(pl.col("bytes", "duration_ns").sum())
        joined = processes.join(sums, on="process", how="left", maintain_order="left")
        is_known = ~pl.col("process").is_in(list(unattributed))
        processes = joined.with_columns(
            pl.when(is_known).then(pl.col(name) + pl.col(amount).fill_null(0)).alias(name)
            for name, amount in zip(names, ("bytes", "duration_ns"), strict=True)
        ).select(processes.columns)
    return processes


def _bucket(size: int) -> int:
    """Where the recorder's bucket of a size begins."""
    return SIZE_BEGINS_BYTES[int(np.searchsorted(SIZE_BEGINS_BYTES, size, side="right")) - 1]


def _joined(
    frame: pl.DataFrame, more: Sequence[pl.DataFrame], schema: pl.Schema, amounts: Sequence[str]
) -> pl.DataFrame:
    """A table of the profile with more rows, `amounts` added up."""
    most = [pl.col("slowest_ns").max()] if "slowest_ns" in schema else []
    key = [name for name in schema if name not in {*amounts, "slowest_ns"}]
    every = pl.concat([frame, *(_shaped(added, schema) for added in more)])
    # What the source did not know of some stays unknown.
    sums = [pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name) for name in amounts]
    return every.group_by(key, maintain_order=True).agg(*sums, *most).select(list(schema))


def _shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Rows with the columns of a table; what they lack is null."""
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name) for name, kind in schema.items()
    )
