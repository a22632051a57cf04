"""The options of a fio job that its numbers depend on. fio prints them from 2.13 on.

Not: everything that fio knows; sizes in units that changed their meaning between versions (`1mi`, `1MiB`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.importers.model import Setting, nonempty_settings
from ioassay.text.units import format_bytes

_SIZE = re.compile(r"(\d+)([kmgtp]?)b?", re.IGNORECASE)
_TIME = re.compile(r"(\d+)(?:(us|ms)(?:ec)?|([dhms]?))", re.IGNORECASE)
_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "": 1000, "ms": 1, "us": 0.001}
_THROUGH_THE_CACHE = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap", "splice", "windowsaio")
)
"""Engines that write through the page cache by default."""

_FORCES = ("fsync", "fdatasync", "end_fsync", "fsync_on_close", "sync", "sync_file_range")
"""Options that write data to stable storage before the job ends."""


@dataclass(frozen=True)
class Options:
    """The options of a job, its own before the global ones. `is_printed` is false if the version of fio prints none."""

    values: Mapping[str, str]
    is_printed: bool

    @property
    def access(self) -> str:
        """`read`, `randrw`, …; empty if unknown."""
        text = self.values.get("rw") or self.values.get("readwrite") or ("read" if self.is_printed else "")
        return text.split(":")[0]

    @property
    def order(self) -> str:
        return "random" if self.access.startswith("rand") else "sequential" if self.access else ""

    def moves(self, operation: str) -> bool:
        """True if the job was configured to do this, or may have been; verification reads."""
        if not self.access:
            return True
        verifies = operation == "read" and self.values.get("verify", "0") not in ("0", "none")
        return operation in self.access or self.access.endswith("rw") or verifies

    @property
    def jobs(self) -> int:
        """Number of identical processes."""
        text = self.values.get("numjobs", "")
        return int(text) if text.isdigit() and int(text) else 1

    def transfer_bytes(self, operation: str) -> int | None:
        """Bytes of one I/O; `None` if they differ, or are unknown."""
        if not self.is_printed or any(name in self.values for name in ("bsrange", "blocksize_range", "bssplit")):
            return None
        sizes = (self.values.get("bs") or self.values.get("blocksize") or "4096").split(",")
        return self._bytes(sizes[1] if operation == "write" and len(sizes) > 1 and sizes[1] else sizes[0])

    @property
    def size_bytes(self) -> int | None:
        """The most that one job reads or writes, over all its files."""
        return self._bytes(self.values.get("size", ""))

    @property
    def names(self) -> list[str]:
        """The files that all jobs share; empty if each has its own."""
        return [name for name in self.values.get("filename", "").split(":") if name]

    @property
    def layout(self) -> str:
        if not self.is_printed or "filename_format" in self.values or "opendir" in self.values:
            return ""
        return "N-1" if self.names else "N-N"

    def files(self, ranks: int | None) -> int | None:
        """Number of files that `ranks` use."""
        if self.names or not self.layout:
            return len(self.names) or None
        files_per_job = self.values.get("nrfiles", "1")
        return ranks * int(files_per_job) if ranks is not None and files_per_job.isdigit() else None

    def file_set_bytes(self, ranks: int | None) -> int | None:
        """Size of the files of `ranks`."""
        if self.size_bytes is None or not self.layout:
            return None
        return self.size_bytes if self.names else None if ranks is None else self.size_bytes * ranks

    @property
    def is_direct(self) -> bool:
        return self._is_on("direct") or self.values.get("buffered") == "0"

    @property
    def may_leave_unsynced(self) -> bool:
        """True if written data may still be in memory when the job ends."""
        engine = self.values.get("ioengine", "psync")
        forced = any(self.values.get(name, "0") not in ("0", "none") for name in _FORCES)
        return self.is_printed and engine in _THROUGH_THE_CACHE and not self.is_direct and not forced

    @property
    def keeps_cache(self) -> bool:
        """True if the job leaves its files in the page cache at its start; fio drops them by default."""
        return self.values.get("invalidate") == "0" or self._is_on("pre_read")

    @property
    def most_runtime_ms(self) -> int | None:
        """The time limit. fio does not say whether a job also lasts that long (time_based)."""
        return _ms(self.values.get("runtime") or self.values.get("timeout", ""))

    @property
    def ramp_ms(self) -> int:
        """How long a job runs before it is measured."""
        return _ms(self.values.get("ramp_time", "")) or 0

    @property
    def outlasts_ramp(self) -> bool:
        """False if the time limit ends the job before its ramp does: fio then prints the ramp's results, or none. A
        runtime of 0 is no limit.
        """
        return not self.most_runtime_ms or not self.ramp_ms or self.ramp_ms < self.most_runtime_ms

    @property
    def may_have_short_ios(self) -> bool:
        """True if files may be smaller than an I/O."""
        return any(name in self.values for name in ("nrfiles", "filesize", "bs_unaligned", "blocksize_unaligned"))

    @property
    def target(self) -> str | None:
        return self.values.get("directory") or self.values.get("filename")

    @property
    def settings(self) -> list[Setting]:
        """Settings that distinguish its results, in the order of a title."""
        if not self.is_printed:
            return []
        transfer = self.transfer_bytes("read" if self.moves("read") else "write")
        depth = self.values.get("iodepth", "1")
        forced = [name for name in _FORCES if self.values.get(name, "0") not in ("0", "none")]
        mix = self.values.get("rwmixread", "")
        values = {
            "access": self.access,
            "transfer": "" if transfer is None else f"transfers of {format_bytes(transfer)}",
            "depth": f"queue depth {depth}" if depth != "1" else "",
            "engine": self.values.get("ioengine", ""),
            "layout": self.layout,
            "mix": f"{mix} % reads" if mix else "",
            "direct": "direct I/O" if self.is_direct else "",
            "uncached": "uncached I/O" if self.values.get("uncached", "0") != "0" else "",
            "fsync": ", ".join(forced),
        }
        return nonempty_settings(values)

    @property
    def amount(self) -> str:
        """The work of a job, in words."""
        limits = [
            f"{name} {self.values[name]}"
            for name in ("size", "io_size", "number_ios", "runtime")
            if name in self.values
        ]
        return ", ".join(limits)

    def _is_on(self, name: str) -> bool:
        return self.values.get(name) in ("1", "", "true")

    def _bytes(self, text: str) -> int | None:
        match = _SIZE.fullmatch(text.strip())
        base = 1000 if self.values.get("kb_base") == "1000" else 1024
        return int(match[1]) * base ** "_kmgtp".index(match[2].lower() or "_") if match else None


def _ms(text: str) -> int | None:
    match = _TIME.fullmatch(text.strip())
    return round(int(match[1]) * _MS[(match[2] or match[3]).lower()]) if match else None
