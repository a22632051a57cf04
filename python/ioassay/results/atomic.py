"""Files that are either the old or the new one, and directories that are there whole or not, whatever happens."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A directory to fill, which takes its place at `path` when the block ends; when that fails, nothing is left of it.

    Makes the directories above it. `path` may be an empty directory. Raises `OSError` where it cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as beside:
        whole = Path(beside) / path.name
        whole.mkdir()
        yield whole
        whole.rename(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
