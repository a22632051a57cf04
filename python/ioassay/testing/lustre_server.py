"""A Lustre server's files of counters, as its versions print them, with values of our own.

The formats are those of Lustre's source (lustre/obdclass/lprocfs_jobstats.c, lprocfs_status.c and
lprocfs_status_server.c of 2.8.0 to 2.17.0) and of public captures (lustre_exporter of HewlettPackard for 2.10,
lustrefs-exporter of Whamcloud for 2.14). Not a Lustre: what clients do is written into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

VERSIONS: Final = ("2.8", "2.10", "2.12", "2.14", "2.15", "2.17")

_OST: Final = ("getattr", "setattr", "punch", "sync", "destroy", "create", "statfs", "get_info", "set_info", "quotactl")
_MDT: Final = ("open", "close", "mknod", "link", "unlink", "mkdir", "rmdir", "rename", "getattr", "setattr", "getxattr")
_START: Final = 1_700_000_000
_PRINTED: Final = ".@-_:/"


@dataclass
class Counters:
    """The counters of a job or a client on a target so far."""

    read_bytes: int = 0
    write_bytes: int = 0
    operations: dict[str, int] = field(default_factory=dict)
    """Others than reads and writes."""
    rpc_bytes: int = 1 << 20
    """The size of each read or write."""


@dataclass
class LustreServer:
    """A tree of files below `root`, of a server of this version; 2.15 is 2.15.2 or later."""

    root: Path
    version: str = "2.17"

    @property
    def _number(self) -> int:
        return int(self.version.split(".")[1])

    def write(
        self, target: str, jobs: Mapping[str, Counters], *, disk_ios: int = 0, client: str = "10.0.0.1@tcp"
    ) -> None:
        """Writes the counters of a target; one client has done all of it."""
        directory = "mdt" if "-MDT" in target else "obdfilter"
        total = Counters(operations={})
        for counters in jobs.values():
            total.read_bytes += counters.read_bytes
            total.write_bytes += counters.write_bytes
            for name, number in counters.operations.items():
                total.operations[name] = total.operations.get(name, 0) + number
        proc, debug = self.root / "proc/fs/lustre", self.root / "sys/kernel/debug/lustre"
        stats = "".join(self._stats(target, total))
        of_all = debug if self._number >= 17 and directory == "obdfilter" else proc
        _put(proc / directory / target / "job_stats", "".join(self._job_stats(target, jobs)))
        _put(of_all / directory / target / ("md_stats" if directory == "mdt" else "stats"), stats)
        exports = (debug if self._number >= 17 else proc) / directory / target / "exports"
        _put(exports / client / "stats", stats)
        sizes = "\n" + self._header("snapshot_time:", 25) + "".join(_sizes(total, disk_ios))
        _put((debug if self._number >= 15 else proc) / "osd-ldiskfs" / target / "brw_stats", sizes)

    def _header(self, snapshot: str, width: int, prefix: str = "") -> str:
        text = f"{prefix}{snapshot:<{width}} {_START + 60}.123456789 secs.nsecs\n"
        if self._number >= 15:
            colon = ":" if snapshot.endswith(":") else ""
            text += f"{prefix}{'start_time' + colon:<{width}} {_START}.000000001 secs.nsecs\n"
            text += f"{prefix}{'elapsed_time' + colon:<{width}} 60.123456788 secs.nsecs\n"
        return text

    def _job_stats(self, target: str, jobs: Mapping[str, Counters]) -> Iterator[str]:
        yield "job_stats:\n"
        for job, counters in jobs.items():
            yield f"- {'job_id:':<16} {self._job_id(job)}\n"
            if self._number >= 15:
                yield self._header("snapshot_time:", 16, "  ")
            else:
                yield f"  {'snapshot_time:':<16} {_START + 60}\n"
            for name, unit, samples, total in self._counters(target, counters):
                amounts = self._amounts(unit, samples, total)
                yield f"  {name + ':':<16} {{ samples: {samples:11}, unit: {unit:>5}{amounts} }}\n"

    def _amounts(self, unit: str, samples: int, total: int) -> str:
        if unit == "reqs":
            return ""
        sample = total // samples if samples else 0
        if self._number < 14:
            return f", min:{sample:8}, max:{sample:8}, sum:{total:16}"
        text = f", min: {sample:8}, max: {sample:8}, sum: {total:16}, sumsq: {sample * sample * samples:18}"
        if unit == "bytes" and self._number >= 16:
            text += f", hist: {{ 1M: {samples} }}" if samples else ", hist: {  }"
        return text

    def _counters(self, target: str, counters: Counters) -> Iterator[tuple[str, str, int, int]]:
        """Name, unit, samples and sum of each counter of a target."""
        has_times = self._number >= 14
        if "-OST" in target:
            moved = {"read": counters.read_bytes, "write": counters.write_bytes}
            for name, total in moved.items():
                yield f"{name}_bytes", "bytes", -(-total // counters.rpc_bytes), total
            if has_times:
                for name, total in moved.items():
                    samples = -(-total // counters.rpc_bytes)
                    yield name, "usecs", samples, samples * 100
        for name in _OST if "-OST" in target else _MDT:
            samples = counters.operations.get(name, 0)
            yield name, "usecs" if has_times else "reqs", samples, samples * 10

    def _stats(self, target: str, counters: Counters) -> Iterator[str]:
        yield self._header("snapshot_time", 25)
        for name, unit, samples, total in self._counters(target, counters):
            if samples:
                sample = total // samples
                amounts = "" if unit == "reqs" else f" {sample} {sample} {total}"
                amounts += f" {sample * sample * samples}" if amounts and self._number >= 14 else ""
                yield f"{name:<25} {samples} samples [{unit}]{amounts}\n"

    def _job_id(self, job: str) -> str:
        if self._number < 15:
            return "".join(letter if letter.isprintable() and letter.isascii() else "?" for letter in job)
        escaped = "".join(
            chr(byte) if (chr(byte).isalnum() and byte < 128) or chr(byte) in _PRINTED else f"\\x{byte:02X}"
            for byte in job.encode()
        )
        return f'"{escaped}"' if "\\" in escaped or ":" in escaped or escaped.startswith("@") else escaped


def _sizes(counters: Counters, disk_ios: int) -> Iterator[str]:
    writes = -(-counters.write_bytes // counters.rpc_bytes)
    for name, unit, size, number in (
        ("pages per bulk r/w", "rpcs", "256", writes),
        ("disk I/O size", "ios", "1M", disk_ios),
    ):
        yield f"\n{'':26} read      |     write\n{name:<22} {unit:<5} % cum % |  {unit:<11} % cum %\n"
        yield f"{size}:\t\t{0:10} {0:3} {0:3}   | {number:4} {100:3} {100:3}\n"


def _put(path: Path, text: str) -> None:
    """Replaces a file, so that no reader sees a half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}")
    new.write_text(text)
    new.rename(path)
