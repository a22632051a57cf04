"""Directories for new results: made where nothing is, or in an empty one of one's own. Not: what goes into them."""

from __future__ import annotations

import os
from pathlib import Path

from ioassay.errors import CannotRun, UsageError
from ioassay.store.kinds import RUN
from ioassay.store.stored_directory import StoredDirectory


def new_directory(path: Path) -> StoredDirectory:
    """Makes `path` a directory for new results, with those above it.

    Raises `UsageError` when it exists and holds anything, or is another user's, `CannotRun` where none can be made.
    """
    refuse_occupied(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRun(
            f"The directory {path} for the results cannot be made: {error.strerror}.",
            "Name one that you may create with --out.",
        ) from error
    directory = StoredDirectory.open(path)
    try:
        _refuse_occupied(directory)
    except BaseException:
        directory.close()
        raise
    return directory


def refuse_occupied(path: Path) -> None:
    """Raises `UsageError` when `path` cannot become a directory for new results."""
    try:
        with StoredDirectory.open(path) as directory:
            _refuse_occupied(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise UsageError(f"{path} is not a directory.", "Name a new one with --out.") from error


def _refuse_occupied(directory: StoredDirectory) -> None:
    path = directory.path
    if directory.exists(RUN.document):
        raise UsageError(
            f"{path} already holds a run.",
            f"Name a new directory with --out, or resume that run: ioassay run --resume {path}",
        )
    if os.listdir(directory.descriptor):
        raise UsageError(f"{path} is not empty.", "Name a new or empty directory with --out.")
    directory.require_own("Name a new directory with --out.")
