"""What traces that name files by their paths alone say of them: of which kind they are."""

from __future__ import annotations

from ioassay.results.profile_model import DIRECTION, FileKind


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
