"""How data and metadata are spread over devices."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.rules.btrfs.sources import BTRFS_MANUAL, NO_BTRFS, judged
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import BtrfsFileSystem

_PARITY = {"raid5": "raid1", "raid6": "raid1c3"}
"""Profiles with parity, and what survives as many failed devices."""


def _judge(system: System) -> Iterator[Judgement]:
    return each(judged(system), _file_system, otherwise=NO_BTRFS)


def _file_system(one: BtrfsFileSystem) -> Iterator[Judgement]:
    point = one.mount.point
    for kind, option in (("data", "-dconvert"), ("metadata", "-mconvert")):
        profiles = one.profiles(kind)
        if not profiles:
            yield NotReadable(f"{kind} profile of {point}", "the snapshot has no /sys/fs/btrfs/*/allocation of it")
            continue
        parity = next((profile for profile in profiles if profile in _PARITY), None)
        bare = kind == "metadata" and len(one.devices) > 1 and {"single", "raid0"}.intersection(profiles)
        wanted = _PARITY[parity] if parity else "raid1"
        if parity or bare:
            because = (
                "after a crash parity may not match its data, and a device that fails then loses that data (write hole)"
                if parity
                else "one device that fails takes the whole file system with it"
            )
            command = f"btrfs balance start {option}={wanted} {point}"
            yield Change(f"{point} {kind}", ", ".join(profiles), wanted, because, command=command)
        else:
            yield Fine(f"{point} {kind}", ", ".join(profiles))


RULE = Rule(
    name="btrfs-raid-profile",
    title="Use no RAID5 or RAID6 of btrfs, and keep copies of metadata",
    area="btrfs",
    reason="The manual keeps RAID5 and RAID6 for evaluation: a write that a crash interrupts leaves parity that does "
    "not match, and no journal repairs it. Metadata without a copy is lost with one device.",
    risk="A balance moves all data, slows other I/O meanwhile and needs space: RAID1 halves the capacity, RAID1C3 "
    "leaves a third. md RAID6 below btrfs is the alternative with parity.",
    sources=(
        BTRFS_MANUAL,
        Source("btrfs-progs 6.19, mkfs.btrfs(8): profiles", "https://btrfs.readthedocs.io/en/latest/mkfs.btrfs.html"),
    ),
    judge=_judge,
    parameters=("data", "metadata"),
    weight="large",
    weight_reason="a crash can make data of a device unrecoverable",
)
