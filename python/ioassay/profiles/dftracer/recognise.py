"""Which files are traces of DFTracer: by their names, because a cut or damaged one is one, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.store.stored_directory import file_kind

SUFFIXES = (".pfw", ".pfw.gz")


def is_dftracer(path: Path) -> bool:
    """True for a trace, and a directory with one."""
    try:
        return any(map(_is_trace, path.iterdir())) if path.is_dir() else path.name.endswith(SUFFIXES)
    except OSError:
        return False


def trace_files(path: Path) -> Iterator[Path]:
    """The trace at a path, or all in a directory. Raises `UsageError` where there is none."""
    if path.is_dir():
        yield from sorted(filter(_is_trace, path.iterdir()))
    elif path.is_file():
        yield path
    else:
        what = f"{path} is {file_kind(path.stat().st_mode)}" if path.exists() else f"There is no file {path}"
        raise UsageError(f"{what}.", "Name traces of DFTracer (.pfw, .pfw.gz), or their directory.")


def _is_trace(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and path.is_file() and not path.is_symlink()
