"""The memory that GPFS caches data in."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_size
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source
from ioassay.tuning.rules.gpfs.sources import CACHES, NO_GPFS, PROTOCOL_NODES, TUNING
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import gpfs_config
from ioassay.tuning.system.numbers import is_whole

_DEFAULT = 1 << 30
_WANTED = 4 << 30
_LEAST_MEMORY = 16 << 30
_MOST_PERCENT = 75
"""Of memory, where `pagepoolMaxPhysMemPct` is not set."""


def _judge(system: System) -> Iterator[Judgement]:
    config = gpfs_config(system.snapshot)
    memory = system.memory_bytes
    if config is None:
        yield NotApplicable(NO_GPFS)
        return
    if config.text("dynamicPagepoolEnabled") == "yes":
        yield NotApplicable("the page pool is dynamic, so GPFS sizes it itself")
        return
    text = config.text("pagepool")
    percent = (text or "").removesuffix("%")
    relative = memory * int(percent) // 100 if (text or "").endswith("%") and is_whole(percent) else None
    now = relative if relative is not None else config.number("pagepool") if text else min(_DEFAULT, memory // 3)
    most = memory * (config.number("pagepoolMaxPhysMemPct") or _MOST_PERCENT) // 100
    if now is None:
        yield NotReadable("pagepool", f"holds {text!r}, which is no size")
    elif memory and now > most:
        because = f"GPFS takes at most {format_size(most)} here and starts with less than configured"
        command = f"mmchconfig pagepool={most >> 20}M -N {system.host}"
        yield Change(system.host, format_size(now), format_size(most), because, command=command)
    elif now <= _DEFAULT and memory >= _LEAST_MEMORY:
        because = f"the node has {format_size(memory)} of memory"
        yield Change(
            system.host,
            format_size(now),
            format_size(_WANTED),
            because,
            command=f"mmchconfig pagepool=4G -i -N {system.host}",
        )
    else:
        yield Fine(system.host, format_size(now))


RULE = Rule(
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
    judge=_judge,
    parameters=("pagepool", "pagepoolMaxPhysMemPct"),
)
