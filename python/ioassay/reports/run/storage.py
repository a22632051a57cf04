"""The file system that a run measured, in a line. Not: looking at one."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.reports import format


@dataclass(frozen=True)
class Storage:
    """The file system that was measured, as it was found before."""

    place: str
    file_system: str | None
    size_bytes: int
    used: float
    """The share of it that is in use."""

    def text(self) -> str:
        """`/mnt/scratch: lustre, 1.20 PiB, 34 % used`."""
        facts = [self.file_system, format.size(self.size_bytes), f"{format.share(self.used)} used"]
        return f"{self.place}: {', '.join(filter(None, facts))}"
