"""Reads the tables of a stored run, and refuses those that no run of ours could have written.

What they hold is checked once, here, so that analysis and reports can rely on it: their size before they are
unpacked, every column's range, and that each row is of a measurement that `run.json` knows.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from ioassay.errors import UsageError
from ioassay.store import parquet_footer, point, schema
from ioassay.store.document import RunDocument
from ioassay.store.kinds import RUN
from ioassay.store.measurement import KEY
from ioassay.store.run_files import table_name
from ioassay.store.stored_directory import StoredDirectory
from ioassay.text.units import format_bytes

_MOST_FILE_BYTES = 64 << 30

_MOST_UNPACKED_BYTES = 1 << 30
_MOST_UNPACKED_RATIO = 200
"""Pages may unpack to more than a GiB only where the file itself is large."""

_ROWS_OF_ANY_FILE = 100_000
_ROWS_PER_BYTE = 50
"""Samples of 4096 ranks at an even rate take a byte for 26 rows, and nothing that is measured packs better."""

_MOST_IMPORTED = 64
"""Rows that an imported measurement may have, and ranks in thousands where its files do not state how many it had."""

_MOST_DOUBTS = 64
_MOST_BUCKETS = 200_000
"""The most of a measurement; a histogram of nanoseconds to hours with three digits has fewer buckets."""

_LARGEST = 2**62
_LONGEST_NS = 10**17
"""Three years."""
_MOST_SAMPLES = 10_000_000
"""The most of one rank and phase: a phase of a month sampled four times a second."""
_MOST_CHARACTERS = 1 << 20

_STDERR = 2
"""The descriptor, whatever `sys.stderr` is."""

_silence = threading.Lock()
"""A thread that found standard error going nowhere would leave it so."""


def read_tables(directory: StoredDirectory, document: RunDocument) -> tuple[dict[str, pl.DataFrame], pl.LazyFrame]:
    """All tables, the samples not yet read but open: whatever takes the place of their file, they stay the same.

    Raises `UsageError` for a damaged table, `FileNotFoundError` where one is missing.
    """
    missing = {name for name in schema.ADDED_TABLES if not directory.exists(table_name(name))}
    tables = {
        name: pl.LazyFrame(schema=columns) if name in missing else _table(directory, name, document)
        for name, columns in schema.TABLES.items()
    }
    samples = _with_suspended(tables.pop("samples"), document)
    read = {}
    for name, table in tables.items():
        with _undamaged(directory.path / table_name(name)), _unheard():
            read[name] = table.collect()
    read["measurements"] = with_points(read["measurements"], document)
    read["ranks"] = _with_endpoints(read["ranks"])
    check(directory.path, document, read, samples)
    return read, samples


def _with_suspended(samples: pl.LazyFrame, document: RunDocument) -> pl.LazyFrame:
    """The samples with the time that ranks were suspended: 0 from older engines, null from other tools."""
    if "suspended_ns" in samples.collect_schema():
        return samples
    return samples.with_columns(pl.lit(None if document.imported else 0, pl.Int64).alias("suspended_ns"))


def _with_endpoints(ranks: pl.DataFrame) -> pl.DataFrame:
    """The ranks with the servers that they asked; older engines asked one server alone."""
    if "endpoint" in ranks.columns:
        return ranks
    return ranks.with_columns(pl.lit(None, pl.String).alias("endpoint"))


def with_points(measurements: pl.DataFrame, document: RunDocument) -> pl.DataFrame:
    """The measurements with the points of their cases; tables of older versions have no such column."""
    points = {case.id: point.text(case.point) for case in document.cases}
    of_case = pl.col("case").replace_strict(points, default=None, return_dtype=pl.String)
    return measurements.with_columns(of_case.alias("point")).select(schema.MEASUREMENTS.names())


def check(path: Path, document: RunDocument, tables: dict[str, pl.DataFrame], samples: pl.LazyFrame) -> None:
    """Raises `UsageError` for values that were never measured and rows of measurements that `document` lacks."""
    known = pl.DataFrame(
        [key for case in document.cases for key in case.measured],
        schema=dict.fromkeys(KEY, pl.String),
        orient="row",
    )
    every: dict[str, pl.DataFrame | pl.LazyFrame] = {**tables, "samples": samples}
    for name, table in every.items():
        file = path / table_name(name)
        with _undamaged(file), _unheard():
            column = impossible_column(name, table, document)
            problem = f"its column {column} has an impossible value" if column else _row_of_no_measurement(table, known)
        if problem is not None:
            raise _damaged(file, problem)


def _table(directory: StoredDirectory, name: str, document: RunDocument) -> pl.LazyFrame:
    """A table that is read when it is collected; its columns and its size are checked now."""
    file = directory.path / table_name(name)
    with directory.open_file(table_name(name), _MOST_FILE_BYTES) as opened:
        try:
            size = parquet_footer.size(opened)
        except parquet_footer.Malformed as error:
            raise _damaged(file, str(error)) from error
        file_bytes = opened.seek(0, 2)
        opened.seek(0)
        rows = min(_most_rows(name, document), _ROWS_OF_ANY_FILE + _ROWS_PER_BYTE * file_bytes)
        if size.rows > rows:
            raise _damaged(file, f"it has {size.rows} rows, but this run has at most {rows}")
        if size.unpacked_bytes > max(_MOST_UNPACKED_BYTES, _MOST_UNPACKED_RATIO * file_bytes):
            raise _damaged(file, f"it would unpack to {format_bytes(size.unpacked_bytes)}, which is too large")
        with _undamaged(file):
            table = pl.scan_parquet(opened)
            columns = table.collect_schema()
    expected, added = schema.TABLES[name], schema.ADDED.get(name)
    if columns not in (expected, pl.Schema({column: kind for column, kind in expected.items() if column != added})):
        raise UsageError(
            f"{file} does not have the columns of a run directory of version {RUN.version}.", schema.REBUILT
        )
    return table


def _most_rows(name: str, document: RunDocument) -> int:
    """How many rows of a table the cases can have given."""
    imported = document.imported is not None
    measured = sum(len(case.measured) for case in document.cases) * (_MOST_IMPORTED if imported else 1)
    match name:
        case "measurements" | "sources":
            return measured
        case "ranks" | "training" | "kv_cache":
            jobs = [job for case in document.cases for phase in case.phases for job in phase.jobs]
            each = _MOST_IMPORTED * 1000 if imported else 1
            return sum(len(job.operations) * max(job.ranks, each) for job in jobs)
        case "doubts":
            return measured * _MOST_DOUBTS
        case "latencies" | "first_bytes":
            return measured * _MOST_BUCKETS
        case _:
            return _LARGEST


def impossible_column(name: str, table: pl.DataFrame | pl.LazyFrame, document: RunDocument) -> str | None:
    """The first column of a table with a value that nothing measured could have."""
    required = schema.required(name, imported=document.imported is not None)
    impossible = [
        _impossible_values(column, kind, column in required).any().alias(column)
        for column, kind in schema.TABLES[name].items()
    ]
    bad_columns = _collected(table.select(impossible)).row(0, named=True)
    return next((column for column, bad in bad_columns.items() if bad), None)


def _impossible_values(name: str, kind: pl.DataType | type[pl.DataType], required: bool) -> pl.Expr:
    """True for each value of a column that nothing measured could have."""
    column = pl.col(name)
    bad = column.is_null() if required else pl.lit(value=False)
    if kind == pl.Int64:
        most = _LARGEST
        if name == "sample":
            most = _MOST_SAMPLES
        elif name.endswith("_ns") and name != "started_unix_ns":
            most = _LONGEST_NS
        return bad | ~column.is_between(0, most)
    if kind == pl.Float64:
        return bad | ~(column.is_finite() & (column >= 0))
    if kind == pl.String:
        return bad | (column.str.len_bytes() > _MOST_CHARACTERS)
    return bad


def _collected(rows: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """The rows of a query. Only samples, which may not fit into memory, are queried lazily: planning that for a small
    table takes a millisecond, many times as long as the query.
    """
    return rows.collect() if isinstance(rows, pl.LazyFrame) else rows


def _row_of_no_measurement(table: pl.DataFrame | pl.LazyFrame, known: pl.DataFrame) -> str | None:
    """A row that is of no measurement of the run."""
    # A measurement's rows lie together, so few are left to be made unique of millions.
    changes = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in KEY)
    keys = _collected(table.select(KEY).filter(changes).unique())
    strangers = keys.join(known, on=KEY, how="anti", nulls_equal=True)
    if strangers.is_empty():
        return None
    return f"it has rows of {' '.join(map(str, strangers.row(0)))}, which run.json does not have"


def _damaged(file: Path, why: str) -> UsageError:
    return UsageError(f"{file} is damaged: {why}.", schema.REBUILT)


@contextlib.contextmanager
def _undamaged(file: Path) -> Iterator[None]:
    try:
        yield
    except pl.exceptions.PanicException as error:
        raise _damaged(file, "a page of it cannot be decoded") from error
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(file, str(error).splitlines()[0] if str(error) else "it cannot be read") from error


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Where a page is damaged, polars writes a page about that to standard error, past Python, before it raises it."""
    with _silence, contextlib.ExitStack() as kept:
        with contextlib.suppress(OSError):  # it is closed, or there are no descriptors left
            heard = os.dup(_STDERR)
            kept.callback(os.close, heard)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            kept.callback(os.close, nowhere)
            os.dup2(nowhere, _STDERR)
            kept.callback(os.dup2, heard, _STDERR)
        yield
