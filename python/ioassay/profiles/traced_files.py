"""What traces that name files by their paths alone say of them: of which kind they are."""

from __future__ import annotations

from functools import lru_cache

from ioassay.profiles.model import DIRECTION, ON_STORAGE, FileKind


def kind_of(path: str) -> FileKind:
    """The kind of what has a path, as far as that says it."""
    if path.startswith(("/proc/", "/sys/")):
        return "kernel"
    if path.startswith("/dev/") and not path.startswith("/dev/shm/"):
        return "character device"
    return "file"


def elsewhere(operation: str) -> str:
    """The operation of `ELSEWHERE` that stands for one on what is not on storage."""
    direction = DIRECTION.get(operation)
    return f"elsewhere {direction}" if direction in ("read", "write") else "elsewhere other"


@lru_cache(maxsize=1 << 12)
def shown_operation(operation: str, path: str) -> str:
    """The operation by which a call on a path is shown in sums over files."""
    return operation if kind_of(path) in ON_STORAGE else elsewhere(operation)
