"""Rules about RAID controllers, whose settings only the user can say (`--raid`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ioassay.text import units
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source
from ioassay.tuning.rules.sources import RAID_LARGE_IO, SANTRICITY_CACHE
from ioassay.tuning.system import Array, System

CONTROLLER = "RAID controller"


def with_array(
    system: System, setting: str, key: str, judge: Callable[[Array], Iterator[Judgement]]
) -> Iterator[Judgement]:
    """The judgements of the array that the user gave; without one, why it cannot be judged."""
    if system.array is not None:
        yield from judge(system.array)
    elif arrays := [device.name for device in system.concerned() if device.medium == "array" and not device.below]:
        yield not_readable_by_hosts(
            setting, key, f"{arrays[0]} is one of {len(arrays)} of its LUNs" if len(arrays) > 1 else arrays[0]
        )
    else:
        yield NotApplicable("no disk here is known to lie on a RAID controller; if one does, give --raid")


def not_readable_by_hosts(setting: str, key: str, where: str = "") -> NotReadable:
    """The judgement on a setting that only the controller knows, with the option that states it."""
    place = f" ({where})" if where else ""
    return NotReadable(
        f"{setting} of the {CONTROLLER}{place}",
        f"no host can read it; look it up on the controller and give --raid {key}",
    )


def smcli(script: str) -> str:
    """A command for arrays of Dell's MD series and NetApp's E-series, with the names to fill in."""
    return f"On a Dell MD or NetApp E-series array (others: its own tool): SMcli -n ARRAY -c '{script};'"


_REQUEST_BYTES = 1 << 20
_SMALLEST_BYTES, _LARGEST_BYTES = 16 << 10, 512 << 10
"""Segments that controllers offer."""


def _segment(array: Array) -> Iterator[Judgement]:
    """How much lies on one disk of a RAID before the next one's turn."""
    shown = _segment_shown(array.segment_bytes, array.data_disks)
    if array.parity_disks == 0 and _REQUEST_BYTES % array.segment_bytes == 0:
        yield Fine(CONTROLLER, f"{shown}; without parity any request of whole segments is aligned")
    elif _REQUEST_BYTES % array.stripe_bytes == 0:
        yield Fine(CONTROLLER, shown)
    elif _is_power_of_two(array.data_disks) and (wanted := _REQUEST_BYTES // array.data_disks) >= _SMALLEST_BYTES:
        wanted = min(wanted, _LARGEST_BYTES)
        yield Change(
            CONTROLLER,
            shown,
            _segment_shown(wanted, array.data_disks),
            command=smcli(f'set virtualDisk ["NAME"] segmentSize={wanted >> 10}'),
        )
    else:
        yield Change(
            CONTROLLER,
            shown,
            "a power of two of data disks: 4, 8 or 16",
            f"no segment of {array.data_disks} data disks makes a stripe of 1 MiB, so that every write of that size "
            "leaves a stripe half-written",
            command="Create the disk groups anew, with 8+2 disks and segments of 128 KiB.",
        )


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _segment_shown(segment_bytes: int, data_disks: int) -> str:
    segment, stripe = units.format_bytes(segment_bytes), units.format_bytes(segment_bytes * data_disks)
    return f"{data_disks} data disks × {segment} = {stripe}"


RAID_SEGMENT_SIZE = Rule(
    name="raid-segment-size",
    title="Choose the segment so that a full stripe is one request of 1 MiB",
    area="RAID controller",
    reason="A write of a full stripe needs no old data to compute its parity. RAID6 8+2 with segments of 128 KiB takes "
    "an RPC of 1 MiB as one stripe.",
    risk="Changing the segment rewrites all data of the virtual disk in the background for hours to days and cannot be "
    "stopped; changing the number of disks destroys it. Small random reads gain from larger segments.",
    sources=(RAID_LARGE_IO,),
    judge=lambda system: with_array(system, "segment size", "segment=128k,data=8", _segment),
    parameters=("segment size", "RAID6"),
)


_CACHE_BLOCK_WANTED_BYTES = 32 << 10


def _cache_block(array: Array) -> Iterator[Judgement]:
    """The unit of a RAID controller's cache."""
    now = array.cache_block_bytes
    if now is None:
        yield not_readable_by_hosts("cache block size", "…,cache-block=32k")
    elif now >= _CACHE_BLOCK_WANTED_BYTES:
        yield Fine(CONTROLLER, units.format_bytes(now))
    else:
        command = smcli(f"set storageArray cacheBlockSize={_CACHE_BLOCK_WANTED_BYTES >> 10}")
        yield Change(
            CONTROLLER, units.format_bytes(now), units.format_bytes(_CACHE_BLOCK_WANTED_BYTES), command=command
        )


RAID_CACHE_BLOCK = Rule(
    name="raid-cache-block",
    title="Manage the controller's cache in large blocks",
    area="RAID controller",
    reason="A request of 1 MiB takes 32 blocks of 32 KiB or 256 of 4 KiB, and the controller looks up and mirrors "
    "each.",
    risk="Small random writes waste cache. The setting is that of the whole array, with all its virtual disks.",
    sources=(RAID_LARGE_IO, SANTRICITY_CACHE),
    judge=lambda system: with_array(system, "cache block size", "…,cache-block=32k", _cache_block),
    parameters=("cache block size", "cacheBlockSize"),
)


_CACHE_FLUSH_WANTED = 98
_CACHE_FLUSH_DEFAULT = 80


def _cache_flush(array: Array) -> Iterator[Judgement]:
    """When a RAID controller begins to write its cache to disk."""
    now = array.cache_flush_percent
    if now is None:
        yield not_readable_by_hosts("cache flush threshold", f"…,cache-flush={_CACHE_FLUSH_WANTED}")
    elif now >= _CACHE_FLUSH_WANTED:
        yield Fine(CONTROLLER, f"{now} % full")
    else:
        yield Change(
            CONTROLLER,
            f"{now} % full",
            f"{_CACHE_FLUSH_WANTED} % full",
            f"below the default of {_CACHE_FLUSH_DEFAULT} % writes slow down earlier"
            if now < _CACHE_FLUSH_DEFAULT
            else "",
            command=smcli(
                f"set storageArray cacheFlushStart={_CACHE_FLUSH_WANTED} cacheFlushStop={_CACHE_FLUSH_WANTED}"
            ),
        )


RAID_CACHE_FLUSH = Rule(
    name="raid-cache-flush",
    title="Let the write cache fill before the controller flushes it",
    area="RAID controller",
    reason="Data that stays in the cache longer is more often joined to full stripes before it is written.",
    risk="Less room for the next burst: where bursts are followed by pauses, a lower threshold absorbs more of each.",
    sources=(RAID_LARGE_IO, SANTRICITY_CACHE),
    judge=lambda system: with_array(
        system, "cache flush threshold", f"…,cache-flush={_CACHE_FLUSH_WANTED}", _cache_flush
    ),
    parameters=("cache flush", "cacheFlushStart"),
)


def _write_cache(array: Array) -> Iterator[Judgement]:
    """The write cache of a RAID controller, and its mirror."""
    if array.write_cache is None or (array.write_cache and array.mirroring is None):
        yield not_readable_by_hosts("write cache and its mirroring", "…,write-cache=on,mirroring=on")
    elif array.write_cache and array.mirroring:
        yield Fine(CONTROLLER, "on, mirrored")
    elif array.write_cache:
        yield Change(
            CONTROLLER,
            "on, not mirrored",
            "on, mirrored",
            "confirmed writes are lost, and the file system damaged, when a controller fails: do this first",
            command=smcli('set virtualDisk ["NAME"] mirrorCacheEnabled=TRUE'),
        )
    else:
        yield Change(
            CONTROLLER,
            "off",
            "on, mirrored",
            command=smcli('set virtualDisk ["NAME"] writeCacheEnabled=TRUE mirrorCacheEnabled=TRUE'),
        )


RAID_WRITE_CACHE = Rule(
    name="raid-write-cache",
    title="Switch the write cache on, always with mirroring",
    area="RAID controller",
    reason="The cache absorbs bursts and joins writes to full stripes. Mirrored in the other controller, it survives "
    "the failure of one.",
    risk="Mirroring halves the cache and costs bandwidth between the controllers: the study saw long aligned writes "
    "faster with the cache off. Never switch mirroring off to gain speed where servers fail over.",
    sources=(
        RAID_LARGE_IO,
        Source(
            "Dell PowerVault MD3620i Owner's Manual: Cache Mirroring, Write-Back Cache",
            "https://www.manualowl.com/m/Dell/PowerVault-MD3620i/Manual/190105?page=35",
        ),
    ),
    judge=lambda system: with_array(
        system, "write cache and its mirroring", "…,write-cache=on,mirroring=on", _write_cache
    ),
    parameters=("write cache", "cache mirroring", "writeCacheEnabled", "mirrorCacheEnabled"),
)


def _read_cache(array: Array) -> Iterator[Judgement]:
    """The read cache of a RAID controller."""
    if array.read_cache is None:
        yield not_readable_by_hosts("read cache", "…,read-cache=off")
    elif not array.read_cache:
        yield Fine(CONTROLLER, "off")
    else:
        command = smcli('set virtualDisk ["NAME"] readCacheEnabled=FALSE')
        yield Change(CONTROLLER, "on", "off", command=command)


RAID_READ_CACHE = Rule(
    name="raid-read-cache",
    title="Give the controller's whole cache to writes where reads stream",
    area="RAID controller",
    reason="Reads of whole stripes gain nothing from the controller's cache, and the servers' memory, many times "
    "larger, holds what is read again.",
    risk="Small reads near each other become slower. Keep it on for metadata targets and random reads.",
    sources=(RAID_LARGE_IO,),
    judge=lambda system: with_array(system, "read cache", "…,read-cache=off", _read_cache),
    parameters=("read cache", "readCacheEnabled"),
)


RULES: tuple[Rule, ...] = (
    RAID_SEGMENT_SIZE,
    RAID_CACHE_BLOCK,
    RAID_CACHE_FLUSH,
    RAID_WRITE_CACHE,
    RAID_READ_CACHE,
)
