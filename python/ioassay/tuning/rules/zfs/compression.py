"""Whether data is compressed, and by what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, each
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_PROPERTIES, ZFS_WORKLOADS
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Dataset, concerned, is_used


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
    else:
        yield from each(concerned(system, "compression"), _dataset, otherwise=NO_ZFS)


def _dataset(one: Dataset) -> Iterator[Judgement]:
    now = one.properties.get("compression")
    command = f"zfs set compression=lz4 {one.name}"
    if now is None:
        yield NotReadable(f"compression of {one.name}", "zfs get does not list it")
    elif now == "off":
        because = "LZ4 stores what it cannot compress as it is, and less I/O is done for the rest"
        yield Change(one.name, "off", "lz4", because, command=command)
    elif re.fullmatch(r"gzip(-\d)?|lzjb", now):
        slow = "gzip is much slower than LZ4" if now.startswith("gzip") else "LZ4 is faster and compresses more"
        yield Change(one.name, now, "lz4", slow, command=command)
    else:
        yield Fine(one.name, now)


RULE = Rule(
    name="zfs-compression",
    title="Compress with LZ4",
    area="ZFS",
    reason="LZ4 gives up early on what does not compress, at about 10 GB/s on one core, so it rarely limits, and "
    "what is compressed needs less I/O. It is what `on` stands for, the default since OpenZFS 2.2.",
    risk="It holds for new data. Benchmarks that write zeros or repeated blocks measure the compressor: use data that "
    "cannot be compressed. Keep gzip or zstd for data that is rarely read.",
    sources=(ZFS_WORKLOADS, ZFS_PROPERTIES),
    judge=_judge,
    parameters=("compression",),
)
