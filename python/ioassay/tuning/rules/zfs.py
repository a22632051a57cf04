"""Rules about ZFS: its pools, then the module, then data sets. OpenZFS 2.1 to 2.4."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import (
    Assignment,
    Change,
    Fine,
    Judgement,
    NotApplicable,
    NotJudged,
    NotReadable,
    Rule,
    Source,
    each,
    missing,
)
from ioassay.tuning.rules.sources import lustre_source
from ioassay.tuning.system import System, block
from ioassay.tuning.system.zfs import (
    Dataset,
    Pool,
    arc_statistic,
    concerned,
    dataset_below,
    datasets,
    is_used,
    pools,
    sector_exponents,
    version,
)

ZFS_PROPERTIES = Source("OpenZFS 2.3, zfsprops(7)", "https://openzfs.github.io/openzfs-docs/man/v2.3/7/zfsprops.7.html")
ZFS_CONCEPTS = Source(
    "OpenZFS 2.3, zpoolconcepts(7)", "https://openzfs.github.io/openzfs-docs/man/v2.3/7/zpoolconcepts.7.html"
)
ZPOOL_PROPERTIES = Source(
    "OpenZFS 2.3, zpoolprops(7)", "https://openzfs.github.io/openzfs-docs/man/v2.3/7/zpoolprops.7.html"
)
ZFS_MODULE = Source("OpenZFS 2.3, zfs(4)", "https://openzfs.github.io/openzfs-docs/man/v2.3/4/zfs.4.html")
ZFS_MODULE_2_1 = Source("OpenZFS 2.1, zfs(4)", "https://openzfs.github.io/openzfs-docs/man/v2.1/4/zfs.4.html")
ZFS_WORKLOADS = Source(
    "OpenZFS documentation, Workload Tuning",
    "https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Workload%20Tuning.html",
)

NO_ZFS = "no ZFS is loaded here, or the target does not lie on it"


def where_used(system: System, judge: Callable[[System], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of a system that uses ZFS; otherwise, that it does not."""
    if is_used(system.snapshot, system.target_mount):
        yield from judge(system)
    else:
        yield NotApplicable(NO_ZFS)


def _datasets(system: System, name: str) -> list[Dataset]:
    return concerned(system.snapshot, system.target_mount, name)


def _pools(system: System) -> list[Pool]:
    return pools(system.snapshot, system.target_mount)


def each_dataset(system: System, name: str, judge: Callable[[Dataset], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each data set that has the property `name`."""
    return where_used(system, lambda _: each(_datasets(system, name), judge, otherwise=NO_ZFS))


def each_pool(system: System, judge: Callable[[Pool], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each pool."""
    return where_used(system, lambda _: each(_pools(system), judge, otherwise=NO_ZFS))


_RECORD_SIZE_LEAST = 16 << 10
"""Below it metadata and rounding to sectors cost more than is saved, the reason of the default of volumes since 2.2."""
_RECORD_SIZE_MOST = 1 << 20
"""Above it a record ties up a disk for long, says the manual."""


def _record_size(system: System) -> Iterator[Judgement]:
    """Whether the application's requests are whole records of the file system."""
    if not is_used(system.snapshot, system.target_mount):
        yield NotApplicable(NO_ZFS)
    else:
        size = system.transfer_bytes
        stores = _object_stores(system)
        by_name = {dataset.name: dataset for dataset in (*stores, *_datasets(system, "recordsize"))}
        yield from each(
            by_name.values(),
            lambda dataset: _record_size_of_dataset(
                dataset, size or (_RECORD_SIZE_MOST if dataset in stores else None)
            ),
            otherwise=NO_ZFS,
        )


def _object_stores(system: System) -> list[Dataset]:
    """The data sets of Lustre's OSTs on this node, whose requests are RPCs of at least 1 MiB."""
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    stores = [mount for mount in mounts if re.search(r"-OST[0-9a-f]{4}$", mount.options.get("svname", ""))]
    names = sorted(filter(None, map(dataset_below, stores)))
    known = datasets(system.snapshot) if names else {}
    return [known[name] for name in names if name in known]


def _record_size_of_dataset(dataset: Dataset, size: int | None) -> Iterator[Judgement]:
    record = dataset.number("recordsize")
    if record is None:
        yield NotReadable(f"recordsize of {dataset.name}", "zfs get does not list it")
        return
    if size is None:
        why = "depends on the size of the application's requests: give it with --transfer 1MiB"
        yield NotJudged(dataset.name, format_bytes(record), why)
        return
    wanted = _record_size_wanted(size)
    now, text, request = format_bytes(record), format_bytes(wanted), format_bytes(size)
    command = f"zfs set recordsize={wanted} {dataset.name}, then write the files anew: it holds for new files"
    for operation in ("writes", "reads"):
        subject = f"{dataset.name} {operation}"
        if record == wanted or (record < size and size % record == 0 and record >= _RECORD_SIZE_MOST):
            yield Fine(subject, f"{now} for requests of {request}")
        elif record > wanted:
            because = (
                f"at random each write of {request} reads a record from disk, unless it is cached, and writes {now} "
                "again; in sequence they are joined in memory"
                if operation == "writes"
                else f"at random each read of {request} fetches {now}; in sequence the rest is read from memory"
            )
            yield Change(subject, now, text, because, command=command)
        else:
            because = f"a request of {request} is cut into {-(-size // record)} records, each with its own I/O"
            yield Change(subject, now, text, because, command=command)


def _record_size_wanted(size: int) -> int:
    """The largest power of two in a request, within what is useful."""
    return min(max(1 << max(size.bit_length() - 1, 0), _RECORD_SIZE_LEAST), _RECORD_SIZE_MOST)


ZFS_RECORD_SIZE = Rule(
    name="zfs-record-size",
    title="Choose the record size of ZFS by the size of the requests",
    area="ZFS",
    reason="A record is the unit of copy-on-write, checksums and compression: a smaller write reads the rest of it "
    "first, a larger request is cut into records. The default is 128 KiB.",
    risk="It holds for new files only. The manual discourages other values than the default for file systems of mixed "
    "use, and warns of records above 1 MiB; small records enlarge metadata and compress less. Send with -L, or "
    "records above 128 KiB are cut. Direct I/O of OpenZFS 2.3 needs whole records, too: other writes pass through the "
    "ARC.",
    sources=(
        ZFS_PROPERTIES,
        ZFS_WORKLOADS,
        lustre_source("lustre/utils/libmount_utils_zfs.c", "recordsize=1M for a new OST"),
    ),
    judge=_record_size,
    parameters=("recordsize",),
)


_DIRECT_IO_SINCE = (2, 3)
_DIRECT_IO_ENABLED = "zfs_dio_enabled"
_DIRECT_IO_PATH = f"sys/module/zfs/parameters/{_DIRECT_IO_ENABLED}"


def _direct_io(system: System) -> Iterator[Judgement]:
    """Whether direct I/O is obeyed or ignored."""
    release = version(system.snapshot)
    if not is_used(system.snapshot, system.target_mount):
        yield NotApplicable(NO_ZFS)
    elif release is None:
        yield missing("/sys/module/zfs/version")
    elif release < _DIRECT_IO_SINCE:
        yield NotApplicable("OpenZFS before 2.3 ignores O_DIRECT: rates with it are those of the ARC")
    else:
        yield from _module(system)
        yield from each(_datasets(system, "direct"), _direct_io_of_dataset, otherwise=NO_ZFS)


def _module(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number(_DIRECT_IO_PATH)
    if now is None:
        yield missing(f"/{_DIRECT_IO_PATH}")
    elif now:
        yield Fine(_DIRECT_IO_ENABLED, str(now))
    else:
        because = "O_DIRECT is ignored on all data sets, and rates with it are those of the ARC"
        yield Change(_DIRECT_IO_ENABLED, "0", "1", because, (Assignment(f"module:zfs/{_DIRECT_IO_ENABLED}", "1"),))


def _direct_io_of_dataset(dataset: Dataset) -> Iterator[Judgement]:
    now = dataset.properties.get("direct")
    if now is None:
        yield missing(f"direct of {dataset.name}")
    elif now == "disabled":
        because = "O_DIRECT is ignored, and rates with it are those of the ARC"
        yield Change(
            dataset.name,
            "direct=disabled",
            "direct=standard",
            because,
            command=f"zfs set direct=standard {dataset.name}",
        )
    elif now == "always":
        why = "depends on whether data is read again: all aligned requests bypass the ARC, also without O_DIRECT"
        yield NotJudged(dataset.name, "direct=always", why)
    else:
        yield Fine(dataset.name, "direct=standard: writes of whole records, and reads, bypass the ARC")


ZFS_DIRECT_IO = Rule(
    name="zfs-direct-io",
    title="Let direct I/O of OpenZFS 2.3 bypass the ARC",
    area="ZFS",
    reason="What reads each byte once gains nothing from the ARC and pays for the copies. Since OpenZFS 2.3 O_DIRECT "
    "bypasses it where requests are aligned to pages, and writes to whole records.",
    risk="Data that is read again comes from disk each time. Parts of records pass through the ARC all the same, so "
    "choose the record size by the requests. Mixed with buffered I/O on one file it gets slower.",
    sources=(
        ZFS_PROPERTIES,
        ZFS_MODULE,
        Source(
            "OpenZFS 2.3, module/zfs/zfs_vnops.c: zfs_dio_enabled (1)",
            "https://github.com/openzfs/zfs/blob/zfs-2.3.0/module/zfs/zfs_vnops.c",
        ),
    ),
    judge=_direct_io,
    parameters=("direct", _DIRECT_IO_ENABLED),
)


def _synchronous_writes(dataset: Dataset) -> Iterator[Judgement]:
    """Whether fsync() waits for the disks."""
    now = dataset.properties.get("sync")
    command = f"zfs set sync=standard {dataset.name}"
    if now is None:
        yield NotReadable(f"sync of {dataset.name}", "zfs get does not list it")
    elif now == "disabled":
        because = "fsync() returns before data is stored: a crash loses what applications and NFS clients believe safe"
        yield Change(dataset.name, "sync=disabled", "sync=standard", because, command=command)
    elif now == "always":
        because = "every write waits for the disks, not only those that ask for it"
        yield Change(dataset.name, "sync=always", "sync=standard", because, command=command)
    else:
        yield Fine(dataset.name, f"sync={now}")


ZFS_SYNCHRONOUS_WRITES = Rule(
    name="zfs-synchronous-writes",
    title="Keep sync=standard, so that fsync() holds and other writes do not wait",
    area="ZFS",
    reason="The manual calls sync=disabled very dangerous, because ZFS then ignores what databases and NFS demand; "
    "rates measured with it include data that no disk has. sync=always has a large performance penalty.",
    risk="fsync() becomes as slow as the disks are: add a log device (SLOG) with power-loss protection where that "
    "counts. Keep sync=always where every write has to be stored at once.",
    sources=(ZFS_PROPERTIES, ZFS_WORKLOADS),
    judge=lambda system: each_dataset(system, "sync", _synchronous_writes),
    parameters=("sync",),
    weight="large",
    weight_reason="sync=disabled loses data in a crash",
)


def _compression(dataset: Dataset) -> Iterator[Judgement]:
    """Whether data is compressed, and by what."""
    now = dataset.properties.get("compression")
    command = f"zfs set compression=lz4 {dataset.name}"
    if now is None:
        yield NotReadable(f"compression of {dataset.name}", "zfs get does not list it")
    elif now == "off":
        because = "LZ4 stores what it cannot compress as it is, and less I/O is done for the rest"
        yield Change(dataset.name, "off", "lz4", because, command=command)
    elif re.fullmatch(r"gzip(-\d)?|lzjb", now):
        slow = "gzip is much slower than LZ4" if now.startswith("gzip") else "LZ4 is faster and compresses more"
        yield Change(dataset.name, now, "lz4", slow, command=command)
    else:
        yield Fine(dataset.name, now)


ZFS_COMPRESSION = Rule(
    name="zfs-compression",
    title="Compress with LZ4",
    area="ZFS",
    reason="LZ4 gives up early on what does not compress, at about 10 GB/s on one core, so it rarely limits, and "
    "what is compressed needs less I/O. It is what `on` stands for, the default since OpenZFS 2.2.",
    risk="It holds for new data. Benchmarks that write zeros or repeated blocks measure the compressor: use data that "
    "cannot be compressed. Keep gzip or zstd for data that is rarely read.",
    sources=(ZFS_WORKLOADS, ZFS_PROPERTIES),
    judge=lambda system: each_dataset(system, "compression", _compression),
    parameters=("compression",),
)


_SA_IS_ON_SINCE = (2, 3)


def _extended_attributes(dataset: Dataset, release: tuple[int, int] | None) -> Iterator[Judgement]:
    """Where extended attributes are kept."""
    now = dataset.properties.get("xattr")
    if now is None:
        yield NotReadable(f"xattr of {dataset.name}", "zfs get does not list it")
    elif now == "on" and release is None:
        yield NotReadable(
            f"xattr of {dataset.name}", "`on` means `dir` before OpenZFS 2.3, and the release is not known"
        )
    elif now in ("sa", "off") or (now == "on" and release is not None and release >= _SA_IS_ON_SINCE):
        yield Fine(dataset.name, f"xattr={now}")
    else:
        because = "each attribute is a file in a hidden directory" + (", as `on` means before 2.3" * (now == "on"))
        yield Change(dataset.name, f"xattr={now}", "xattr=sa", because, command=f"zfs set xattr=sa {dataset.name}")


ZFS_EXTENDED_ATTRIBUTES = Rule(
    name="zfs-extended-attributes",
    title="Keep extended attributes with the inode",
    area="ZFS",
    reason="ACLs, SELinux labels, Lustre and BeeGFS live in extended attributes; as system attributes they need far "
    "fewer I/Os than as files of a directory, the default before OpenZFS 2.3.",
    risk="It holds for new attributes. Other implementations of ZFS than OpenZFS cannot read them.",
    sources=(
        ZFS_PROPERTIES,
        Source("OpenZFS 2.1, zfsprops(7)", "https://openzfs.github.io/openzfs-docs/man/v2.1/7/zfsprops.7.html"),
    ),
    judge=lambda system: each_dataset(
        system, "xattr", lambda dataset: _extended_attributes(dataset, version(system.snapshot))
    ),
    parameters=("xattr",),
)


def _special_vdev(system: System) -> Iterator[Judgement]:
    """The contents of special vdevs, and the cost of their loss."""
    special = [pool for pool in _pools(system) if any(vdev.use == "special" for vdev in pool.vdevs)]
    if not special:
        yield NotApplicable("no pool has a special vdev")
        return
    yield from each(special, _special_vdev_of_pool)
    names = {pool.name for pool in special}
    sets = [dataset for dataset in _datasets(system, "special_small_blocks") if dataset.pool in names]
    yield from each(sets, _special_vdev_of_dataset)


def _special_vdev_of_pool(pool: Pool) -> Iterator[Judgement]:
    for vdev in pool.vdevs:
        if vdev.use != "special":
            continue
        now = f"{vdev.name} survives {vdev.failures} failed disks"
        if vdev.failures < pool.failures:
            because = "the pool is lost with its special vdev, which holds the metadata"
            command = f"zpool attach {pool.name} {vdev.disks[0] if vdev.disks else vdev.name} DISK"
            yield Change(f"{pool.name} special", now, f"{pool.failures}, as its data", because, command=command)
        else:
            yield Fine(f"{pool.name} special", now)


def _special_vdev_of_dataset(dataset: Dataset) -> Iterator[Judgement]:
    small, record = dataset.number("special_small_blocks"), dataset.number("recordsize")
    if small and record and small >= record:
        because = f"records are of {format_bytes(record)}, so all data goes there until it is full"
        command = f"zfs set special_small_blocks={record // 2} {dataset.name}"
        yield Change(
            dataset.name, format_bytes(small), f"at most {format_bytes(record // 2)}", because, command=command
        )
    elif small is not None:
        yield Fine(dataset.name, f"blocks up to {format_bytes(small)}" if small else "metadata only")


ZFS_SPECIAL_VDEV = Rule(
    name="zfs-special-vdev",
    title="Make special vdevs as redundant as the data, and keep large blocks off them",
    area="ZFS",
    reason="The special class holds all metadata, so that its loss is the pool's; what is full spills into the normal "
    "class. Blocks up to special_small_blocks go there, which are all blocks where it is not below recordsize.",
    risk="A special vdev can be removed only from pools without RAID-Z. The smaller threshold holds for new data.",
    sources=(
        ZFS_CONCEPTS,
        ZFS_PROPERTIES,
        Source("OpenZFS 2.3, zpool-remove(8)", "https://openzfs.github.io/openzfs-docs/man/v2.3/8/zpool-remove.8.html"),
    ),
    judge=lambda system: where_used(system, _special_vdev),
    parameters=("special_small_blocks",),
)


_PREFETCH_PARAMETERS = "sys/module/zfs/parameters"


def _prefetch(system: System) -> Iterator[Judgement]:
    """Whether ZFS reads ahead."""
    now = system.snapshot.number(f"{_PREFETCH_PARAMETERS}/zfs_prefetch_disable")
    if now is None:
        yield missing(f"/{_PREFETCH_PARAMETERS}/zfs_prefetch_disable")
    elif now:
        because = "sequential readers wait for the disks at every record"
        assignment = Assignment("module:zfs/zfs_prefetch_disable", "0")
        yield Change(system.host, "no prefetch", "prefetch", because, (assignment,))
    else:
        yield Fine(system.host, "prefetch")


ZFS_PREFETCH = Rule(
    name="zfs-prefetch",
    title="Let ZFS prefetch",
    area="ZFS",
    reason="ZFS detects streams of reads and fetches up to 64 MiB ahead of each (zfetch_max_distance).",
    risk="Purely random readers fetch some data in vain. Turn it off for them only after a measurement.",
    sources=(ZFS_MODULE,),
    judge=lambda system: where_used(system, _prefetch),
    parameters=("zfs_prefetch_disable",),
)


_ARC_LIMIT_LEAST = 64 << 20
_GIB = 1 << 30
_SMALL_SHARE = 1 / 32
"""The share of memory that the cache keeps at least by default."""
_ARC_LIMIT_PATH = "sys/module/zfs/parameters/zfs_arc_max"


def _arc_limit(system: System) -> Iterator[Judgement]:
    """How much memory the cache of ZFS may take."""
    limit, memory = system.snapshot.number(_ARC_LIMIT_PATH), system.memory_bytes
    in_force = arc_statistic(system.snapshot, "c_max")
    if limit is None or not memory:
        yield missing(f"/{_ARC_LIMIT_PATH}")
        return
    if not limit:
        yield from _arc_limit_default(system, in_force, memory)
        return
    wanted = memory // 2
    text, half = format_bytes(limit), format_bytes(wanted)
    assignment = Assignment("module:zfs/zfs_arc_max", str(wanted))
    if limit < _ARC_LIMIT_LEAST:
        because = f"ZFS ignores a limit below {format_bytes(_ARC_LIMIT_LEAST)}"
        yield Change(system.host, text, half, because, (assignment,))
    elif limit > memory - _GIB and memory > 2 * _GIB:
        because = f"the node has {format_bytes(memory)}: less than 1 GiB is left for all else"
        yield Change(system.host, text, half, because, (assignment,))
    elif limit < memory * _SMALL_SHARE:
        because = f"the node has {format_bytes(memory)}, and metadata that does not fit is read from disk each time"
        yield Change(system.host, text, half, because, (assignment,))
    else:
        yield Fine(system.host, f"{text} of {format_bytes(memory)}")


def _arc_limit_default(system: System, in_force: int | None, memory: int) -> Iterator[Judgement]:
    release = version(system.snapshot)
    if in_force is not None:
        yield Fine(system.host, f"the default, {format_bytes(in_force)} of {format_bytes(memory)}")
    elif release is None:
        yield NotReadable("the default of zfs_arc_max", "it depends on the release of OpenZFS, which is not known")
    else:
        share = "half of the memory" if release < (2, 3) else "all memory but 1 GiB"
        yield Fine(system.host, f"the default, {share}")


ZFS_ARC_LIMIT = Rule(
    name="zfs-arc-limit",
    title="Leave the ARC enough memory for metadata, and the node enough beside it",
    area="ZFS",
    reason="The ARC is the only cache of ZFS. By default it may take half of the memory before OpenZFS 2.3 on Linux, "
    "since then all but 1 GiB (at least 5/8); a limit below 64 MiB is ignored.",
    risk="A larger cache takes memory from applications until the kernel asks for it back, which takes time: keep a "
    "limit where compute jobs or virtual machines run beside ZFS. Lowering it does not shrink the cache at once, and "
    "0 cannot be set while ZFS runs. Read benchmarks have to exceed the ARC, or drop it.",
    sources=(ZFS_MODULE, ZFS_MODULE_2_1),
    judge=lambda system: where_used(system, _arc_limit),
    parameters=("zfs_arc_max",),
)


_CACHE_FLUSH_PARAMETERS = "sys/module/zfs/parameters"
_CACHE_FLUSH_SETTINGS = {
    "zfs_nocacheflush": "a power failure with volatile write caches corrupts the pool",
    "zil_nocacheflush": "a power failure with volatile write caches loses what fsync() confirmed",
}


def _cache_flush(system: System) -> Iterator[Judgement]:
    """Whether ZFS makes disks keep what it commits."""
    for name, because in _CACHE_FLUSH_SETTINGS.items():
        now = system.snapshot.number(f"{_CACHE_FLUSH_PARAMETERS}/{name}")
        if now is None:
            yield missing(f"/{_CACHE_FLUSH_PARAMETERS}/{name}")
        elif now:
            yield Change(name, str(now), "0", because, (Assignment(f"module:zfs/{name}", "0"),))
        else:
            yield Fine(name, "0")


ZFS_CACHE_FLUSH = Rule(
    name="zfs-cache-flush",
    title="Let ZFS flush the write caches of disks",
    area="ZFS",
    reason="ZFS orders its writes by flushing the disks' caches. Without flushes a power failure can leave later "
    "writes on disk and lose earlier ones, and rates include data that no disk has.",
    risk="fsync() becomes as slow as the disks are. The manual allows it where every write cache survives a power "
    "failure; such devices complete flushes at once, so that little is gained.",
    sources=(ZFS_MODULE,),
    judge=lambda system: where_used(system, _cache_flush),
    parameters=("zfs_nocacheflush", "zil_nocacheflush"),
    weight="large",
    weight_reason="a power failure can corrupt the pool",
)


def _sector_size(pool: Pool, system: System) -> Iterator[Judgement]:
    """Whether blocks of ZFS are whole sectors of the disks."""
    exponents = sector_exponents(system.snapshot, pool)
    if not exponents:
        yield NotReadable(
            f"ashift of {pool.name}",
            "it was detected when the pool was made, and OpenZFS before 2.2 lists it in zdb -C only",
        )
        return
    largest, disk = 0, ""
    for path in (path for vdev in pool.vdevs for path in vdev.disks):
        device = block.by_path(system.devices, system.snapshot, path)
        sector = device.queue("physical_block_size") if device is not None else None
        if sector is not None and sector > largest:
            largest, disk = sector, device.name if device is not None else ""
    if not largest:
        yield NotReadable(f"sectors of the disks of {pool.name}", "the snapshot has none of its disks")
        return
    for name, ashift in exponents.items():
        subject = pool.name if name == pool.name else f"{pool.name} {name}"
        now = f"ashift {ashift} ({1 << ashift} bytes)"
        if 1 << ashift < largest:
            wanted = largest.bit_length() - 1
            because = f"{disk} has sectors of {largest} bytes, and reads one first where it writes a part of it"
            command = f"make the vdev anew: zpool create -o ashift={wanted} …; it cannot be changed"
            yield Change(subject, now, f"ashift {wanted} ({largest} bytes)", because, command=command)
        else:
            yield Fine(subject, now)


ZFS_SECTOR_SIZE = Rule(
    name="zfs-sector-size",
    title="Make pools with an ashift of at least the disks' physical sectors",
    area="ZFS",
    reason="2^ashift is the smallest I/O of a vdev; below the physical sector each small write makes the disk read a "
    "sector and write it again.",
    risk="All data has to be copied to a new vdev. A larger ashift wastes space with small blocks, most of all on "
    "RAID-Z. Disks that report 512 bytes and have 4096 are not seen here.",
    sources=(ZPOOL_PROPERTIES, ZFS_WORKLOADS),
    judge=lambda system: each_pool(system, lambda pool: _sector_size(pool, system)),
    parameters=("ashift",),
)


def _pool_completeness(pool: Pool) -> Iterator[Judgement]:
    """Whether a pool is whole and idle."""
    if not pool.state:
        yield NotReadable(f"state of {pool.name}", "zpool status does not say it")
        return
    problems = [pool.state] if pool.state != "ONLINE" else []
    problems += [activity.partition(" since")[0] for activity in pool.activities if " in progress" in activity]
    if problems:
        because = "what is measured now is not what the pool can do"
        command = f"zpool status {pool.name}; wait with: zpool wait -t resilver,scrub {pool.name}"
        yield Change(pool.name, ", ".join(problems), "ONLINE, idle", because, command=command)
    else:
        yield Fine(pool.name, "ONLINE, idle")


ZFS_POOL_COMPLETENESS = Rule(
    name="zfs-pool-completeness",
    title="Measure pools only when they are whole and idle",
    area="ZFS",
    reason="A degraded vdev computes missing data from its other disks at each read; a resilver or a scrub reads all "
    "data beside the measurement.",
    risk="None: replace the disk and wait. A scrub can be paused with: zpool scrub -p POOL.",
    sources=(
        Source("OpenZFS 2.3, zpool-status(8)", "https://openzfs.github.io/openzfs-docs/man/v2.3/8/zpool-status.8.html"),
        Source("OpenZFS 2.3, zpool-scrub(8)", "https://openzfs.github.io/openzfs-docs/man/v2.3/8/zpool-scrub.8.html"),
    ),
    judge=lambda system: each_pool(system, _pool_completeness),
    parameters=("state", "scan"),
)


_POOL_SPACE_MOST_PERCENT = 90


def _pool_space(pool: Pool) -> Iterator[Judgement]:
    """How full a pool is."""
    used, fragmentation = pool.number("capacity"), pool.number("fragmentation")
    if used is None:
        yield NotReadable(f"capacity of {pool.name}", "zpool get does not list it")
        return
    text = f"{used} % used" + (f", free space {fragmentation} % fragmented" if fragmentation is not None else "")
    if used > _POOL_SPACE_MOST_PERCENT:
        because = "rates are lower than those of the same pool with space"
        yield Change(
            pool.name,
            text,
            f"at most {_POOL_SPACE_MOST_PERCENT} % used",
            because,
            command=f"zfs list -o space -r {pool.name}",
        )
    else:
        yield Fine(pool.name, text)


ZFS_POOL_SPACE = Rule(
    name="zfs-pool-space",
    title="Keep 10 % of a pool free",
    area="ZFS",
    reason="Where less than 4 % of a metaslab is free, ZFS looks for the best place rather than the first, which "
    "costs processor time and IOPS; with 10 % of the pool free few metaslabs get there.",
    risk="None but the space.",
    sources=(ZFS_WORKLOADS, ZPOOL_PROPERTIES),
    judge=lambda system: each_pool(system, _pool_space),
    parameters=("capacity", "fragmentation"),
)


RULES: tuple[Rule, ...] = (
    ZFS_RECORD_SIZE,
    ZFS_DIRECT_IO,
    ZFS_SYNCHRONOUS_WRITES,
    ZFS_COMPRESSION,
    ZFS_EXTENDED_ATTRIBUTES,
    ZFS_SPECIAL_VDEV,
    ZFS_PREFETCH,
    ZFS_ARC_LIMIT,
    ZFS_CACHE_FLUSH,
    ZFS_SECTOR_SIZE,
    ZFS_POOL_COMPLETENESS,
    ZFS_POOL_SPACE,
)
