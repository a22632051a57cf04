"""What a row says of a call: which operation it is, on which file, how many bytes it asked for, at which offset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import polars as pl

OF_POSIX, OF_MPI_IO, OF_MPI, OF_HDF5, OF_PROGRAM = range(5)
"""Recorder's categories (`cat`)."""

MOST = 2**62
"""What a damaged row claims is kept within it."""


class Function(NamedTuple):
    """An operation, and the numbers of the arguments that say more, from 1."""

    operation: str
    path: int
    """Of MPI-IO but for `MPI_File_open`, its handle."""
    size: tuple[int, ...] = ()
    """Their product is what was asked for. Of MPI-IO: the count, then the name of the type."""
    offset: int | None = None


def _same(names: Iterable[str], function: Function) -> dict[str, Function]:
    return dict.fromkeys(names, function)


POSIX: Mapping[str, Function] = {
    **_same(("open", "open64", "creat", "creat64", "fopen", "fopen64"), Function("open", 1)),
    **_same(("close", "fclose"), Function("close", 1)),
    **_same(("lseek", "lseek64"), Function("seek", 1)),
    **_same(("fsync", "fdatasync"), Function("sync", 1)),
    **_same(("access", "readlink"), Function("stat", 1)),
    **_same(("__xstat", "__xstat64", "__lxstat", "__lxstat64", "__fxstat", "__fxstat64"), Function("stat", 2)),
    **_same(("faccessat", "readlinkat"), Function("stat", 2)),
    "opendir": Function("list", 1),
    **_same(("mkdir", "mknod", "mkfifo"), Function("create", 1)),
    **_same(("link", "symlink"), Function("create", 2)),
    "linkat": Function("create", 4),
    "symlinkat": Function("create", 3),
    **_same(("unlink", "rmdir", "remove"), Function("remove", 1)),
    "rename": Function("rename", 1),
    **_same(("truncate", "ftruncate"), Function("truncate", 1)),
    **_same(("chmod", "chown", "lchown", "utime"), Function("attribute", 1)),
    "fcntl": Function("lock", 1),
    **_same(("read",), Function("read", 1, (3,))),
    **_same(("write",), Function("write", 1, (3,))),
    **_same(("pread", "pread64"), Function("read", 1, (3,), 4)),
    **_same(("pwrite", "pwrite64"), Function("write", 1, (3,), 4)),
    "readv": Function("read", 1, (2,)),
    "writev": Function("write", 1, (2,)),
    **_same(("mmap", "mmap64"), Function("map", 5)),
    "fread": Function("stream read", 4, (2, 3)),
    "fwrite": Function("stream write", 4, (2, 3)),
    "vfprintf": Function("stream write", 1, (2,)),
    **_same(("fseek", "fseeko", "ftell", "ftello"), Function("stream seek", 1)),
}
"""Functions of the C library that are an operation, of a file that a row names."""


def _mpi_transfers(direction: str) -> dict[str, Function]:
    kinds = {
        "": f"MPI {direction}",
        "_at": f"MPI {direction}",
        "_shared": f"MPI {direction}",
        **dict.fromkeys(("_all", "_at_all", "_ordered"), f"MPI collective {direction}"),
        **dict.fromkeys(("_all_begin", "_at_all_begin", "_ordered_begin"), f"MPI split collective {direction}"),
    }
    named = {f"{direction}{end}": operation for end, operation in kinds.items()}
    named |= {f"i{direction}{end}": f"MPI non-blocking {direction}" for end in ("", "_at", "_shared")}
    return {
        f"MPI_File_{name}": Function(operation, 1, (4, 5), 2) if "_at" in name else Function(operation, 1, (3, 4))
        for name, operation in named.items()
    }


MPI_OPEN = "MPI_File_open"

MPI_IO: Mapping[str, Function] = {
    MPI_OPEN: Function("MPI file", 2),
    **_same(
        (f"MPI_File_{name}" for name in ("close", "sync", "set_size", "set_view", "seek", "seek_shared", "get_size")),
        Function("MPI file", 1),
    ),
    **_mpi_transfers("read"),
    **_mpi_transfers("write"),
}

_TYPE_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("BYTE", "CHAR", "SIGNED_CHAR", "UNSIGNED_CHAR", "PACKED", "CHARACTER", "C_BOOL"), 1),
    **dict.fromkeys(("INT8_T", "UINT8_T", "INTEGER1", "CXX_BOOL"), 1),
    **dict.fromkeys(("SHORT", "UNSIGNED_SHORT", "INT16_T", "UINT16_T", "INTEGER2"), 2),
    **dict.fromkeys(("INT", "UNSIGNED", "FLOAT", "WCHAR", "INT32_T", "UINT32_T", "INTEGER", "REAL", "LOGICAL"), 4),
    **dict.fromkeys(("INTEGER4", "REAL4"), 4),
    **dict.fromkeys(("LONG", "UNSIGNED_LONG", "LONG_LONG", "LONG_LONG_INT", "UNSIGNED_LONG_LONG", "DOUBLE"), 8),
    **dict.fromkeys(("INT64_T", "UINT64_T", "INTEGER8", "REAL8", "DOUBLE_PRECISION", "COMPLEX", "C_COMPLEX"), 8),
    **dict.fromkeys(("C_FLOAT_COMPLEX", "COMPLEX8", "AINT", "OFFSET", "COUNT", "2INT", "FLOAT_INT"), 8),
    **dict.fromkeys(("LONG_DOUBLE", "DOUBLE_COMPLEX", "C_DOUBLE_COMPLEX", "COMPLEX16", "REAL16"), 16),
}
"""Of types that every MPI has, without `MPI_`, on 64-bit Linux."""

_LOCKS = ("6", "7")
"""`fcntl`'s commands F_SETLK and F_SETLKW."""
_CREATES = 0o1101
_MODES = {"r": 0, "w": 0o1101, "a": 0o2101}
_READ_WRITE = 0o2
_SET, _CURRENT = "0", "1"
"""From where `lseek` counts."""
_OF_STREAMS = ("fopen", "fopen64", "fclose")
_ENDS_WITH_ZERO = "vfprintf"
"""Recorder counts the zero that ends a string among its bytes."""


def argument(number: int) -> pl.Expr:
    """An argument by its number, from 1."""
    return pl.col(f"args_{number}")


def whole(number: int) -> pl.Expr:
    """An argument as a number; null where it is none."""
    return argument(number).cast(pl.Int64, strict=False).clip(-MOST, MOST)


def described(rows: pl.DataFrame, functions: Mapping[str, Function], category: int) -> pl.DataFrame:
    """The rows of a category that are an operation, with `operation`, `name` (the path, or MPI-IO's handle), `bytes`
    and `offset`. Bytes are null where a type of MPI has an unknown size.
    """
    of_category = rows.filter((pl.col("cat") == category) & pl.col("func_id").is_in(list(functions)))
    of_category = of_category.filter((pl.col("func_id") != "fcntl") | argument(2).is_in(_LOCKS))

    alike: dict[Function, list[str]] = {}
    for name, function in functions.items():
        alike.setdefault(function, []).append(name)
    operation, path, size, offset = (pl.lit(None, kind) for kind in (pl.String, pl.String, pl.Float64, pl.Int64))
    for function, names in alike.items():
        is_one = pl.col("func_id").is_in(names)
        operation = pl.when(is_one).then(pl.lit(function.operation)).otherwise(operation)
        path = pl.when(is_one).then(argument(function.path)).otherwise(path)
        if function.size:
            size = pl.when(is_one).then(_product(function.size, is_mpi=category == OF_MPI_IO)).otherwise(size)
        if function.offset is not None:
            offset = pl.when(is_one).then(whole(function.offset)).otherwise(offset)
    ends = pl.when(pl.col("func_id") == _ENDS_WITH_ZERO).then(1).otherwise(0)
    moved = (size - ends).clip(0, MOST).cast(pl.Int64, strict=False)
    return of_category.with_columns(operation=operation, name=path, bytes=moved, offset=offset.clip(0, MOST)).filter(
        pl.col("name").is_not_null() & (pl.col("name") != "")
    )


def _product(numbers: tuple[int, ...], *, is_mpi: bool) -> pl.Expr:
    first = whole(numbers[0]).cast(pl.Float64)
    if is_mpi:
        kind = argument(numbers[1]).str.strip_prefix("MPI_")
        return first * kind.replace_strict(_TYPE_BYTES, default=None, return_dtype=pl.Float64)
    for number in numbers[1:]:
        first = first * whole(number).cast(pl.Float64)
    return first


def states() -> Iterator[pl.Expr]:
    """What opens, closes, seeks and renames say besides their file: columns of `traced_calls.CALLS`."""
    is_seek = pl.col("operation") == "seek"
    yield pl.when(pl.col("operation") == "open").then(_open_flags()).alias("open_flags")
    yield pl.col("func_id").is_in(_OF_STREAMS).alias("is_stream")
    yield pl.when(is_seek & (argument(3) == _SET)).then(whole(2)).alias("seek_to")
    yield pl.when(is_seek & (argument(3) == _CURRENT)).then(whole(2).fill_null(0)).alias("seek_by")
    new = pl.when(argument(2) != "").then(argument(2))
    yield pl.when(pl.col("operation") == "rename").then(new).alias("new_path")


def _open_flags() -> pl.Expr:
    """Of an open of the C library; of a stream those that its mode stands for."""
    mode = argument(2).str.slice(0, 1).replace_strict(_MODES, default=0, return_dtype=pl.Int64)
    stream = pl.when(argument(2).str.contains("+", literal=True)).then((mode & ~0o3) | _READ_WRITE).otherwise(mode)
    return (
        pl.when(pl.col("func_id").is_in(["creat", "creat64"]))
        .then(_CREATES)
        .when(pl.col("func_id").is_in(["fopen", "fopen64"]))
        .then(stream)
        .otherwise(whole(2).fill_null(0).clip(0, 2**32 - 1))
    )
