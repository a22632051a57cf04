"""Logs of a job → its profile.

Each process of a log is one of the profile: an MPI job has one log, another has one for each process. Logs of several
jobs are one profile too, which says so. Times are those of the first job's clock: its start is the origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ioassay.errors import UsageError
from ioassay.profiles.darshan.counters import (
    COMMON,
    FACTS,
    KINDS,
    MPI_READS,
    MPI_WRITES,
    ROWS,
    SIZES,
    PlacedLog,
    Records,
    latest_s,
    mpi_kind,
)
from ioassay.profiles.darshan.library import read_logs
from ioassay.profiles.darshan.log import COUNTED, LONGEST_S, NO_COUNTERS, Log, merged
from ioassay.profiles.darshan.recognise import LogFile, log_files
from ioassay.profiles.darshan.text import read_text
from ioassay.profiles.darshan.timelines import Moves, Timelines, latencies, timeline_step
from ioassay.profiles.darshan.traces import IS_WRITE, Traced, durations_ns, latest_end_s
from ioassay.profiles.darshan.unknown import UNCOUNTED, Gaps, unknowns
from ioassay.profiles.model import (
    COMMON_SIZES,
    ERRORS,
    FILE_OPERATIONS,
    FILE_PROCESSES,
    FILE_SIZES,
    FILES,
    IN_FLIGHT,
    MAPS,
    METADATA,
    PROCESS_OPERATIONS,
    PROCESSES,
    Loss,
    Profile,
)
from ioassay.profiles.spreading import Floats

_NS = 1e9
_ROUNDED_S = 2e-6
"""The text of a log has times of 1 µs."""
_LITTLE = 0.01
"""What all processes did together is left out of the sums of each where it is less than this share."""


def load_profile(paths: Sequence[Path]) -> Profile:
    """The profile of all logs together. Raises `UsageError` for a file that is none, or that cannot be read."""
    logs, losses = _read([file for path in paths for file in log_files(path)])
    return profile_of(logs, losses, tuple(map(str, paths)))


def profile_of(logs: Sequence[Log], losses: Sequence[Loss] = (), names: tuple[str, ...] = ()) -> Profile:
    """The profile of logs that were read. Raises `UsageError` where two are the same."""
    ordered = sorted(logs, key=lambda log: (log.job.start_unix_ns, log.job.job_id, str(log.path)))
    _refuse_same(ordered)
    return _Reading(ordered, losses).profile(names)


def _read(files: Sequence[LogFile]) -> tuple[list[Log], list[Loss]]:
    """All logs. Of several, one that cannot be read is a loss."""
    logs: list[Log] = []
    refused: list[tuple[Path, UsageError]] = []
    of_library = [file.path for file in files if file.form == "log"]
    for path, log in zip(of_library, read_logs(of_library), strict=True):
        if isinstance(log, Log):
            logs.append(merged(log))
        else:
            refused.append((path, log))
    for file in files:
        if file.form == "text":
            try:
                logs.append(merged(read_text(file.path)))
            except UsageError as error:
                refused.append((file.path, error))
    if not logs:
        raise refused[0][1]
    return logs, [
        Loss("damaged-bytes", path.stat().st_size, str(path), error.message.rstrip(".")) for path, error in refused
    ]


def _refuse_same(logs: Sequence[Log]) -> None:
    """Raises `UsageError` for two that were read from the same log: one of them may be its text, with rounded times."""
    if len(logs) == 1:
        return
    alike: dict[tuple[object, ...], list[tuple[float, Log]]] = {}
    for log in logs:
        job = log.job
        key = (job.start_unix_ns // 10**9, job.job_id, job.user, job.command, job.processes, *_counters(log))
        alike.setdefault(key, []).append((float(_times(log).sum()), log))
    for several in alike.values():
        several.sort(key=itemgetter(0))
        for (_, first), (_, second) in pairwise(several):
            times = _times(first), _times(second)
            if len(times[0]) and bool((np.abs(times[0] - times[1]) <= _ROUNDED_S).all()):
                raise UsageError(f"{first.path} and {second.path} are the same log.", "Name it once.")


def _ordered(log: Log) -> Iterator[pl.DataFrame]:
    for _, rows in sorted(log.records.items()):
        yield rows.sort("id", "rank")


def _counters(log: Log) -> Iterator[object]:
    """What is exact in a log and in its text."""
    for rows in _ordered(log):
        exact = [name for name in rows.columns if rows[name].dtype.is_integer() and not name.endswith(NO_COUNTERS)]
        yield tuple(rows.select(sorted(exact)).hash_rows(seed=0).to_list())


def _times(log: Log) -> Floats:
    rows = (rows.select(sorted(name for name in rows.columns if name.endswith("_TIMESTAMP"))) for rows in _ordered(log))
    return np.concatenate([np.zeros(0), *(times.fill_null(0).to_numpy().astype(np.float64).ravel() for times in rows)])


class _Reading:
    """What is known of all logs."""

    def __init__(self, logs: Sequence[Log], losses: Sequence[Loss]) -> None:
        self._logs = logs
        self._losses = losses
        self._begin_ns = min(log.job.start_unix_ns for log in logs)
        self._placed: list[PlacedLog] = []
        self._processes = 0
        for number, log in enumerate(logs):
            offset_s = (log.job.start_unix_ns - self._begin_ns) / _NS
            self._placed.append(PlacedLog(log, number, self._processes, offset_s))
            self._processes += log.job.processes
        records = [Records(self._placed, module) for module in COUNTED if any(module in log.records for log in logs)]
        self._rows = pl.concat([ROWS.to_frame(), *(part.operations() for part in records)])
        self._facts = pl.concat([FACTS.to_frame(), *(part.facts() for part in records)])
        self._sizes = pl.concat([SIZES.to_frame(), *(part.sizes() for part in records)])
        self._common = pl.concat([COMMON.to_frame(), *(part.common() for part in records)])
        blocks = self._facts.group_by("log", "file").agg(pl.col("block_bytes").drop_nulls().first())
        self._traced = Traced(self._placed, self._rows, blocks)
        self._whole = self._traced.whole_modules()
        self._attributed = self._traced.attributed(self._rows)
        self._ends_s = [self._end_s(placed) for placed in self._placed]
        """Of each log, from the origin."""
        self._timed: set[tuple[int, str]] = set()
        self._heat_bytes: dict[tuple[int, bool], float] = {}
        """What HEATMAP counted of a process that reached the file system, by whether it wrote."""

    def profile(self, names: tuple[str, ...]) -> Profile:
        """The profile of all logs."""
        timelines = self._timelines()
        paths = sorted({*self._facts["path"].to_list()})
        numbers = {path: number for number, path in enumerate(paths)}
        end_ns = self._begin_ns + round(max(self._ends_s) * _NS)
        commands = dict.fromkeys(log.job.command for log in self._logs if log.job.command)
        losses = [*self._losses, *(loss for log in self._logs for loss in log.losses)]
        reason = "its process did not end by itself; it ends here with its last call"
        losses += [Loss("partial", 1, str(log.path), reason) for log in self._logs if log.job.was_killed]
        return Profile(
            source="darshan",
            names=names,
            commands=tuple(commands),
            is_running=False,
            begin_unix_ns=self._begin_ns,
            end_unix_ns=end_ns,
            origin_unix_ns=self._begin_ns,
            timeline_step_s=timelines.step_s,
            heat_step_s=timelines.heat_step_s,
            processes=self._process_frame(),
            process_operations=self._process_operations(),
            timeline=timelines.timeline(),
            heat=timelines.heat(),
            files=self._files(numbers),
            file_operations=self._file_operations(numbers),
            file_processes=self._file_processes(numbers),
            file_sizes=self._file_sizes(numbers),
            common_sizes=self._common_sizes(numbers),
            maps=MAPS.to_frame(),
            latencies=self._latencies(),
            errors=ERRORS.to_frame(),
            in_flight=IN_FLIGHT.to_frame(),
            losses=tuple(losses),
            unknown=unknowns(self._logs, self._gaps()),
            uncounted=self._uncounted(),
        )

    def _end_s(self, placed: PlacedLog) -> float:
        """When a job ended: as its log says, or with the last thing that it knows of."""
        latest = max([latest_s(placed.log), *(latest_end_s(trace) for trace in placed.log.traces)])
        return placed.offset_s + min(max(placed.log.job.run_s or 0.0, latest), LONGEST_S)

    def _timelines(self) -> Timelines:
        duration_s = max(self._ends_s)
        steps = (heat.step_s for log in self._logs for heat in log.heats)
        timelines = Timelines(duration_s, timeline_step(duration_s, steps, bool(self._whole)))
        for calls in self._traced.calls():
            if (calls.log.number, calls.module) not in self._whole or calls.operation is None:
                continue
            start, end = (
                moments[calls.mask] + calls.log.offset_s for moments in (calls.trace.start_s, calls.trace.end_s)
            )
            moved = calls.trace.length_bytes[calls.mask].astype(float)
            timelines.add(
                Moves(calls.process, calls.operation, calls.is_write, start, end, moved, True), calls.module == "POSIX"
            )
        self._timed |= self._whole
        for placed in self._placed:
            self._add_heats(timelines, placed)
        return timelines

    def _add_heats(self, timelines: Timelines, placed: PlacedLog) -> None:
        kinds: dict[str, tuple[str | None, str | None]] = dict(KINDS)
        if any(heat.module == "MPI-IO" for heat in placed.log.heats):
            rows = self._rows.filter(pl.col("log") == placed.number)
            kinds["MPI-IO"] = (mpi_kind(rows, MPI_READS), mpi_kind(rows, MPI_WRITES))
        for heat in placed.log.heats:
            if not (0 < heat.step_s < LONGEST_S):
                continue
            process = placed.first_process + min(max(heat.rank, 0), placed.log.job.processes - 1)
            self._timed.add((placed.number, heat.module))
            for is_write, counted in ((False, heat.read_bytes), (True, heat.written_bytes)):
                moved = counted.clip(0).astype(np.float64)
                if heat.module in KINDS:
                    key = (process, is_write)
                    self._heat_bytes[key] = self._heat_bytes.get(key, 0.0) + float(moved.sum())
                operation = kinds[heat.module][is_write]
                if operation is None or (placed.number, heat.module) in self._whole:
                    continue
                (busy,) = np.nonzero(moved)
                start = busy.astype(np.float64) * heat.step_s + placed.offset_s
                moves = Moves(process, operation, is_write, start, start + heat.step_s, moved[busy], False)
                timelines.add(moves, heat.module in KINDS)

    def _process_frame(self) -> pl.DataFrame:
        """`PROCESSES`."""
        spent = self._spent()
        nodes = self._traced.nodes()
        rows: list[dict[str, object]] = []
        for placed, end_s in zip(self._placed, self._ends_s, strict=True):
            job = placed.log.job
            program = job.command.split(maxsplit=1)
            common = {
                "user": job.user,
                "command": job.command,
                "executable": program[0] if program else "",
                "begin_unix_ns": job.start_unix_ns,
                "end_unix_ns": self._begin_ns + round(end_s * _NS),
                "state": "killed" if job.was_killed else "ended",
                "images": 1,
            }
            is_mpi = job.processes > 1 and not placed.log.is_merged
            for rank in range(job.processes):
                process = placed.first_process + rank
                of_process = {"process": process, "node": nodes.get(process), "rank": rank if is_mpi else None}
                rows.append(common | of_process | spent.get(process, {}))
        return pl.DataFrame(rows, schema=PROCESSES)

    def _spent(self) -> dict[int, dict[str, object]]:
        """Bytes and times of each process; without what is not known of it."""
        spent: dict[int, dict[str, object]] = {process: {} for process in range(self._processes)}
        moves = self._attributed.with_columns(is_write=IS_WRITE).filter(
            pl.col("module").is_in([*KINDS]), pl.col("is_write").is_not_null()
        )
        totals = _summed(moves, ["log", "is_write", "process"], ["bytes", "duration_ns"])
        facts = _summed(self._facts.filter(pl.col("module").is_in([*KINDS])), ["log", "process"], ["metadata_ns"])
        of_log = totals.partition_by("log", "is_write", as_dict=True)
        metadata = facts.partition_by("log", as_dict=True)
        for placed in self._placed:
            processes = range(placed.first_process, placed.first_process + placed.log.job.processes)
            for is_write, (bytes_name, ns_name) in enumerate(
                (("read_bytes", "read_ns"), ("written_bytes", "write_ns"))
            ):
                moved = of_log.get((placed.number, bool(is_write)), totals.clear())
                heat = {process: self._heat_bytes.get((process, bool(is_write)), 0.0) for process in processes}
                for column, name in (("bytes", bytes_name), ("duration_ns", ns_name)):
                    known: Mapping[int, float | None] | None = _of_each(moved, column, processes)
                    known = None if placed.log.is_merged else known
                    if known is None and column == "bytes" and sum(heat.values()) == moved["bytes"].sum():
                        known = heat
                    for process, value in (known or {}).items():
                        spent[process][name] = _whole(value)
            if placed.log.is_merged:
                continue
            known = _of_each(metadata.get((placed.number,), facts.clear()), "metadata_ns", processes)
            for process, value in (known or {}).items():
                spent[process]["metadata_ns"] = _whole(value)
        return spent

    def _process_operations(self) -> pl.DataFrame:
        """`PROCESS_OPERATIONS`. Calls of all processes of a job together, and of merged logs, have no process."""
        names = ("calls", "bytes", "duration_ns")
        are_merged = pl.col("log").is_in([placed.number for placed in self._placed if placed.log.is_merged])
        rows = self._attributed.with_columns(process=pl.when(~are_merged).then("process"))
        every = _summed(rows, ["process", "operation"], names, "slowest_ns")
        return _shaped(every, PROCESS_OPERATIONS).sort("process", "operation", nulls_last=True)

    def _files(self, numbers: dict[str, int]) -> pl.DataFrame:
        """`FILES`."""
        users = self._users()
        extremes = users.group_by("path").agg(
            least_process_bytes=_if_all("bytes", pl.col("bytes").min()),
            most_process_bytes=_if_all("bytes", pl.col("bytes").max()),
            fastest_process_ns=_if_all("duration_ns", pl.col("duration_ns").min()),
            slowest_process_ns=_if_all("duration_ns", pl.col("duration_ns").max()),
        )
        facts = self._facts.group_by("path").agg(
            pl.col("block_bytes").drop_nulls().first(),
            pl.col("first_open_s").min(),
            pl.col("last_close_s").max(),
            metadata_ns=_if_all("metadata_ns", pl.col("metadata_ns").sum(), pl.col("module").is_in([*KINDS])),
        )
        opened = self._rows.filter(pl.col("operation") == "open")["path"].unique()
        used = self._uses(self._facts, "path")
        files = facts.join(extremes, on="path", how="left").join(used, on="path", how="left")
        return _shaped(
            files.with_columns(
                file=_numbers(numbers),
                names=pl.lit(1),
                kind=pl.when(pl.col("path").is_in(opened.implode()) & ~pl.col("path").str.starts_with("<"))
                .then(pl.lit("file"))
                .otherwise(pl.lit("unknown")),
            ),
            FILES,
        ).sort("file")

    def _uses(self, rows: pl.DataFrame, *key: str) -> pl.DataFrame:
        """How many processes are in rows: all of a job where it is one row of them together."""
        all_of = pl.Series([placed.log.job.processes for placed in self._placed], dtype=pl.Int64)
        return (
            rows.group_by(*key, "log")
            .agg(pl.col("process").n_unique().alias("some"), pl.col("process").has_nulls().alias("is_shared"))
            .with_columns(
                processes=pl.when("is_shared")
                .then(pl.lit(all_of).gather("log"))
                .otherwise(pl.col("some").cast(pl.Int64))
            )
            .group_by(key)
            .agg(pl.col("processes").sum())
        )

    def _users(self) -> pl.DataFrame:
        """`bytes` and `duration_ns` of each process that moved some of a file, as far as they are known. Of a record of
        all processes these are the fastest and the slowest, with their metadata calls.
        """
        moves = self._attributed.filter(pl.col("module").is_in([*KINDS]), IS_WRITE.is_not_null())
        known = _summed(moves.drop_nulls("process"), ["path", "process"], ["bytes", "duration_ns"])
        shared = moves.filter(pl.col("process").is_null()).select("log", "module", "file").unique()
        named = self._facts.filter(pl.col("process").is_null()).join(shared, on=["log", "module", "file"], how="semi")
        extremes = [
            named.select("path", "process", bytes=f"{extreme}_bytes", duration_ns=f"{extreme}_ns")
            for extreme in ("fastest", "slowest")
        ]
        return pl.concat([known, *extremes], how="vertical_relaxed")

    def _file_operations(self, numbers: dict[str, int]) -> pl.DataFrame:
        """`FILE_OPERATIONS`."""
        sums = ("calls", "bytes", "duration_ns", "consecutive", "forward", "misaligned")
        key = ["log", "module", "file", "operation"]
        traced = self._traced.extents().select(*key, "begin_bytes", exact="misaligned")
        several = pl.len().over(key) > 1  # the rows of each rank: what was traced is known of all of them together
        rows = (
            self._rows.with_columns(is_one=~several)
            .join(traced, on=key, how="left")
            .with_columns(misaligned=pl.coalesce("misaligned", pl.when("is_one").then("exact")))
        )
        every = _summed(rows, ["path", "operation"], sums, "slowest_ns").join(
            rows.group_by("path", "operation").agg(
                _if_all("begin_bytes", pl.col("begin_bytes").min()).alias("begin_bytes"),
                pl.col("end_bytes").max(),
            ),
            on=["path", "operation"],
        )
        used = self._uses(rows, "path", "operation")
        every = every.join(used, on=["path", "operation"], how="left").with_columns(file=_numbers(numbers))
        moves = ~pl.col("operation").is_in(METADATA)
        every = every.with_columns(
            pl.when(moves).then(pl.col("duration_ns")), pl.when(moves).then(pl.col("slowest_ns"))
        )
        return _shaped(every, FILE_OPERATIONS).sort("file", "operation")

    def _file_processes(self, numbers: dict[str, int]) -> pl.DataFrame:
        """`FILE_PROCESSES`. A record of all processes of a job stands for all of them."""
        first = pl.Series([placed.first_process for placed in self._placed], dtype=pl.Int64)
        every = pl.Series([placed.log.job.processes for placed in self._placed], dtype=pl.Int64)
        who = {
            "processes": pl.when(pl.col("process").is_null()).then(pl.lit(every).gather("log")).otherwise(1),
            "process": pl.col("process").fill_null(pl.lit(first).gather("log")),
        }
        key = ["path", "process", "processes"]
        rows = self._attributed.with_columns(IS_WRITE.alias("is_write"), **who)
        is_moved = {
            way: (pl.col("module").is_in([*KINDS]) & (pl.col("is_write") == is_write)).fill_null(False)
            for way, is_write in (("read", False), ("write", True))
        }
        moved = rows.group_by(key).agg(
            read_bytes=pl.col("bytes").filter(is_moved["read"]).sum(),
            written_bytes=pl.col("bytes").filter(is_moved["write"]).sum(),
            read_ns=pl.col("duration_ns").filter(is_moved["read"]).sum(),
            write_ns=pl.col("duration_ns").filter(is_moved["write"]).sum(),
            renames=pl.col("calls").filter(operation="rename").sum(),
            maps=pl.col("calls").filter(operation="map").sum(),
        )
        opened = (
            self._facts.with_columns(**who)
            .group_by(key)
            .agg(pl.col("first_open_s").min(), pl.col("last_close_s").max())
        )
        every_row = opened.join(moved, on=key, how="left").with_columns(file=_numbers(numbers))
        return _shaped(every_row, FILE_PROCESSES).sort("file", "process", "processes")

    def _file_sizes(self, numbers: dict[str, int]) -> pl.DataFrame:
        every = _summed(self._sizes, ["path", "operation", "begin_bytes", "end_bytes"], ["calls"])
        return _shaped(every.with_columns(file=_numbers(numbers)), FILE_SIZES).sort(
            "file", "operation", "begin_bytes", "end_bytes", nulls_last=True
        )

    def _common_sizes(self, numbers: dict[str, int]) -> pl.DataFrame:
        every = _summed(self._common, ["path", "operation", "bytes"], ["calls"]).with_columns(file=_numbers(numbers))
        return _shaped(every, COMMON_SIZES).sort("file", "operation", "bytes", nulls_last=True)

    def _latencies(self) -> pl.DataFrame:
        durations: dict[str, list[Any]] = {}
        traced = self._traced_modules()
        for calls in self._traced.calls():
            if calls.module in traced and calls.operation is not None:
                durations.setdefault(calls.operation, []).append(durations_ns(calls.trace)[calls.mask])
        return latencies(durations)

    def _traced_modules(self) -> set[str]:
        """Those all of whose calls were traced in every log that has such calls, each of a known operation."""
        moved = self._moved
        return {module for _, module in moved if {key for key in moved if key[1] == module} <= self._whole}

    @cached_property
    def _moved(self) -> set[tuple[int, str]]:
        """Logs and their modules that moved bytes."""
        return set(self._rows.filter(IS_WRITE.is_not_null()).select("log", "module").unique().iter_rows())

    def _uncounted(self) -> frozenset[str]:
        """Without any stat, it is unknown whether Darshan counts them: see `unknown`."""
        return UNCOUNTED if "stat" in set(self._rows["operation"]) else UNCOUNTED | {"stat"}

    def _gaps(self) -> Gaps:
        moved = self._moved
        untimed = {module for log, module in moved - self._timed}
        both = self._rows.filter(pl.col("operation").is_in([*MPI_READS, *MPI_WRITES]), pl.col("bytes").is_null())
        moves = self._attributed.filter(IS_WRITE.is_not_null(), pl.col("module").is_in([*KINDS]))
        posix = self._rows.filter(pl.col("module") == "POSIX", IS_WRITE.is_not_null())
        return Gaps(
            traced=frozenset(self._traced_modules()),
            timed=frozenset({module for _, module in moved} - untimed),
            moved=frozenset(module for _, module in moved),
            has_shared=moves["process"].has_nulls(),
            has_mixed_common=self._common["operation"].has_nulls(),
            has_mixed_alignment=posix["misaligned"].has_nulls(),
            has_mixed_collective=both.height > 0,
            has_nodes=len(self._traced.nodes()) == self._processes,
        )


def _if_all(name: str, value: pl.Expr, where: pl.Expr | None = None) -> pl.Expr:
    """A value that is known only where all of a column are."""
    known = pl.col(name).is_not_null()
    if where is None:
        return pl.when(known.all()).then(value)
    return pl.when((known | ~where).all() & where.any()).then(value)


def _summed(rows: pl.DataFrame, key: Sequence[str], sums: Sequence[str], slowest: str | None = None) -> pl.DataFrame:
    """Rows added up by a key. A sum is known only where all of it is."""
    most = [_if_all(slowest, pl.col(slowest).max()).alias(slowest)] if slowest else []
    return rows.group_by(key, maintain_order=True).agg(
        *(_if_all(name, pl.col(name).sum()).alias(name) for name in sums), *most
    )


def _of_each(rows: pl.DataFrame, column: str, processes: Iterable[int]) -> dict[int, float | None] | None:
    """The sums of each process. `None`: too much is known of all of them together only."""
    together = rows.filter(pl.col("process").is_null())[column]
    if together.has_nulls() or float(together.sum()) > _LITTLE * float(rows[column].sum()):
        return None
    known: dict[int, float | None] = dict.fromkeys(processes, 0.0)
    return known | dict(rows.drop_nulls("process").select("process", column).iter_rows())


def _whole(value: float | None) -> int | None:
    return None if value is None else min(round(value), 2**62)


def _numbers(numbers: dict[str, int]) -> pl.Expr:
    return pl.col("path").replace_strict(numbers, return_dtype=pl.Int64)


def _shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    whole = [name for name, kind in schema.items() if kind.is_integer()]
    return rows.select(
        (
            pl.col(name).round().clip(0, 2.0**62)
            if name in whole and name in rows.columns and rows[name].dtype.is_float()
            else pl.col(name)
            if name in rows.columns
            else pl.lit(None)
        )
        .cast(kind, strict=False)
        .alias(name)
        for name, kind in schema.items()
    )
