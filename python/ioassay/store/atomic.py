"""Files that are either the old or the new one, and directories that are there whole or not, whatever happens.

A new file is made under a name that cannot be guessed and must not exist, through the descriptor of its directory, so a
link that lies in wait there is neither followed nor written through.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, content: bytes, mode: int = 0o666, *, is_new: bool = False) -> None:
    """Makes `content` durable beside `path` and puts it in the place of `path`, which must not exist if it `is_new`.

    Raises `OSError` that names `path` when that fails; what was there before is still there then.
    """
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        replace_file(directory, path.name, content, path, mode, is_new=is_new)
    finally:
        os.close(directory)


def replace_file(
    directory: int, name: str, content: bytes, shown: Path, mode: int = 0o666, *, is_new: bool = False
) -> None:
    """`write_atomically` for the file `name` of an open directory. `shown` is its path in errors; the umask applies to
    `mode`.
    """
    fresh = f".{name[:200]}.{os.urandom(8).hex()}"
    try:
        file = os.open(
            fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory
        )
        try:
            with open(file, "wb") as new:
                new.write(content)
                new.flush()
                os.fsync(new.fileno())
            if is_new:
                os.link(fresh, name, src_dir_fd=directory, dst_dir_fd=directory)
                os.unlink(fresh, dir_fd=directory)
            else:
                os.replace(fresh, name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh, dir_fd=directory)
            raise
        os.fsync(directory)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(shown)) from error


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A directory to fill, which takes its place at `path` when the block ends; when that fails, nothing is left of it.

    Makes the directories above it. `path` may be an empty directory. Raises `OSError` where it cannot be made.
    """
    created = [above for above in path.parents if not above.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as beside:
            whole = Path(beside) / path.name
            whole.mkdir()
            yield whole
            whole.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):  # what others have put there meanwhile stays
            for above in created:
                above.rmdir()
        raise
