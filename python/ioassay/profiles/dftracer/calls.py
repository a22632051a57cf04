"""What a line says of a call: which operation it is, how many bytes it moved, whether it failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OF_STREAMS = "STDIO"
"""The category of calls of streams."""

OPERATIONS: Mapping[str, Mapping[str, str]] = {
    "POSIX": {
        **dict.fromkeys(("open", "open64", "openat", "openat64", "creat", "creat64"), "open"),
        "close": "close",
        **dict.fromkeys(("lseek", "lseek64"), "seek"),
        **dict.fromkeys(("fsync", "fdatasync", "sync", "msync", "syncfs"), "sync"),
        **dict.fromkeys(
            ("stat", "stat64", "lstat", "lstat64", "fstat", "fstat64", "fstatat", "statx", "access", "faccessat"),
            "stat",
        ),
        **dict.fromkeys(("__xstat", "__xstat64", "__lxstat", "__lxstat64", "__fxstat", "__fxstat64"), "stat"),
        **dict.fromkeys(("__fxstatat", "__fxstatat64", "readlink", "readlinkat"), "stat"),
        **dict.fromkeys(("opendir", "fdopendir", "readdir", "readdir64", "closedir", "scandir"), "list"),
        **dict.fromkeys(("mkdir", "mkdirat", "mknod", "mknodat", "link", "linkat", "symlink", "symlinkat"), "create"),
        **dict.fromkeys(("unlink", "unlinkat", "rmdir", "remove"), "remove"),
        **dict.fromkeys(("rename", "renameat", "renameat2"), "rename"),
        **dict.fromkeys(("truncate", "truncate64", "ftruncate", "ftruncate64", "fallocate"), "truncate"),
        **dict.fromkeys(("chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat"), "attribute"),
        **dict.fromkeys(("utime", "utimes", "utimensat", "futimens"), "attribute"),
        **dict.fromkeys(("flock", "lockf"), "lock"),
        **dict.fromkeys(("posix_fadvise", "posix_fadvise64", "readahead"), "advise"),
        **dict.fromkeys(("read", "pread", "pread64", "readv", "preadv", "preadv64"), "read"),
        **dict.fromkeys(("write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev64"), "write"),
        **dict.fromkeys(("copy_file_range", "sendfile", "sendfile64"), "copy from"),
        **dict.fromkeys(("mmap", "mmap64"), "map"),
    },
    OF_STREAMS: {
        **dict.fromkeys(("fopen", "fopen64", "freopen", "freopen64"), "open"),
        "fclose": "close",
        **dict.fromkeys(("fread", "fread_unlocked", "fgets", "fgetc", "getc", "getline", "getdelim"), "stream read"),
        **dict.fromkeys(("fwrite", "fwrite_unlocked", "fputs", "fputc", "putc", "fprintf"), "stream write"),
        **dict.fromkeys(
            ("fseek", "fseeko", "fseeko64", "ftell", "ftello", "rewind", "fsetpos", "fgetpos"), "stream seek"
        ),
        "fflush": "stream flush",
    },
}
"""Of each category, the functions that are an operation. Others, such as `fcntl`, `dup` and `flockfile`, are none."""

OF_TRACER = "dftracer"
"""The category of lines that say something about the trace."""

OF_LIBRARIES = frozenset({*OPERATIONS, OF_TRACER, "MPI", "HDF5"})
"""Categories that are none of the application."""

_CALL = ("X", 1)
"""Phases of lines that are a call, before and since dftracer 2.2."""

MOST = 2**62
"""What a damaged line claims is kept within it."""

_ONE_BYTE = ("fgetc", "getc", "fputc", "putc")

_RETURNS_ERROR = ("close", "seek", "read", "write", "copy from", "stream seek", "stream flush")
"""Operations of which a line has what the call returned."""

_MODES = {"r": 0, "w": 0o1101, "a": 0o2101}
_READ_WRITE = 0o2


def number(value: object) -> int | None:
    """An argument that is a number, or the text of one; what a damaged line claims is kept within 62 bits."""
    if type(value) is int and -MOST <= value <= MOST:  # nearly all: five are read of each line
        return value
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return max(-MOST, min(value, MOST))


def is_call(line: Mapping[str, Any]) -> bool:
    """True for what has a beginning and a duration: a call, or an event of the application."""
    return line.get("ph") in _CALL


def moved_bytes(name: str, arguments: Mapping[str, Any]) -> int:
    """What a transfer moved."""
    returned = number(arguments.get("ret"))
    if name in _ONE_BYTE:
        return int(returned is not None and returned >= 0)
    if name == "fgets":
        return max(0, number(arguments.get("ret_len")) or 0)
    if name in ("fread", "fwrite", "fread_unlocked", "fwrite_unlocked", "fputs"):
        size = number(arguments.get("size"))
        return min(max(0, (returned or 0) * (1 if size is None else size)), MOST)
    return max(0, returned or 0)


def has_failed(name: str, operation: str, arguments: Mapping[str, Any]) -> bool | None:
    """`None`: the line does not say."""
    returned = number(arguments.get("ret"))
    if returned is None or operation not in _RETURNS_ERROR or name in _ONE_BYTE:
        return None
    return returned < 0


def open_flags(arguments: Mapping[str, Any]) -> int:
    """The flags of an open; of a stream those that its mode stands for."""
    flags = number(arguments.get("flags"))
    if flags is not None:
        return flags & 0xFFFF_FFFF
    mode = str(arguments.get("mode", ""))
    base = _MODES.get(mode[:1], 0)
    return base & ~0o3 | _READ_WRITE if "+" in mode else base
