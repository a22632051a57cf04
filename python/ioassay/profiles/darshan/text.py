"""What `darshan-parser` prints of a log. Not: its sums (`--total`, `--file`, `--perf`), `darshan-dxt-parser`.

A line that fits nothing is a loss: file names may contain line breaks. A record that was cut is left out, never halved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from ioassay.errors import UsageError
from ioassay.profiles.darshan.log import COUNTED, HEATED, Heat, Job, Log, job_of
from ioassay.profiles.darshan.recognise import open_log
from ioassay.profiles.model import Loss
from ioassay.text.units import format_count

_HEADER = re.compile(r"# (exe|uid|jobid|start_time|end_time|nprocs|run time): ?(.*)")
_MODULE = re.compile(r"# (\S+) module: (\d+) bytes")
_PARTIAL = re.compile(r"# \*(?:WARNING|ERROR)\*: The (\S+) module contains incomplete data")
_STRIPE = re.compile(r"LUSTRE(?:_COMP1)?_STRIPE_SIZE")
_BIN = re.compile(r"HEATMAP_(READ|WRITE)_BIN_(\d{1,7})")
_STEP = "HEATMAP_F_BIN_WIDTH_SECONDS"
_LAST = {name: f"{name.replace('-', '')}_F_VARIANCE_RANK_BYTES" for name in COUNTED}
"""The counter that ends a record."""

_AGAIN = "Give the log itself, or the output of `darshan-parser --show-incomplete LOG` without other options."

_Key = tuple[str, int, int]
"""Module, rank, number of the record."""


@dataclass
class _Read:
    """What was read so far."""

    header: dict[str, str] = field(default_factory=dict)
    modules: dict[str, int] = field(default_factory=dict)
    """With their compressed bytes."""
    partial: set[str] = field(default_factory=set)
    records: dict[_Key, list[dict[str, str]]] = field(default_factory=dict)
    """Several of a file where logs of several processes were merged."""
    names: dict[int, str] = field(default_factory=dict)
    lost_bytes: int = 0
    has_sums: bool = False
    has_trace: bool = False


def read_text(path: Path) -> Log:
    """Reads the text of a log. Raises `UsageError` where it cannot be that of one."""
    read = _Read()
    with open_log(path) as file:
        for line in file:
            if not line.endswith(b"\n"):
                read.lost_bytes += len(line)  # its number may have been cut
            else:
                _take(read, line.rstrip(b"\r\n").decode(errors="replace"), len(line))
    if not read.records and (read.has_sums or read.has_trace):
        what = (
            "what darshan-dxt-parser prints" if read.has_trace else "sums of darshan-parser (--total, --file, --perf)"
        )
        raise UsageError(f"{path} has {what}, not the counters of each file.", _AGAIN)
    return _log(path, read)


def _take(read: _Read, line: str, length: int) -> None:
    if line.startswith("#"):
        _take_comment(read, line)
    elif line.startswith("total_"):
        read.has_sums = True
    elif line.strip() and not read.has_trace and not _take_counter(read, line):
        read.lost_bytes += length


def _take_comment(read: _Read, line: str) -> None:
    if match := _HEADER.fullmatch(line):
        read.header.setdefault(match[1], match[2])
    elif match := _MODULE.match(line):
        read.modules[match[1]] = int(match[2])
    elif match := _PARTIAL.match(line):
        read.partial.add(match[1])
    elif line.startswith("# DXT, file_id:"):
        read.has_trace = True
    elif line.startswith(("# Total file counts", "# performance")):
        read.has_sums = True


def _take_counter(read: _Read, line: str) -> bool:
    parts = line.split("\t", 5)
    if len(parts) != 6:
        return False
    module, rank, file, counter, value, rest = parts
    name = rest.rsplit("\t", 2)
    if len(name) != 3 or not (re.fullmatch(r"-?\d{1,18}", rank) and re.fullmatch(r"\d{1,20}", file)):
        return False
    number = int(file)
    if number >= 1 << 64:
        return False
    records = read.records.setdefault((module, int(rank), number), [{}])
    if counter == next(iter(records[-1]), None):
        records.append({})
    if counter in records[-1]:
        return False
    records[-1][counter] = value
    read.names.setdefault(number, name[0])
    return True


def _log(path: Path, read: _Read) -> Log:
    losses = [Loss("partial", 1, f"{path}, module {name}", "Darshan had no memory for more records")
              for name in sorted(read.partial - {"NULL"})]  # fmt: skip
    if read.lost_bytes:
        losses.append(Loss("damaged-bytes", read.lost_bytes, str(path), "lines that are no counters"))
    records: dict[str, pl.DataFrame] = {}
    for module in COUNTED:
        every = [(rank, file, values) for (name, rank, file), values in _records_of(read) if name == module]
        whole = [row for row in every if _LAST[module] in row[2]]
        if len(whole) < len(every):
            cut = len(every) - len(whole)
            were = "was" if cut == 1 else "were"
            reason = f"{format_count(cut, 'record')} {were} cut"
            losses.append(Loss("partial", cut, f"{path}, module {module}", reason))
        if whole:
            records[module] = _records(whole)
        elif read.modules.get(module) and not every:
            losses.append(Loss("damaged-bytes", read.modules[module], f"{path}, module {module}", "it has no records"))
    return Log(
        path=path,
        form="text",
        job=_job(path, read.header),
        modules=tuple(name for name in read.modules if name != "NULL"),
        names=read.names,
        records=records,
        heats=[*_heats(read)],
        traces=(),
        stripes=_stripes(read),
        losses=losses,
    )


def _job(path: Path, header: Mapping[str, str]) -> Job:
    def whole(name: str) -> int:
        value = header.get(name, "")
        if not re.fullmatch(r"-?\d{1,18}", value):
            raise UsageError(f"{path} is damaged: its header has no {name.replace('_', ' ')}.", _AGAIN)
        return int(value)

    run_s = 0.0
    with suppress(ValueError):
        run_s = float(header.get("run time", ""))
    return job_of(
        path,
        {
            "nprocs": whole("nprocs"),
            "start_time_sec": whole("start_time"),
            "start_time_nsec": 0,
            "end_time_sec": whole("end_time"),
            "jobid": whole("jobid"),
            "uid": whole("uid"),
            "run_s": run_s,
            "command": header.get("exe", ""),
        },
    )


def _records_of(read: _Read) -> Iterator[tuple[_Key, dict[str, str]]]:
    return ((key, values) for key, several in read.records.items() for values in several)


def _records(every: list[tuple[int, int, dict[str, str]]]) -> pl.DataFrame:
    counters = list(dict.fromkeys(name for _, _, values in every for name in values))
    columns: dict[str, pl.Series] = {
        "id": pl.Series([file for _, file, _ in every], dtype=pl.UInt64),
        "rank": pl.Series([rank for rank, _, _ in every], dtype=pl.Int64),
    }
    for name in counters:
        kind = pl.Float64 if "_F_" in name else pl.Int64
        columns[name] = pl.Series([values.get(name) for _, _, values in every], dtype=pl.String).cast(
            kind, strict=False
        )
    return pl.DataFrame(columns)


def _heats(read: _Read) -> Iterator[Heat]:
    for (name, rank, number), values in _records_of(read):
        module = HEATED.get(number) if name == "HEATMAP" else None
        if module is None:
            continue
        bins: dict[str, dict[int, int]] = {"READ": {}, "WRITE": {}}
        for counter, value in values.items():
            if (match := _BIN.fullmatch(counter)) and re.fullmatch(r"\d{1,18}", value):
                bins[match[1]][int(match[2])] = int(value)
        with suppress(ValueError):
            count = max((index for counts in bins.values() for index in counts), default=-1) + 1
            moved = [np.array([counts.get(index, 0) for index in range(count)], np.int64) for counts in bins.values()]
            yield Heat(module, rank, float(values.get(_STEP, "")), *moved)


def _stripes(read: _Read) -> dict[int, int]:
    return {
        number: int(value)
        for (name, _, number), values in _records_of(read)
        if name == "LUSTRE"
        for counter, value in values.items()
        if _STRIPE.fullmatch(counter) and re.fullmatch(r"[1-9]\d{0,11}", value)
    }
