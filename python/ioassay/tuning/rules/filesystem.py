"""Rules about local file systems: where they begin, XFS, ext4, times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ioassay.text.units import format_size
from ioassay.tuning.rule import (
    Assignment,
    Change,
    Fine,
    Judgement,
    NotApplicable,
    NotReadable,
    Rule,
    Source,
    each,
    missing,
)
from ioassay.tuning.rules.sources import LINUX_LARGE_IO
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System, block
from ioassay.tuning.system.block import SECTOR_BYTES, BlockDevice
from ioassay.tuning.system.filesystem import Stripe, XfsInfo, byte_count, ext_superblock, xfs_info, xfs_stripe
from ioassay.tuning.system.md import MdArray
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.nfs import exports

XFS_MANUAL = Source("xfs(5)", "https://man7.org/linux/man-pages/man5/xfs.5.html")
MKFS_XFS = Source("mkfs.xfs(8)", "https://man7.org/linux/man-pages/man8/mkfs.xfs.8.html")
EXT4_MANUAL = Source("ext4(5)", "https://man7.org/linux/man-pages/man5/ext4.5.html")

NO_XFS = "no XFS file system is mounted here, or the target does not lie on one"
NO_EXT4 = "no ext4 file system is mounted here, or the target does not lie on one"
NO_ARRAY = "no RAID of known geometry lies below; give a controller's with --raid"


@dataclass(frozen=True)
class Geometry:
    """A RAID with stripes."""

    chunk_bytes: int
    data_disks: int
    name: str
    """The name of the array: `md0`, or that it is the controller's."""

    @property
    def stripe_bytes(self) -> int:
        """The data of a full stripe."""
        return self.chunk_bytes * self.data_disks


def geometry(system: System, mount: Mount) -> Geometry | None:
    """The array that a file system lies on: the kernel's, otherwise what the user gave. Raises `Unreadable`."""
    device = block.by_number(system.devices, mount.device)
    for layer in device.with_all_below() if device is not None else []:
        array = MdArray(layer)
        if layer.kind == "md" and array.is_striped and array.data_disks > 1:
            return Geometry(array.chunk_bytes, array.data_disks, layer.name)
    if system.array is not None and device is not None and device.medium in ("array", "hdd", "ssd"):
        return Geometry(system.array.segment_bytes, system.array.data_disks, "the controller's RAID")
    return None


def of_type(system: System, file_system: str) -> list[Mount]:
    """The mounts of a file system to judge."""
    return [mount for mount in system.local_mounts if mount.file_system == file_system]


def each_xfs(system: System, judge: Callable[[Mount], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each XFS that the system is judged for; where there is none, why."""
    return each(of_type(system, "xfs"), judge, otherwise=NO_XFS)


def each_ext4(system: System, judge: Callable[[Mount], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each ext4 that the system is judged for; where there is none, why."""
    return each(of_type(system, "ext4"), judge, otherwise=NO_EXT4)


_ALIGNMENT = 1 << 20


def _partition_alignment(system: System, mount: Mount) -> Iterator[Judgement]:
    """Whether partitions begin where stripes do."""
    device = block.by_number(system.devices, mount.device)
    top = device.with_all_below() if device is not None else []
    holding = [
        (disk, part)
        for disk in top
        for part in disk.partitions
        if _partition_alignment_holds(system, mount, disk.name, part.name)
    ]
    if not holding:
        yield NotApplicable(f"{mount.point} lies on no partition of a known device")
    for disk, part in holding:
        if disk.number(f"{part.name}/start") is None:
            yield missing(f"/sys/block/{disk.name}/{part.name}/start")
            continue
        optimal = disk.queue("optimal_io_size") or 0
        stripe = system.array.stripe_bytes if system.array is not None and disk.medium == "array" else 0
        wanted = stripe or max(optimal, _ALIGNMENT)
        if part.start_bytes % wanted == 0:
            yield Fine(part.name, f"starts at {part.start_bytes >> 10} KiB")
        else:
            source = "the RAID stripe" if stripe else "the device's optimal I/O size" if wanted == optimal else "1 MiB"
            because = f"{part.start_bytes % wanted >> 10} KiB beyond a multiple of {source}"
            text = f"a multiple of {wanted >> 10} KiB"
            command = f"parted -a optimal /dev/{disk.name}, which means restoring all data of {part.name}"
            start = f"{part.start_bytes / 1024:.1f}".removesuffix(".0")  # a partition starts at a sector of 512 B
            yield Change(part.name, f"starts at {start} KiB", text, because, command=command)


def _partition_alignment_holds(system: System, mount: Mount, device: str, part: str) -> bool:
    """Whether a partition is what is mounted, or something above it is made of it."""
    number = system.snapshot.text(f"sys/block/{device}/{part}/dev")
    return number == mount.device or bool(system.snapshot.names(f"sys/block/{device}/{part}/holders"))


PARTITION_ALIGNMENT = Rule(
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
    judge=lambda system: each(
        system.local_mounts,
        lambda mount: _partition_alignment(system, mount),
        otherwise="no local file system is mounted here, or the target does not lie on one",
    ),
    parameters=("start",),
)


def _xfs_stripe(system: System, mount: Mount) -> Iterator[Judgement]:
    """Whether XFS knows the stripe of the RAID below."""
    array = geometry(system, mount)
    if array is None:
        yield NotApplicable(f"{mount.point}: {NO_ARRAY}")
    elif "noalign" in mount.options:
        because = "data is not aligned to the stripe that the file system was made for"
        yield Change(
            mount.point,
            "noalign",
            "no such option",
            because,
            command=f"take noalign out of the options of {mount.point}, then mount it again",
        )
    elif (now := xfs_stripe(system.snapshot, mount)) == Stripe(array.chunk_bytes, array.stripe_bytes):
        yield Fine(mount.point, _xfs_stripe_text(now))
    else:
        yield _xfs_stripe_change(mount, now, array, _xfs_stripe_info(system, mount))


def _xfs_stripe_info(system: System, mount: Mount) -> XfsInfo | None:
    """The output of `xfs_info`, which only helps to say how: `None` where it failed."""
    try:
        return xfs_info(system.snapshot, mount)
    except Unreadable:
        return None


def _xfs_stripe_change(mount: Mount, now: Stripe, array: Geometry, info: XfsInfo | None) -> Change:
    wanted = Stripe(array.chunk_bytes, array.stripe_bytes)
    because = f"{array.name} has {array.data_disks} data disks with chunks of {array.chunk_bytes >> 10} KiB"
    factor, rest = divmod(wanted.unit_bytes, now.unit_bytes) if now.unit_bytes else (0, 1)
    fits = info is None or info.group_bytes % wanted.unit_bytes == 0
    if rest == 0 and factor & (factor - 1) == 0 and fits:
        options = f"sunit={wanted.unit_bytes // SECTOR_BYTES},swidth={wanted.width_bytes // SECTOR_BYTES}"
        command = f"umount {mount.point} && mount -o {options} {mount.source} {mount.point}"
    else:
        if not fits:
            because += "; the size of its allocation groups is no multiple of the chunk"
        command = f"mkfs.xfs -d su={wanted.unit_bytes >> 10}k,sw={array.data_disks} {mount.source}, which erases it"
    return Change(mount.point, _xfs_stripe_text(now), _xfs_stripe_text(wanted), because, command=command)


def _xfs_stripe_text(stripe: Stripe) -> str:
    if not stripe.unit_bytes:
        return "no stripe"
    return f"unit {stripe.unit_bytes >> 10} KiB, width {stripe.width_bytes >> 10} KiB"


XFS_STRIPE = Rule(
    name="xfs-stripe",
    title="Make XFS with the chunk and the data disks of the RAID below",
    area="file system",
    reason="XFS aligns large files and its allocation groups to the stripe that it knows; otherwise writes straddle "
    "stripes, and parity RAID reads before it writes.",
    risk="A mount can only multiply the unit by a power of two, if the file system was made with one and its "
    "allocation groups are a multiple of it; everything else means mkfs and restoring all data. What was written "
    "before stays where it is. Units differ: xfs_info counts blocks, mount options count sectors of 512 bytes.",
    sources=(
        XFS_MANUAL,
        MKFS_XFS,
        Source(
            "Red Hat Enterprise Linux 6, Performance Tuning Guide, 7.3.2: the XFS file system",
            "https://access.redhat.com/documentation/en-US/Red_Hat_Enterprise_Linux/6/html/Performance_Tuning_Guide/s-storage-xfs.html",
        ),
    ),
    judge=lambda system: each_xfs(system, lambda mount: _xfs_stripe(system, mount)),
    parameters=("sunit", "swidth", "su", "sw", "noalign"),
)


_XFS_LOG_BUFFERS_WANTED = 256 << 10
"""The largest that version 2 logs allow."""


def _xfs_log_buffers(mount: Mount) -> Iterator[Judgement]:
    """How large the buffers of XFS's log are."""
    now = byte_count(mount.options.get("logbsize", ""))
    if "ro" in mount.options:
        yield NotApplicable(f"{mount.point} is read-only")
    elif now is None:
        yield NotReadable(f"{mount.point} logbsize", "the kernel does not list it")
    elif now >= _XFS_LOG_BUFFERS_WANTED:
        yield Fine(mount.point, f"{now >> 10} KiB")
    else:
        command = f"add logbsize=256k to the options of {mount.point}, then unmount it and mount it again"
        yield Change(mount.point, f"{now >> 10} KiB", "256 KiB", command=command)


XFS_LOG_BUFFERS = Rule(
    name="xfs-log-buffers",
    title="Give XFS log buffers of 256 KiB for many creates and removals",
    area="file system",
    reason="Changes of metadata gather in log buffers before they are written; with buffers of 32 KiB, the default "
    "without a log stripe, a busy log is written in many small pieces.",
    risk="At most 2 MiB of memory for the eight buffers of a file system. The size must be a multiple of the log's "
    "stripe unit. It changes only when the file system is unmounted and mounted again: a remount accepts the option "
    "and ignores it. fsync() of single files gains nothing.",
    sources=(
        XFS_MANUAL,
        Source("Linux, the XFS file system: logbsize", "https://docs.kernel.org/admin-guide/xfs.html"),
    ),
    judge=lambda system: each_xfs(system, _xfs_log_buffers),
    parameters=("logbsize", "logbufs"),
)


_SMALL_GROUP = 1 << 30
_XFS_ALLOCATION_GROUPS_LARGE = 1 << 40
_XFS_ALLOCATION_GROUPS_MOST = 32
"""More than so many are not asked for, whatever the number of processors."""


def _xfs_allocation_groups(system: System, mount: Mount) -> Iterator[Judgement]:
    """Into how many parts XFS is divided."""
    info = xfs_info(system.snapshot, mount)
    if info is None:
        yield missing(f"xfs_info {mount.point}")
        return
    device = block.by_number(system.devices, mount.device)
    size = info.blocks * info.block_bytes
    processors = system.processors
    now = f"{info.group_count} groups of {format_size(info.group_bytes)}"
    if size >= _XFS_ALLOCATION_GROUPS_LARGE and info.group_bytes < _SMALL_GROUP:
        because = "it was made small and has grown"
        command = f"mkfs.xfs {mount.source}, which erases it"
        yield Change(mount.point, now, "groups of up to 1 TiB", because, command=command)
    elif (
        info.group_count < (wanted := min(processors, _XFS_ALLOCATION_GROUPS_MOST))
        and device is not None
        and device.medium != "hdd"
    ):
        because = f"{processors} processors allocate in {info.group_count} groups"
        command = f"mkfs.xfs -d agcount={wanted} {mount.source}, which erases it"
        yield Change(mount.point, now, f"{wanted} groups", because, command=command)
    else:
        yield Fine(mount.point, now)


XFS_ALLOCATION_GROUPS = Rule(
    name="xfs-allocation-groups",
    title="Divide XFS on flash or RAID into as many groups as processors write",
    area="file system",
    reason="Each allocation group has its own locks for space and inodes; more writers than groups wait for each "
    "other. An image that was grown to many times its size has thousands of small groups instead, which fragment "
    "large files.",
    risk="The size of groups is fixed when the file system is made: all data has to be restored. On single hard disks "
    "more groups only add seeks.",
    sources=(MKFS_XFS,),
    judge=lambda system: each_xfs(system, lambda mount: _xfs_allocation_groups(system, mount)),
    parameters=("agcount", "agsize"),
)


def _xfs_inode_numbers(mount: Mount) -> Iterator[Judgement]:
    """Where XFS may place inodes."""
    if "inode32" in mount.options:
        yield Change(mount.point, "inode32", "inode64", "", (Assignment(f"mount:{mount.point}/inode64", "on"),))
    else:
        yield Fine(mount.point, "inode64")


XFS_INODE_NUMBERS = Rule(
    name="xfs-inode-numbers",
    title="Let XFS place inodes anywhere",
    area="file system",
    reason="With inode32 all inodes lie in the first part of the file system, far from their data, and creating files "
    "competes for the few groups there.",
    risk="Programs of 32 bits that do not handle large inode numbers fail on new files. Inodes that exist stay where "
    "they are. inode64 has been the default since Linux 3.7.",
    sources=(XFS_MANUAL,),
    judge=lambda system: each_xfs(system, _xfs_inode_numbers),
    parameters=("inode32", "inode64"),
)


def _ext4_stripe(system: System, mount: Mount) -> Iterator[Judgement]:
    """Whether ext4 knows the stripe of the RAID below."""
    array = geometry(system, mount)
    if array is None:
        yield NotApplicable(f"{mount.point}: {NO_ARRAY}")
        return
    superblock = ext_superblock(system.snapshot, mount)
    if superblock is None:
        yield missing(f"dumpe2fs -h {mount.source}")
        return
    wanted, block_bytes = Stripe(array.chunk_bytes, array.stripe_bytes), superblock.block_bytes
    if superblock.stripe == wanted:
        yield Fine(mount.point, f"stride {wanted.unit_bytes >> 10} KiB, stripe {wanted.width_bytes >> 10} KiB")
        return
    now = superblock.stripe
    stride, width = wanted.unit_bytes // block_bytes, wanted.width_bytes // block_bytes
    if mount.options.get("stripe") == str(width):
        yield Fine(mount.point, f"stripe {wanted.width_bytes >> 10} KiB, by an option of the mount")
        return
    yield Change(
        mount.point,
        f"stride {now.unit_bytes >> 10} KiB, stripe {now.width_bytes >> 10} KiB" if now.width_bytes else "no stripe",
        f"stride {wanted.unit_bytes >> 10} KiB, stripe {wanted.width_bytes >> 10} KiB",
        f"{array.name} has {array.data_disks} data disks with chunks of {array.chunk_bytes >> 10} KiB",
        (Assignment(f"mount:{mount.point}/stripe", str(width)),),
        f"tune2fs -E stride={stride},stripe_width={width} {mount.source}",
    )


EXT4_STRIPE = Rule(
    name="ext4-stripe",
    title="Tell ext4 the chunk and the data disks of the RAID below",
    area="file system",
    reason="The allocator of ext4 aligns large extents to the stripe that it knows; otherwise writes straddle "
    "stripes, and parity RAID reads before it writes.",
    risk="The superblock can be changed at any time, but files that exist stay where they are. Where bitmaps lie was "
    "decided by the stride at mkfs. All values count blocks of the file system, not bytes.",
    sources=(EXT4_MANUAL, Source("tune2fs(8)", "https://man7.org/linux/man-pages/man8/tune2fs.8.html")),
    judge=lambda system: each_ext4(system, lambda mount: _ext4_stripe(system, mount)),
    parameters=("stride", "stripe_width", "stripe"),
)


def _ext4_journal_mode(mount: Mount) -> Iterator[Judgement]:
    """The contents of ext4's journal."""
    now = mount.options.get("data", "ordered")
    if now == "ordered":
        yield Fine(mount.point, "data=ordered")
        return
    because = {
        "journal": "all data is written twice, and O_DIRECT falls back to buffered I/O",
        "writeback": "after a crash, files can contain what other files held before",
    }.get(now, "")
    command = f"set data=ordered for {mount.point}, then unmount it and mount it again"
    yield Change(mount.point, f"data={now}", "data=ordered", because, command=command)


EXT4_JOURNAL_MODE = Rule(
    name="ext4-journal-mode",
    title="Journal metadata of ext4 and order data before it",
    area="file system",
    reason="data=journal writes all data to the journal first, which halves throughput; data=ordered writes data "
    "once, and before the metadata that points to it.",
    risk="Small synchronous writes can be faster with data=journal, above all with a journal on flash. data=writeback "
    "is rumoured to be fastest, as its manual puts it, at the cost of stale data in files after a crash. The mode "
    "cannot be changed by a remount.",
    sources=(EXT4_MANUAL, Source("Linux, ext4", "https://docs.kernel.org/admin-guide/ext4.html")),
    judge=lambda system: each_ext4(system, _ext4_journal_mode),
    parameters=("data",),
)


_EXT4_JOURNAL_SIZE_LARGE = 128 << 30
_EXT4_JOURNAL_SIZE_WANTED = 1 << 30


def _ext4_journal_size(system: System, mount: Mount) -> Iterator[Judgement]:
    """How large the journal of ext4 is."""
    superblock = ext_superblock(system.snapshot, mount)
    if superblock is None:
        yield missing(f"dumpe2fs -h {mount.source}")
    elif not superblock.has_journal:
        yield NotApplicable(f"{mount.point} has no journal")
    elif superblock.journal_bytes is None:
        yield NotApplicable(f"the journal of {mount.point} lies on another device")
    elif superblock.size_bytes < _EXT4_JOURNAL_SIZE_LARGE or superblock.journal_bytes >= _EXT4_JOURNAL_SIZE_WANTED:
        yield Fine(mount.point, f"{superblock.journal_bytes >> 20} MiB")
    else:
        because = f"a file system of {superblock.size_bytes >> 30} GiB is made with 1024 MiB today"
        command = (
            f"umount {mount.point}; tune2fs -O ^has_journal {mount.source}; e2fsck -f {mount.source}; "
            f"tune2fs -J size=1024 {mount.source}"
        )
        yield Change(mount.point, f"{superblock.journal_bytes >> 20} MiB", "1024 MiB", because, command=command)


EXT4_JOURNAL_SIZE = Rule(
    name="ext4-journal-size",
    title="Give a large ext4 a journal of 1 GiB",
    area="file system",
    reason="When the journal is full, all changes of metadata wait until some of it is written back. File systems "
    "that were made by old tools, or small and then grown, have journals of 128 MiB and less.",
    risk="The file system has to be unmounted, and while it has no journal a crash means a full check. Replaying a "
    "larger journal takes longer, and it pins more memory.",
    sources=(
        Source("mke2fs(8), option -J size", "https://man7.org/linux/man-pages/man8/mke2fs.8.html"),
        Source(
            "e2fsprogs, lib/ext2fs/mkjournal.c: ext2fs_default_journal_size",
            "https://git.kernel.org/pub/scm/fs/ext2/e2fsprogs.git/tree/lib/ext2fs/mkjournal.c",
        ),
    ),
    judge=lambda system: each_ext4(system, lambda mount: _ext4_journal_size(system, mount)),
    parameters=("journal size",),
)


def _write_barriers(mount: Mount, device: BlockDevice | None) -> Iterator[Judgement]:
    """Whether ext4 and XFS make disks keep what they commit."""
    has_judgement = False
    if "nobarrier" in mount.options or mount.options.get("barrier") == "0":
        has_judgement = True
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
        has_judgement = True
        command = f"take journal_async_commit out of the options of {mount.point}, then mount it again"
        because = "a commit does not wait for what it describes"
        yield Change(mount.point, "journal_async_commit", "no such option", because, command=command)
    if not has_judgement:
        yield Fine(mount.point, "barrier")


EXT4_WRITE_BARRIERS = Rule(
    name="ext4-write-barriers",
    title="Leave write barriers of ext4 and XFS on",
    area="file system",
    reason="Barriers flush the disk's write cache before and after each commit; without them a power failure can "
    "leave a journal whose order is wrong, and fsync() returns before data is safe.",
    risk="fsync() becomes as slow as the disk is. The manual allows turning barriers off where a battery protects "
    "every write cache; such devices report write through and ignore flushes, so that little is gained. XFS removed "
    "the option in Linux 4.19. Rates with and without barriers are not comparable.",
    sources=(EXT4_MANUAL, XFS_MANUAL, Source("Linux, ext4", "https://docs.kernel.org/admin-guide/ext4.html")),
    judge=lambda system: each(
        [*of_type(system, "ext4"), *of_type(system, "xfs")],
        lambda mount: _write_barriers(mount, block.by_number(system.devices, mount.device)),
        otherwise="no ext4 or XFS file system is mounted here, or the target does not lie on one",
    ),
    parameters=("barrier", "nobarrier", "journal_async_commit"),
    weight="large",
    weight_reason="a power failure can damage the file system",
)


def _access_times(system: System) -> Iterator[Judgement]:
    """Whether reading a file writes its access time."""
    mounts = system.local_mounts
    if not mounts:
        yield NotApplicable("no local file system is mounted here, or the target does not lie on one")
        return
    exported = {export.path for export in exports(system.snapshot)}
    yield from each(mounts, lambda mount: _access_times_of_mount(mount, exported))


def _access_times_of_mount(mount: Mount, exported: set[str]) -> Iterator[Judgement]:
    is_exported = any(path == mount.point or path.startswith(mount.point.rstrip("/") + "/") for path in exported)
    assignment = Assignment(f"mount:{mount.point}/noatime", "on")
    if "noatime" in mount.options or "ro" in mount.options:
        yield Fine(mount.point, "noatime" if "noatime" in mount.options else "read-only")
    elif "relatime" not in mount.options:
        yield Change(mount.point, "strictatime", "noatime", "every read changes an inode", (assignment,))
    elif is_exported and mount.point != "/":
        because = "it is exported, and clients that read many small files make the server write as many inodes a day"
        yield Change(mount.point, "relatime", "noatime", because, (assignment,))
    else:
        yield Fine(mount.point, "relatime")


ACCESS_TIMES = Rule(
    name="access-times",
    title="Do not write access times",
    area="file system",
    reason="With strictatime every read changes an inode, which is written later; relatime, the default, still writes "
    "it once a day and after each change, which a file server pays for all of its clients.",
    risk="Programs that go by access times fail: tools that remove or migrate unused files, some mail readers.",
    sources=(Source("mount(8)", "https://man7.org/linux/man-pages/man8/mount.8.html"),),
    judge=_access_times,
    weight="small",
    weight_reason="reads write an inode at most once a day, as Linux mounts by default",
    parameters=("noatime", "relatime", "strictatime"),
)


def _lazy_times(system: System) -> Iterator[Judgement]:
    """Whether times stay in memory for a while."""
    if system.snapshot.target is None:
        why = "only random writes to allocated files gain; name the target of such a workload to judge its file system"
        return iter([NotApplicable(why)])
    return each_ext4(system, _lazy_times_of_mount)


def _lazy_times_of_mount(mount: Mount) -> Iterator[Judgement]:
    if "ro" in mount.options:
        yield NotApplicable(f"{mount.point} is read-only")
    elif "lazytime" in mount.options:
        yield Fine(mount.point, "lazytime")
    else:
        because = "for random writes to files that are already allocated; little else gains"
        yield Change(
            mount.point, "nolazytime", "lazytime", because, (Assignment(f"mount:{mount.point}/lazytime", "on"),)
        )


EXT4_LAZY_TIMES = Rule(
    name="ext4-lazy-times",
    title="Keep times of ext4 in memory for random writes to allocated files",
    area="file system",
    reason="Each write changes the file's modification time, so a random write of one block also dirties an inode "
    "block; with lazytime the times wait until the inode is written anyway, at the latest after a day.",
    risk="After a crash, times of up to a day are lost, which confuses incremental backups; fsync() still writes "
    "them. Sequential writes that allocate gain nothing.",
    sources=(Source("mount(8)", "https://man7.org/linux/man-pages/man8/mount.8.html"),),
    judge=_lazy_times,
    weight="small",
    weight_reason="only random writes to allocated files gain",
    parameters=("lazytime",),
)


RULES: tuple[Rule, ...] = (
    PARTITION_ALIGNMENT,
    XFS_STRIPE,
    XFS_LOG_BUFFERS,
    XFS_ALLOCATION_GROUPS,
    XFS_INODE_NUMBERS,
    EXT4_STRIPE,
    EXT4_JOURNAL_MODE,
    EXT4_JOURNAL_SIZE,
    EXT4_WRITE_BARRIERS,
    ACCESS_TIMES,
    EXT4_LAZY_TIMES,
)
