"""Rules about arrays of the kernel's RAID driver (md)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from ioassay.tuning.choices import chosen
from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, each, missing
from ioassay.tuning.rules.sources import LINUX_LARGE_IO, RAID_LARGE_IO
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice
from ioassay.tuning.system.md import MdArray, listed_arrays, md_arrays

MD_MANUAL = Source("md(4)", "https://man7.org/linux/man-pages/man4/md.4.html")
MD_GUIDE = Source("Linux, RAID arrays", "https://docs.kernel.org/admin-guide/md.html")

NO_ARRAYS = "no array of the kernel's RAID driver (md) lies below the target"


def each_array(system: System, judge: Callable[[MdArray], Iterable[Judgement]]) -> Iterator[Judgement]:
    """The judgements of each array that the system is judged for; where there is none, why."""
    return each(md_arrays(system.concerned()), judge, otherwise=NO_ARRAYS)


def _completeness(system: System, array: MdArray) -> Iterator[Judgement]:
    """Whether an array is whole and idle."""
    listed = listed_arrays(system.snapshot.text("proc/mdstat") or "").get(array.name)
    if not array.level and listed is None:
        yield missing(f"/sys/block/{array.name}/md")
        return
    if listed is None and array.has_parity and array.device.number("md/degraded") is None:
        yield missing(f"/sys/block/{array.name}/md/degraded")
        return
    absent = max(array.missing, listed.expected - listed.working if listed is not None else 0)
    action = array.sync_action if array.sync_action != "idle" or listed is None else listed.action
    percent = array.sync_percent if array.sync_percent is not None else listed.percent if listed is not None else None
    problems = [f"{absent} of {array.disks or (listed.expected if listed else 0)} members missing"] if absent else []
    if action != "idle":
        problems.append(action + (f" {percent:.0f} % done" if percent is not None else ""))
    if problems:
        because = "what is measured now is not what the array can do"
        command = f"mdadm --detail /dev/{array.name}; wait with: mdadm --wait /dev/{array.name}"
        yield Change(array.name, ", ".join(problems), "all members, idle", because, command=command)
    else:
        yield Fine(array.name, "all members, idle")


MD_COMPLETENESS = Rule(
    name="md-completeness",
    title="Measure arrays only when they are whole and idle",
    area="MD RAID",
    reason="A degraded array computes missing data from all other members at each read; a resync, a recovery or a "
    "check reads and writes all members beside the measurement.",
    risk="None: replace the member and wait. Distributions check arrays monthly by themselves (checkarray, "
    "raid-check); a check can be stopped with: echo idle > md/sync_action.",
    sources=(MD_MANUAL, MD_GUIDE),
    judge=lambda system: each_array(system, lambda array: _completeness(system, array)),
    parameters=("degraded", "sync_action"),
)


_CALM_KB = 1000
"""The kernel's usual minimum, KiB/s."""


def _sync_speed(array: MdArray) -> Iterator[Judgement]:
    """How fast a resync may be beside other I/O."""
    if array.sync_action in ("idle", "frozen"):
        yield NotApplicable(f"{array.name} is not being synchronised")
        return
    least = re.match(r"\d+", array.device.text("md/sync_speed_min") or "")
    if least is None:
        yield missing(f"/sys/block/{array.name}/md/sync_speed_min")
    elif int(least[0]) <= _CALM_KB:
        yield Fine(array.name, f"{least[0]} KiB/s guaranteed to the {array.sync_action}")
    else:
        because = f"a {array.sync_action} is under way and takes this much from other I/O on each member"
        assignment = Assignment(f"block:{array.name}/md/sync_speed_min", str(_CALM_KB))
        yield Change(array.name, f"{least[0]} KiB/s", f"{_CALM_KB} KiB/s", because, (assignment,))


MD_SYNC_SPEED = Rule(
    name="md-sync-speed",
    title="Let a running resync give way to other I/O",
    area="MD RAID",
    reason="Below its minimum speed a resync does not give way, so a raised minimum takes bandwidth and seeks from "
    "applications until it has ended.",
    risk="The resync takes longer, and the array is without redundancy meanwhile: raise the minimum instead where "
    "safety counts more than speed. Rates measured during a resync say little in either case.",
    sources=(MD_MANUAL, MD_GUIDE),
    judge=lambda system: each_array(system, _sync_speed),
    parameters=("sync_speed_min", "sync_speed_max", "speed_limit_min", "speed_limit_max"),
)


_PAGE_BYTES = 4096
_LEAST, _MOST = 1024, 32768
_MOST_OF_MEMORY = 0.02
_STRIPE_CACHE_BOUNDS = Bounds(
    Source("Linux, RAID arrays: stripe_cache_size (default 256)", "https://docs.kernel.org/admin-guide/md.html"),
    least=256,
    below="it holds less than the kernel's default, so that hardly a stripe is completed before it is written",
    unit="pages",
)


def _stripe_cache(array: MdArray, memory_bytes: int) -> Iterator[Judgement]:
    """The memory in which md completes stripes."""
    if not array.has_parity:
        yield NotApplicable(f"{array.name} is {array.level or 'not assembled'}, which has no parity to compute")
        return
    now = array.device.number("md/stripe_cache_size")
    if now is None:
        yield missing(f"/sys/block/{array.name}/md/stripe_cache_size")
        return
    wanted = _stripe_cache_wanted(array, memory_bytes)
    if now >= wanted:
        yield Fine(array.name, f"{now} pages a member")
    else:
        cost = wanted * array.disks * _PAGE_BYTES
        because = f"that takes {cost >> 20} MiB of memory: {wanted} pages × {array.disks} members × 4 KiB"
        assignment = Assignment(f"block:{array.name}/md/stripe_cache_size", str(wanted))
        breach = _STRIPE_CACHE_BOUNDS.breach(now)
        yield Change(
            array.name,
            f"{now} pages a member",
            f"{wanted} pages a member",
            f"{breach}; {because}" if breach else because,
            (assignment,),
            is_harmful=bool(breach),
        )


def _stripe_cache_wanted(array: MdArray, memory_bytes: int) -> int:
    """Two chunks for each member, up to the next power of two, within what the node's memory allows."""
    pages = 2 * array.disks * array.chunk_bytes // _PAGE_BYTES
    wanted = min(max(_LEAST, 1 << max(pages - 1, 0).bit_length()), _MOST)
    while memory_bytes and wanted > _LEAST and wanted * array.disks * _PAGE_BYTES > _MOST_OF_MEMORY * memory_bytes:
        wanted //= 2
    return wanted


MD_STRIPE_CACHE = Rule(
    name="md-stripe-cache",
    title="Enlarge the stripe cache of md arrays with parity",
    area="MD RAID",
    reason="Writes wait in the stripe cache until their stripe is whole. When concurrent streams fill its 256 pages a "
    "member, incomplete stripes are written, for which md reads the rest first.",
    risk="The memory is pages × members × 4 KiB, taken at once: too large a value runs the node out of memory. Small "
    "random writes gain little, and their latency can rise. The value is lost when the array is stopped. The formula, "
    "twice the members times the chunk, is a vendor's rule of thumb.",
    sources=(
        MD_MANUAL,
        MD_GUIDE,
        Source("ClickHouse, Usage recommendations: RAID", "https://clickhouse.com/docs/operations/tips#raid"),
    ),
    judge=lambda system: each_array(system, lambda array: _stripe_cache(array, system.memory_bytes)),
    parameters=("stripe_cache_size",),
    bounds={"stripe_cache_size": _STRIPE_CACHE_BOUNDS},
)


_WORKER_THREADS_WANTED = 8


def _worker_threads(array: MdArray, processors: int) -> Iterator[Judgement]:
    """How many threads compute parity."""
    wanted = min(_WORKER_THREADS_WANTED, processors // 2)
    if not array.has_parity:
        yield NotApplicable(f"{array.name} is {array.level or 'not assembled'}, which has no parity to compute")
    elif array.device.medium == "hdd":
        yield NotApplicable(f"{array.name} lies on hard disks, which one thread keeps busy")
    elif wanted < 2:
        yield NotApplicable("the node has too few processors for more threads")
    elif (now := array.device.number("md/group_thread_cnt")) is None:
        yield missing(f"/sys/block/{array.name}/md/group_thread_cnt")
    elif now:
        yield Fine(array.name, f"{now} threads for each NUMA node")
    elif array.sync_action != "idle":
        because = f"wait until its {array.sync_action} has ended: changing it meanwhile has hung arrays"
        command = f"echo {wanted} > /sys/block/{array.name}/md/group_thread_cnt, once {array.name} is idle"
        yield Change(array.name, "1 thread", f"{wanted} threads for each NUMA node", because, command=command)
    else:
        assignment = Assignment(f"block:{array.name}/md/group_thread_cnt", str(wanted))
        yield Change(array.name, "1 thread", f"{wanted} threads for each NUMA node", "", (assignment,))


MD_WORKER_THREADS = Rule(
    name="md-worker-threads",
    title="Let several threads compute parity of md arrays on flash",
    area="MD RAID",
    reason="One thread, md0_raid6, handles all stripes of an array and is the limit on fast devices; group_thread_cnt "
    "adds workers for each NUMA node.",
    risk="More threads contend for locks: the author warns that more are not always faster, so sweep 2 to 8. Kernels "
    "before 6.13 without the fix can hang when it is changed while the array resynchronises. It is documented in "
    "commits only.",
    sources=(
        Source(
            "Linux, commit 851c30c9badf: raid5: offload stripe handle to workqueue",
            "https://git.kernel.org/torvalds/c/851c30c9badfc6b294c98e887624bff53644ad21",
        ),
        Source(
            "Xiao Ni, md/raid5: fix of a hang when changing the thread count",
            "https://lore.kernel.org/r/20241106095124.74577-1-xni@redhat.com",
        ),
    ),
    judge=lambda system: each_array(system, lambda array: _worker_threads(array, system.processors)),
    parameters=("group_thread_cnt",),
)


_CHUNK_SIZE_TRANSFER = 1 << 20


def _chunk_size(array: MdArray) -> Iterator[Judgement]:
    """Whether whole stripes fit into the transfers above."""
    if not array.has_parity or not array.chunk_bytes:
        yield NotApplicable(f"{array.name} is {array.level or 'not assembled'}, where no write has to read first")
        return
    stripe = array.stripe_bytes
    now = f"{array.chunk_bytes >> 10} KiB × {array.data_disks} data disks = {stripe >> 10} KiB"
    if stripe <= _CHUNK_SIZE_TRANSFER and _CHUNK_SIZE_TRANSFER % stripe == 0:
        yield Fine(array.name, now)
    elif array.data_disks & (array.data_disks - 1):
        because = f"no stripe of {array.data_disks} data disks divides 1 MiB"
        command = "make the array of a number of data disks that is a power of two, such as 8"
        yield Change(array.name, now, "a stripe that divides 1 MiB", because, command=command)
    else:
        wanted = _CHUNK_SIZE_TRANSFER // array.data_disks >> 10
        command = f"mdadm --grow --chunk={wanted} --backup-file=FILE /dev/{array.name}"
        because = "a transfer of 1 MiB fills no whole stripe"
        yield Change(
            array.name, now, f"{wanted} KiB × {array.data_disks} data disks = 1024 KiB", because, command=command
        )


MD_CHUNK_SIZE = Rule(
    name="md-chunk-size",
    title="Choose a chunk with which a transfer of 1 MiB fills whole stripes",
    area="MD RAID",
    reason="Lustre, NFS and the page cache write in pieces of up to 1 MiB. Where a stripe is larger, md reads data or "
    "parity for every piece unless the stripe cache can wait for the next one.",
    risk="Changing the chunk reshapes the whole array, which takes days and needs a backup file off the array. Single "
    "streams of very large writes do well with the default of 512 KiB, because the stripe cache joins them; small "
    "random reads prefer large chunks.",
    sources=(
        RAID_LARGE_IO,
        MD_GUIDE,
        Source("mdadm(8), --chunk", "https://man7.org/linux/man-pages/man8/mdadm.8.html"),
    ),
    judge=lambda system: each_array(system, _chunk_size),
    parameters=("chunk_size",),
)


_SETTABLE = ("scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb")
"""The scheduler first, because it sets nr_requests."""
_FIXED = ("rotational", "write_cache", "logical_block_size")


def _equal_members(array: MdArray) -> Iterator[Judgement]:
    """Whether all members of an array are set alike."""
    members = array.device.below
    if len(members) < 2:
        yield NotApplicable(f"the members of {array.name} are not known")
        return
    differs = False
    for attribute in (*_SETTABLE, *_FIXED):
        values = {member.name: _equal_members_value(member, attribute) for member in members}
        usual = Counter(value for value in values.values() if value).most_common(1)
        odd = [name for name, value in values.items() if usual and value and value != usual[0][0]]
        if odd:
            differs = True
            text = ", ".join(f"{name}: {values[name]}" for name in odd)
            assignments = tuple(Assignment(f"block:{name}/{attribute}", usual[0][0]) for name in odd)
            yield Change(
                f"{array.name} {attribute}",
                text,
                usual[0][0],
                "as most members have it",
                assignments if attribute in _SETTABLE else (),
                "" if attribute in _SETTABLE else f"replace {', '.join(odd)} by a disk like the others",
            )
    if not differs:
        yield Fine(array.name, f"{len(members)} members alike")


def _equal_members_value(member: BlockDevice, attribute: str) -> str:
    return chosen(member.text(f"queue/{attribute}") or "")


MD_EQUAL_MEMBERS = Rule(
    name="md-equal-members",
    title="Set all members of an array alike",
    area="MD RAID",
    reason="A stripe is complete when its slowest member is; one member with another queue, cache or kind of medium "
    "slows the whole array.",
    risk="None where most members are set as they should be: see the other rules about their queues. A member behind "
    "a different adapter may need its own value of max_sectors_kb.",
    sources=(LINUX_LARGE_IO, MD_MANUAL),
    judge=lambda system: each_array(system, _equal_members),
    parameters=("scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb"),
)


RULES: tuple[Rule, ...] = (
    MD_COMPLETENESS,
    MD_SYNC_SPEED,
    MD_STRIPE_CACHE,
    MD_WORKER_THREADS,
    MD_CHUNK_SIZE,
    MD_EQUAL_MEMBERS,
)
