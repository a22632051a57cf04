"""Counters of the kernel, Lustre and NFS, from the text of their files.

/sys/block/X/stat         Documentation/block/stat.rst of Linux
llite.*.stats             the Lustre manual, "Monitoring Client Activity"
/proc/self/mountstats     `nfs_show_stats` and `_print_rpc_iostats` of Linux
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ioassay.mounts import unescaped
from ioassay.tuning.system.block import SECTOR_BYTES
from ioassay.tuning.system.lustre import Histogram, Pair
from ioassay.tuning.system.numbers import is_whole


@dataclass(frozen=True)
class BlockCounters:
    """The counters of a block device since it exists."""

    ios: Pair
    merges: Pair
    bytes: Pair
    wait_ms: Pair
    """Time of all requests from their arrival at the queue to their end."""
    busy_ms: int
    queue_ms: int
    """Time weighed by the number of requests in flight."""
    discards: int = 0

    def since(self, before: BlockCounters) -> BlockCounters | None:
        """The difference to an earlier reading; `None` where the counters were reset between."""
        change = BlockCounters(
            ios=_difference(self.ios, before.ios),
            merges=_difference(self.merges, before.merges),
            bytes=_difference(self.bytes, before.bytes),
            wait_ms=_difference(self.wait_ms, before.wait_ms),
            busy_ms=self.busy_ms - before.busy_ms,
            queue_ms=self.queue_ms - before.queue_ms,
            discards=self.discards - before.discards,
        )
        return None if min(*change.ios, *change.bytes, *change.merges) < 0 else change


def _difference(now: Pair, before: Pair) -> Pair:
    return now[0] - before[0], now[1] - before[1]


def block_counters(text: str) -> BlockCounters | None:
    """The counters in a `stat` file; `None` for other text."""
    words = text.split()
    if len(words) < 11 or not all(map(is_whole, words)):
        return None
    read, read_merges, read_sectors, read_ms, write, write_merges, write_sectors, write_ms = map(int, words[:8])
    return BlockCounters(
        ios=(read, write),
        merges=(read_merges, write_merges),
        bytes=(read_sectors * SECTOR_BYTES, write_sectors * SECTOR_BYTES),
        wait_ms=(read_ms, write_ms),
        busy_ms=int(words[9]),
        queue_ms=int(words[10]),
        discards=int(words[11]) if len(words) > 11 else 0,
    )


def histogram_since(now: Histogram, before: Histogram) -> dict[int, Pair] | None:
    """The difference to an earlier reading, without empty buckets; `None` where the counters were reset between."""
    change = {
        bucket: _difference(now.get(bucket, (0, 0)), before.get(bucket, (0, 0))) for bucket in sorted({*now, *before})
    }
    if any(min(pair) < 0 for pair in change.values()):
        return None
    return {bucket: pair for bucket, pair in change.items() if any(pair)}


@dataclass(frozen=True)
class OperationCounters:
    """Reads and writes of one kind: how many there were, and their bytes."""

    count: Pair
    bytes: Pair

    def since(self, before: OperationCounters) -> OperationCounters | None:
        """The difference to an earlier reading; `None` where the counters were reset between."""
        change = OperationCounters(_difference(self.count, before.count), _difference(self.bytes, before.bytes))
        return None if min(*change.count, *change.bytes) < 0 else change


def lustre_calls(text: str) -> OperationCounters | None:
    """`read_bytes` and `write_bytes` of a `stats` file of Lustre: samples and their sum."""
    counts = {
        line[1]: (int(line[2]), int(line[3]))
        for line in re.finditer(
            r"^(read_bytes|write_bytes)\s+(\d{1,18}) samples \[bytes\]\s+\d+\s+\d+\s+(\d{1,18})\b", text, re.MULTILINE
        )
    }
    if not text.startswith("snapshot_time"):
        return None
    (reads, read_bytes), (writes, write_bytes) = (
        counts.get(f"{operation}_bytes", (0, 0)) for operation in ("read", "write")
    )
    return OperationCounters((reads, writes), (read_bytes, write_bytes))


@dataclass(frozen=True)
class NfsCounters:
    """The counters of an NFS mount: calls of applications by their bytes, and READ and WRITE operations."""

    operations: OperationCounters
    age_s: int


def nfs_counters(text: str, point: str) -> NfsCounters | None:
    """The counters of the mount at `point` in mountstats, the last one there; `None` where there is none."""
    counters = None
    for block in _mounts(text):
        head = re.match(r"device .*? mounted on (\S+) with fstype nfs", block)
        if not head or unescaped(head[1]) != point:
            continue
        moved = re.search(r"^\s*bytes:\s+((?:\d{1,18} +){5,}\d{1,18})\b", block, re.MULTILINE)
        counts = [re.search(rf"^\s*{name}: (\d{{1,18}})\b", block, re.MULTILINE) for name in ("READ", "WRITE")]
        age = re.search(r"^\s*age:\s+(\d{1,18})\b", block, re.MULTILINE)
        if moved is None:
            continue
        fields = [int(word) for word in moved[1].split()]
        reads, writes = (int(count[1]) if count else 0 for count in counts)
        operations = OperationCounters((reads, writes), (fields[4], fields[5]))
        counters = NfsCounters(operations, int(age[1]) if age else 0)
    return counters


def _mounts(text: str) -> Iterator[str]:
    yield from re.split(r"^(?=device )", text, flags=re.MULTILINE)
