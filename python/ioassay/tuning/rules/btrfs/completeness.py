"""Whether a file system is whole and idle."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.rules.btrfs.sources import BTRFS_MANUAL, NO_BTRFS, judged
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import BtrfsFileSystem


def _judge(system: System) -> Iterator[Judgement]:
    return each(judged(system), _file_system, otherwise=NO_BTRFS)


def _file_system(one: BtrfsFileSystem) -> Iterator[Judgement]:
    point, operation = one.mount.point, one.operation
    if not operation:
        yield NotReadable(f"state of {point}", "the snapshot has no /sys/fs/btrfs/*/exclusive_operation of it")
        return
    found = [f"device {number} missing" for number in one.missing]
    found += [f"device {number}: {counters}" for number, counters in one.errors.items()]
    if operation != "none":
        found.append(operation)
    if found:
        because = "what is measured now is not what the file system can do"
        command = f"btrfs device stats {point}; btrfs balance status {point}; btrfs replace status {point}"
        yield Change(point, "; ".join(found), "all devices, no errors, idle", because, command=command)
    else:
        yield Fine(point, "all devices, no errors, idle")


RULE = Rule(
    name="btrfs-completeness",
    title="Measure btrfs only when it is whole and idle",
    area="btrfs",
    reason="Without a device its data is read from copies or computed from parity; a balance or a replacement copies "
    "data beside the measurement. Errors of a device stay counted until they are reset.",
    risk="None: replace the device and wait. Counters are reset with: btrfs device stats --reset.",
    sources=(
        BTRFS_MANUAL,
        Source("btrfs-progs 6.19, btrfs-device(8)", "https://btrfs.readthedocs.io/en/latest/btrfs-device.html"),
        Source("btrfs-progs 6.19, Balance", "https://btrfs.readthedocs.io/en/latest/Balance.html"),
    ),
    judge=_judge,
    parameters=("missing", "error_stats", "exclusive_operation"),
)
