"""The code that makes the calls: the application's function nearest to each, and the libraries between them.

The recorder samples the stacks of some calls (`record --stacks`). The sums of all calls of an operation, also on a
file, are known; the sampled stacks divide them (a ratio estimator), so numbers of calls, bytes and time here are
estimates with exact sums. A stack is reduced to its *call site*: the innermost function of the application itself,
which a reader of the profile can change. Functions further in are libraries.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from ioassay.profiles.model import INTERPRETER, ON_STORAGE, Profile

_ENOUGH_SAMPLES = 30
"""The fewest samples of an operation on a file that divide it among its callers: fewer may miss callers by chance."""

_ESTIMATES = ("calls", "bytes", "duration_ns")

_MOST_OUTER = 6
"""The most functions of the application around a call site."""

_PACKAGE = re.compile(r"/(?:site|dist)-packages/([^/]+?)(?:\.py|\.libs|[.-][^/]*\.so)?(?:/|$)")
"""The package of a file of Python, or of an extension of it."""

_PYTHON_ITSELF = re.compile(r"/lib\d*/python\d(\.\d+)?/|^<frozen |/lib/python\d+\.zip/")
"""Files of Python's standard library, after `_PACKAGE`."""

_LIBRARIES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        ("libhdf5", "HDF5"),
        ("libnetcdf", "NetCDF"),
        ("libpnetcdf", "PnetCDF"),
        (r"libadios2|libbp", "ADIOS2"),
        (r"mca_|libmca|libmpi|libpmpi|libopen-|libfabric|libromio", "MPI"),
        (r"libarrow|libparquet", "Arrow"),
        ("libsqlite3", "SQLite"),
        ("liblmdb", "LMDB"),
        (r"libtorch|libc10", "PyTorch"),
        (r"libstdc\+\+|libc\+\+", "C++ library"),
        ("libgfortran", "Fortran library"),
    )
)
"""Well-known names, by the beginning of a library's file name."""

_OF_LANGUAGE = re.compile(r"(<*(std|core|alloc)::|__gnu_cxx::|_gfortran)")
"""Functions of a language's runtime that are compiled into the program."""

_STARTS_PROGRAMS = ("_start", "start_thread", "clone", "clone3")
"""Functions that start a program or thread."""

_SOURCE_OF_LANGUAGE = re.compile(r"/rustc/|/\.cargo/registry/|/include/c\+\+/")


@dataclass(frozen=True)
class CodePlace:
    """A place in code."""

    function: str | None
    """`None`: unknown."""
    source: str | None
    """The file of the source code; `None`: unknown."""
    line: int | None
    module: str | None
    """The program or library; `None`: Python."""


OF_PYTHON = CodePlace(None, None, None, None)
"""The place of a stack without functions of the application, for internal work of the interpreter."""


@dataclass(frozen=True)
class CallSite:
    """A place of calls in the application, with the sums of these calls."""

    place: CodePlace
    outer: tuple[CodePlace, ...]
    """The application's functions around it, from the inside out, in the stack that took most time."""
    through: tuple[str, ...]
    """The libraries between it and the calls, from the outside in."""
    samples: int
    """Calls whose stack was sampled."""
    calls: int
    bytes: int
    duration_ns: int
    files: int
    """Files of the calls whose stack was sampled."""


@dataclass(frozen=True)
class Callers:
    """The callers of a profile's calls on storage."""

    rows: pl.DataFrame
    """`profile.callers` on storage with `site`, the number of the call site in `sites`; estimates are not rounded."""
    sites: tuple[tuple[CodePlace, tuple[str, ...]], ...]
    outer: dict[int, tuple[CodePlace, ...]]
    """The application's functions around the call site, by the number of the stack."""

    def of(
        self, operations: Collection[str] | None = None, files: Collection[int] | None = None
    ) -> tuple[CallSite, ...]:
        """The sites of calls of these operations on these files, those with most time first. `None`: all."""
        rows = self.rows
        if rows.is_empty():
            return ()
        if operations is not None:
            rows = rows.filter(pl.col("operation").is_in(list(operations)))
        if files is not None:
            rows = rows.filter(pl.col("file").is_in(list(files)))
        sites = (
            rows.group_by("site")
            .agg(
                pl.col("samples").sum(),
                pl.col(_ESTIMATES).sum().round().cast(pl.Int64),
                pl.col("file").drop_nulls().n_unique().alias("files"),
                pl.col("caller").sort_by("duration_ns", "caller", descending=[True, False]).first(),
            )
            .sort("duration_ns", "calls", "site", descending=[True, True, False])
        )
        return tuple(
            CallSite(
                place=self.sites[row["site"]][0],
                through=self.sites[row["site"]][1],
                outer=self.outer[row["caller"]],
                **{name: row[name] for name in ("samples", *_ESTIMATES, "files")},
            )
            for row in sites.iter_rows(named=True)
        )


def callers(profile: Profile) -> Callers:
    """The call sites of all stacks of a profile; empty if no stacks were sampled."""
    if profile.callers.is_empty():
        return Callers(profile.callers.with_columns(site=pl.lit(None, pl.Int64)), (), {})
    programs = set(profile.processes["executable"].drop_nulls())
    numbers: dict[tuple[CodePlace, tuple[str, ...]], int] = {}
    site_of: dict[int, int] = {}
    outer: dict[int, tuple[CodePlace, ...]] = {}
    frames = profile.caller_frames.sort("caller", "depth")
    for (caller,), stack in frames.group_by("caller", maintain_order=True):
        columns = stack.select("function", "source", "line", "module").iter_rows()
        place, through, around = _site([CodePlace(*column) for column in columns], programs)
        site_of[caller] = numbers.setdefault((place, through), len(numbers))
        outer[caller] = around
    site = pl.col("caller").replace_strict(site_of, default=None, return_dtype=pl.Int64)
    rows = _scaled_to_sums(profile).with_columns(site=site).drop_nulls("site")
    return Callers(rows, tuple(numbers), outer)


def _scaled_to_sums(profile: Profile) -> pl.DataFrame:
    """`profile.callers` on storage, scaled such that the sums of an operation are the known ones.

    A file with enough samples is scaled by itself. All others are scaled together: a few samples of a file may have
    missed other callers, and a file without samples has callers, too.
    """
    elsewhere = profile.files.filter(~pl.col("kind").is_in(ON_STORAGE)).select("file")
    of_file = pl.col("samples").sum().over("file", "operation")
    rows = profile.callers.join(elsewhere, on="file", how="anti", maintain_order="left").with_columns(
        own_file=pl.when(of_file >= _ENOUGH_SAMPLES).then("file")
    )
    cell = ["operation", "own_file"]
    known_ns = pl.when(pl.col("duration_ns").is_not_null().all()).then(pl.col("duration_ns").sum())
    known = (
        profile.file_operations.join(elsewhere, on="file", how="anti")
        .join(rows.select("file", *cell).drop_nulls().unique(), on=["file", "operation"], how="left")
        .group_by(cell)
        .agg(pl.col("calls", "bytes").sum().name.prefix("known_"), known_duration_ns=known_ns)
    )
    # The time of calls that move no bytes is known for processes, not for files.
    spent = profile.process_operations.group_by("operation").agg(spent_ns=pl.col("duration_ns").sum())
    rows = rows.join(known, on=cell, how="left", maintain_order="left", nulls_equal=True)
    rows = rows.join(spent, on="operation", how="left", maintain_order="left")

    def factor(known: str, name: str, over: list[str]) -> pl.Expr:
        sampled = pl.col(name).sum().over(over)
        return pl.when(sampled > 0).then(pl.col(known) / sampled)

    of_calls = factor("known_calls", "calls", cell).fill_null(1.0)
    return rows.with_columns(
        pl.col("calls") * of_calls,
        pl.col("bytes") * factor("known_bytes", "bytes", cell).fill_null(of_calls),
        pl.col("duration_ns")
        * pl.coalesce(
            factor("known_duration_ns", "duration_ns", cell), factor("spent_ns", "duration_ns", ["operation"]), of_calls
        ),
    ).select(profile.callers.columns)


def _site(
    stack: list[CodePlace], programs: Collection[str]
) -> tuple[CodePlace, tuple[str, ...], tuple[CodePlace, ...]]:
    """The call site of a stack, the libraries within it, and the application's functions around it."""
    application = [index for index, place in enumerate(stack) if _is_application(place, programs)]
    if not application and _is_python(stack[-1]):
        stack = [*stack, OF_PYTHON]
    site = application[0] if application else len(stack) - 1
    through = [name for place in reversed(stack[:site]) if (name := library(place, programs))]
    around = [stack[index] for index in application[1 : 1 + _MOST_OUTER]]
    return stack[site], tuple(dict.fromkeys(through)), tuple(around)


def _is_application(place: CodePlace, programs: Collection[str]) -> bool:
    if place.module is None:
        source = place.source or ""
        return not _PACKAGE.search(source) and not _PYTHON_ITSELF.search(source)
    if place.module not in programs or _is_python(place) or place.function in _STARTS_PROGRAMS:
        return False
    return not _OF_LANGUAGE.match(place.function or "") and not _SOURCE_OF_LANGUAGE.search(place.source or "")


def _is_python(place: CodePlace) -> bool:
    """True if it is code of the interpreter, in any language."""
    return place.module is None or bool(INTERPRETER.match(posixpath.basename(place.module)))


def library(place: CodePlace, programs: Collection[str]) -> str | None:
    """The usual name of the library that contains a place; `None` for Python itself and the program."""
    file = place.module or place.source or ""
    name = posixpath.basename(file)
    for pattern, known in _LIBRARIES:
        if place.module is not None and pattern.match(name):
            return known
    if package := _PACKAGE.search(file):
        return package[1]
    if _is_python(place) or place.module in programs or _PYTHON_ITSELF.search(file):
        return None
    return re.split(r"\.so|-[0-9a-f]{8}", name)[0]
