"""The file system that a run measured, in a line. Not: examining one."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.text import format


@dataclass(frozen=True)
class Storage:
    """The file system that was measured, as it was before the run."""

    place: str
    file_system: str | None
    size_bytes: int | None = None
    """`None`: unknown."""
    used: float | None = None
    """The share of it that is in use."""

    def text(self) -> str:
        """`/mnt/scratch: lustre, 1.20 PiB, 34 % used`."""
        size = "size unknown" if self.size_bytes is None else format.size(self.size_bytes)
        used = None if self.used is None else f"{format.share(self.used)} used"
        return f"{self.place}: {', '.join(filter(None, [self.file_system, size, used]))}"
