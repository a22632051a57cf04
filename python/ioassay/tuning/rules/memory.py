"""Rules about memory management and the caches of the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ioassay.text import units
from ioassay.tuning.choices import chosen
from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, LINUX_LARGE_IO, VM_SYSCTL
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System, lustre
from ioassay.tuning.system.nfs import NfsServer, kernel_version


def storage_served(system: System) -> str:
    """The storage that the node serves: `Lustre` or `NFS`; empty where none is visible."""
    if lustre.is_server(system.lustre):
        return "Lustre"
    try:
        return "NFS" if NfsServer(system.snapshot).is_running else ""
    except Unreadable:
        return ""


_TRANSPARENT_HUGEPAGE_PLACES = ("kernel/mm/redhat_transparent_hugepage", "kernel/mm/transparent_hugepage")
"""Red Hat's name in its kernel 2.6.32, and Linux's."""
_DIRECT_COMPACTION_BEFORE = (4, 6)
"""From this version on page faults of programs that did not ask for huge pages no longer wait for compaction."""


def _transparent_hugepage(system: System) -> Iterator[Judgement]:
    """Transparent huge pages."""
    place = next(
        (name for name in _TRANSPARENT_HUGEPAGE_PLACES if system.snapshot.text(f"sys/{name}/enabled") is not None), None
    )
    role = storage_served(system)
    if place is None:
        yield NotApplicable("this kernel has no transparent huge pages, or the snapshot lacks them")
        return
    now = chosen(system.snapshot.text(f"sys/{place}/enabled") or "")
    if now not in ("always", "madvise", "never"):
        raise Unreadable(f"/sys/{place}/enabled", f"holds {now[:40]!r}, which is no choice of the kernel")
    text = system.snapshot.text(f"sys/{place}/defrag")
    if text is None and now == "always":
        yield missing(f"/sys/{place}/defrag")
        return
    defrag = chosen(text or "")
    if role:
        yield _transparent_hugepage_of_server(system, place, now, defrag)
    elif now == defrag == "always" and "madvise" in (text or ""):
        because = "every page fault of every program may wait while memory is compacted"
        assignment = Assignment(f"sys:{place}/defrag", "madvise")
        yield Change(system.host, "always, with defrag at always", "defrag at madvise", because, (assignment,))
    elif now == "always":
        yield Fine(system.host, f"always, with defrag at {defrag}")
    else:
        yield NotApplicable("the node serves no storage; applications with large arrays gain from huge pages")


def _transparent_hugepage_of_server(system: System, place: str, now: str, defrag: str) -> Judgement:
    if now != "always":
        return Fine(system.host, now)
    if place == _TRANSPARENT_HUGEPAGE_PLACES[0] or kernel_version(system.snapshot) < _DIRECT_COMPACTION_BEFORE:
        wanted, because = "never", "this kernel compacts memory while threads wait for a page"
    elif defrag == "always":
        wanted, because = "madvise", "with defrag at always threads wait for memory to be compacted"
    else:
        return Fine(system.host, f"always, with defrag at {defrag}: page faults do not wait")
    assignment = Assignment(f"sys:{place}/enabled", wanted)
    return Change(system.host, now, wanted, because, (assignment,))


TRANSPARENT_HUGEPAGE = Rule(
    name="transparent-hugepage",
    title="Keep storage servers from compacting memory for huge pages",
    area="memory",
    reason="A storage server fills its memory with pages of file data, and compacting it for huge pages stalls service "
    "threads that gain nothing from them. The study's `never` is for kernel 2.6.32; since Linux 4.6 page faults wait "
    "only where `defrag` is `always`.",
    risk="Programs with large arrays on the same node lose speed. Guides disagree: BeeGFS recommends `always` for its "
    "storage servers, so measure.",
    sources=(
        LINUX_LARGE_IO,
        Source("Linux, Transparent Hugepage Support", "https://docs.kernel.org/admin-guide/mm/transhuge.html"),
        BEEGFS_STORAGE,
    ),
    judge=_transparent_hugepage,
    parameters=("transparent_hugepage", "redhat_transparent_hugepage", "defrag"),
)


_VFS_CACHE_PRESSURE_WANTED = 50
_VFS_CACHE_PRESSURE_DEFAULT = 100
_VFS_CACHE_PRESSURE_BOUNDS = Bounds(
    VM_SYSCTL,
    least=1,
    below="the kernel never drops them, until memory runs out",
    most=999,
    above="it looks for ten times more of them than there are, and takes locks meanwhile",
)


def _vfs_cache_pressure(system: System) -> Iterator[Judgement]:
    """How readily the kernel drops cached directory entries and inodes."""
    now = system.snapshot.number("proc/sys/vm/vfs_cache_pressure")
    assignment = Assignment("sysctl:vm.vfs_cache_pressure", str(_VFS_CACHE_PRESSURE_WANTED))
    if now is None:
        yield missing("/proc/sys/vm/vfs_cache_pressure")
    elif 0 < now < _VFS_CACHE_PRESSURE_DEFAULT:
        yield Fine(system.host, str(now))
    elif now == _VFS_CACHE_PRESSURE_DEFAULT and not storage_served(system):
        yield NotApplicable("the node serves no storage; the sources recommend less than the default for servers only")
    else:
        breach = _VFS_CACHE_PRESSURE_BOUNDS.breach(now)
        yield Change(
            system.host, str(now), str(_VFS_CACHE_PRESSURE_WANTED), breach, (assignment,), is_harmful=bool(breach)
        )


VFS_CACHE_PRESSURE = Rule(
    name="vfs-cache-pressure",
    title="Keep directory entries and inodes of a server in memory longer than file data",
    area="memory",
    reason="A server that streams large files fills its memory with data that is used once; inodes and directory "
    "entries that are dropped for it are read from disk again at the next lookup.",
    risk="More memory stays with inodes. At 0 a node with many files runs out of memory.",
    sources=(LINUX_LARGE_IO, BEEGFS_STORAGE, VM_SYSCTL),
    judge=_vfs_cache_pressure,
    parameters=("vfs_cache_pressure",),
    bounds={"vfs_cache_pressure": _VFS_CACHE_PRESSURE_BOUNDS},
)


_NFS_CLIENT_BYTES = 629145600
_NFS_CLIENT_BACKGROUND_BYTES = 314572800
_LARGE_MEMORY_BYTES = 8 << 30
_SERVER_BACKGROUND_PERCENT = 5
_DEFAULT_PERCENT, _DEFAULT_BACKGROUND_PERCENT, _DEFAULT_WRITEBACK, _DEFAULT_EXPIRE = 20, 10, 500, 3000
"""Linux's own values, in mm/page-writeback.c."""
_DIRTY_LIMIT_HOUR = 360000

_WRITEBACK = Source(
    "Linux 6.1, mm/page-writeback.c: domain_dirty_limits, and fs/fs-writeback.c: MIN_WRITEBACK_PAGES",
    "https://github.com/torvalds/linux/blob/v6.1/mm/page-writeback.c",
)
_BYTES = Bounds(
    _WRITEBACK,
    least=8 << 20,
    below="the kernel writes chunks of 4 MiB from half of the limit on, so every writer waits for the disk",
    unit="bytes",
)
_PERCENT = Bounds(
    VM_SYSCTL,
    least=1,
    below="every write waits for the disk",
    most=80,
    above="hardly a page of memory is clean, so that all that need memory wait for the disk",
    unit="%",
)
_INTERVAL = Bounds(
    VM_SYSCTL,
    least=1,
    below="data is never written because of its age, and a crash loses all since the last sync",
    most=_DIRTY_LIMIT_HOUR,
    above="written data may stay in memory for more than an hour, and a crash loses it",
    unit="hundredths of a second",
)
_AGE = Bounds(VM_SYSCTL, most=_DIRTY_LIMIT_HOUR, above=_INTERVAL.above, unit="hundredths of a second")


@dataclass(frozen=True)
class _Limits:
    """A limit and the amount from which the kernel writes in the background."""

    system: System
    value: int
    in_bytes: bool
    background: int
    background_in_bytes: bool

    @property
    def bytes(self) -> int:
        """The limit; of a ratio, that of all memory, of which less is available."""
        return self.value if self.in_bytes else self.system.memory_bytes * self.value // 100

    @property
    def background_bytes(self) -> int:
        """The background limit, likewise."""
        return self.background if self.background_in_bytes else self.system.memory_bytes * self.background // 100

    @property
    def text(self) -> str:
        """The limit with the setting that it comes from."""
        setting = "vm.dirty_bytes" if self.in_bytes else f"vm.dirty_ratio {self.value}"
        return f"{units.format_about_bytes(self.bytes)} ({setting})"

    @property
    def breach(self) -> str:
        """The fault of the limits on any node; empty where there is none."""
        if reason := (_BYTES if self.in_bytes else _PERCENT).breach(self.value):
            return reason
        if self.in_bytes and _PERCENT.breach(100 * self.value // max(1, self.system.memory_bytes)) == _PERCENT.above:
            return _PERCENT.above
        if self.bytes and self.background_bytes >= self.bytes:
            return (
                f"the background limit, {units.format_about_bytes(self.background_bytes)}, is not below it: the kernel "
                "ignores it and takes half of the limit"
            )
        return ""


def _dirty_limit(system: System) -> Iterator[Judgement]:
    """How much unwritten data the page cache may hold, and when it is written."""
    limits = _dirty_limit_limits(system)
    if not isinstance(limits, _Limits):
        yield limits
        return
    yield from _intervals(system)
    role = storage_served(system)
    is_nfs_client = any(mount.is_nfs for mount in system.mounts)
    is_large = system.memory_bytes > _LARGE_MEMORY_BYTES
    if breach := limits.breach:
        yield _dirty_limit_sane(limits, breach, by_bytes=not role and is_nfs_client and is_large)
    elif role == "Lustre":
        yield NotApplicable(
            f"servers of Lustre write past the page cache; its clients have max_dirty_mb{_DIRTY_LIMIT_WITHIN}"
        )
    elif role == "NFS":
        yield _dirty_limit_of_server(limits)
    elif not is_nfs_client:
        yield NotApplicable(
            f"the node neither mounts nor exports NFS; the limits of the kernel suit local disks{_DIRTY_LIMIT_WITHIN}"
        )
    elif not is_large:
        memory = units.format_about_bytes(system.memory_bytes)
        yield NotApplicable(f"with memory of {memory} the default is small enough{_DIRTY_LIMIT_WITHIN}")
    elif limits.bytes <= _NFS_CLIENT_BYTES:
        yield Fine(system.host, limits.text)
    else:
        wanted = f"{units.format_about_bytes(_NFS_CLIENT_BYTES)} (vm.dirty_bytes)"
        yield Change(system.host, limits.text, wanted, assignments=_FOR_NFS)


_DIRTY_LIMIT_WITHIN = "; they are within the bounds for any node"
_FOR_NFS = (
    Assignment("sysctl:vm.dirty_background_bytes", str(_NFS_CLIENT_BACKGROUND_BYTES)),
    Assignment("sysctl:vm.dirty_bytes", str(_NFS_CLIENT_BYTES)),
)
_DIRTY_LIMIT_DEFAULTS = (
    Assignment("sysctl:vm.dirty_background_ratio", str(_DEFAULT_BACKGROUND_PERCENT)),
    Assignment("sysctl:vm.dirty_ratio", str(_DEFAULT_PERCENT)),
)


def _dirty_limit_limits(system: System) -> _Limits | Judgement:
    """The limits in force; of each pair the one that is not 0, by which the other one is known to be 0."""
    limit = _dirty_limit_pair(system, "dirty_bytes", "dirty_ratio")
    background = _dirty_limit_pair(system, "dirty_background_bytes", "dirty_background_ratio")
    if not isinstance(limit, tuple):
        return limit
    if not isinstance(background, tuple):
        return background
    return _Limits(system, *limit, *background)


def _dirty_limit_pair(system: System, in_bytes: str, in_percent: str) -> tuple[int, bool] | Judgement:
    amount = system.snapshot.number(f"proc/sys/vm/{in_bytes}")
    if amount:
        return amount, True
    percent = system.snapshot.number(f"proc/sys/vm/{in_percent}")
    if percent is None or (percent == 0 and amount is None):
        return missing(f"/proc/sys/vm/{in_percent if percent is None else in_bytes}")
    return percent, False


def _intervals(system: System) -> Iterator[Judgement]:
    """How often the kernel looks for data to be written, and from which age on it writes it."""
    for subject, name, bounds, default, shown in (
        ("periodic write-back", "dirty_writeback_centisecs", _INTERVAL, _DEFAULT_WRITEBACK, "every {:g} s"),
        ("age at write-back", "dirty_expire_centisecs", _AGE, _DEFAULT_EXPIRE, "{:g} s"),
    ):
        now = system.snapshot.number(f"proc/sys/vm/{name}")
        if now is not None and (breach := bounds.breach(now)):
            yield Change(
                f"{subject} of {system.host}",
                shown.format(now / 100) if now else "off",
                shown.format(default / 100),
                breach,
                (Assignment(f"sysctl:vm.{name}", str(default)),),
                is_harmful=True,
            )
        elif now is not None:
            yield Fine(f"{subject} of {system.host}", shown.format(now / 100))


def _dirty_limit_sane(limits: _Limits, breach: str, *, by_bytes: bool) -> Change:
    """Back to values that work on any node: the kernel's, or where NFS needs less those for it."""
    now = f"{limits.text}, background {units.format_about_bytes(limits.background_bytes)}"
    if by_bytes:
        wanted, assignments = f"{units.format_about_bytes(_NFS_CLIENT_BYTES)} (vm.dirty_bytes)", _FOR_NFS
    else:
        background = _DEFAULT_BACKGROUND_PERCENT
        if storage_served(limits.system) == "NFS":
            background = _SERVER_BACKGROUND_PERCENT
        wanted = f"vm.dirty_ratio {_DEFAULT_PERCENT}, background {background}"
        assignments = (Assignment("sysctl:vm.dirty_background_ratio", str(background)), _DIRTY_LIMIT_DEFAULTS[1])
    return Change(limits.system.host, now, wanted, breach, assignments, is_harmful=True)


def _dirty_limit_of_server(limits: _Limits) -> Judgement:
    host, background = limits.system.host, limits.background
    if limits.background_in_bytes or background <= _SERVER_BACKGROUND_PERCENT:
        shown = units.format_about_bytes(background) if limits.background_in_bytes else f"{background} % of memory"
        return Fine(host, f"writes in the background from {shown}")
    assignment = Assignment("sysctl:vm.dirty_background_ratio", str(_SERVER_BACKGROUND_PERCENT))
    return Change(
        host,
        f"writes in the background from {background} % of memory",
        f"from {_SERVER_BACKGROUND_PERCENT} %",
        assignments=(assignment,),
    )


DIRTY_LIMIT = Rule(
    name="dirty-limit",
    title="Start writing early on nodes with much memory and NFS",
    area="memory",
    reason="Of a large memory 20 % is more than a server takes in minutes. Programs then stall while it is written, "
    "all at once, instead of a little all the time.",
    risk="Short bursts are no longer absorbed by memory, and a fast server may be kept less busy: measure where it "
    "takes more than 1 GB/s from this node. Setting bytes sets the ratio to 0, and vice versa.",
    sources=(
        Source(
            "SUSE 7010287: Low write performance on Linux servers with large RAM",
            "https://www.suse.com/support/kb/doc/?id=000017857",
        ),
        BEEGFS_STORAGE,
        VM_SYSCTL,
        _WRITEBACK,
    ),
    judge=_dirty_limit,
    parameters=(
        "dirty_ratio",
        "dirty_background_ratio",
        "dirty_bytes",
        "dirty_background_bytes",
        "dirty_writeback_centisecs",
        "dirty_expire_centisecs",
    ),
    bounds={
        "dirty_bytes": _BYTES,
        "dirty_ratio": _PERCENT,
        "dirty_writeback_centisecs": _INTERVAL,
        "dirty_expire_centisecs": _AGE,
    },
)


_MIN_FREE_KBYTES_WANTED_KB = 262144
_SMALL_MEMORY_BYTES = 16 << 30
"""The wanted amount is more than 1.5 % of a smaller memory."""
_LEAST_OF_DEFAULT = 4
_MIN_FREE_KBYTES_MOST_PERCENT = 10
_MIN_FREE_KBYTES_FORMULA = Source(
    "Linux 6.1, mm/page_alloc.c: calculate_min_free_kbytes, and mm/khugepaged.c: set_recommended_min_free_kbytes, "
    "which takes at most 5 % of memory",
    "https://github.com/torvalds/linux/blob/v6.1/mm/page_alloc.c",
)
_MIN_FREE_KBYTES_BOUNDS = Bounds(
    VM_SYSCTL,
    least=1024,
    below="the node is prone to deadlock under load, because drivers find no memory where they cannot wait",
    unit="KiB",
)


def _min_free_kbytes(system: System) -> Iterator[Judgement]:
    """How much memory the kernel keeps free."""
    now = system.snapshot.number("proc/sys/vm/min_free_kbytes")
    if now is None:
        yield missing("/proc/sys/vm/min_free_kbytes")
    elif breach := _out_of_bounds(system, now):
        wanted = _wanted_kb(system)
        assignment = Assignment("sysctl:vm.min_free_kbytes", str(wanted))
        yield Change(system.host, f"{now} KiB", f"{wanted} KiB", breach, (assignment,), is_harmful=True)
    elif not storage_served(system):
        yield NotApplicable(f"the node serves no storage; {now} KiB are within the bounds for any node")
    elif system.memory_bytes < _SMALL_MEMORY_BYTES:
        yield NotApplicable(
            f"{units.format_about_bytes(system.memory_bytes)} of memory is too little to keep more free"
        )
    elif now >= _MIN_FREE_KBYTES_WANTED_KB:
        yield Fine(system.host, f"{now} KiB")
    else:
        assignment = Assignment("sysctl:vm.min_free_kbytes", str(_MIN_FREE_KBYTES_WANTED_KB))
        yield Change(system.host, f"{now} KiB", f"{_MIN_FREE_KBYTES_WANTED_KB} KiB", assignments=(assignment,))


def _out_of_bounds(system: System, now: int) -> str:
    """The fault on any node: less than a quarter of the kernel's default, or far more."""
    if reason := _MIN_FREE_KBYTES_BOUNDS.breach(now):
        return reason
    usual = _default_kb(system)
    if now * _LEAST_OF_DEFAULT < usual:
        return f"{_MIN_FREE_KBYTES_BOUNDS.below}; of this memory the kernel by itself keeps {usual} KiB"
    share = 100 * (now << 10) / system.memory_bytes if system.memory_bytes else 0
    if share > _MIN_FREE_KBYTES_MOST_PERCENT:
        return f"{share:.0f} % of memory is kept from programs and caches; the kernel by itself keeps {usual} KiB"
    return ""


def _default_kb(system: System) -> int:
    """The kernel's default."""
    return min(max(math.isqrt((system.memory_bytes >> 10) * 16), 128), _MIN_FREE_KBYTES_WANTED_KB)


def _wanted_kb(system: System) -> int:
    is_large_server = storage_served(system) and system.memory_bytes >= _SMALL_MEMORY_BYTES
    return _MIN_FREE_KBYTES_WANTED_KB if is_large_server else max(_default_kb(system), 1024)


MIN_FREE_KBYTES = Rule(
    name="min-free-kbytes",
    title="Keep memory free for bursts of network and disk requests",
    area="memory",
    reason="Network and storage drivers allocate memory where they cannot wait. On a server whose page cache fills "
    "memory, the default reserve is used up within milliseconds.",
    risk="Caches get 256 MiB less. Far larger values make the node run out of memory.",
    sources=(BEEGFS_STORAGE, VM_SYSCTL, _MIN_FREE_KBYTES_FORMULA),
    judge=_min_free_kbytes,
    parameters=("min_free_kbytes",),
    bounds={"min_free_kbytes": _MIN_FREE_KBYTES_BOUNDS},
)


_SWAPPINESS_DEFAULT = 60
_VM_6_1 = Source(
    "Linux 6.1, Documentation for /proc/sys/vm: swappiness",
    "https://www.kernel.org/doc/html/v6.1/admin-guide/sysctl/vm.html",
)
_SWAPPINESS_BOUNDS = Bounds(
    _VM_6_1,
    most=100,
    above="memory of programs is swapped out before cached file data is dropped, although swap lies on a disk",
)


def _swappiness(system: System) -> Iterator[Judgement]:
    """How readily the kernel swaps programs out instead of dropping cached file data."""
    now = system.snapshot.number("proc/sys/vm/swappiness")
    swaps = system.snapshot.text("proc/swaps")
    if now is None:
        yield missing("/proc/sys/vm/swappiness")
        return
    places = [line.split()[0] for line in (swaps or "").splitlines()[1:] if line.split()]
    if breach := _SWAPPINESS_BOUNDS.breach(now):
        if swaps is None:
            yield missing("/proc/swaps")
        elif not places:
            yield Fine(system.host, f"{now}, without effect: the node has no swap")
        elif all("zram" in place for place in places):
            yield Fine(system.host, f"{now}, with swap in memory (zram)")
        else:
            because = breach.replace("a disk", ", ".join(places))
            assignment = Assignment("sysctl:vm.swappiness", str(_SWAPPINESS_DEFAULT))
            yield Change(system.host, str(now), str(_SWAPPINESS_DEFAULT), because, (assignment,), is_harmful=True)
    else:
        yield NotApplicable(f"{now} is within the bounds for any node; no source recommends a value for I/O")


SWAPPINESS = Rule(
    name="swappiness",
    title="Drop cached file data before swapping programs out to a disk",
    area="memory",
    reason="The value is the cost of reading a page of a file back, against that of swapping one in, of 200 for both "
    "together. Above 100 swap counts as the cheaper one, which is true of swap in memory only.",
    risk="Idle programs stay in memory, and less of it is left to cache files.",
    sources=(_VM_6_1,),
    judge=_swappiness,
    parameters=("swappiness",),
    bounds={"swappiness": _SWAPPINESS_BOUNDS},
)


def _zone_reclaim_mode(system: System) -> Iterator[Judgement]:
    """Whether a NUMA node drops its page cache rather than use memory of another."""
    now = system.snapshot.number("proc/sys/vm/zone_reclaim_mode")
    if now is None:
        yield NotApplicable("the machine has one NUMA node, or its kernel has no vm.zone_reclaim_mode")
    elif now == 0:
        yield Fine(system.host, "0")
    else:
        yield Change(system.host, str(now), "0", assignments=(Assignment("sysctl:vm.zone_reclaim_mode", "0"),))


ZONE_RECLAIM_MODE = Rule(
    name="zone-reclaim-mode",
    title="Use the memory of all NUMA nodes for the page cache",
    area="memory",
    reason="With zone reclaim a NUMA node drops cached file data while other nodes have free memory. For file servers, "
    "and wherever data is read again, the cache is worth more than local memory.",
    risk="Programs that are bound to a NUMA node may get memory of another one. BeeGFS's guide recommends 1 for its "
    "storage servers, against the kernel's documentation.",
    sources=(VM_SYSCTL, BEEGFS_STORAGE),
    judge=_zone_reclaim_mode,
    parameters=("zone_reclaim_mode",),
)


RULES: tuple[Rule, ...] = (
    TRANSPARENT_HUGEPAGE,
    VFS_CACHE_PRESSURE,
    DIRTY_LIMIT,
    MIN_FREE_KBYTES,
    SWAPPINESS,
    ZONE_RECLAIM_MODE,
)
