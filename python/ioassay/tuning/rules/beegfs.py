"""Rules about BeeGFS 7 and 8: clients, then servers. What its servers' disks need is in the rules about queues."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, each, missing
from ioassay.tuning.system import System, block, mounts
from ioassay.tuning.system.beegfs import Service, clients, daemons, is_server
from ioassay.tuning.system.md import MdArray
from ioassay.tuning.system.network import ports

CLIENT_FILE = Source(
    "BeeGFS 8.3, beegfs-client.conf",
    "https://github.com/ThinkParQ/beegfs/blob/8.3.1/client_module/build/dist/etc/beegfs-client.conf",
)
META_FILE = Source(
    "BeeGFS 8.3, beegfs-meta.conf",
    "https://github.com/ThinkParQ/beegfs/blob/8.3.1/meta/build/dist/etc/beegfs-meta.conf",
)
STORAGE_FILE = Source(
    "BeeGFS 8.3, beegfs-storage.conf",
    "https://github.com/ThinkParQ/beegfs/blob/8.3.1/storage/build/dist/etc/beegfs-storage.conf",
)
CLIENT_TUNING = Source(
    "BeeGFS 8.2, Client Node Tuning", "https://doc.beegfs.io/latest/advanced_topics/client_tuning.html"
)
CACHING = Source(
    "BeeGFS 8.2, Client Side Caching Modes", "https://doc.beegfs.io/latest/advanced_topics/client_caching.html"
)
META_TUNING = Source(
    "BeeGFS 8.2, Metadata Node Tuning", "https://doc.beegfs.io/latest/advanced_topics/metadata_tuning.html"
)

NO_CLIENT = "no BeeGFS is mounted here, or the target does not lie on it"
NO_DAEMON = "no BeeGFS server is configured here, or the target is none of its stores"


def _client_cache(client: Service, system: System) -> Iterator[Judgement]:
    """How a client caches files."""
    now = client.settings.get("tuneFileCacheType")
    if not now:
        yield missing(f"tuneFileCacheType of {client.name}")
        return
    because = ""
    if now == "none":
        because = "every read and write of a few bytes is a message to a server"
    elif now == "paged":
        because = "paged is experimental and deprecated"
    elif now == "native" and is_server(system):
        because = "this node also runs a BeeGFS server, where only buffered is valid"
    if because:
        yield Change(client.name, now, "buffered", because, command=client.change("tuneFileCacheType", "buffered"))
    else:
        suits = "data that fits into memory and is read again" if now == "native" else "streaming"
        yield Fine(client.name, f"{now}, which suits {suits}")


BEEGFS_CLIENT_CACHE = Rule(
    name="beegfs-client-cache",
    title="Cache files on BeeGFS clients: buffered for streaming, native for data in memory",
    area="BeeGFS",
    reason="buffered joins small requests in a few buffers of 512 KiB and streams faster; native uses the page cache, "
    "up to the client's memory.",
    risk="Neither is coherent between clients: caches are flushed when a file is closed. native depends on the "
    "kernel's version, say the makers. Read benchmarks of native measure the client's memory unless it is dropped.",
    sources=(CACHING, CLIENT_FILE),
    judge=lambda system: each(clients(system), lambda client: _client_cache(client, system), otherwise=NO_CLIENT),
    parameters=("tuneFileCacheType",),
)


_DURABILITY_SETTINGS = {
    "tuneRemoteFSync": "fsync() ends when data is in a server's memory, where a power failure loses it",
    "sysSessionChecksEnabled": "a server that crashed loses cached data, and clients do not notice",
}


def _durability(client: Service) -> Iterator[Judgement]:
    """Whether fsync() reaches the disks, and lost caches are noticed."""
    for name, because in _DURABILITY_SETTINGS.items():
        # Files need not list it; both are on by default.
        now = client.flag(name) if name in client.settings else True
        if now is None:
            yield missing(f"{name} of {client.name}")
        elif now:
            yield Fine(f"{client.name} {name}", "true")
        else:
            yield Change(f"{client.name} {name}", "false", "true", because, command=client.change(name, "true"))


BEEGFS_DURABILITY = Rule(
    name="beegfs-durability",
    title="Let fsync() of BeeGFS reach the disks, and sessions be checked",
    area="BeeGFS",
    reason="Without either, data that applications believe stored can be lost in silence, and rates include data that "
    "no disk has.",
    risk="fsync() becomes as slow as the servers' disks. The makers allow unchecked sessions only where stores are "
    "mounted synchronously or caches have batteries.",
    sources=(CLIENT_FILE,),
    judge=lambda system: each(clients(system), _durability, otherwise=NO_CLIENT),
    parameters=tuple(_DURABILITY_SETTINGS),
    weight="large",
    weight_reason="data is lost in a crash",
)


_CONNECTIONS_DEFAULT = 12


def _connections(client: Service, processors: int) -> Iterator[Judgement]:
    """How many connections a client has to each server."""
    now = client.number("connMaxInternodeNum")
    least, most = min(_CONNECTIONS_DEFAULT, processors or _CONNECTIONS_DEFAULT), max(processors, _CONNECTIONS_DEFAULT)
    if now is None:
        yield missing(f"connMaxInternodeNum of {client.name}")
        return
    wanted, because = now, ""
    if now < least:
        wanted, because = least, "no more requests than that are under way to a server"
    elif now > most:
        wanted = most
        because = f"the node has {processors} processors, and each connection takes buffers on every server"
    if because:
        command = client.change("connMaxInternodeNum", str(wanted))
        yield Change(client.name, f"{now} connections", f"{wanted} connections", because, command=command)
    else:
        yield Fine(client.name, f"{now} connections to each server")


BEEGFS_CONNECTIONS = Rule(
    name="beegfs-connections",
    title="Give a BeeGFS client 12 connections to a server, and at most one a processor",
    area="BeeGFS",
    reason="Each request to a server needs a connection of its own while it is under way; more of them than "
    "processors gain nothing on a compute node, says the guide.",
    risk="A server's memory: connRDMABufSize × connRDMABufNum × 2 for each connection of each client. On login nodes "
    "more connections than processors can help many users at once.",
    sources=(CLIENT_TUNING, CLIENT_FILE),
    judge=lambda system: each(
        clients(system), lambda client: _connections(client, system.processors), otherwise=NO_CLIENT
    ),
    parameters=("connMaxInternodeNum",),
)


def _rdma(system: System) -> Iterator[Judgement]:
    """Whether clients and servers use RDMA where the node has it."""
    services = [*clients(system), *daemons(system, "meta"), *daemons(system, "storage")]
    if not services:
        yield NotApplicable(f"{NO_CLIENT}; {NO_DAEMON}")
        return
    active = [port.name for port in ports(system.snapshot) if port.is_active]
    if not active:
        yield NotApplicable("no RDMA port is active")
        return
    yield from each(services, lambda service: _service(service, active))


def _service(service: Service, active: list[str]) -> Iterator[Judgement]:
    now = service.flag("connUseRDMA")
    if now is None:
        yield missing(f"connUseRDMA of {service.name}")
    elif now:
        yield Fine(service.name, f"RDMA, over {', '.join(active)} where the server has it, too")
    else:
        because = f"{', '.join(active)} can carry RDMA, and TCP costs copies and processor time"
        yield Change(service.name, "TCP", "RDMA", because, command=service.change("connUseRDMA", "true"))


BEEGFS_RDMA = Rule(
    name="beegfs-rdma",
    title="Use RDMA for BeeGFS where InfiniBand or RoCE is",
    area="BeeGFS",
    reason="connUseRDMA is on by default; without it all traffic is TCP, on InfiniBand through IP over InfiniBand.",
    risk="The client module has to be built with RDMA, servers need libbeegfs-ib. connTCPFallbackEnabled hides RDMA "
    "that fails: look at the connections with beegfs-net.",
    sources=(CLIENT_TUNING, CLIENT_FILE, META_FILE, STORAGE_FILE),
    judge=_rdma,
    parameters=("connUseRDMA",),
)


_STORAGE_DEFAULT = 12
_META_SHARED, _META_DEDICATED = 2, 4
"""Workers for each processor: what 0 stands for, and the least that is usual where nothing else runs."""


def _workers(system: System) -> Iterator[Judgement]:
    """How many requests a server works on at once."""
    meta, storage = daemons(system, "meta"), daemons(system, "storage")
    if not meta and not storage:
        yield NotApplicable(NO_DAEMON)
        return
    per_processor = _META_SHARED if storage else _META_DEDICATED
    yield from each(meta, lambda service: _workers_of_meta(service, system.processors, per_processor))
    yield from each(storage, _workers_of_storage)


def _workers_of_meta(service: Service, processors: int, per_processor: int) -> Iterator[Judgement]:
    now = service.number("tuneNumWorkers")
    if now is None or not processors:
        yield missing(f"tuneNumWorkers of {service.name}")
        return
    workers = now or max(_META_SHARED * processors, 4)
    text = f"0, which means {workers} workers" if not now else f"{now} workers"
    wanted = per_processor * processors
    if workers < wanted:
        because = f"the node has {processors} processors" + ("" if per_processor == 2 else " and serves metadata alone")
        command = service.change("tuneNumWorkers", str(wanted))
        yield Change(service.name, text, f"{wanted} workers", because, command=command)
    else:
        yield Fine(service.name, text)


def _workers_of_storage(service: Service) -> Iterator[Judgement]:
    now = service.number("tuneNumWorkers")
    if now is None:
        yield missing(f"tuneNumWorkers of {service.name}")
        return
    is_each = service.flag("tuneUsePerTargetWorkers") is not False
    targets = len(service.directories)
    text = f"{now} workers" + (" for each target" if is_each and targets > 1 else "")
    if now < _STORAGE_DEFAULT:
        because = "each worker has one request under way, so the disks see no more at once"
        command = service.change("tuneNumWorkers", str(_STORAGE_DEFAULT))
        yield Change(service.name, text, f"{_STORAGE_DEFAULT} workers", because, command=command)
    elif not is_each and targets > 1:
        because = f"a slow target can take all workers of {targets}"
        command = service.change("tuneUsePerTargetWorkers", "true")
        yield Change(
            service.name, f"{now} workers for all targets", "workers for each target", because, command=command
        )
    else:
        yield Fine(service.name, text)


BEEGFS_WORKERS = Rule(
    name="beegfs-workers",
    title="Give BeeGFS servers enough workers",
    area="BeeGFS",
    reason="A worker serves one request at a time. Dedicated metadata servers usually have four to eight workers a "
    "processor; storage servers have 12 for each target by default.",
    risk="Each worker has two buffers of tuneWorkerBufSize. More requests at once make hard disks seek more: with the "
    "load of the site, measure before going far beyond the default.",
    sources=(META_FILE, STORAGE_FILE),
    judge=_workers,
    parameters=("tuneNumWorkers", "tuneUsePerTargetWorkers"),
)


_WORKER_BUFFERS_BESIDE = 1 << 20
_WORKER_BUFFERS_DEFAULTS = {"tuneWorkerBufSize": 4 << 20, "tuneFileReadSize": 128 << 10, "tuneFileWriteSize": 128 << 10}


def _worker_buffers(service: Service) -> Iterator[Judgement]:
    """Whether a storage server's buffers hold what it reads and writes at once."""
    sizes = {
        name: service.number(name) if name in service.settings else size
        for name, size in _WORKER_BUFFERS_DEFAULTS.items()
    }
    buffer, read, write = sizes.values()
    if buffer is None or read is None or write is None:
        yield missing(f"tuneWorkerBufSize of {service.name}")
        return
    operation = max(read, write)
    wanted = operation + _WORKER_BUFFERS_BESIDE
    if buffer < wanted:
        because = f"it should be 1 MiB above one operation, which is of {format_bytes(operation)}"
        command = service.change("tuneWorkerBufSize", str(wanted))
        yield Change(service.name, format_bytes(buffer), format_bytes(wanted), because, command=command)
    else:
        yield Fine(service.name, f"{format_bytes(buffer)} for operations of {format_bytes(operation)}")


BEEGFS_WORKER_BUFFERS = Rule(
    name="beegfs-worker-buffers",
    title="Make worker buffers of BeeGFS 1 MiB larger than one operation",
    area="BeeGFS",
    reason="A worker moves data between network and disk through this buffer; a smaller one cuts the operations on "
    "the local file system.",
    risk="Memory: twice this size for each worker.",
    sources=(STORAGE_FILE,),
    judge=lambda system: each(daemons(system, "storage"), _worker_buffers, otherwise=NO_DAEMON),
    parameters=("tuneWorkerBufSize", "tuneFileReadSize", "tuneFileWriteSize"),
)


def _metadata_attributes(service: Service) -> Iterator[Judgement]:
    """Where a metadata server keeps its metadata."""
    if service.flag("storeUseExtendedAttribs") is False:
        because = "each access reads a small file where the inode would do"
        command = f"make the metadata target anew with storeUseExtendedAttribs = true in {service.path}"
        yield Change(service.name, "file contents", "extended attributes", because, command=command)
    else:
        yield Fine(service.name, "extended attributes")


BEEGFS_METADATA_ATTRIBUTES = Rule(
    name="beegfs-metadata-attributes",
    title="Keep BeeGFS metadata in extended attributes",
    area="BeeGFS",
    reason="Extended attributes are stored with the inode by file systems such as ext4, and are significantly faster "
    "than the contents of small files, says the configuration file.",
    risk="It is fixed at the first start: the target has to be made anew, with its metadata moved or restored.",
    sources=(META_FILE, META_TUNING),
    judge=lambda system: each(daemons(system, "meta"), _metadata_attributes, otherwise=NO_DAEMON),
    parameters=("storeUseExtendedAttribs",),
)


def _metadata_raid(service: Service, system: System) -> Iterator[Judgement]:
    """The RAID that a metadata server stores on."""
    for directory in service.directories:
        mount = mounts.covering(system.mounts, directory)
        device = block.by_number(system.devices, mount.device) if mount is not None else None
        arrays = [MdArray(below) for below in device.with_all_below() if below.kind == "md"] if device else []
        parity = next((array for array in arrays if array.has_parity), None)
        if parity is not None:
            because = "small random writes read data and parity first"
            command = "make the metadata target anew on RAID1 or RAID10"
            yield Change(directory, f"{parity.level} {parity.name}", "RAID1 or RAID10", because, command=command)
        elif arrays:
            yield Fine(directory, f"{arrays[0].level} {arrays[0].name}")
        else:
            yield NotApplicable(
                f"{directory} lies on no array of the kernel (md); see the controller or the pool for others"
            )


BEEGFS_METADATA_RAID = Rule(
    name="beegfs-metadata-raid",
    title="Store BeeGFS metadata on RAID1 or RAID10",
    area="BeeGFS",
    reason="Metadata is small random reads and writes, for which RAID5 and RAID6 read data and parity before they "
    "write.",
    risk="Half of the capacity; the target has to be made anew.",
    sources=(META_TUNING,),
    judge=lambda system: each(
        daemons(system, "meta"), lambda service: _metadata_raid(service, system), otherwise=NO_DAEMON
    ),
    parameters=("storeMetaDirectory",),
)


RULES: tuple[Rule, ...] = (
    BEEGFS_CLIENT_CACHE,
    BEEGFS_DURABILITY,
    BEEGFS_CONNECTIONS,
    BEEGFS_RDMA,
    BEEGFS_WORKERS,
    BEEGFS_WORKER_BUFFERS,
    BEEGFS_METADATA_ATTRIBUTES,
    BEEGFS_METADATA_RAID,
)
