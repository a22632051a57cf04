"""Darshan's logs through PyDarshan, whose C library reads every version of Darshan 3.

It runs in a process of its own (`reader_process`): it may crash on a damaged log.
Not: what `darshan-parser` prints (`text`).
"""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.errors import CannotRun, UsageError
from ioassay.processes.messages import receive
from ioassay.profiles.darshan.checksums import damaged_regions
from ioassay.profiles.darshan.log import COUNTED, HEATED, TRACED, Heat, Log, Trace, job_of
from ioassay.profiles.model import Loss
from ioassay.text.units import format_count

_INSTALL = "Install PyDarshan: pip install 'ioassay[darshan]'; or give the output of `darshan-parser LOG`."
_RESTORE = "Restore it from a copy."


@dataclass
class _Parts:
    """What was read of a log."""

    job: Mapping[str, Any] | None = None
    modules: Mapping[str, Any] = field(default_factory=lambda: {"names": [], "bytes": [], "partial": []})
    names: Mapping[int, str] = field(default_factory=dict)
    content: dict[str, tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]] = field(default_factory=dict)
    status: int = 0
    messages: str = ""


def read_logs(paths: Sequence[Path]) -> Iterator[Log | UsageError]:
    """Reads logs, in their order; the error of one of which nothing can be read. Raises `CannotRun` where PyDarshan is
    not installed.
    """
    if not paths:
        return
    if importlib.util.find_spec("darshan") is None:
        raise CannotRun("PyDarshan is not installed: Darshan's logs cannot be read.", _INSTALL)
    command = [sys.executable, "-m", "ioassay.profiles.darshan.reader_process"]
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError), process.stdin as names:
                names.write(json.dumps([str(path.resolve()) for path in paths]).encode())
            for path in paths:
                parts = _parts(process.stdout)
                if parts is None:
                    messages.seek(0)
                    message = messages.read().decode(errors="replace").strip().rpartition("\n")[2]
                    raise CannotRun(f"PyDarshan cannot read {path}: {message or 'it ended'}.", _INSTALL)
                try:
                    yield _log(path, parts)
                except UsageError as error:
                    yield error
        finally:
            process.kill()


def _parts(stream: IO[bytes]) -> _Parts | None:
    """All parts of the next log. `None`: there are no more."""
    parts = _Parts()
    while (content := receive(stream)) is not None:
        head, _, numbers = content.partition(b"\n")
        part = json.loads(head)
        arrays = _arrays(part["arrays"], numbers)
        match part["part"]:
            case "job":
                parts.job = part
            case "modules":
                parts.modules = part
            case "names":
                parts.names = dict(zip(arrays["ids"].tolist(), part["names"], strict=True))
            case "module":
                parts.content[part["name"]] = (part, arrays)
            case "end":
                parts.status, parts.messages = part["status"], part["messages"]
                return parts
    return None


def _arrays(headers: Iterable[Any], numbers: bytes) -> dict[str, NDArray[Any]]:
    """The arrays whose bytes follow each other: of each its name, what its elements are, its shape, its bytes."""
    arrays, begin = {}, 0
    for name, kind, shape, length in headers:
        elements = np.dtype(kind if isinstance(kind, str) else [tuple(field) for field in kind])
        arrays[name] = np.frombuffer(numbers[begin : begin + length], elements).reshape(shape)
        begin += length
    return arrays


def _log(path: Path, parts: _Parts) -> Log:
    if parts.job is None:
        raise UsageError(f"{path} cannot be read: {_why(parts)}.", _RESTORE)
    losses = [*_losses(path, parts)]
    known = {loss.amount for loss in losses}
    losses += [
        Loss("damaged-bytes", length, f"{path}, from byte {offset}", "the checksum is wrong")
        for offset, length in damaged_regions(path)
        if length not in known
    ]
    records = {name: _records(*parts.content[name]) for name in COUNTED if _has_rows(parts, name)}
    traces: list[Trace] = []
    for name in TRACED:
        if _has_rows(parts, name):
            traces += _traces(TRACED[name], *parts.content[name])
    used = {file for rows in records.values() for file in rows["id"].to_list()}
    if unnamed := len(used - set(parts.names)):
        have = "has" if unnamed == 1 else "have"
        losses.append(Loss("partial", unnamed, str(path), f"{format_count(unnamed, 'file')} {have} no name"))
    return Log(
        path=path,
        form="log",
        job=job_of(path, parts.job),
        modules=tuple(name for name in parts.modules["names"] if name != "NULL"),
        names=parts.names,
        records=records,
        heats=_heats(parts) if _has_rows(parts, "HEATMAP") else (),
        traces=traces,
        stripes=_stripes(parts) if _has_rows(parts, "LUSTRE") else {},
        losses=losses,
    )


def _has_rows(parts: _Parts, name: str) -> bool:
    return name in parts.content and "ids" in parts.content[name][1]


def _why(parts: _Parts) -> str:
    lines = parts.messages.strip().splitlines()
    if parts.status < 0:
        with suppress(ValueError):
            return f"Darshan's library ended with {signal.Signals(-parts.status).name}; the log is damaged"
    return f"Darshan's library says “{lines[0].removeprefix('Error: ').rstrip('.')}”" if lines else "it is damaged"


def _losses(path: Path, parts: _Parts) -> Iterator[Loss]:
    for name, length, is_partial in zip(*(parts.modules[key] for key in ("names", "bytes", "partial")), strict=True):
        if name == "NULL":  # `darshan-merge` flags it, and it is empty
            continue
        where = f"{path}, module {name}"
        if is_partial:
            yield Loss("partial", 1, where, "Darshan had no memory for more records")
        used = name in (*COUNTED, *TRACED, "HEATMAP", "LUSTRE")
        if used and (name not in parts.content or parts.content[name][0]["has_failed"]):
            yield Loss("damaged-bytes", max(length, 1), where, _why(parts))


def _records(part: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    counted = [pl.DataFrame(arrays[kind], schema=part[kind], orient="row") for kind in ("counters", "times")]
    return pl.DataFrame({"id": arrays["ids"], "rank": arrays["ranks"]}).hstack(
        [column for table in counted for column in table]
    )


def _traces(module: str, part: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[Trace]:
    ends = np.cumsum(arrays["writes"] + arrays["reads"])
    for index, end in enumerate(ends.tolist()):
        writes, reads = int(arrays["writes"][index]), int(arrays["reads"][index])
        rows = arrays["segments"][end - writes - reads : end]
        yield Trace(
            module=module,
            file=int(arrays["ids"][index]),
            rank=int(arrays["ranks"][index]),
            node=part["nodes"][index],
            is_write=np.arange(len(rows)) < writes,
            offset_bytes=rows["offset"],
            length_bytes=rows["length"],
            start_s=rows["start"],
            end_s=rows["end"],
        )


def _heats(parts: _Parts) -> list[Heat]:
    _, arrays = parts.content["HEATMAP"]
    heats = []
    ends = np.cumsum(arrays["counts"])
    for index, end in enumerate(ends.tolist()):
        bins = slice(end - int(arrays["counts"][index]), end)
        module = HEATED.get(int(arrays["ids"][index]))
        if module is not None:
            moved = (arrays[name][bins] for name in ("read", "written"))
            heats.append(Heat(module, int(arrays["ranks"][index]), float(arrays["steps"][index]), *moved))
    return heats


def _stripes(parts: _Parts) -> dict[int, int]:
    _, arrays = parts.content["LUSTRE"]
    every = zip(arrays["ids"].tolist(), arrays["stripe_bytes"].tolist(), strict=True)
    return {file: stripe for file, stripe in every if 0 < stripe < 1 << 40}
