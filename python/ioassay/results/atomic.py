"""Files that are either the old or the new one, whatever happens in between."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a file beside `path`, makes it durable and puts it in the place of `path`.

    Raises `OSError` that names `path` when that fails; what was there before is still there then.
    """
    fresh = path.with_name(f".{path.name}.new")
    try:
        write(fresh)
        _sync(fresh)
        os.replace(fresh, path)
        _sync(path.parent)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
