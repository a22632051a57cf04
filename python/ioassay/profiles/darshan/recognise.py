"""Which files are Darshan logs or the text of one, by how they begin. Not: whether they are whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ioassay.errors import UsageError
from ioassay.profiles import other_files
from ioassay.profiles.darshan.signatures import BEGINNING_BYTES, Form, form_of
from ioassay.store.stored_directory import StoredDirectory

_MOST_BYTES = 1 << 40

SUFFIX = ".darshan"


@dataclass(frozen=True)
class LogFile:
    """A file that begins as a log does, or the text of one."""

    path: Path
    form: Form


def open_log(path: Path) -> BinaryIO:
    """Opens a regular file, which a link may lead to. Raises `UsageError` for anything else, `OSError`."""
    path = path.resolve()
    with StoredDirectory.open(path.parent) as directory:
        return directory.open_file(path.name, _MOST_BYTES)


def beginning_of(path: Path) -> bytes:
    """How a regular file begins. Raises like `open_log`."""
    with open_log(path) as file:
        return file.read(BEGINNING_BYTES)


def is_darshan(path: Path) -> bool:
    """True for a log, the text of one, what is called `.darshan`, and a directory with such a file."""
    if path.suffix == SUFFIX and not path.is_dir():
        return True
    try:
        if not path.is_dir():
            return form_of(beginning_of(path)) is not None
        return any(_form_within(inner) for inner in sorted(path.iterdir()))
    except (OSError, UsageError):
        return False


def log_files(path: Path) -> Iterator[LogFile]:
    """The log at a path, or all in a directory. Raises `UsageError` where there is none."""
    if not path.is_dir():
        yield LogFile(path, _required(path))
        return
    files = [LogFile(inner, form) for inner in sorted(path.iterdir()) if (form := _form_within(inner))]
    if not files:
        raise UsageError(f"{path} has no Darshan log.", "Name logs (.darshan), or the text of darshan-parser.")
    yield from files


def _form_within(inner: Path) -> Form | None:
    """What a file in a directory is; what cannot be one is none, but for one that is called so."""
    if inner.is_symlink() or not inner.is_file():
        return None
    return form_of(beginning_of(inner)) or ("log" if inner.suffix == SUFFIX else None)


def _required(path: Path) -> Form:
    try:
        with open_log(path) as file:
            beginning = file.read(other_files.BEGINNING_BYTES)
    except FileNotFoundError as error:
        raise UsageError(f"There is no {path}.", "Name a Darshan log.") from error
    form = form_of(beginning)
    if form is None:
        raise other_files.not_a_profile(path, beginning)
    return form
