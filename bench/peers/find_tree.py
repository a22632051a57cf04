"""The tree that finds walk through: made once, shared by all tools."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tool import Failed
from work import Find

TREE = "tree"
STAMP = "stamp"


def create(work: Find, directory: Path, pause_s: float = 1.1) -> None:
    """Makes the tree in `directory`, and the stamp that all of its files are newer than.

    The pause is between both: some tools compare whole seconds, some nanoseconds.
    """
    (directory / STAMP).touch()
    time.sleep(pause_s)
    for number in range(work.directories):
        path = directory / TREE / f"dir.{number:04}"
        path.mkdir(parents=True)
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for file in range(work.files_per_directory):
                _create_file(opened, work.file_name(file), work.size_of(file))
        finally:
            os.close(opened)


def expect(work: Find, matches: int, scanned: int | None = None) -> None:
    """Raises `Failed` where a tool found, or came by, anything but what there is."""
    there = work.directories * sum(work.matches(file) for file in range(work.files_per_directory))
    if matches != there:
        raise Failed(f"found {matches} files where {there} match")
    if scanned not in (None, work.files):
        raise Failed(f"came by {scanned} files where there are {work.files}")


def _create_file(directory: int, name: str, size_bytes: int) -> None:
    file = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=directory)
    try:
        if size_bytes:
            os.ftruncate(file, size_bytes)
    finally:
        os.close(file)
