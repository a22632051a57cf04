"""Whether partitions begin where stripes do."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, each, missing
from ioassay.tuning.rules.sources import LINUX_LARGE_IO
from ioassay.tuning.system import System, block
from ioassay.tuning.system.mounts import Mount

_ALIGNMENT = 1 << 20


def _judge(system: System) -> Iterator[Judgement]:
    return each(
        system.local_mounts,
        lambda mount: _mount(system, mount),
        otherwise="no local file system is mounted here, or the target does not lie on one",
    )


def _mount(system: System, mount: Mount) -> Iterator[Judgement]:
    device = block.by_number(system.devices, mount.device)
    top = device.with_all_below() if device is not None else []
    holding = [(one, part) for one in top for part in one.partitions if _holds(system, mount, one.name, part.name)]
    if not holding:
        yield NotApplicable(f"{mount.point} lies on no partition of a known device")
    for one, part in holding:
        if one.number(f"{part.name}/start") is None:
            yield missing(f"/sys/block/{one.name}/{part.name}/start")
            continue
        optimal = one.queue("optimal_io_size") or 0
        stripe = system.array.stripe_bytes if system.array is not None and one.medium == "array" else 0
        wanted = stripe or max(optimal, _ALIGNMENT)
        if part.start_bytes % wanted == 0:
            yield Fine(part.name, f"starts at {part.start_bytes >> 10} KiB")
        else:
            source = "the RAID stripe" if stripe else "the device's optimal I/O size" if wanted == optimal else "1 MiB"
            because = f"{part.start_bytes % wanted >> 10} KiB beyond a multiple of {source}"
            text = f"a multiple of {wanted >> 10} KiB"
            command = f"parted -a optimal /dev/{one.name}, which means restoring all data of {part.name}"
            start = f"{part.start_bytes / 1024:.1f}".removesuffix(".0")  # a partition starts at a sector of 512 B
            yield Change(part.name, f"starts at {start} KiB", text, because, command=command)


def _holds(system: System, mount: Mount, device: str, part: str) -> bool:
    """Whether a partition is what is mounted, or something above it is made of it."""
    number = system.snapshot.text(f"sys/block/{device}/{part}/dev")
    return number == mount.device or bool(system.snapshot.names(f"sys/block/{device}/{part}/holders"))


RULE = Rule(
    name="partition-alignment",
    title="Begin partitions at a multiple of 1 MiB or of the RAID stripe",
    area="file system",
    reason="When a partition begins in the middle of a stripe or of a physical sector, every aligned write of the "
    "file system straddles two, and parity RAID and 4 KiB sectors read before they write.",
    risk="A partition can only be moved by restoring its data. Partitions of old tools begin at sector 63.",
    sources=(
        LINUX_LARGE_IO,
        Source("Linux, sysfs-block: alignment_offset", "https://docs.kernel.org/admin-guide/abi-stable.html"),
        Source("parted(8)", "https://man7.org/linux/man-pages/man8/parted.8.html"),
    ),
    judge=_judge,
    parameters=("start",),
)
