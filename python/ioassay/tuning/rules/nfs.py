"""Rules about NFS: mounts of a client, then the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ioassay.text import units
from ioassay.tuning.rule import (
    Assignment,
    Bounds,
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
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import configured_options
from ioassay.tuning.system.network import fastest_megabits
from ioassay.tuning.system.nfs import NfsMount, NfsServer, exports, kernel_version, nfs_mounts
from ioassay.tuning.system.processors import nodes

NFS_MANUAL = Source("nfs(5)", "https://man7.org/linux/man-pages/man5/nfs.5.html")
EXPORTS_MANUAL = Source("exports(5)", "https://man7.org/linux/man-pages/man5/exports.5.html")
KERNEL_PARAMETERS = Source(
    "Linux, the kernel's command-line parameters", "https://docs.kernel.org/admin-guide/kernel-parameters.html"
)
AZURE_SLOTS = Source(
    "Microsoft, Linux concurrency best practices for Azure NetApp Files: session slots and slot table entries",
    "https://learn.microsoft.com/en-us/azure/azure-netapp-files/performance-linux-concurrency-session-slots",
)

NO_MOUNTS = "no NFS file system is mounted here, or the target does not lie on one"
NO_SERVER = "no NFS server runs on this node"


def each_mount(system: System, judge: Callable[[NfsMount], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each NFS mount that the system is judged for; where there is none, why."""
    return each(nfs_mounts(system.mounts, system.target_mount), judge, otherwise=NO_MOUNTS)


def mount_again(mount: NfsMount, option: str) -> str:
    """The command for an option that a remount does not change."""
    return f"set {option} in /etc/fstab or the automounter's map, then: umount {mount.point} && mount {mount.point}"


_TRANSFER_SIZE_WANTED = 1 << 20
"""The most that Linux's client sends in one call."""
_TRANSFER_SIZE_SERVER = Source(
    "Linux 6.1, fs/nfsd/nfssvc.c: nfsd_get_default_max_blksize, which offers 8 KiB on a machine of 32 MiB",
    "https://github.com/torvalds/linux/blob/v6.1/fs/nfsd/nfssvc.c",
)
_TRANSFER_SIZE_LEAST = Bounds(
    _TRANSFER_SIZE_SERVER,
    least=8192,
    below="every page or two of a file is a call of its own, and even the smallest server offers more",
    unit="bytes",
)


def _transfer_size(mount: NfsMount) -> Iterator[Judgement]:
    """How much one READ and one WRITE carry."""
    if mount.transport == "udp":
        yield NotApplicable(f"{mount.point} uses UDP, where a large transfer is lost with any of its fragments")
        return
    for option in ("rsize", "wsize"):
        subject, now = f"{mount.point} {option}", mount.number(option)
        if now is None:
            yield NotReadable(subject, "the kernel does not list it")
        elif now >= _TRANSFER_SIZE_WANTED:
            yield Fine(subject, f"{now >> 10} KiB")
        else:
            assignment = Assignment(f"mount:{mount.point}/{option}", str(_TRANSFER_SIZE_WANTED))
            breach = _TRANSFER_SIZE_LEAST.breach(now)
            because = breach or "the mount asked for less, or the server accepts no more"
            command = mount_again(mount, f"{option}={_TRANSFER_SIZE_WANTED}")
            yield Change(
                subject,
                units.format_bytes(now),
                f"{_TRANSFER_SIZE_WANTED >> 10} KiB",
                because,
                (assignment,),
                command,
                is_harmful=bool(breach),
            )


NFS_TRANSFER_SIZE = Rule(
    name="nfs-transfer-size",
    title="Let one NFS READ or WRITE carry 1 MiB",
    area="NFS",
    reason="Each call costs a round trip and work on both sides, so small transfers limit sequential throughput; a "
    "server on parity RAID gets whole stripes only from large WRITEs.",
    risk="The server has the last word: it cuts the value to what it supports, and a Linux server to its "
    "max_block_size. Random I/O in small records gains nothing. The value changes only when the file system is "
    "unmounted and mounted again.",
    sources=(NFS_MANUAL, _TRANSFER_SIZE_SERVER),
    judge=lambda system: each_mount(system, _transfer_size),
    parameters=("rsize", "wsize"),
    bounds={"rsize": _TRANSFER_SIZE_LEAST, "wsize": _TRANSFER_SIZE_LEAST},
    weight="large",
    weight_reason="a transfer of 1 MiB is as many calls as it holds of these sizes, each with a round trip",
)


_CONNECTIONS_FAST_MEGABITS = 10_000
_CONNECTIONS_VERY_FAST_MEGABITS = 100_000
_CONNECTIONS_ENOUGH = 4
_CONNECTIONS_SINCE = (5, 3)


def _connections(system: System) -> Iterator[Judgement]:
    """How many connections a client opens to a server."""
    mounts = nfs_mounts(system.mounts, system.target_mount)
    if not mounts:
        yield NotApplicable(NO_MOUNTS)
    elif (0, 0) < kernel_version(system.snapshot) < _CONNECTIONS_SINCE:
        yield NotApplicable("the kernel is older than 5.3, which introduced nconnect")
    else:
        link = fastest_megabits(system.snapshot)
        yield from each(mounts, lambda mount: _connections_of_mount(mount, mounts, link))


def _connections_of_mount(mount: NfsMount, all_mounts: list[NfsMount], link_megabits: int) -> Iterator[Judgement]:
    now = mount.number("nconnect") or 1
    if mount.transport != "tcp":
        yield NotApplicable(f"{mount.point} uses {mount.transport.upper()}; nconnect is judged for TCP only")
    elif now >= _CONNECTIONS_ENOUGH:
        yield Fine(mount.point, _count_of_connections(now))
    elif not link_megabits:
        yield NotReadable(f"{mount.point} nconnect", "no network interface says its speed, which decides the value")
    elif link_megabits < _CONNECTIONS_FAST_MEGABITS:
        yield NotApplicable(f"the fastest link has {link_megabits / 1000:g} Gb/s, which one connection can fill")
    else:
        wanted = 16 if link_megabits >= _CONNECTIONS_VERY_FAST_MEGABITS else 8
        because = f"the fastest link has {link_megabits / 1000:g} Gb/s"
        others = [other.point for other in all_mounts if other.server == mount.server and other.point != mount.point]
        if others:
            because += f"; the first mount of {mount.server} decides for all, so set it for {', '.join(others)} as well"
        assignment = Assignment(f"mount:{mount.point}/nconnect", str(wanted))
        command = mount_again(mount, f"nconnect={wanted}")
        yield Change(mount.point, _count_of_connections(now), str(wanted), because, (assignment,), command)


def _count_of_connections(number: int) -> str:
    return "1 connection" if number == 1 else f"{number} connections"


NFS_CONNECTIONS = Rule(
    name="nfs-connections",
    title="Open several TCP connections to an NFS server on fast links",
    area="NFS",
    reason="By default all calls to a server share one TCP connection, whose packets one core receives and one "
    "network path carries; several connections spread over queues, cores and bonded links.",
    risk="Sources disagree on the number: Microsoft measured 8 as best, the manual allows up to 16. The server holds "
    "state per connection: many clients with 16 each can exhaust it. All mounts of a server share the connections of "
    "the first one, so every mount of it has to be unmounted first.",
    sources=(
        NFS_MANUAL,
        Source(
            "Microsoft, Linux NFS mount options best practices for Azure NetApp Files",
            "https://learn.microsoft.com/en-us/azure/azure-netapp-files/performance-linux-mount-options",
        ),
    ),
    judge=_connections,
    parameters=("nconnect",),
)


_TRUNKING_SESSIONS = (4, 1)
_TRUNKING_MOST = 16


def _trunking(mount: NfsMount, snapshot: Snapshot) -> Iterator[Judgement]:
    """Whether a client uses all addresses of a server."""
    if mount.version < _TRUNKING_SESSIONS:
        yield NotApplicable(f"{mount.point} is mounted by NFS {mount.version[0]}; trunking came with sessions of 4.1")
        return
    # The kernel lists max_connect and not trunkdiscovery.
    limit, discovers = mount.number("max_connect") or 1, "trunkdiscovery" in configured_options(snapshot, mount.mount)
    if discovers and limit < 2:
        because = (
            "other addresses of the server are found and dropped, because max_connect allows no connection to them"
        )
        assignment = Assignment(f"mount:{mount.point}/max_connect", str(_TRUNKING_MOST))
        command = mount_again(mount, f"max_connect={_TRUNKING_MOST}")
        yield Change(
            mount.point, "max_connect not set", f"max_connect={_TRUNKING_MOST}", because, (assignment,), command
        )
    elif discovers or limit > 1:
        how = "trunkdiscovery" if discovers else "mounts by other addresses"
        yield Fine(mount.point, f"up to {limit} addresses of the server, by {how}")
    else:
        why = (
            "depends on whether the server has several addresses: then set trunkdiscovery and max_connect in /etc/fstab"
        )
        yield NotJudged(mount.point, "one address of the server", why)


NFS_TRUNKING = Rule(
    name="nfs-trunking",
    title="Let NFS 4.1 use all addresses of a server that has several",
    area="NFS",
    reason="nconnect opens connections to one address; with trunkdiscovery the client asks the server for its other "
    "addresses, and joins them to the mount as far as max_connect allows.",
    risk="A server that handles the question badly can make the mount fail or hang, which is why notrunkdiscovery is "
    "the default; addresses of different speed slow the faster one.",
    sources=(
        NFS_MANUAL,
        Source(
            "nfs-utils 2.6.4, nfs(5): max_connect, trunkdiscovery",
            "https://git.linux-nfs.org/?p=steved/nfs-utils.git;a=blob;f=utils/mount/nfs.man;hb=nfs-utils-2-6-4",
        ),
    ),
    judge=lambda system: each_mount(system, lambda mount: _trunking(mount, system.snapshot)),
    parameters=("trunkdiscovery", "max_connect"),
)


def _transport(mount: NfsMount) -> Iterator[Judgement]:
    """The transport of the calls."""
    if mount.transport == "udp":
        assignment = Assignment(f"mount:{mount.point}/proto", "tcp")
        yield Change(mount.point, "UDP", "TCP", "", (assignment,), mount_again(mount, "proto=tcp"))
    else:
        yield Fine(mount.point, mount.transport.upper())


NFS_TRANSPORT = Rule(
    name="nfs-transport",
    title="Use NFS over TCP or RDMA, never over UDP",
    area="NFS",
    reason="Over UDP a call is split into IP fragments, and losing one loses the call. On fast links the 16-bit "
    "number of fragments wraps within their timeout, so that fragments of different calls can be joined: silent "
    "corruption.",
    risk="None for servers of this century; a firewall may have to open port 2049 for TCP.",
    sources=(NFS_MANUAL,),
    judge=lambda system: each_mount(system, _transport),
    parameters=("proto",),
    weight="large",
    weight_reason="data can be corrupted silently",
)


def _hard_mount(mount: NfsMount) -> Iterator[Judgement]:
    """The behaviour of a client whose server does not answer."""
    now = next((option for option in ("soft", "softerr") if mount.has(option)), "hard")
    if now == "hard":
        yield Fine(mount.point, now)
    elif mount.has("ro"):
        yield NotApplicable(f"{mount.point} is read-only, so {now} can lose no writes")
    else:
        assignment = Assignment(f"mount:{mount.point}/{now}", "off")
        yield Change(mount.point, now, "hard", "", (assignment,), mount_again(mount, f"hard instead of {now}"))


NFS_HARD_MOUNT = Rule(
    name="nfs-hard-mount",
    title="Mount writable NFS file systems hard",
    area="NFS",
    reason="With soft a call fails after a few retries, also under load; cached writes that fail are lost, which "
    "corrupts data silently where the application does not check fsync() and close().",
    risk="While the server is down, processes wait and can only be killed. This rule protects data; it does not make "
    "anything faster.",
    sources=(NFS_MANUAL,),
    judge=lambda system: each_mount(system, _hard_mount),
    parameters=("hard", "soft", "softerr"),
    weight="large",
    weight_reason="writes that fail are lost",
)


def _synchronous_writes(mount: NfsMount) -> Iterator[Judgement]:
    """Whether a client sends every write at once."""
    if mount.has("noac"):
        yield NotApplicable(f"{mount.point} is mounted with noac, which implies sync; see nfs-attribute-cache")
    elif mount.has("sync"):
        yield Change(mount.point, "sync", "async", "", (Assignment(f"mount:{mount.point}/sync", "off"),))
    else:
        yield Fine(mount.point, "async")


NFS_SYNCHRONOUS_WRITES = Rule(
    name="nfs-synchronous-writes",
    title="Let NFS clients gather writes",
    area="NFS",
    reason="With the mount option sync every write() waits for the server to store it; without, the client gathers "
    "writes into large WRITEs and commits them at fsync() and close().",
    risk="What an application has written and not yet synced is lost when the client crashes, as on a local file "
    "system. Applications that need more open files with O_SYNC.",
    sources=(NFS_MANUAL,),
    judge=lambda system: each_mount(system, _synchronous_writes),
    parameters=("sync", "async"),
    weight="large",
    weight_reason="every write waits for the server's disk",
)


_ATTRIBUTE_CACHE_TIMES = ("acregmin", "acregmax", "acdirmin", "acdirmax")


def _attribute_cache(mount: NfsMount) -> Iterator[Judgement]:
    """Whether a client keeps attributes for a while."""
    times = [mount.number(name) for name in _ATTRIBUTE_CACHE_TIMES]
    if mount.has("noac"):
        because = "noac also makes every write synchronous"
        assignment = Assignment(f"mount:{mount.point}/noac", "off")
        yield Change(mount.point, "noac", "ac", because, (assignment,), mount_again(mount, "ac instead of noac"))
    elif times.count(0) == len(times):
        assignments = tuple(
            Assignment(f"mount:{mount.point}/{name}", value)
            for name, value in zip(_ATTRIBUTE_CACHE_TIMES, ("3", "60", "30", "60"), strict=True)
        )
        command = mount_again(mount, "no actimeo, for the defaults")
        yield Change(mount.point, "actimeo=0", "3 to 60 s (the defaults)", "", assignments, command)
    else:
        listed = ", ".join(
            f"{name}={time}" for name, time in zip(_ATTRIBUTE_CACHE_TIMES, times, strict=True) if time is not None
        )
        yield Fine(mount.point, listed or "attributes cached, 3 to 60 s (the defaults)")


NFS_ATTRIBUTE_CACHE = Rule(
    name="nfs-attribute-cache",
    title="Let NFS clients cache attributes",
    area="NFS",
    reason="Without cached attributes nearly every call on a file asks the server first, which multiplies the cost of "
    "metadata-heavy work.",
    risk="A client sees changes of other clients up to a minute late. Keep noac where programs on several nodes "
    "coordinate through files without locks; file locks are the better way. Do not raise the times for the same "
    "reason, unless only one client writes.",
    sources=(NFS_MANUAL,),
    judge=lambda system: each_mount(system, _attribute_cache),
    parameters=("noac", "actimeo", *_ATTRIBUTE_CACHE_TIMES),
)


def _lookup_cache(mount: NfsMount) -> Iterator[Judgement]:
    """Whether a client keeps directory entries."""
    now = mount.mount.options.get("lookupcache", "all")
    if now == "none":
        assignment = Assignment(f"mount:{mount.point}/lookupcache", "pos")
        because = "pos still detects at once what other clients create"
        command = mount_again(mount, "lookupcache=pos")
        yield Change(mount.point, "lookupcache=none", "lookupcache=pos", because, (assignment,), command)
    else:
        yield Fine(mount.point, f"lookupcache={now}")


NFS_LOOKUP_CACHE = Rule(
    name="nfs-lookup-cache",
    title="Let NFS clients cache directory entries",
    area="NFS",
    reason="With lookupcache=none each component of each path is looked up on the server at every access.",
    risk="A client can use a name that another client has removed, until the directory's cached attributes expire. "
    "Keep none where nodes watch directories for each other's files.",
    sources=(NFS_MANUAL,),
    judge=lambda system: each_mount(system, _lookup_cache),
    parameters=("lookupcache",),
)


_READS_AHEAD = 15
"""The default of Linux before 5.4, in units of rsize."""
_DEFAULT_RSIZE = 1 << 20


def _read_ahead(mount: NfsMount, snapshot: Snapshot) -> Iterator[Judgement]:
    """How far a client reads ahead."""
    name = f"class/bdi/{mount.mount.device}/read_ahead_kb"
    now = snapshot.number(f"sys/{name}")
    read_kb = (mount.number("rsize") or _DEFAULT_RSIZE) >> 10
    if now is None:
        yield missing(f"/sys/{name}")
    elif now >= read_kb:
        yield Fine(mount.point, f"{now} KiB")
    else:
        wanted = _READS_AHEAD * read_kb
        because = f"that is less than one READ of {read_kb} KiB"
        assignment = Assignment(f"sys:{name}", str(wanted))
        yield Change(mount.point, f"{now} KiB", f"{wanted} KiB", because, (assignment,))


NFS_READ_AHEAD = Rule(
    name="nfs-read-ahead",
    title="Read ahead several READs on NFS",
    area="NFS",
    reason="Until Linux 5.4 the client read 15 READs ahead; since then it reads 128 KiB ahead, whatever rsize is. "
    "Sequential readers then wait for the network at every step; reports name a quarter of the former rate.",
    risk="Random readers fetch data that they do not use. Sources disagree: Microsoft measured 15 MiB as best, others "
    "1 MiB on a link of 10 Gb/s; sweep it. The value is lost when the file system is unmounted: keep it with a udev "
    "rule or nfsrahead.",
    sources=(
        Source(
            "NFS read performance after an upgrade to 5.4, linux-nfs",
            "http://mail.spinics.net/lists/linux-nfs/msg83232.html",
        ),
        Source(
            "Microsoft, Linux NFS read-ahead best practices for Azure NetApp Files",
            "https://learn.microsoft.com/en-us/azure/azure-netapp-files/performance-linux-nfs-read-ahead",
        ),
        Source(
            "D. Honnef, NFS sequential read performance",
            "https://honnef.co/notes/20230128011632-nfs_sequential_read_performance",
        ),
        Source("nfsrahead(5)", "https://man7.org/linux/man-pages/man5/nfsrahead.5.html"),
    ),
    judge=lambda system: each_mount(system, lambda mount: _read_ahead(mount, system.snapshot)),
    parameters=("read_ahead_kb",),
)


_RPC_SLOTS_WANTED = 128
_RPC_SLOTS_SESSIONS = (4, 1)
_RPC_SLOTS_PATH = "proc/sys/sunrpc/tcp_max_slot_table_entries"
_RPC_SLOTS_BOUNDS = Bounds(
    Source(
        "Linux 6.1, include/linux/sunrpc/xprt.h: RPC_MIN_SLOT_TABLE (2), RPC_DEF_SLOT_TABLE (16)",
        "https://github.com/torvalds/linux/blob/v6.1/include/linux/sunrpc/xprt.h",
    ),
    least=16,
    below="each connection carries fewer calls at once than the kernel has ever begun with, whatever sessions allow",
)


def _rpc_slots(system: System) -> Iterator[Judgement]:
    """How many calls can be under way on one connection."""
    mounts = nfs_mounts(system.mounts, system.target_mount)
    most = system.snapshot.number(_RPC_SLOTS_PATH) if mounts else None
    if not mounts:
        yield NotApplicable(NO_MOUNTS)
    elif (
        most is not None
        and (breach := _RPC_SLOTS_BOUNDS.breach(most))
        and any(nfs_mount.transport == "tcp" for nfs_mount in mounts)
    ):
        assignment = Assignment("sysctl:sunrpc.tcp_max_slot_table_entries", str(_RPC_SLOTS_WANTED))
        yield Change(system.host, f"{most} calls", f"{_RPC_SLOTS_WANTED} calls", breach, (assignment,), is_harmful=True)
    elif all(mount.version >= _RPC_SLOTS_SESSIONS for mount in mounts):
        yield NotApplicable("all mounts use NFS 4.1 or later, where sessions set the limit; see nfs-session-slots")
    elif all(mount.transport != "tcp" for mount in mounts):
        yield NotApplicable("no mount uses TCP")
    else:
        yield from _rpc_slots_limits(system, most)


def _rpc_slots_limits(system: System, most: int | None) -> Iterator[Judgement]:
    first = system.snapshot.number("proc/sys/sunrpc/tcp_slot_table_entries")
    if most is None:
        yield missing(f"/{_RPC_SLOTS_PATH}")
    elif most >= _RPC_SLOTS_WANTED:
        yield Fine(system.host, f"up to {most} calls" + (f", {first} at first" if first is not None else ""))
    else:
        assignment = Assignment("sysctl:sunrpc.tcp_max_slot_table_entries", str(_RPC_SLOTS_WANTED))
        yield Change(system.host, f"{most} calls", f"{_RPC_SLOTS_WANTED} calls", "", (assignment,))


NFS_RPC_SLOTS = Rule(
    name="nfs-rpc-slots",
    title="Allow 128 RPCs at once on each NFS connection",
    area="NFS",
    reason="A client of NFS 3 or 4.0 queues calls beyond this number before they reach the network; rate = calls at "
    "once × transfer size ÷ latency.",
    risk="It holds for new connections only: unmount all file systems of the server first. Sources disagree: older "
    "guides raise tcp_slot_table_entries, but current kernels only start with that many and add slots up to the "
    "maximum of 65536; filers that process 128 calls per connection advise to lower the maximum to 128.",
    sources=(KERNEL_PARAMETERS, AZURE_SLOTS),
    judge=_rpc_slots,
    bounds={"tcp_max_slot_table_entries": _RPC_SLOTS_BOUNDS},
    parameters=("tcp_max_slot_table_entries", "tcp_slot_table_entries"),
)


_SESSION_SLOTS_ENOUGH = 128
_SESSION_SLOTS_WANTED = 180
_SESSION_SLOTS_SESSIONS = (4, 1)
_SESSION_SLOTS_PATH = "sys/module/nfs/parameters/max_session_slots"


def _session_slots(system: System) -> Iterator[Judgement]:
    """How many calls can be under way in one session of NFS 4.1."""
    mounts = nfs_mounts(system.mounts, system.target_mount)
    if not mounts:
        yield NotApplicable(NO_MOUNTS)
        return
    if all(mount.version < _SESSION_SLOTS_SESSIONS for mount in mounts):
        yield NotApplicable("no mount uses NFS 4.1 or later, which introduced sessions; see nfs-rpc-slots")
        return
    now = system.snapshot.number(_SESSION_SLOTS_PATH)
    if now is None:
        yield missing(f"/{_SESSION_SLOTS_PATH}")
    elif now >= _SESSION_SLOTS_ENOUGH:
        yield Fine(system.host, f"up to {now} calls")
    else:
        yield Change(
            system.host,
            f"{now} calls",
            f"{_SESSION_SLOTS_WANTED} calls",
            "all connections of nconnect share the session",
            (Assignment("module:nfs/max_session_slots", str(_SESSION_SLOTS_WANTED)),),
        )


NFS_SESSION_SLOTS = Rule(
    name="nfs-session-slots",
    title="Ask for more than 64 slots in a session of NFS 4.1",
    area="NFS",
    reason="A client has one session with a server, by default of 64 slots, so 64 calls at most are under way from "
    "all of its processes and connections.",
    risk="The server grants what it supports, often less. It holds for new sessions only: unmount all file systems of "
    "the server first, and keep it in /etc/modprobe.d.",
    sources=(KERNEL_PARAMETERS, AZURE_SLOTS),
    judge=_session_slots,
    parameters=("max_session_slots",),
)


_SERVER_THREADS_DEFAULT = 8
_SERVER_THREADS_LEAST = 64
_PER_PROCESSOR = 4
_MANY_WAITS = 0.05
"""The share of packets above which waits count, so that an odd burst is no finding."""


def _server_threads(system: System) -> Iterator[Judgement]:
    """How many threads an NFS server has."""
    server = NfsServer(system.snapshot)
    now = server.threads
    if not now:
        yield NotApplicable(NO_SERVER)
        return
    wanted = max(_SERVER_THREADS_LEAST, _PER_PROCESSOR * system.processors)
    waits = server.waits
    waiting = f"{waits:.0%} of packets found no idle thread" if waits is not None else ""
    if now <= _SERVER_THREADS_DEFAULT or (waits is not None and waits > _MANY_WAITS and now < wanted):
        command = f"nfsconf --set nfsd threads {wanted} && rpc.nfsd {wanted}"
        yield Change(system.host, f"{now} threads", f"{wanted} threads", waiting, command=command)
    else:
        yield Fine(system.host, f"{now} threads" + (f", {waiting}" if waiting else ""))


NFS_SERVER_THREADS = Rule(
    name="nfs-server-threads",
    title="Give an NFS server more than 8 threads",
    area="NFS",
    reason="Each thread serves one call and waits for the disks meanwhile; with the default of 8 threads the server "
    "has 8 I/Os under way at most, and the calls of many clients queue.",
    risk="Too many threads make disks seek between streams and cost memory. The number is a rule of thumb, four "
    "threads a processor: watch sockets-enqueued in /proc/fs/nfsd/pool_stats. The thread histogram of "
    "/proc/net/rpc/nfsd has been zero since Linux 2.6.29.",
    sources=(
        Source("rpc.nfsd(8)", "https://man7.org/linux/man-pages/man8/rpc.nfsd.8.html"),
        Source("Linux, kernel NFS server statistics", "https://docs.kernel.org/filesystems/nfs/knfsd-stats.html"),
        Source(
            "Linux NFS-HOWTO, 5.6: number of instances of nfsd", "https://tldp.org/HOWTO/NFS-HOWTO/performance.html"
        ),
        Source(
            "Tuning the NFSD server daemon for performance",
            "https://thelinuxcluster.com/2010/10/06/tuning-nfsd-server-daemon-for-performance/",
        ),
    ),
    judge=_server_threads,
    parameters=("threads", "RPCNFSDCOUNT"),
)


_SERVER_BLOCK_SIZE_WANTED = 1 << 20


def _server_block_size(system: System) -> Iterator[Judgement]:
    """The largest transfer that an NFS server accepts."""
    server = NfsServer(system.snapshot)
    if not server.is_running:
        yield NotApplicable(NO_SERVER)
        return
    now = server.block_bytes
    if now is None:
        yield missing("/proc/fs/nfsd/max_block_size")
    elif now >= _SERVER_BLOCK_SIZE_WANTED:
        yield Fine(system.host, f"{now >> 10} KiB")
    else:
        command = (
            f"systemctl stop nfs-server; mount -t nfsd nfsd /proc/fs/nfsd; echo {_SERVER_BLOCK_SIZE_WANTED} > "
            "/proc/fs/nfsd/max_block_size; systemctl start nfs-server"
        )
        yield Change(system.host, f"{now >> 10} KiB", f"{_SERVER_BLOCK_SIZE_WANTED >> 10} KiB", command=command)


NFS_SERVER_BLOCK_SIZE = Rule(
    name="nfs-server-block-size",
    title="Let an NFS server accept transfers of 1 MiB",
    area="NFS",
    reason="Clients cannot negotiate a larger rsize and wsize than this. The server derives it from its memory when "
    "it starts, so a server with little memory stays below 1 MiB.",
    risk="It can only be changed while no thread runs, so clients wait meanwhile. Each thread reserves memory of this "
    "size. Clients have to mount again.",
    sources=(
        NFS_MANUAL,
        Source(
            "Linux, fs/nfsd/nfsctl.c: write_maxblksize",
            "https://github.com/torvalds/linux/blob/master/fs/nfsd/nfsctl.c",
        ),
    ),
    judge=_server_block_size,
    parameters=("max_block_size",),
)


def _server_pool_mode(system: System) -> Iterator[Judgement]:
    """How an NFS server's threads share processors."""
    server = NfsServer(system.snapshot)
    if not server.is_running:
        yield NotApplicable(NO_SERVER)
        return
    numa_nodes = len(nodes(system.snapshot))
    if numa_nodes < 2:
        yield NotApplicable("this node has one NUMA node, where all modes but percpu are alike")
        return
    now = server.pool_mode
    if now is None:
        yield missing("/sys/module/sunrpc/parameters/pool_mode")
    elif now == "global":
        command = (
            "systemctl stop nfs-server; echo pernode > /sys/module/sunrpc/parameters/pool_mode; "
            "systemctl start nfs-server"
        )
        yield Change(system.host, now, "pernode", f"it has {numa_nodes} NUMA nodes", command=command)
    else:
        yield Fine(system.host, now)


NFS_SERVER_POOL_MODE = Rule(
    name="nfs-server-pool-mode",
    title="Give each NUMA node of an NFS server its own threads",
    area="NFS",
    reason="With one pool a thread on another NUMA node serves what an adapter received, so data crosses between "
    "processors; with a pool per node it stays where the interrupt came in.",
    risk="The threads are divided among the pools: with interrupts on one node only, the others idle. It can only be "
    "changed while the server is stopped. Linux is about to drop the choice and always use pernode.",
    sources=(
        KERNEL_PARAMETERS,
        Source(
            "Linux, knfsd statistics: /proc/fs/nfsd/pool_stats",
            "https://docs.kernel.org/filesystems/nfs/knfsd-stats.html",
        ),
    ),
    judge=_server_pool_mode,
    parameters=("pool_mode",),
)


def _export_sync(system: System) -> Iterator[Judgement]:
    """Whether a server answers before data is stored."""
    known = exports(system.snapshot)
    if not known:
        yield NotApplicable("this node exports nothing over NFS")
    for export in known:
        subject = f"{export.path} for {export.client}"
        if "async" in export.options and "ro" not in export.options:
            because = "rates measured on it include data that no disk has yet"
            command = f"replace async by sync for {export.path} in /etc/exports, then: exportfs -ra"
            yield Change(subject, "async", "sync", because, command=command)
        else:
            yield Fine(subject, "read-only" if "ro" in export.options else "sync")


NFS_EXPORT_SYNC = Rule(
    name="nfs-export-sync",
    title="Export NFS file systems with sync",
    area="NFS",
    reason="With async the server confirms stable writes and commits while data is still in its memory, which NFS "
    "forbids; clients then drop their copies.",
    risk="Writes and metadata become slower, many times on disks without a protected write cache; that is the honest "
    "rate. With async a crash of the server loses or corrupts what clients believe is stored.",
    sources=(EXPORTS_MANUAL,),
    judge=_export_sync,
    parameters=("async", "sync"),
)


RULES: tuple[Rule, ...] = (
    NFS_TRANSFER_SIZE,
    NFS_CONNECTIONS,
    NFS_TRUNKING,
    NFS_TRANSPORT,
    NFS_HARD_MOUNT,
    NFS_SYNCHRONOUS_WRITES,
    NFS_ATTRIBUTE_CACHE,
    NFS_LOOKUP_CACHE,
    NFS_READ_AHEAD,
    NFS_RPC_SLOTS,
    NFS_SESSION_SLOTS,
    NFS_SERVER_THREADS,
    NFS_SERVER_BLOCK_SIZE,
    NFS_SERVER_POOL_MODE,
    NFS_EXPORT_SYNC,
)
