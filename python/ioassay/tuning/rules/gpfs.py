"""Rules about GPFS (IBM Storage Scale): the daemon of a node, then file systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ioassay.text.units import format_size
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.system import Array, System
from ioassay.tuning.system.gpfs import GpfsConfig, GpfsFileSystem, gpfs_config, gpfs_file_systems
from ioassay.tuning.system.network import fastest_megabits, ports
from ioassay.tuning.system.numbers import is_whole
from ioassay.tuning.system.processors import nodes

TUNING = Source(
    "IBM Storage Scale, Parameters for performance tuning and optimization",
    "https://www.ibm.com/docs/en/storage-scale/5.2.1?topic=configuring-parameters-performance-tuning-optimization",
)
CACHES = Source(
    "IBM Storage Scale, Cache usage",
    "https://www.ibm.com/docs/en/storage-scale/6.0.1?topic=considerations-cache-usage",
)
PROTOCOL_NODES = Source(
    "IBM Elastic Storage Server, GPFS configuration parameters for protocol nodes",
    "https://ibm.com/support/knowledgecenter/en/SSYSP8_5.3.1/com.ibm.ess.v5r31.qdg.doc/bl8qdg_protoclnodesgpfsparams.htm",
)
MMCHCONFIG = Source(
    "IBM Storage Scale, mmchconfig",
    "https://www.ibm.com/support/knowledgecenter/en/STXKQY_4.2.1/com.ibm.spectrum.scale.v4r21.doc/bl1adm_mmchconfig.htm",
)

NO_GPFS = "this node has no GPFS configuration"
NO_FILE_SYSTEMS = "the snapshot has no output of mmlsfs, because this node has no GPFS"


def with_config(system: System, judge: Callable[[System, GpfsConfig], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of the daemon's configuration; where the node has none, that."""
    config = gpfs_config(system.snapshot)
    if config is None:
        yield NotApplicable(NO_GPFS)
    else:
        yield from judge(system, config)


def each_file_system(system: System, judge: Callable[[GpfsFileSystem], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each file system that `mmlsfs` lists; where it lists none, why."""
    return each(gpfs_file_systems(system.snapshot), judge, otherwise=NO_FILE_SYSTEMS)


_PAGE_POOL_DEFAULT = 1 << 30
_PAGE_POOL_WANTED = 4 << 30
_PAGE_POOL_LEAST_MEMORY = 16 << 30
_PAGE_POOL_MOST_PERCENT = 75
"""The share of memory where `pagepoolMaxPhysMemPct` is not set."""


def _page_pool(system: System, config: GpfsConfig) -> Iterator[Judgement]:
    """The memory that GPFS caches data in."""
    memory = system.memory_bytes
    if config.text("dynamicPagepoolEnabled") == "yes":
        yield NotApplicable("the page pool is dynamic, so GPFS sizes it itself")
        return
    text = config.text("pagepool")
    percent = (text or "").removesuffix("%")
    relative = memory * int(percent) // 100 if (text or "").endswith("%") and is_whole(percent) else None
    now = (
        relative
        if relative is not None
        else config.number("pagepool")
        if text
        else min(_PAGE_POOL_DEFAULT, memory // 3)
    )
    most = memory * (config.number("pagepoolMaxPhysMemPct") or _PAGE_POOL_MOST_PERCENT) // 100
    if now is None:
        yield NotReadable("pagepool", f"holds {text!r}, which is no size")
    elif memory and now > most:
        because = f"GPFS takes at most {format_size(most)} here and starts with less than configured"
        command = f"mmchconfig pagepool={most >> 20}M -N {system.host}"
        yield Change(system.host, format_size(now), format_size(most), because, command=command)
    elif now <= _PAGE_POOL_DEFAULT and memory >= _PAGE_POOL_LEAST_MEMORY:
        because = f"the node has {format_size(memory)} of memory"
        yield Change(
            system.host,
            format_size(now),
            format_size(_PAGE_POOL_WANTED),
            because,
            command=f"mmchconfig pagepool=4G -i -N {system.host}",
        )
    else:
        yield Fine(system.host, format_size(now))


GPFS_PAGE_POOL = Rule(
    name="gpfs-page-pool",
    title="Give GPFS more than the default page pool",
    area="GPFS",
    reason="GPFS does not use the kernel's page cache: prefetched and written data fits into the page pool or waits. "
    "The default of 1 GiB holds few blocks of a file system with blocks of 4 MiB or more.",
    risk="The memory is pinned and missing to applications. 4 GiB is the documentation's example, not an optimum: for "
    "servers and protocol nodes IBM names 25 % of memory; sweep it. Below the maximum block size times the number of "
    "streams, prefetching stops.",
    sources=(
        CACHES,
        TUNING,
        PROTOCOL_NODES,
        Source(
            "IBM, Setting the pagepool size",
            "https://www.ibm.com/support/knowledgecenter/en/linuxonibm/liaag/wecm/l0wecm00_pagepool_size.html",
        ),
    ),
    judge=lambda system: with_config(system, _page_pool),
    parameters=("pagepool", "pagepoolMaxPhysMemPct"),
)


_THROUGHPUT_ESTIMATE_DEFAULT = 2048
_THROUGHPUT_ESTIMATE_MOST = 100_000


def _throughput_estimate(system: System, config: GpfsConfig) -> Iterator[Judgement]:
    """GPFS's estimate of the throughput of a node."""
    now = config.number("maxMBpS") or _THROUGHPUT_ESTIMATE_DEFAULT
    link = fastest_megabits(system.snapshot) // 8
    if not link:
        yield NotReadable("maxMBpS", f"{now} MB/s; no network link says its speed, which decides the value")
    elif now >= link:
        yield Fine(system.host, f"{now} MB/s")
    else:
        wanted = min(2 * link, _THROUGHPUT_ESTIMATE_MOST)
        because = f"its fastest link carries {link} MB/s"
        command = f"mmchconfig maxMBpS={wanted} -i -N {system.host}"
        yield Change(system.host, f"{now} MB/s", f"{wanted} MB/s", because, command=command)


GPFS_THROUGHPUT_ESTIMATE = Rule(
    name="gpfs-throughput-estimate",
    title="Set maxMBpS of GPFS to twice the throughput that the node can reach",
    area="GPFS",
    reason="From maxMBpS GPFS computes how many blocks to prefetch and to write behind; below the node's throughput, "
    "sequential streams do not keep the network busy.",
    risk="It is no limit of the transfer rate. Too high a value prefetches blocks into the page pool that are evicted "
    "before they are read, and all clients together can flood the servers.",
    sources=(TUNING, MMCHCONFIG),
    judge=lambda system: with_config(system, _throughput_estimate),
    parameters=("maxMBpS",),
)


_WORKER_THREADS_DEFAULT = 48
_WORKER_THREADS_WANTED = 512


def _worker_threads(system: System, config: GpfsConfig) -> Iterator[Judgement]:
    """How many file operations GPFS does at once."""
    now = config.number("workerThreads") or _WORKER_THREADS_DEFAULT
    if now >= _WORKER_THREADS_WANTED:
        yield Fine(system.host, f"{now} threads")
    else:
        command = f"mmchconfig workerThreads={_WORKER_THREADS_WANTED} -N {system.host}"
        yield Change(system.host, f"{now} threads", f"{_WORKER_THREADS_WANTED} threads", command=command)


GPFS_WORKER_THREADS = Rule(
    name="gpfs-worker-threads",
    title="Raise workerThreads of GPFS for many concurrent operations",
    area="GPFS",
    reason="workerThreads rules a group of limits of concurrent file and metadata operations, which GPFS derives from "
    "it; the default of 48 suits a node with few processes.",
    risk="It takes effect when GPFS restarts on the node. More operations at once raise their latency when disks are "
    "already busy: the documentation advises to throttle back when disks queue. IBM names 1024 for protocol nodes of "
    "ESS. Parameters that it derives stay as they are where they were set explicitly.",
    sources=(
        MMCHCONFIG,
        PROTOCOL_NODES,
        Source(
            "IBM Storage Scale, GPFS helper threads",
            "https://www.ibm.com/docs/en/storage-scale/5.2.3?topic=considerations-gpfs-helper-threads",
        ),
    ),
    judge=lambda system: with_config(system, _worker_threads),
    parameters=("workerThreads", "worker1Threads"),
)


_FILE_CACHE_DEFAULT = 4000
_FILE_CACHE_WANTED = 20_000
_BYTES_EACH = 3 << 10


def _file_cache(system: System, config: GpfsConfig) -> Iterator[Judgement]:
    """How many files' metadata GPFS keeps."""
    now = config.number("maxFilesToCache") or _FILE_CACHE_DEFAULT
    if now > _FILE_CACHE_DEFAULT:
        yield Fine(system.host, f"{now} files")
    else:
        because = f"{_FILE_CACHE_WANTED} files take about {_FILE_CACHE_WANTED * _BYTES_EACH >> 20} MiB"
        command = f"mmchconfig maxFilesToCache={_FILE_CACHE_WANTED} -N {system.host}"
        yield Change(system.host, f"{now} files", f"{_FILE_CACHE_WANTED} files", because, command=command)


GPFS_FILE_CACHE = Rule(
    name="gpfs-file-cache",
    title="Let GPFS cache more than 4000 files",
    area="GPFS",
    reason="Files that are open or were used lately need an entry; a node that works on more of them than "
    "maxFilesToCache evicts and fetches inodes and tokens all the time.",
    risk="It takes effect when GPFS restarts on the node. Each cached file is a token, which the token managers keep "
    "in memory: multiply by the number of nodes before raising it on all clients. IBM's case study used 20,000, "
    "protocol nodes of ESS 2,000,000.",
    sources=(
        TUNING,
        CACHES,
        Source(
            "IBM, Important Spectrum Scale parameters",
            "https://www.ibm.com/docs/en/linux-on-systems?topic=scale-important-spectrum-parameters",
        ),
    ),
    judge=lambda system: with_config(system, _file_cache),
    parameters=("maxFilesToCache", "maxStatCache"),
)


def _rdma(system: System, config: GpfsConfig) -> Iterator[Judgement]:
    """Whether GPFS moves data with RDMA."""
    active = [port for port in ports(system.snapshot) if port.is_active and port.is_infiniband]
    if not active:
        yield NotApplicable("this node has no active InfiniBand port")
        return
    names = " ".join(port.name for port in active)
    now = config.text("verbsRdma") or "disable"
    used = (config.text("verbsPorts") or "").split()
    if now != "enable":
        command = f'mmchconfig verbsRdma=enable,verbsPorts="{names}" -N {system.host}'
        yield Change(system.host, f"verbsRdma={now}", "verbsRdma=enable", f"{names} is active", command=command)
    elif used and (idle := [port.name for port in active if not _is_used(port.name, used)]):
        because = f"{' '.join(idle)} is active and unused"
        command = f'mmchconfig verbsPorts="{names}" -N {system.host}'
        yield Change(system.host, f"verbsPorts={' '.join(used)}", f"verbsPorts={names}", because, command=command)
    else:
        yield Fine(system.host, "verbsRdma=enable")


def _is_used(port: str, listed: list[str]) -> bool:
    """Whether `mlx5_0/1` is among ports like `mlx5_0/1/2`, with a fabric, or `mlx5_0`, all of an adapter."""
    return any(port == name or port.split("/", maxsplit=1)[0] == name or name.startswith(f"{port}/") for name in listed)


GPFS_RDMA = Rule(
    name="gpfs-rdma",
    title="Let GPFS use RDMA on InfiniBand",
    area="GPFS",
    reason="Without RDMA, data between servers and clients passes through TCP on IP over InfiniBand, which copies it "
    "and costs processor time.",
    risk="It takes effect when GPFS restarts on the node; both ends need it. The whole page pool is registered with "
    "the adapter: with old mlx4 adapters registration fails above what their translation tables cover.",
    sources=(
        MMCHCONFIG,
        Source(
            "IBM Storage Scale, RDMA tuning",
            "https://www.ibm.com/docs/en/storage-scale/5.2.3?topic=administering-rdma-tuning",
        ),
    ),
    judge=lambda system: with_config(system, _rdma),
    parameters=("verbsRdma", "verbsPorts"),
)


def _numa_interleave(system: System, config: GpfsConfig) -> Iterator[Judgement]:
    """Where the daemon's memory lies."""
    numa_nodes = len(nodes(system.snapshot))
    now = config.text("numaMemoryInterleave") or "no"
    if numa_nodes < 2:
        yield NotApplicable("this node has one NUMA node")
    elif now == "yes":
        yield Fine(system.host, now)
    else:
        command = f"mmchconfig numaMemoryInterleave=yes -N {system.host}"
        yield Change(system.host, now, "yes", f"it has {numa_nodes} NUMA nodes", command=command)


GPFS_NUMA_INTERLEAVE = Rule(
    name="gpfs-numa-interleave",
    title="Spread the page pool of GPFS over NUMA nodes",
    area="GPFS",
    reason="The daemon allocates its page pool at once; without interleaving it fills one NUMA node, whose memory "
    "bandwidth then limits all transfers and whose processes find no local memory.",
    risk="It takes effect when GPFS restarts on the node. On average more accesses are remote than with a page pool "
    "on the adapter's own node.",
    sources=(MMCHCONFIG, PROTOCOL_NODES),
    judge=lambda system: with_config(system, _numa_interleave),
    parameters=("numaMemoryInterleave",),
)


_BLOCK_SIZE_SIZES = tuple((256 << 10) << power for power in range(7))
"""The block sizes from 256 KiB to 16 MiB."""


def _block_size(system: System) -> Iterator[Judgement]:
    """Whether blocks are whole stripes of the RAID below."""
    known = gpfs_file_systems(system.snapshot)
    array = system.array
    if not known:
        yield NotApplicable(NO_FILE_SYSTEMS)
    elif array is None:
        yield NotApplicable("the stripe of the RAID below is not known; give it with --raid")
    else:
        yield from each(known, lambda file_system: _block_size_of_file_system(file_system, array))


def _block_size_of_file_system(file_system: GpfsFileSystem, array: Array) -> Iterator[Judgement]:
    now, stripe = file_system.block_bytes, array.stripe_bytes
    if now is None:
        yield NotReadable(f"block size of {file_system.name}", "mmlsfs does not list it")
    elif now % stripe == 0:
        yield Fine(file_system.name, f"{now >> 10} KiB, {now // stripe} × the stripe")
    else:
        because = f"a stripe of the RAID has {stripe >> 10} KiB"
        wanted = next((size for size in _BLOCK_SIZE_SIZES if size % stripe == 0), None)
        if wanted is None:
            segment = f"make the RAID of a number of data disks that is a power of two, not {array.data_disks}"
            yield Change(file_system.name, f"{now >> 10} KiB", "a multiple of the stripe", because, command=segment)
        else:
            make = f"mmcrfs {file_system.name} -B {wanted >> 10}K"
            command = f"{make}, which creates the file system anew; mmchconfig maxblocksize"
            yield Change(file_system.name, f"{now >> 10} KiB", f"{wanted >> 10} KiB", because, command=command)


GPFS_BLOCK_SIZE = Rule(
    name="gpfs-block-size",
    title="Make the block size of GPFS a multiple of the RAID stripe",
    area="GPFS",
    reason="GPFS writes whole blocks; on parity RAID a block that is no multiple of the stripe makes the controller "
    "read and write parity again.",
    risk="The block size is fixed when a file system is created: all data has to be copied. Large blocks cost page "
    "pool. maxblocksize has to be at least as large in every cluster that mounts it, and changes with GPFS down "
    "everywhere.",
    sources=(
        Source(
            "IBM Storage Scale, Disk I/O",
            "https://www.ibm.com/docs/en/storage-scale/5.2.3?topic=considerations-disk-io",
        ),
        Source(
            "IBM Storage Scale, Block size",
            "https://www.ibm.com/docs/en/storage-scale/5.2.1?topic=considerations-block-size",
        ),
        MMCHCONFIG,
    ),
    judge=_block_size,
    parameters=("blocksize", "maxblocksize"),
)


_ALLOCATION_MAP_FEW = 8
"""Up to so many nodes or disks GPFS chooses cluster itself."""


def _allocation_map(file_system: GpfsFileSystem) -> Iterator[Judgement]:
    """Where GPFS places blocks on a disk."""
    now, nodes = file_system.last("blockAllocationType"), file_system.last("numNodes") or ""
    if now is None:
        yield NotReadable(f"block allocation type of {file_system.name}", "mmlsfs does not list it")
    elif now == "cluster" and is_whole(nodes) and int(nodes) > _ALLOCATION_MAP_FEW:
        because = f"it was made for {nodes} nodes"
        command = f"mmcrfs {file_system.name} -j scatter, which creates the file system anew"
        yield Change(file_system.name, now, "scatter", because, command=command)
    else:
        yield Fine(file_system.name, now)


GPFS_ALLOCATION_MAP = Rule(
    name="gpfs-allocation-map",
    title="Use the allocation type scatter for more than eight GPFS nodes",
    area="GPFS",
    reason="The type cluster keeps blocks of a file next to each other, which many nodes and fragmentation undo; "
    "rates then depend on where a file lies. Scatter averages over the disk.",
    risk="The type is fixed when a file system is created: all data has to be copied. The number of nodes is the "
    "estimate that was given then.",
    sources=(
        Source(
            "IBM Storage Scale, Block allocation map",
            "https://www.ibm.com/docs/en/storage-scale/5.2.2?topic=considerations-block-allocation-map",
        ),
    ),
    judge=lambda system: each_file_system(system, _allocation_map),
    parameters=("blockAllocationType",),
)


def _access_times(file_system: GpfsFileSystem) -> Iterator[Judgement]:
    """Whether reading a file on GPFS writes its access time."""
    now = (file_system.last("suppressAtime") or "").lower()
    if not now:
        yield NotReadable(f"suppression of access times of {file_system.name}", "mmlsfs does not list it")
    elif now == "no":
        yield Change(file_system.name, "-S no", "-S relatime", command=f"mmchfs {file_system.name} -S relatime")
    else:
        yield Fine(file_system.name, f"-S {now}")


GPFS_ACCESS_TIMES = Rule(
    name="gpfs-access-times",
    title="Suppress updates of access times on GPFS",
    area="GPFS",
    reason="With -S no every read of a file also changes its inode, which reading nodes then write and exchange "
    "tokens for.",
    risk="Programs and policies that go by access times, such as tiering of unused files, see them up to a day late "
    "with relatime, and never with yes.",
    sources=(
        Source(
            "IBM Spectrum Scale, mmcrfs, option -S (copy of IBM's page)", "https://cnblogs.com/menkeyi/p/7376248.html"
        ),
    ),
    judge=lambda system: each_file_system(system, _access_times),
    weight="small",
    weight_reason="only listings and reads of many files gain",
    parameters=("suppressAtime",),
)


RULES: tuple[Rule, ...] = (
    GPFS_PAGE_POOL,
    GPFS_THROUGHPUT_ESTIMATE,
    GPFS_WORKER_THREADS,
    GPFS_FILE_CACHE,
    GPFS_RDMA,
    GPFS_NUMA_INTERLEAVE,
    GPFS_BLOCK_SIZE,
    GPFS_ALLOCATION_MAP,
    GPFS_ACCESS_TIMES,
)
