"""Whether ext4 and XFS make disks keep what they commit."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, Source, each
from ioassay.tuning.rules.filesystem.geometry import EXT4_MANUAL, XFS_MANUAL, of_type
from ioassay.tuning.system import System, block
from ioassay.tuning.system.block import BlockDevice
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    return each(
        [*of_type(system, "ext4"), *of_type(system, "xfs")],
        lambda mount: _mount(mount, block.by_number(system.devices, mount.device)),
        otherwise="no ext4 or XFS file system is mounted here, or the target does not lie on one",
    )


def _mount(mount: Mount, device: BlockDevice | None) -> Iterator[Judgement]:
    found = False
    if "nobarrier" in mount.options or mount.options.get("barrier") == "0":
        found = True
        volatile = device is not None and device.text("queue/write_cache") == "write back"
        because = "the device says that its write cache is volatile" if volatile else ""
        yield Change(
            mount.point,
            "nobarrier",
            "barrier",
            because,
            (Assignment(f"mount:{mount.point}/nobarrier", "off"),),
            is_harmful=volatile,
        )
    if "journal_async_commit" in mount.options:
        found = True
        command = f"take journal_async_commit out of the options of {mount.point}, then mount it again"
        because = "a commit does not wait for what it describes"
        yield Change(mount.point, "journal_async_commit", "no such option", because, command=command)
    if not found:
        yield Fine(mount.point, "barrier")


RULE = Rule(
    name="ext4-write-barriers",
    title="Leave write barriers of ext4 and XFS on",
    area="file system",
    reason="Barriers flush the disk's write cache before and after each commit; without them a power failure can "
    "leave a journal whose order is wrong, and fsync() returns before data is safe.",
    risk="fsync() becomes as slow as the disk is. The manual allows turning barriers off where a battery protects "
    "every write cache; such devices report write through and ignore flushes, so that little is gained. XFS removed "
    "the option in Linux 4.19. Rates with and without barriers are not comparable.",
    sources=(EXT4_MANUAL, XFS_MANUAL, Source("Linux, ext4", "https://docs.kernel.org/admin-guide/ext4.html")),
    judge=_judge,
    parameters=("barrier", "nobarrier", "journal_async_commit"),
    weight="large",
    weight_reason="a power failure can damage the file system",
)
