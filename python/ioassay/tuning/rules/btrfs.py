"""Rules about btrfs, of Linux 5.14 and later."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotReadable, Rule, Source, each
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import WITH_COPIES, BtrfsFileSystem, file_systems
from ioassay.tuning.system.nfs import kernel_version

BTRFS_MANUAL = Source("btrfs-progs 6.19, btrfs(5)", "https://btrfs.readthedocs.io/en/latest/btrfs-man5.html")
COMPRESSION_PAGE = Source("btrfs-progs 6.19, Compression", "https://btrfs.readthedocs.io/en/latest/Compression.html")
BTRFS_KERNELS = Source(
    "btrfs-progs 6.19, Feature by version: Linux 6.15",
    "https://btrfs.readthedocs.io/en/latest/Feature-by-version.html",
)

NO_BTRFS = "no btrfs is mounted here, or the target does not lie on one"


def judged(system: System) -> list[BtrfsFileSystem]:
    """The file systems to judge."""
    return file_systems(system.snapshot, system.mounts, system.target_mount)


_PARITY = {"raid5": "raid1", "raid6": "raid1c3"}
"""Profiles with parity, and what survives as many failed devices."""


def _raid_profile(file_system: BtrfsFileSystem) -> Iterator[Judgement]:
    """How data and metadata are spread over devices."""
    point = file_system.mount.point
    for kind, option in (("data", "-dconvert"), ("metadata", "-mconvert")):
        profiles = file_system.profiles(kind)
        if not profiles:
            yield NotReadable(f"{kind} profile of {point}", "the snapshot has no /sys/fs/btrfs/*/allocation of it")
            continue
        parity = next((profile for profile in profiles if profile in _PARITY), None)
        bare = kind == "metadata" and len(file_system.devices) > 1 and {"single", "raid0"}.intersection(profiles)
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


BTRFS_RAID_PROFILE = Rule(
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
    judge=lambda system: each(judged(system), _raid_profile, otherwise=NO_BTRFS),
    parameters=("data", "metadata"),
    weight="large",
    weight_reason="a crash can make data of a device unrecoverable",
)


_DIRECT_IS_BUFFERED_SINCE = (6, 15)


def _copy_on_write(system: System) -> Iterator[Judgement]:
    """Whether data is overwritten in place, and has checksums."""
    kernel = kernel_version(system.snapshot)
    return each(
        judged(system), lambda file_system: _copy_on_write_of_file_system(file_system, kernel), otherwise=NO_BTRFS
    )


def _copy_on_write_of_file_system(file_system: BtrfsFileSystem, kernel: tuple[int, int]) -> Iterator[Judgement]:
    options, point = file_system.mount.options, file_system.mount.point
    now = next((option for option in ("nodatacow", "nodatasum") if option in options), None)
    copies = [profile for profile in file_system.profiles("data") if profile in WITH_COPIES]
    if now is None:
        is_buffered = kernel >= _DIRECT_IS_BUFFERED_SINCE
        also = f"; Linux {kernel[0]}.{kernel[1]} copies O_DIRECT writes through the page cache" if is_buffered else ""
        yield Fine(point, f"copy-on-write with checksums{also}")
    elif copies:
        because = f"without checksums nothing says which copy of {copies[0]} is right, so that none is repaired"
        command = f"take {now} out of the options of {point}, then mount it again; files keep what they were made with"
        yield Change(point, now, "datacow with datasum", because, command=command)
    else:
        yield Fine(point, f"{now}: data has no checksums, and a crash can leave partial writes")


BTRFS_COPY_ON_WRITE = Rule(
    name="btrfs-copy-on-write",
    title="Keep checksums where btrfs has copies of data",
    area="btrfs",
    reason="Files that are overwritten at random fragment with copy-on-write, which nodatacow avoids; but it turns "
    "off checksums and compression, so that damaged copies are neither found nor repaired.",
    risk="Databases and images of virtual machines get slower with copy-on-write: turn it off for their directories "
    "alone (chattr +C), and keep copies elsewhere. Since Linux 6.15 direct writes to files with checksums are copied "
    "through the page cache before they are written, which slows them.",
    sources=(BTRFS_MANUAL, BTRFS_KERNELS),
    judge=_copy_on_write,
    parameters=("nodatacow", "nodatasum"),
)


def _write_barriers(file_system: BtrfsFileSystem) -> Iterator[Judgement]:
    """Whether btrfs makes devices keep what it commits."""
    point = file_system.mount.point
    if "nobarrier" in file_system.mount.options:
        because = "a power failure with volatile write caches most certainly leaves a corrupt file system"
        command = f"mount -o remount,barrier {point}, and take nobarrier out of /etc/fstab"
        yield Change(point, "nobarrier", "barrier", because, command=command)
    else:
        yield Fine(point, "barrier")


BTRFS_WRITE_BARRIERS = Rule(
    name="btrfs-write-barriers",
    title="Leave write barriers of btrfs on",
    area="btrfs",
    reason="Btrfs flushes the devices' caches before it writes a superblock; without that a superblock can point to "
    "metadata that was never written.",
    risk="fsync() becomes as slow as the devices are. The manual allows nobarrier where a battery protects every "
    "write cache. Rates with and without barriers are not comparable.",
    sources=(BTRFS_MANUAL,),
    judge=lambda system: each(judged(system), _write_barriers, otherwise=NO_BTRFS),
    parameters=("barrier", "nobarrier"),
    weight="large",
    weight_reason="a power failure corrupts the file system",
)


_MOST_LEVEL = 3


def _compression(file_system: BtrfsFileSystem) -> Iterator[Judgement]:
    """By what, and how hard, data is compressed."""
    options, point = file_system.mount.options, file_system.mount.point
    option = next((name for name in ("compress-force", "compress") if name in options), None)
    if option is None:
        yield Fine(point, "no compression for the whole file system")
        return
    kind, _, level = options[option].partition(":")
    now = f"{option}={options[option]}"
    is_hard = kind == "zstd" and level.isdecimal() and int(level) > _MOST_LEVEL
    if kind == "zlib":
        because = "zstd compresses as well and is faster"
    elif is_hard:
        because = f"levels above {_MOST_LEVEL} are no longer near real time"
    elif option == "compress-force":
        because = "data that cannot be compressed is compressed in vain, without the test that compress makes"
    else:
        yield Fine(point, now)
        return
    kept = options[option] if kind != "zlib" and not is_hard else "zstd:1"
    if option == "compress":
        yield Change(point, now, f"compress={kept}", because, (Assignment(f"mount:{point}/compress", kept),))
    else:
        command = f"mount -o remount,compress={kept} {point}, and the same in /etc/fstab"
        yield Change(point, now, f"compress={kept}", because, command=command)


BTRFS_COMPRESSION = Rule(
    name="btrfs-compression",
    title="Compress with zstd at a low level, or not at all",
    area="btrfs",
    reason="Compression trades processor time for I/O, 128 KiB at a time: zstd up to level 3 is near real time, zlib "
    "and higher levels limit writes; compress-force skips the test for data that cannot be compressed.",
    risk="It holds for new data; levels below 1 need Linux 6.15. Benchmarks that write zeros or repeated blocks "
    "measure the compressor. Keep high levels for data that is rarely written.",
    sources=(COMPRESSION_PAGE, BTRFS_MANUAL),
    judge=lambda system: each(judged(system), _compression, otherwise=NO_BTRFS),
    parameters=("compress", "compress-force"),
)


def _discard(file_system: BtrfsFileSystem) -> Iterator[Judgement]:
    """When freed blocks are discarded."""
    now, point = file_system.mount.options.get("discard"), file_system.mount.point
    if now in ("", "sync"):
        because = "each commit waits for the discards of what was freed"
        command = f"mount -o remount,discard=async {point}, and the same in /etc/fstab"
        yield Change(point, "discard", "discard=async", because, command=command)
    else:
        yield Fine(point, f"discard={now}" if now else "no discard")


BTRFS_DISCARD = Rule(
    name="btrfs-discard",
    title="Discard freed blocks later, in large pieces",
    area="btrfs",
    reason="Without queued TRIM a synchronous discard can slow a device severely; discard=async, the default since "
    "Linux 6.2 where devices support it, gathers what was freed first.",
    risk="None known; nodiscard with a periodic fstrim is the alternative.",
    sources=(BTRFS_MANUAL,),
    judge=lambda system: each(judged(system), _discard, otherwise=NO_BTRFS),
    parameters=("discard",),
)


def _space_cache(file_system: BtrfsFileSystem) -> Iterator[Judgement]:
    """How free space is found."""
    point = file_system.mount.point
    now = file_system.mount.options.get("space_cache")
    if now == "v2":
        yield Fine(point, "space_cache=v2")
    else:
        value = "nospace_cache" if now is None else "space_cache=v1"
        command = f"umount {point} && mount -o clear_cache,space_cache=v2 {point}, once: it is kept"
        yield Change(point, value, "space_cache=v2", "", command=command)


BTRFS_SPACE_CACHE = Rule(
    name="btrfs-space-cache",
    title="Keep free space in a tree (space_cache=v2)",
    area="btrfs",
    reason="On file systems of many terabytes the first cache of free space can slow drastically; its successor keeps "
    "free space in a tree of its own, and is the default of new file systems since btrfs-progs 5.15.",
    risk="Kernels before 4.5 then mount it read-only. The first mount takes long while the tree is built.",
    sources=(BTRFS_MANUAL,),
    judge=lambda system: each(judged(system), _space_cache, otherwise=NO_BTRFS),
    parameters=("space_cache", "nospace_cache"),
)


def _completeness(file_system: BtrfsFileSystem) -> Iterator[Judgement]:
    """Whether a file system is whole and idle."""
    point, operation = file_system.mount.point, file_system.operation
    if not operation:
        yield NotReadable(f"state of {point}", "the snapshot has no /sys/fs/btrfs/*/exclusive_operation of it")
        return
    problems = [f"device {number} missing" for number in file_system.missing]
    problems += [f"device {number}: {counters}" for number, counters in file_system.errors.items()]
    if operation != "none":
        problems.append(operation)
    if problems:
        because = "what is measured now is not what the file system can do"
        command = f"btrfs device stats {point}; btrfs balance status {point}; btrfs replace status {point}"
        yield Change(point, "; ".join(problems), "all devices, no errors, idle", because, command=command)
    else:
        yield Fine(point, "all devices, no errors, idle")


BTRFS_COMPLETENESS = Rule(
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
    judge=lambda system: each(judged(system), _completeness, otherwise=NO_BTRFS),
    parameters=("missing", "error_stats", "exclusive_operation"),
)


RULES: tuple[Rule, ...] = (
    BTRFS_RAID_PROFILE,
    BTRFS_COPY_ON_WRITE,
    BTRFS_WRITE_BARRIERS,
    BTRFS_COMPRESSION,
    BTRFS_DISCARD,
    BTRFS_SPACE_CACHE,
    BTRFS_COMPLETENESS,
)
