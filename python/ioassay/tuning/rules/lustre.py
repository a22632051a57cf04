"""Rules about Lustre, its servers first and then its clients."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ioassay.text import units
from ioassay.tuning import choices
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
)
from ioassay.tuning.rules.sources import (
    EXASCALER_CLIENT,
    LARGE_IO_TEXT,
    LUSTRE_CLIENT,
    LUSTRE_PARAMETERS,
    LUSTRE_SERVER,
    LUSTRE_TUNING,
    LUSTRE_WIKI,
    lustre_source,
)
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System, lustre
from ioassay.tuning.system.lustre import Bucket
from ioassay.tuning.system.mounts import Mount

MIB = 1 << 20
NO_CLIENT = "the node mounts no Lustre file system"
NO_SERVER = "the node is no object storage server of Lustre"


@dataclass(frozen=True)
class ParameterGroup:
    """The instances of a parameter that belong to one file system: of all its OSTs, or of its mounts."""

    system: System
    kind: str
    """`osc`, the first part of their names."""
    file_system: str
    parameter: str

    @property
    def pattern(self) -> str:
        """Their names, as `lctl` takes them: `osc.scratch-*.max_dirty_mb`."""
        return f"{self.kind}.{self.file_system}-*.{self.parameter}"

    def sibling(self, parameter: str) -> ParameterGroup:
        """The same instances' other parameter."""
        return ParameterGroup(self.system, self.kind, self.file_system, parameter)

    def texts(self) -> list[str]:
        """The values, in the order of their names; empty where there are none. Raises `Unreadable`."""
        return [parameter_text(self.system, name) for name in parameter_names(self.system, self.pattern)]

    def numbers(self) -> list[int]:
        """The integers that they hold. Raises `Unreadable`, also where one holds another."""
        return [parameter_number(self.system, name) for name in parameter_names(self.system, self.pattern)]

    def assign(self, value: int | str) -> Assignment:
        """A value for all of them."""
        return Assignment(f"lctl:{self.pattern}", str(value))


def parameter_groups(system: System, kind: str, parameter: str) -> list[ParameterGroup]:
    """The groups of a parameter, by file system."""
    file_systems = {lustre.file_system(name): None for name in parameter_names(system, f"{kind}.*-*.{parameter}")}
    return [ParameterGroup(system, kind, file_system, parameter) for file_system in file_systems]


def each_group(
    system: System, kind: str, parameter: str, judge: Callable[[ParameterGroup], Iterable[Judgement]]
) -> Iterator[Judgement]:
    """The judgements of each group of a parameter; where there is none, why."""
    otherwise = NO_SERVER if kind == "obdfilter" else NO_CLIENT
    return each(parameter_groups(system, kind, parameter), judge, otherwise=otherwise)


def parameter_names(system: System, pattern: str) -> list[str]:
    """The names of parameters that match, readable or not."""
    known = {*system.lustre, *system.lustre_unreadable}
    return sorted(name for name in known if fnmatch.fnmatchcase(name, pattern))


def parameter_text(system: System, name: str) -> str:
    """The value of a parameter. Raises `Unreadable`."""
    if name in system.lustre:
        return system.lustre[name]
    raise system.lustre_unreadable.get(name) or Unreadable(name, "there is no such parameter")


def parameter_number(system: System, name: str) -> int:
    """The integer that a parameter holds. Raises `Unreadable`, also where it holds another."""
    content = parameter_text(system, name)
    if not content.isascii() or not content.isdecimal() or len(content) > 20:
        raise Unreadable(name, f"holds {content[:40]!r}, which is no integer")
    return int(content)


def value_range(values: Sequence[int], unit: str = "") -> str:
    """The values as one: `8`, or `8 to 32 MiB`."""
    least, most = min(values), max(values)
    shown = str(least) if least == most else f"{least} to {most}"
    return f"{shown} {unit}" if unit else shown


def rpc_bytes(group: ParameterGroup) -> int:
    """The largest RPC that the clients of a group send. Raises `Unreadable`, also where the snapshot lacks it."""
    pages = max(group.sibling("max_pages_per_rpc").numbers(), default=0)
    if not pages:
        raise Unreadable(group.sibling("max_pages_per_rpc").pattern, "the snapshot lacks it")
    return pages * group.system.page_bytes


_OSS_THREADS_SERVICE = "ost.OSS.ost_io"
_OSS_THREADS_WANTED = 512
_OSS_THREADS_ROUNDED = 32
"""The kernel divides the number among CPU partitions and shows what is left after rounding down."""
_BESIDE_BYTES = 512 << 10
"""The memory of a thread besides its buffer for an RPC."""
_MOST_OF_MEMORY = 8
"""Buffers may take this part of memory."""


def _oss_threads(system: System) -> Iterator[Judgement]:
    """How many threads of an object storage server do I/O."""
    if not parameter_names(system, f"{_OSS_THREADS_SERVICE}.threads_m*"):
        yield NotApplicable(NO_SERVER)
        return
    least = parameter_number(system, f"{_OSS_THREADS_SERVICE}.threads_min")
    most = parameter_number(system, f"{_OSS_THREADS_SERVICE}.threads_max")
    each_bytes = _rpc_bytes(system) + _BESIDE_BYTES
    wanted = min(_OSS_THREADS_WANTED, max(2, system.memory_bytes // _MOST_OF_MEMORY // each_bytes))
    shown = f"{least} to {most}" if least < most else f"{most}, all started at once"
    if least >= wanted - _OSS_THREADS_ROUNDED and most >= wanted - _OSS_THREADS_ROUNDED:
        yield Fine("ost_io", shown)
        return
    upper = max(most, wanted)
    too_many = f"{_OSS_THREADS_WANTED} threads of {units.format_bytes(each_bytes)} each"
    yield Change(
        "ost_io",
        shown,
        f"{wanted}, all started at once",
        "" if wanted == _OSS_THREADS_WANTED else f"{too_many} would take more than an eighth of memory",
        # Not the other way round: a minimum above the maximum is refused.
        (
            Assignment(f"lctl:{_OSS_THREADS_SERVICE}.threads_max", str(upper)),
            Assignment(f"lctl:{_OSS_THREADS_SERVICE}.threads_min", str(wanted)),
        ),
    )


def _rpc_bytes(system: System) -> int:
    sizes = [parameter_number(system, name) for name in parameter_names(system, "obdfilter.*.brw_size")]
    return max(sizes, default=1) * MIB


LUSTRE_OSS_THREADS = Rule(
    name="lustre-oss-threads",
    title="Start as many I/O threads as the arrays keep busy",
    area="Lustre",
    reason="Each thread has one request at the disks. The study's arrays were fastest with the maximum of 512, and "
    "starting all at once spares the first seconds of a job the wait for them.",
    risk="Where the storage is slower, more threads only add seeks and memory: each holds a buffer of an RPC. The "
    "Lustre Wiki starts with 32 threads per OST on disks; find the number by obdfilter-survey. Older versions do not "
    "stop running threads when the number is lowered (LU-947).",
    sources=(LUSTRE_SERVER, LUSTRE_TUNING, LUSTRE_WIKI, lustre_source("lustre/ofd/ofd_oss.c", "oss_max_threads")),
    judge=_oss_threads,
    parameters=("threads_max", "threads_min", "oss_num_threads"),
)


_BRW_SIZE_MOST_MB = 16


def _brw_size(group: ParameterGroup) -> Iterator[Judgement]:
    """How large the RPCs are that a server takes."""
    now, array = group.numbers(), group.system.array
    if array is None:
        yield NotApplicable(
            f"{group.file_system} takes RPCs of {value_range(now, 'MiB')}; to compare that with the stripe of the "
            "array, give --raid"
        )
        return
    stripe = array.stripe_bytes
    fitting = [size for size in (1, 2, 4, 8, _BRW_SIZE_MOST_MB) if size * MIB % stripe == 0]
    shown = value_range(now, "MiB")
    if all(size * MIB % stripe == 0 for size in now):
        yield Fine(group.file_system, f"{shown}, whole stripes of {units.format_bytes(stripe)}")
    elif not fitting:
        yield NotApplicable(
            f"{group.file_system}: no RPC is a multiple of the stripe of {units.format_bytes(stripe)}; see rule "
            "raid-segment-size"
        )
    else:
        wanted = next((size for size in fitting if size >= max(now)), fitting[-1])
        because = f"the array's stripe is {units.format_bytes(stripe)}"
        yield Change(group.file_system, shown, f"{wanted} MiB", because, (group.assign(wanted),))


LUSTRE_BRW_SIZE = Rule(
    name="lustre-brw-size",
    title="Take RPCs of whole RAID stripes",
    area="Lustre",
    reason="The server writes an RPC as it comes. One that is not a multiple of the stripe leaves a stripe "
    "half-written, for which the array reads old data and parity.",
    risk="Clients learn of it only when they connect, so mount them anew. Buffers of all server threads grow with it.",
    sources=(LARGE_IO_TEXT, LUSTRE_TUNING, lustre_source("lustre/ofd/lproc_ofd.c", "brw_size_store")),
    judge=lambda system: each_group(system, "obdfilter", "brw_size", _brw_size),
    parameters=("brw_size",),
)


_READ_CACHE_KINDS = ("osd-ldiskfs", "osd-zfs", "obdfilter")
_READ_CACHE_WANTED_BYTES = 32 << 20
_READ_CACHE_OF_MEMORY = 64
"""Newer versions keep files up to this part of memory."""


def _read_cache(system: System) -> Iterator[Judgement]:
    """The cache of an object storage server for reads."""
    of_kinds = (parameter_groups(system, kind, "readcache_max_filesize") for kind in _READ_CACHE_KINDS)
    return each(next(filter(None, of_kinds), []), _read_cache_of_group, otherwise=NO_SERVER)


def _read_cache_of_group(group: ParameterGroup) -> Iterator[Judgement]:
    enabled = group.sibling("read_cache_enable").numbers()
    if enabled and not any(enabled):
        yield Fine(group.file_system, "no read cache")
        return
    now = max(group.numbers())
    if now <= max(_READ_CACHE_WANTED_BYTES, group.system.memory_bytes // _READ_CACHE_OF_MEMORY):
        yield Fine(group.file_system, f"files up to {units.format_about_bytes(now)}")
    else:
        shown = units.format_about_bytes(now) if now < 1 << 50 else "any size"
        assignment: Assignment = group.assign(_READ_CACHE_WANTED_BYTES)
        yield Change(
            group.file_system,
            f"files of {shown}",
            f"files up to {units.format_bytes(_READ_CACHE_WANTED_BYTES)}",
            "",
            (assignment,),
        )


LUSTRE_READ_CACHE = Rule(
    name="lustre-read-cache",
    title="Keep small files in the servers' memory, not large ones",
    area="Lustre",
    reason="A file larger than the server's memory pushes out everything else before it is read again. With a limit, "
    "small files and metadata stay.",
    risk="Large files that many clients read one after the other, such as input data and programs, then come from disk "
    "each time; raise the limit above their size.",
    sources=(LUSTRE_PARAMETERS, lustre_source("lustre/osd-ldiskfs/osd_handler.c", "od_readcache_max_filesize")),
    judge=_read_cache,
    parameters=("readcache_max_filesize", "read_cache_enable"),
)


_MOST_SPLIT = 0.1
_FRAGMENTED_BULK_FEWEST = 100
"""RPCs, below which a share says little."""


def _fragmented_bulk(system: System) -> Iterator[Judgement]:
    """Whether RPCs reach the disks in one piece."""
    statistics = parameter_names(system, "osd-*.*-OST*.brw_stats") or parameter_names(system, "obdfilter.*.brw_stats")
    return each(statistics, lambda name: _target(name, system), otherwise=NO_SERVER)


def _target(name: str, system: System) -> Iterator[Judgement]:
    text, target = parameter_text(system, name), name.split(".")[1]
    parts = lustre.histogram(text, "disk fragmented I/Os")
    reads, writes = sum(row.reads for row in parts), sum(row.writes for row in parts)
    if reads + writes < _FRAGMENTED_BULK_FEWEST:
        yield NotApplicable(f"{target} has counted {reads + writes} RPCs, too few to judge by")
        return
    split = [
        f"{share * 100:.0f} % of {what}"
        for what, share in (
            ("reads", sum(row.reads for row in parts if row.value > 1) / max(1, reads)),
            ("writes", sum(row.writes for row in parts if row.value > 1) / max(1, writes)),
        )
        if share > _MOST_SPLIT
    ]
    usual = _usual_bytes(lustre.histogram(text, "disk I/O size"))
    shown = f", mostly in pieces of {units.format_bytes(usual)}" if usual else ""
    if not split:
        yield Fine(target, f"at most {_MOST_SPLIT * 100:.0f} % of RPCs reach the disks in pieces")
    else:
        yield Change(
            target,
            f"{' and '.join(split)} reach the disks in pieces{shown}",
            "one disk request for each RPC",
            command="Set what the rules max-sgl-entries and max-sectors-kb say, clear the counters (lctl set_param "
            f"{name}=0), run the workload again. If it stays, the file system's free space is fragmented.",
        )


def _usual_bytes(sizes: Sequence[Bucket]) -> int:
    """The size that carries the most data."""
    return max(sizes, key=lambda row: row.value * (row.reads + row.writes)).value if sizes else 0


LUSTRE_FRAGMENTED_BULK = Rule(
    name="lustre-fragmented-bulk",
    title="See that RPCs reach the disks in one piece",
    area="Lustre",
    reason="The server counts how many disk requests each RPC became. Before its tuning the study's servers sent every "
    "RPC of 1 MiB as two halves to arrays with stripes of 1 MiB.",
    risk="None: it only measures. The counters hold everything since they were cleared, also what was before the last "
    "change of settings; small files and full OSTs are fragmented whatever the settings are.",
    sources=(LARGE_IO_TEXT, LUSTRE_PARAMETERS),
    judge=_fragmented_bulk,
    parameters=("brw_stats",),
)


_MAX_PAGES_PER_RPC_LEAST_BYTES = 1 << 20
_MAX_PAGES_PER_RPC_BOUNDS = Bounds(
    LUSTRE_PARAMETERS,
    least=16,
    below="each RPC costs both sides more than the data that it carries",
    unit="pages",
)


def _max_pages_per_rpc(group: ParameterGroup) -> Iterator[Judgement]:
    """How large a client's RPCs are."""
    now, page = group.numbers(), group.system.page_bytes
    offered = _offered_bytes(group)
    wanted = max(_MAX_PAGES_PER_RPC_LEAST_BYTES, offered) // page
    if min(now) >= wanted:
        yield Fine(group.file_system, _max_pages_per_rpc_shown(min(now), page))
    else:
        breach = _MAX_PAGES_PER_RPC_BOUNDS.breach(min(now))
        because = breach or (f"its servers take RPCs of {units.format_bytes(offered)}" if offered else "")
        yield Change(
            group.file_system,
            _max_pages_per_rpc_shown(min(now), page),
            _max_pages_per_rpc_shown(wanted, page),
            because,
            (group.assign(max(wanted, *now)),),
            is_harmful=bool(breach),
        )


def _offered_bytes(group: ParameterGroup) -> int:
    """The largest RPC that all OSTs agreed to, by the connections' own words; 0 where they do not say."""
    sizes = [re.search(r"\bmax_brw_size:\s*(\d{1,10})\b", text) for text in group.sibling("import").texts()]
    return min((int(size[1]) for size in sizes if size), default=0)


def _max_pages_per_rpc_shown(pages: int, page_bytes: int) -> str:
    return f"{pages} pages, {units.format_bytes(pages * page_bytes)}"


LUSTRE_MAX_PAGES_PER_RPC = Rule(
    name="lustre-max-pages-per-rpc",
    title="Use RPCs as large as the servers take",
    area="Lustre",
    reason="Each RPC costs both sides a message and the server a disk request; an RPC smaller than the RAID's stripe "
    "makes the array read parity. Newer servers take 4 MiB and more, where the study's took 1 MiB.",
    risk="Each RPC needs its memory at client and server at once, and latency of small requests behind it rises. Raise "
    "the disks' max_sectors_kb with it, or the server splits it.",
    sources=(
        LARGE_IO_TEXT,
        LUSTRE_PARAMETERS,
        LUSTRE_TUNING,
        lustre_source("lustre/include/lustre_net.h", "DT_DEF_BRW_SIZE"),
    ),
    judge=lambda system: each_group(system, "osc", "max_pages_per_rpc", _max_pages_per_rpc),
    parameters=("max_pages_per_rpc",),
    bounds={"max_pages_per_rpc": _MAX_PAGES_PER_RPC_BOUNDS},
    weight="large",
    weight_reason="the study's arrays read parity for each RPC smaller than a stripe",
)


_MAX_RPCS_IN_FLIGHT_WANTED_BYTES = 256 << 20
"""The study's 256 RPCs of 1 MiB."""
_LEAST, _MOST = 8, 256
"""Lustre's default, and its limit."""
_MAX_RPCS_IN_FLIGHT_BOUNDS = Bounds(LUSTRE_PARAMETERS, least=2, below="each RPC waits for the answer to the one before")


def _max_rpcs_in_flight(group: ParameterGroup) -> Iterator[Judgement]:
    """How many RPCs a client sends to an OST at once."""
    now, rpc = group.numbers(), rpc_bytes(group)
    wanted = min(_MOST, max(_LEAST, _MAX_RPCS_IN_FLIGHT_WANTED_BYTES // rpc))
    shown = f"{value_range(now)} of {units.format_bytes(rpc)}"
    if min(now) >= wanted:
        yield Fine(group.file_system, shown)
    else:
        wanted = max(wanted, *now)
        size = units.format_bytes(rpc)
        because = (
            f"with RPCs of {size}, {wanted} have as much on the way as the study's 256 of 1 MiB"
            if rpc > 1 << 20
            else ""
        )
        breach = _MAX_RPCS_IN_FLIGHT_BOUNDS.breach(min(now))
        yield Change(
            group.file_system,
            shown,
            f"{wanted} of {size}",
            breach or because,
            (group.assign(wanted),),
            is_harmful=bool(breach),
        )


LUSTRE_MAX_RPCS_IN_FLIGHT = Rule(
    name="lustre-max-rpcs-in-flight",
    title="Keep 256 MiB of RPCs on the way to each OST",
    area="Lustre",
    reason="A client waits as soon as this many RPCs are unanswered. With the default of 8 RPCs of 1 MiB one client "
    "cannot keep a fast OST and a fast network busy.",
    risk="All clients together send it times their number to each OST: with hundreds of clients, queues on the servers "
    "grow to seconds, and small requests and timeouts suffer. Raise it where few clients must be fast. It raises "
    "max_dirty_mb with it where that is smaller.",
    sources=(
        LUSTRE_CLIENT,
        LUSTRE_PARAMETERS,
        EXASCALER_CLIENT,
        lustre_source("lustre/osc/lproc_osc.c", "OSC_MAX_RIF_MAX"),
    ),
    judge=lambda system: each_group(system, "osc", "max_rpcs_in_flight", _max_rpcs_in_flight),
    parameters=("max_rpcs_in_flight",),
    bounds={"max_rpcs_in_flight": _MAX_RPCS_IN_FLIGHT_BOUNDS},
)


_MAX_DIRTY_MB_WANTED_MB = 1024
_MAX_DIRTY_MB_MOST_MB = 2047
_OF_RPCS = 4
"""The manual: this many times what is on the way."""
_MAX_DIRTY_MB_BOUNDS = Bounds(
    LUSTRE_PARAMETERS, least=1, below="no write is cached, so every write waits for the server", unit="MiB"
)


def _max_dirty_mb(group: ParameterGroup) -> Iterator[Judgement]:
    """How much unwritten data a client keeps for an OST."""
    now = group.numbers()
    rpcs = max(group.sibling("max_rpcs_in_flight").numbers(), default=1)
    by_rpcs = _OF_RPCS * rpcs * rpc_bytes(group) >> 20
    most = min(_MAX_DIRTY_MB_MOST_MB, group.system.memory_bytes >> 22)
    wanted = min(max(_MAX_DIRTY_MB_WANTED_MB, by_rpcs), most)
    if wanted < 1:
        yield NotApplicable(f"{group.file_system}: memory is too small to keep more")
    elif min(now) >= wanted:
        yield Fine(group.file_system, value_range(now, "MiB"))
    else:
        because = f"four times {rpcs} RPCs on the way" if by_rpcs > _MAX_DIRTY_MB_WANTED_MB else ""
        breach = _MAX_DIRTY_MB_BOUNDS.breach(min(now))
        if breach:
            because = breach
        elif wanted == most:
            because = f"Lustre takes no more than {_MAX_DIRTY_MB_MOST_MB} MiB and a quarter of memory"
        yield Change(
            group.file_system,
            value_range(now, "MiB"),
            f"{wanted} MiB",
            because,
            (group.assign(max(wanted, *now)),),
            is_harmful=bool(breach),
        )


LUSTRE_MAX_DIRTY_MB = Rule(
    name="lustre-max-dirty-mb",
    title="Let a client keep four times of what is on the way to each OST",
    area="Lustre",
    reason="A writer stalls when this much is unwritten. The manual's four times max_rpcs_in_flight times the RPC "
    "makes 1024 MiB of the study's 256 RPCs of 1 MiB: enough to form the next full RPCs while those are on the way.",
    risk="More data is lost when a client crashes, and memory that applications need holds dirty data, per OST. It "
    "takes at most 2047 MiB and a quarter of memory. Newer versions begin at 2000.",
    sources=(LUSTRE_CLIENT, LUSTRE_PARAMETERS, lustre_source("lustre/osc/lproc_osc.c", "max_dirty_mb_store")),
    judge=lambda system: each_group(system, "osc", "max_dirty_mb", _max_dirty_mb),
    parameters=("max_dirty_mb",),
    bounds={"max_dirty_mb": _MAX_DIRTY_MB_BOUNDS},
)


_CHECKSUMS_SLOW = ("crc32", "adler")
_CHECKSUMS_FAST = "crc32c"


def _checksums(group: ParameterGroup) -> Iterator[Judgement]:
    """Checksums of data on the network."""
    types = group.sibling("checksum_type").texts()
    chosen = sorted({choices.chosen(text) for text in types})
    slow = [kind for kind in chosen if kind in _CHECKSUMS_SLOW and all(_CHECKSUMS_FAST in text for text in types)]
    faster = (group.sibling("checksum_type").assign(_CHECKSUMS_FAST),) if slow else ()
    if not all(group.numbers()):
        because = "data that an adapter, the network or the memory damages is stored unnoticed"
        yield Change(group.file_system, "off", "on", because, (group.assign(1), *faster))
    elif slow:
        yield Change(group.file_system, " and ".join(slow), _CHECKSUMS_FAST, assignments=faster)
    else:
        yield Fine(group.file_system, f"on, {' and '.join(chosen) or 'of the default type'}")


LUSTRE_CHECKSUMS = Rule(
    name="lustre-checksums",
    title="Compute checksums with the instruction that processors have for it",
    area="Lustre",
    reason="Every byte is summed on both sides. Processors compute crc32c many times faster than adler or crc32 in "
    "software.",
    risk="None for data: all types find the same faults. Switching checksums off (osc.*.checksums=0), as some vendors "
    "do, is faster still, but then data that is damaged on its way is stored unnoticed; ask why before switching them "
    "on again.",
    sources=(LUSTRE_PARAMETERS, EXASCALER_CLIENT),
    judge=lambda system: each_group(system, "osc", "checksums", _checksums),
    parameters=("checksums", "checksum_type", "checksum_pages"),
)


_MOST_MB, _MOST_PER_FILE_MB = 1024, 256
_MAX_READ_AHEAD_OF_MEMORY = 32
_PER_FILE = 4


def _max_read_ahead(group: ParameterGroup) -> Iterator[Judgement]:
    """How far a client of Lustre reads ahead."""
    per_file = group.sibling("max_read_ahead_per_file_mb")
    all_files, one_file = group.numbers(), per_file.numbers()
    wanted = max(1, min(_MOST_MB, (group.system.memory_bytes >> 20) // _MAX_READ_AHEAD_OF_MEMORY))
    wanted_per_file = max(1, min(_MOST_PER_FILE_MB, wanted // _PER_FILE))
    assignments: list[Assignment] = []
    if min(all_files) < wanted:  # First, because it limits the other.
        assignments.append(group.assign(max(wanted, *all_files)))
    if one_file and min(one_file) < wanted_per_file:
        assignments.append(per_file.assign(max(wanted_per_file, *one_file)))
    shown = _max_read_ahead_shown(value_range(all_files), value_range(one_file) if one_file else "")
    if not assignments:
        yield Fine(group.file_system, shown)
    else:
        aim = _max_read_ahead_shown(
            str(max(wanted, *all_files)), str(max(wanted_per_file, *one_file)) if one_file else ""
        )
        yield Change(group.file_system, shown, aim, assignments=tuple(assignments))


def _max_read_ahead_shown(all_files: str, one_file: str) -> str:
    return f"{all_files} MiB" + (f", {one_file} MiB a file" if one_file else "")


LUSTRE_MAX_READ_AHEAD = Rule(
    name="lustre-max-read-ahead",
    title="Let clients read ahead as far as newer versions do",
    area="Lustre",
    reason="Read-ahead keeps several OSTs busy for one reader. Old versions stop at 40 or 64 MiB, which a fast network "
    "carries in milliseconds; newer ones take a 32nd of memory, up to 1 GiB, and 256 MiB a file.",
    risk="Random readers fetch data that nobody uses; memory is taken from applications while files are read.",
    sources=(LUSTRE_PARAMETERS, lustre_source("lustre/llite/llite_internal.h", "SBI_DEFAULT_READ_AHEAD_MAX")),
    judge=lambda system: each_group(system, "llite", "max_read_ahead_mb", _max_read_ahead),
    parameters=("max_read_ahead_mb", "max_read_ahead_per_file_mb"),
)


_STATAHEAD_WANTED = 32


def _statahead(group: ParameterGroup) -> Iterator[Judgement]:
    """Whether a client of Lustre fetches attributes before they are asked for."""
    now = group.numbers()
    if min(now) > 0:
        yield Fine(group.file_system, f"up to {value_range(now)} entries ahead")
    else:
        yield Change(
            group.file_system,
            "off",
            f"up to {_STATAHEAD_WANTED} entries ahead",
            assignments=(group.assign(max(_STATAHEAD_WANTED, *now)),),
        )


LUSTRE_STATAHEAD = Rule(
    name="lustre-statahead",
    title="Fetch attributes ahead while directories are listed",
    area="Lustre",
    reason="Listings, find and backups ask for the attributes of one entry after the other, each a round trip "
    "to the metadata server. Lustre notices that and fetches the next ones.",
    risk="A little load on metadata servers for listings that are broken off. Sites have switched it off for faults of "
    "old versions: ask why before switching it on.",
    sources=(LUSTRE_PARAMETERS, lustre_source("lustre/llite/llite_internal.h", "LL_SA_REQ_MAX_DEF")),
    judge=lambda system: each_group(system, "llite", "statahead_max", _statahead),
    parameters=("statahead_max",),
)


_RPC_BYTES = 1 << 20


def _default_layout(system: System) -> Iterator[Judgement]:
    """How files are laid out on OSTs where nobody says otherwise."""
    clients = [mount for mount in system.mounts if mount.file_system == "lustre" and ":/" in mount.source]
    return each(clients, lambda mount: _default_layout_of_mount(mount, system), otherwise=NO_CLIENT)


def _default_layout_of_mount(mount: Mount, system: System) -> Iterator[Judgement]:
    where = (mount == system.target_mount and system.snapshot.target) or mount.point
    text = system.snapshot.printed("lfs", "getstripe", "-d", where)
    if text is None:
        why = "the snapshot has no output of `lfs getstripe -d`, which it has of a target on Lustre"
        yield NotReadable(f"the default layout of {where}", why)
        return
    count, size = _default_layout_number(text, "stripe_count"), _default_layout_number(text, "stripe_size")
    count = (
        1 if count == 0 else count
    )  # which stands for the file system's default, 1 unless an administrator set another
    if "lcm_" in text:
        yield _progressive(where, text, system)
    elif count is None or size is None:
        yield NotApplicable(f"{where} has no default layout of its own")
    elif size % _RPC_BYTES and size:
        yield Change(
            where,
            f"stripes of {units.format_bytes(size)}",
            f"stripes of {units.format_bytes(max(_RPC_BYTES, size - size % _RPC_BYTES))}",
            "an RPC ends where a stripe ends, so the last one of each is smaller than 1 MiB",
            command=f"lfs setstripe -S {max(1, size >> 20)}M -c {count} {where}",
        )
    elif count == -1 or count > 16:
        if system.workload == "shared-file":
            yield Fine(where, f"{_default_layout_spread(count)}, as files that many nodes share need it")
            return
        yield Change(
            where,
            _default_layout_spread(count),
            "a progressive layout: small files on one OST, large ones on many",
            command=f"lfs setstripe -E 256M -c 1 -E 4G -c 4 -E -1 -c -1 {where}",
        )
    else:
        yield _default_layout_few(
            where,
            f"{units.format_count(count, 'stripe')} of {units.format_bytes(size)}",
            count,
            _targets(system, mount),
            system,
        )


def _default_layout_few(where: str, now: str, count: int, targets: int, system: System) -> Judgement:
    """Files on one or few OSTs: right for files of one process, the bottleneck of a file that many nodes share."""
    is_few = count == 1 or 0 < count < targets
    if system.workload is None and count == 1:
        return NotJudged(where, now, _DEFAULT_LAYOUT_DEPENDS)
    if system.workload != "shared-file" or not is_few:
        return Fine(where, now)
    of = f" of {targets}" if targets else ""
    return Change(
        where,
        now,
        "every file on all OSTs",
        f"all nodes that share a file use {units.format_count(max(1, count), 'OST')}{of}",
        command=f"lfs setstripe -c -1 {where}",
    )


def _progressive(where: str, text: str, system: System) -> Judgement:
    """A layout of several components, of which the last one holds most of a large file."""
    counts = re.findall(r"\blmm_stripe_count:\s+(-?\d{1,12})\b|\bstripe_count:\s+(-?\d{1,12})\b", text)
    last = next(filter(None, counts[-1])) if counts else ""
    if last != "1":
        return Fine(where, "a progressive layout")
    now = "a progressive layout that ends on one OST"
    if system.workload is None:
        return NotJudged(where, now, _DEFAULT_LAYOUT_DEPENDS)
    if system.workload != "shared-file":
        return Fine(where, now)
    command = f"lfs setstripe -E 256M -c 1 -E 4G -c 4 -E -1 -c -1 {where}"
    return Change(where, now, "one that ends on all OSTs", "all nodes that share a file use one OST", command=command)


_DEFAULT_LAYOUT_DEPENDS = (
    "depends on whether many nodes write or read one file: say --workload shared-file, file-per-process or small-files"
)


def _default_layout_spread(count: int) -> str:
    return "every file on all OSTs" if count == -1 else f"every file on {count} OSTs"


def _file_system(mount: Mount) -> str:
    return mount.source.rpartition(":/")[2].partition("/")[0]


def _targets(system: System, mount: Mount) -> int:
    """How many OSTs the client knows; 0 where the snapshot has none."""
    return len(parameter_names(system, f"osc.{_file_system(mount)}-OST*.max_pages_per_rpc"))


def _default_layout_number(text: str, key: str) -> int | None:
    match = re.search(rf"\b{key}:\s+(-?\d{{1,12}})\b", text)
    return int(match[1]) if match else None


LUSTRE_DEFAULT_LAYOUT = Rule(
    name="lustre-default-layout",
    title="Lay files out in stripes of whole RPCs, small files on one OST",
    area="Lustre",
    reason="A file on every OST costs each open and stat a question to all of them, however small it is; a progressive "
    "layout spreads only what grows. Stripes that are no multiple of the RPC end in small RPCs.",
    risk="Only new files get the layout. One shared file that many ranks write needs many stripes: set those on its "
    "directory. Progressive layouts need Lustre 2.10 on servers and clients.",
    sources=(
        LUSTRE_TUNING,
        Source(
            'Lustre Operations Manual: "Managing File Layout (Striping) and Free Space"',
            "https://doc.lustre.org/lustre_manual.xhtml#managingstripingfreespace",
        ),
    ),
    judge=_default_layout,
    parameters=("stripe_count", "stripe_size"),
)


_MOST_SMALL = 0.5
_SMALL_RPCS_FEWEST = 100


def _small_rpcs(group: ParameterGroup) -> Iterator[Judgement]:
    """Whether clients fill their RPCs."""
    rows = [row for text in group.texts() for row in lustre.histogram(text, "pages per rpc")]
    sent = sum(row.reads + row.writes for row in rows)
    rpc, page = rpc_bytes(group), group.system.page_bytes
    if sent < _SMALL_RPCS_FEWEST:
        yield NotApplicable(f"{group.file_system}: {sent} RPCs were counted, too few to judge by")
        return
    small = sum(row.reads + row.writes for row in rows if row.value * page <= rpc // 2) / sent
    shown = f"{small * 100:.0f} % of {sent} RPCs are at most half of {units.format_bytes(rpc)}"
    if small <= _MOST_SMALL:
        yield Fine(group.file_system, shown)
    else:
        yield Change(
            group.file_system,
            shown,
            "most RPCs full",
            command="Look at the transfer sizes of the application (ioassay record) and at stripe boundaries (lfs "
            f"getstripe); then clear the counters: lctl set_param {group.pattern}=0",
        )


LUSTRE_SMALL_RPCS = Rule(
    name="lustre-small-rpcs",
    title="See that clients fill their RPCs",
    area="Lustre",
    reason="The client counts the pages of each RPC. Half-full ones come from small or unaligned transfers, from "
    "stripes that end within them, or from too little dirty memory to collect a whole one; no setting of a server "
    "helps then.",
    risk="None: it only measures. Many small files make small RPCs, which is not a fault. The counters hold everything "
    "since they were cleared.",
    sources=(LUSTRE_PARAMETERS,),
    judge=lambda system: each_group(system, "osc", "rpc_stats", _small_rpcs),
    parameters=("rpc_stats",),
)


RULES: tuple[Rule, ...] = (
    LUSTRE_OSS_THREADS,
    LUSTRE_BRW_SIZE,
    LUSTRE_READ_CACHE,
    LUSTRE_FRAGMENTED_BULK,
    LUSTRE_MAX_PAGES_PER_RPC,  # The three raise max_dirty_mb, so it comes last.
    LUSTRE_MAX_RPCS_IN_FLIGHT,
    LUSTRE_MAX_DIRTY_MB,
    LUSTRE_CHECKSUMS,
    LUSTRE_MAX_READ_AHEAD,
    LUSTRE_STATAHEAD,
    LUSTRE_DEFAULT_LAYOUT,
    LUSTRE_SMALL_RPCS,
)
