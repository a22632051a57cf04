"""Estimates the speed of a target with a hidden run of the study `probe.yaml`.

It is a normal run: the engine writes only into its own directory on the target, checks free space before,
and removes its files however it ends. Its run directory is temporary.
"""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun
from ioassay.execution.execute import execute
from ioassay.execution.prepare import Request, prepare
from ioassay.text.units import format_about_bytes

if TYPE_CHECKING:
    import polars as pl

    from ioassay.execution.places import Place
    from ioassay.execution.watcher import Watcher

_STUDY = Path(__file__).with_name("probe.yaml")
_MOST_FILES = 64
_FILE_BYTES = (2 << 20) + (256 << 10)
"""Bytes of a large file and a small one."""

_SHARE_OF_FREE = 8
"""The probe takes at most this part of the free space."""

_LEAST_SHARE = 4
"""Factor on the bytes of a large and a small file: the smallest sizes take at most a quarter of the free space."""

LONGEST_STEP_NS = 10 * 10**9
"""A step of the probe that takes longer hangs; planned is a third of a second."""


@dataclass(frozen=True)
class Speeds:
    """Rates of a target for all processes together, estimated from fractions of a second."""

    write_bytes_per_s: float
    """Including an fsync of each small file."""
    read_bytes_per_s: float
    random_writes_per_s: float
    """Writes of 4 KiB, including fsync."""
    random_reads_per_s: float
    creates_per_s: float
    case_s: float
    """Overhead of a case: starting processes, dropping caches, removing files."""


def measure(place: Place, ranks: int, free_bytes: int | None, watcher: Watcher) -> Speeds:
    """Estimates the speed of `place` with `ranks` processes; `free_bytes` are free (`None`: unknown).

    Raises `UsageError` and `CannotRun` if it cannot be measured, the latter with leftovers on the target.
    """
    least = _LEAST_SHARE * ranks * _FILE_BYTES
    if free_bytes is not None and free_bytes < least:
        raise CannotRun(
            f"{place.target.place} has {format_about_bytes(free_bytes)} free; measuring takes at least "
            f"{format_about_bytes(least)}.",
            "Free space there, or use a directory of another file system.",
        )
    files = _MOST_FILES
    if free_bytes is not None:
        files = max(1, min(files, free_bytes // (_SHARE_OF_FREE * ranks * _FILE_BYTES)))
    with TemporaryDirectory(prefix="ioassay-probe-") as scratch:
        request = Request(
            study=str(_STUDY),
            places=[place],
            scale=None,
            settings=[f"ranks={ranks}", f"files={files}"],
            launcher="local",
            hosts=[],
            launcher_options=[],
            time_limit_ns=LONGEST_STEP_NS,
            ceilings=None,
            out=Path(scratch) / "probe",
            recorded=False,
            command=[],
        )
        (prepared,) = prepare(request)
        with prepared.create() as run:
            began_s = time.monotonic()
            execute(run, watcher)
            took_s = time.monotonic() - began_s
            document = run.document
            if document.state != "complete":
                error = next((case.error for case in document.cases if case.error), "The probe was interrupted.")
                # `ioassay clean` cannot be used: the run directory is about to be removed.
                leftovers = [
                    f"Left on the target; remove it with: rm -r {shlex.quote(path)}" for path in document.leftovers
                ]
                raise CannotRun(error, "\n  ".join(leftovers) or "Nothing is left on the target.")
            return speeds(run.measurements, took_s)


def speeds(measurements: pl.DataFrame, took_s: float) -> Speeds:
    """The speeds in the measurements of the probe, whose cases took `took_s` in all."""
    rates = {row["phase"]: row for row in measurements.iter_rows(named=True)}
    phases_s = sum(row["duration_ns"] for row in rates.values()) / 1e9
    cases = measurements["case"].n_unique()
    return Speeds(
        write_bytes_per_s=rates["write"]["rate_bytes_per_s"],
        read_bytes_per_s=rates["read"]["rate_bytes_per_s"],
        random_writes_per_s=rates["write-random"]["rate_operations_per_s"],
        random_reads_per_s=rates["read-random"]["rate_operations_per_s"],
        creates_per_s=rates["create"]["rate_operations_per_s"],
        case_s=max(0.0, took_s - phases_s) / cases,
    )
